// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios and rt-app files that are given as dictionaries: written as text, then read like any file.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyMapping, PyString, PyTuple};
use toml::{Table, Value};
use zerolag_core::kernel::Kernel;

use crate::error;

/// What a scenario, a sweep, a tuning or a context is called that has no file.
pub(crate) const NAMELESS: &str = "dict";

/// The text of a dictionary: JSON if it has tasks as rt-app has them, else TOML.
pub(crate) fn text(given: &Bound<'_, PyMapping>) -> PyResult<String> {
    let py = given.py();
    if given.contains("tasks")? {
        let plain = py.get_type::<PyDict>().call1((given,))?;
        return py.import("json")?.call_method1("dumps", (plain,))?.extract();
    }
    toml(given, "scenario")
}

/// The text of a dictionary as TOML.
pub(crate) fn toml(given: &Bound<'_, PyMapping>, name: &str) -> PyResult<String> {
    Ok(table(given, name)?.to_string())
}

fn table(given: &Bound<'_, PyMapping>, name: &str) -> PyResult<Table> {
    let mut table = Table::new();
    for pair in given.items()?.iter() {
        let (key, given): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "{name} has the key {}, which is no text",
                key.repr()?
            )));
        };
        let key: String = key.extract()?;
        let value = value(&given, &format!("{name}[{key:?}]"))?;
        table.insert(key, value);
    }
    Ok(table)
}

fn value(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Value> {
    if let Ok(mapping) = given.cast::<PyMapping>() {
        return table(mapping, name).map(Value::Table);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let items = given.try_iter()?.enumerate();
        let items = items.map(|(at, item)| value(&item?, &format!("{name}[{at}]")));
        return items.collect::<PyResult<_>>().map(Value::Array);
    }
    scalar(given).ok_or_else(|| {
        let kind = given.get_type().name().map_or_else(|_| "value".into(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{name} is a {kind}; accepted: text, numbers, True and False, and lists and dictionaries of these"
        ))
    })
}

fn scalar(given: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(text) = given.cast::<PyString>() {
        return text.extract().ok().map(Value::String);
    }
    // True is a number too.
    if given.is_instance_of::<PyBool>() {
        return given.extract().ok().map(Value::Boolean);
    }
    if given.is_instance_of::<PyFloat>() {
        return given.extract().ok().map(Value::Float);
    }
    given.extract().ok().map(Value::Integer).or_else(|| given.extract().ok().map(Value::Float))
}

/// Names and what is chosen for them, from a dictionary.
pub(crate) fn pairs(given: Option<&Bound<'_, PyMapping>>, name: &str) -> PyResult<Vec<(String, String)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let pair = |pair: Bound<'_, PyAny>| {
        let (key, value): (String, Bound<'_, PyAny>) = pair.extract()?;
        let value = chosen(&value, &format!("{name}[{key:?}]"))?;
        Ok((key, value))
    };
    given.items()?.iter().map(pair).collect()
}

/// Settings as the command takes them, `NAME=VALUE`, from a dictionary.
pub(crate) fn settings(given: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<String>> {
    Ok(pairs(given, "set")?.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// The kernel of this name.
pub(crate) fn kernel(name: &str) -> PyResult<Kernel> {
    Kernel::by_name(name).ok_or_else(|| {
        let known = Kernel::ALL.map(Kernel::name).join(", ");
        error::input(&format!("kernel = {name}: there are {known}"), "kernel")
    })
}

/// What stands for a value where texts are chosen: `true`, `3`, `3ms`.
fn chosen(given: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    match scalar(given) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Ok(other.to_string()),
        None => Err(PyTypeError::new_err(format!(
            "{name} is {}; accepted: text, a number, True or False",
            given.repr()?
        ))),
    }
}
