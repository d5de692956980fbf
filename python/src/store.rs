// SPDX-License-Identifier: GPL-2.0-only
//! The result store of studies.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use zerolag_study::store::{self, Begin};

use crate::case::{Case, Outcome};
use crate::error::raise;

/// Results in one SQLite file (docs/store.md), or in memory without a path.
///
/// Args:
///     path: the file.
///     resume: whether it may be there already, to go on from what is in it.
///
/// Use it in a `with` statement, or close it: then all is in the one file. Only one program at a time may write
/// to it, and only the thread that opened it may use it.
///
/// Raises:
///     StoreError: it is there and must not be, is something else, is of another version, cannot be written.
#[pyclass(unsendable, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Store(Option<store::Store>);

impl Store {
    pub(crate) fn in_memory() -> PyResult<Self> {
        store::Store::in_memory().map(|store| Self(Some(store))).map_err(|e| raise(&e))
    }

    pub(crate) fn open(&mut self) -> PyResult<&mut store::Store> {
        self.0.as_mut().ok_or_else(|| PyValueError::new_err("the store is closed"))
    }

    pub(crate) fn look(&self) -> PyResult<&store::Store> {
        self.0.as_ref().ok_or_else(|| PyValueError::new_err("the store is closed"))
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path=None, *, resume=false))]
    fn new(path: Option<PathBuf>, resume: bool) -> PyResult<Self> {
        let begin = if resume { Begin::Resume } else { Begin::New };
        let Some(path) = path else { return Self::in_memory() };
        store::Store::open(&path, begin).map(|store| Self(Some(store))).map_err(|e| raise(&e))
    }

    /// A store that is only read.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        store::Store::read(&path).map(|store| Self(Some(store))).map_err(|e| raise(&e))
    }

    /// The file; ":memory:" if it is none.
    #[getter]
    fn path(&self) -> PyResult<PathBuf> {
        self.look().map(|store| store.path().to_owned())
    }

    /// Note the inputs of cases, so that their runs can be added.
    fn add_cases(&mut self, cases: Vec<Case>) -> PyResult<()> {
        self.open()?.add_cases(cases.iter().map(|case| &*case.0)).map_err(|e| raise(&e))
    }

    /// Add runs, all of them or none: cases, seeds, and what came of it.
    fn add_runs(&mut self, runs: Vec<(Case, u64, Outcome)>) -> PyResult<()> {
        let runs: Vec<_> =
            runs.iter().map(|(case, seed, outcome)| (&*case.0, *seed, outcome.0.clone())).collect();
        self.open()?.add_runs(&runs).map_err(|e| raise(&e))
    }

    /// The seeds with which a case has been run, in order.
    fn seeds_done(&self, case: &Case) -> PyResult<Vec<u64>> {
        self.look()?.seeds_done(&case.0).map_err(|e| raise(&e))
    }

    /// Everything as comma-separated values, a line for each run and metric.
    fn to_csv(&self) -> PyResult<String> {
        let mut out = Vec::new();
        self.look()?.write_csv(&mut out).map_err(|e| raise(&e))?;
        Ok(String::from_utf8(out)?)
    }

    /// The same, to a file.
    fn write_csv(&self, path: PathBuf) -> PyResult<()> {
        let named = |e: std::io::Error| PyOSError::new_err(format!("{}: {e}", path.display()));
        let mut out = BufWriter::new(File::create(&path).map_err(named)?);
        self.look()?.write_csv(&mut out).map_err(|e| raise(&e))?;
        out.flush().map_err(named)
    }

    /// Put all into the one file. Afterwards the store cannot be used.
    fn close(&mut self) -> PyResult<()> {
        self.0.take().map_or(Ok(()), store::Store::close).map_err(|e| raise(&e))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &mut self,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close()
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            Some(store) => format!("<zerolag.Store {}>", store.path().display()),
            None => "<zerolag.Store, closed>".into(),
        }
    }
}
