// SPDX-License-Identifier: GPL-2.0-only
//! Sweeps: which runs a file asks for, and doing them here.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use zerolag_study::figures;
use zerolag_study::study::{Means, Progress, Shard, Study};
use zerolag_study::sweep;

use crate::case::Case;
use crate::error::{self, raise};
use crate::scenario::{self, NAMELESS};
use crate::store::Store;

/// A scenario at many points, from a file (docs/sweep.md), or a dictionary of the same form whose `scenario` may be
/// a dictionary too. All points are checked when it is read.
///
/// Its runs are all `cases` with all `seeds`; its length is their number.
///
/// Raises:
///     InputError: something in the file makes no sense.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Sweep(sweep::Sweep);

#[pymethods]
impl Sweep {
    #[new]
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let swept = match Given::of(given)? {
            Given::File(path) => given.py().detach(|| sweep::read(&path)),
            Given::Text(text, base) => {
                given.py().detach(|| sweep::parse(NAMELESS, text.as_bytes(), base.as_base()))
            }
        };
        swept.map(Self).map_err(|e| raise(&e))
    }

    /// What varies, in the order of the file.
    #[getter]
    fn keys(&self) -> Vec<String> {
        self.0.keys.iter().map(ToString::to_string).collect()
    }

    /// Its points.
    #[getter]
    fn cases(&self) -> Vec<Case> {
        self.0.study.cases.iter().cloned().map(Case::from).collect()
    }

    /// The seeds with which each of them is run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.study.seeds.clone()
    }

    fn __len__(&self) -> usize {
        self.0.study.cases.len() * self.0.study.seeds.len()
    }

    /// Do all runs that are not in the store, and put them there. Returns how many that were.
    ///
    /// Args:
    ///     store: where results go.
    ///     jobs: how many runs at a time; as many as there are CPUs without.
    ///     progress: is called with how many runs are done, and how many there are.
    ///
    /// Other threads run meanwhile, and Ctrl-C ends it; the store has all runs that were over.
    #[pyo3(signature = (store, *, jobs=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        store: &Store,
        jobs: Option<NonZeroUsize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        do_all(py, &self.0.study, store, jobs, progress)
    }

    /// The figures of each point, as far as they are in the store: what `zerolag sweep --json` prints (schema
    /// zerolag.sweep/1).
    ///
    /// Args:
    ///     metrics: patterns of names ("* wake-up p99"); all without.
    #[pyo3(signature = (store, *, metrics=Vec::new()))]
    fn summary<'py>(
        &self,
        py: Python<'py>,
        store: &Store,
        metrics: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = store.with(py, |store| {
            let points = self.0.points(store, figures::wanted(&metrics)).map_err(|e| raise(&e))?;
            Ok(self.0.to_json(&points).to_string())
        })?;
        py.import("json")?.call_method1("loads", (text,))
    }
}

/// A sweep or a tuning as a user gives it.
pub(crate) enum Given {
    File(PathBuf),
    Text(String, Scenario),
}

/// The scenario of a sweep that is given as a dictionary.
pub(crate) enum Scenario {
    /// Its file is named in the dictionary.
    Named,
    Case(Case),
}

impl Given {
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(mapping) = given.cast::<PyMapping>() else {
            return given.extract().map(Self::File).map_err(|_| {
                PyTypeError::new_err("accepted: a path, or a dictionary of the same form as such a file")
            });
        };
        let plain = given.py().get_type::<PyDict>().call1((mapping,))?.cast_into::<PyDict>()?;
        let base = match plain.get_item("scenario")? {
            Some(scenario) if !scenario.is_instance_of::<PyString>() => {
                plain.del_item("scenario")?;
                Scenario::Case(Case::of(&scenario, BTreeMap::new())?)
            }
            _ => Scenario::Named,
        };
        Ok(Self::Text(scenario::text(plain.as_mapping())?, base))
    }
}

impl Scenario {
    /// Files that a dictionary names are looked for in the current directory.
    pub(crate) fn as_base(&self) -> sweep::Base<'static> {
        match self {
            Self::Named => sweep::Base::In(Path::new("")),
            Self::Case(case) => sweep::Base::Given(Box::new(case.0.case().clone())),
        }
    }
}

/// Do all runs of these cases with these seeds that are not in the store, and put them there. Returns how many that
/// were.
///
/// Args:
///     store: where results go.
///     jobs: how many runs at a time; as many as there are CPUs without.
///     progress: is called with how many runs are done, and how many there are.
#[pyfunction]
#[pyo3(signature = (cases, seeds, store, *, jobs=None, progress=None))]
pub(crate) fn run_all(
    py: Python<'_>,
    cases: Vec<Case>,
    seeds: Vec<u64>,
    store: &Store,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<usize> {
    let study = Study { cases: cases.iter().map(|case| (*case.0).clone()).collect(), seeds };
    do_all(py, &study, store, jobs, progress)
}

/// Does what is not in the store yet. Returns how many runs that were.
pub(crate) fn do_all(
    py: Python<'_>,
    study: &Study,
    store: &Store,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<usize> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let mut told = Told { progress, outcome: Ok(()) };
    let means = Means { jobs, shard: Shard::ALL };
    let account = store.with(py, |store| study.run(store, means, &mut told).map_err(|e| error::of_study(&e)));
    told.outcome?;
    let account = account?;
    Ok(account.runs - account.found)
}

/// Tells Python how far it is.
struct Told {
    progress: Option<Py<PyAny>>,
    /// What Python raised.
    outcome: PyResult<()>,
}

impl Progress for Told {
    fn at(&mut self, done: usize, _: usize, all: usize) {
        let Some(progress) = self.progress.as_ref().filter(|_| self.outcome.is_ok()) else { return };
        self.outcome = Python::attach(|py| progress.call1(py, (done, all)).map(|_| ()));
    }

    fn goes_on(&mut self) -> bool {
        if self.outcome.is_ok() {
            self.outcome = Python::attach(|py| py.check_signals());
        }
        self.outcome.is_ok()
    }
}
