// SPDX-License-Identifier: GPL-2.0-only
//! Cases side by side.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use zerolag_study::comparison::{self, Row};
use zerolag_study::figures;
use zerolag_study::study::Study;

use crate::case::Case;
use crate::error::{self, raise};
use crate::store::Store;
use crate::sweep::do_all;

/// Cases side by side: for each figure what each case has, and how it differs from the first.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Comparison {
    study: Study,
    rows: Vec<Row>,
    stuck: Vec<(usize, u64, &'static str)>,
}

/// How many, or which.
#[derive(FromPyObject)]
pub(crate) enum Seeds {
    Many(u32),
    Listed(Vec<u64>),
}

impl Seeds {
    fn all(self) -> PyResult<Vec<u64>> {
        let seeds: Vec<u64> = match self {
            Self::Many(many) => (1..=u64::from(many)).collect(),
            Self::Listed(seeds) => seeds,
        };
        let twice = seeds.iter().enumerate().find(|(at, seed)| seeds[..*at].contains(seed));
        match (seeds.is_empty(), twice) {
            (true, _) => Err(error::input("at least one seed is needed", "seeds")),
            (_, Some((_, seed))) => Err(error::input(&format!("seed {seed} is there twice"), "seeds")),
            (false, None) => Ok(seeds),
        }
    }
}

/// Run cases with seeds, and say how they differ and how sure that is.
///
/// Args:
///     cases: what to compare, the first one with all others: cases, or scenarios as for `run`.
///     seeds: how many (1, 2, ...), or which.
///     store: where results go, and are taken from if they are there already.
///     jobs: how many runs at a time; as many as there are CPUs without.
///     metrics: patterns of names ("* wake-up p99"); all without.
///     progress: is called with how many runs are done, and how many there are.
///
/// Other threads run meanwhile, and Ctrl-C ends it.
#[pyfunction]
#[pyo3(signature = (cases, *, seeds=Seeds::Many(10), store=None, jobs=None, metrics=Vec::new(), progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    cases: Vec<Bound<'_, PyAny>>,
    seeds: Seeds,
    store: Option<&Bound<'_, Store>>,
    jobs: Option<NonZeroUsize>,
    metrics: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let cases = cases.iter().map(|case| Case::of(case, Default::default())).collect::<PyResult<Vec<_>>>()?;
    for (at, case) in cases.iter().enumerate() {
        if let Some(first) = cases[..at].iter().position(|other| other.0.hash() == case.0.hash()) {
            return Err(error::input(&format!("cases {first} and {at} are the same"), "cases"));
        }
    }
    let study = Study { cases: cases.iter().map(|case| (*case.0).clone()).collect(), seeds: seeds.all()? };
    let own;
    let store = match store {
        Some(store) => store.get(),
        None => {
            own = Store::in_memory()?;
            &own
        }
    };
    do_all(py, &study, store, jobs, progress)?;
    let (rows, stuck) = store.with(py, |store| {
        let rows = comparison::compare(store, &study.cases, &study.seeds, figures::wanted(&metrics));
        let rows = rows.map_err(|e| raise(&e))?;
        let stuck = study.stuck(store).map_err(|e| raise(&e))?;
        let place = |hash: &str| study.cases.iter().position(|case| case.hash() == hash).unwrap_or_default();
        let stuck = stuck.iter().map(|(case, seed, end)| (place(case.hash()), *seed, end.name()));
        Ok((rows, stuck.collect()))
    })?;
    Ok(Comparison { study, rows, stuck })
}

#[pymethods]
impl Comparison {
    /// Runs that got stuck: number of the case, seed, and how ("deadlock", "livelock").
    #[getter]
    fn stuck(&self) -> Vec<(usize, u64, &'static str)> {
        self.stuck.clone()
    }

    /// All of it as a dictionary, schema zerolag.compare/1.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// What `zerolag compare --json` prints.
    fn to_json(&self) -> String {
        format!("{:#}\n", comparison::json::of(&self.study, &self.rows))
    }
}
