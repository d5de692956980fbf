// SPDX-License-Identifier: GPL-2.0-only
//! Tables of columns. Numbers go to Python as the bytes they are, each column in one piece, and NumPy looks at
//! those bytes where they lie: nothing is converted value by value, and pandas and polars take NumPy's arrays.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// One column.
#[derive(Debug)]
pub(crate) enum Column {
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    /// Names: these are objects in Python in any case.
    Text(Vec<String>),
}

/// Columns by name, in order.
pub(crate) type Table = Vec<(&'static str, Column)>;

/// A dictionary of arrays, and of lists where there are names. The arrays cannot be written.
pub(crate) fn to_python(py: Python<'_>, table: Table) -> PyResult<Py<PyDict>> {
    let from_buffer = py.import("numpy")?.getattr("frombuffer")?;
    let dict = PyDict::new(py);
    for (name, column) in table {
        let (bytes, kind) = match column {
            Column::Text(names) => {
                dict.set_item(name, names)?;
                continue;
            }
            Column::U8(values) => (PyBytes::new(py, &values), "u1"),
            Column::I32(values) => (bytes(py, &values, i32::to_ne_bytes)?, "i4"),
            Column::I64(values) => (bytes(py, &values, i64::to_ne_bytes)?, "i8"),
            Column::F64(values) => (bytes(py, &values, f64::to_ne_bytes)?, "f8"),
        };
        dict.set_item(name, from_buffer.call1((bytes, kind))?)?;
    }
    Ok(dict.unbind())
}

fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |out| {
        for (place, value) in out.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&bytes(*value));
        }
        Ok(())
    })
}
