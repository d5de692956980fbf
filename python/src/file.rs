// SPDX-License-Identifier: GPL-2.0-only
//! Files that appear whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use zerolag_study::file;

/// What is wrong with a file.
pub(crate) fn wrong(path: &Path, error: &io::Error) -> PyErr {
    PyOSError::new_err(format!("{}: {error}", path.display()))
}

/// Write a file that appears whole or not at all.
#[pyfunction]
pub(crate) fn put(path: PathBuf, text: &str) -> PyResult<()> {
    file::put(&path, text).map_err(|e| wrong(&path, &e))
}
