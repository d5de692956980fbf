// SPDX-License-Identifier: GPL-2.0-only
//! The result store of studies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use zerolag_study::file::NewFile;
use zerolag_study::store::{self, Begin, StoreError};

use crate::case::{Case, Outcome};
use crate::error::raise;
use crate::file::wrong;

/// Results in one SQLite file (docs/store.md), or in memory without a path.
///
/// Args:
///     path: the file.
///     resume: whether it may be there already, to go on from what is in it.
///
/// Use it in a `with` statement, or close it: then all is in the one file. Only one program at a time may write
/// to it.
///
/// Raises:
///     StoreError: it is there and must not be, is something else, is of another version, cannot be written.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Store(Mutex<Option<store::Store>>);

impl From<store::Store> for Store {
    fn from(store: store::Store) -> Self {
        Self(Mutex::new(Some(store)))
    }
}

impl Store {
    pub(crate) fn in_memory() -> PyResult<Self> {
        store::Store::in_memory().map(Self::from).map_err(|e| raise(&e))
    }

    /// Nobody waits for it: whoever has it may wait for the interpreter, which the one who waits may hold.
    fn take(&self) -> PyResult<MutexGuard<'_, Option<store::Store>>> {
        self.0.try_lock().map_err(|_| PyRuntimeError::new_err("the store is being used"))
    }

    /// Does something with it while other threads of Python run.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut store::Store) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.take()?.as_mut() {
            Some(store) => work(store),
            None => Err(PyValueError::new_err("the store is closed")),
        })
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path=None, *, resume=false))]
    fn new(path: Option<PathBuf>, resume: bool) -> PyResult<Self> {
        let begin = if resume { Begin::Resume } else { Begin::New };
        let Some(path) = path else { return Self::in_memory() };
        store::Store::open(&path, begin).map(Self::from).map_err(|e| raise(&e))
    }

    /// A store that is only read.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        store::Store::read(&path).map(Self::from).map_err(|e| raise(&e))
    }

    /// The file; ":memory:" if it is none.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.with(py, |store| Ok(store.path().to_owned()))
    }

    /// Note the inputs of cases, so that their runs can be added.
    fn add_cases(&self, py: Python<'_>, cases: Vec<Case>) -> PyResult<()> {
        self.with(py, |store| store.add_cases(cases.iter().map(|case| &*case.0)).map_err(|e| raise(&e)))
    }

    /// Add runs, all of them or none: cases, seeds, and what came of it.
    fn add_runs(&self, py: Python<'_>, runs: Vec<(Case, u64, Outcome)>) -> PyResult<()> {
        self.with(py, |store| {
            let rows = runs.iter().map(|(case, seed, outcome)| (&*case.0, *seed, outcome.0.clone()));
            store.add_runs(&rows.collect::<Vec<_>>()).map_err(|e| raise(&e))
        })
    }

    /// The figures of a run by name, or None if it has not been done.
    fn figures(&self, py: Python<'_>, case: &Case, seed: u64) -> PyResult<Option<BTreeMap<String, f64>>> {
        let found = self.with(py, |store| store.figures(&case.0, seed).map_err(|e| raise(&e)))?;
        Ok(found.map(|(_, figures)| figures))
    }

    /// The seeds with which a case has been run, in order.
    fn seeds_done(&self, py: Python<'_>, case: &Case) -> PyResult<Vec<u64>> {
        self.with(py, |store| store.seeds_done(&case.0).map_err(|e| raise(&e)))
    }

    /// Everything as comma-separated values, a line for each run and metric.
    fn to_csv(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |store| {
            let mut out = Vec::new();
            store.write_csv(&mut out).map_err(|e| raise(&e))?;
            Ok(String::from_utf8(out)?)
        })
    }

    /// The same, to a file, which appears whole or not at all.
    fn write_csv(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let named = |e| wrong(&path, &e);
        self.with(py, |store| {
            let mut file = NewFile::create(&path).map_err(named)?;
            store.write_csv(&mut file).map_err(|e| match e {
                StoreError::Io { error, .. } => named(error),
                other => raise(&other),
            })?;
            file.finish().map_err(named)
        })
    }

    /// Put all into the one file. Afterwards the store cannot be used.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let store = self.take()?.take();
            store.map_or(Ok(()), store::Store::close).map_err(|e| raise(&e))
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}
