// SPDX-License-Identifier: GPL-2.0-only
//! Errors of the engine as Python's exceptions, with their place as attributes.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zerolag_sim::benchmark::BenchmarkError;
use zerolag_sim::input::InputError;
use zerolag_sim::machines::{MachineError, Place};
use zerolag_sim::scenario::{Fault, ScenarioError};
use zerolag_sim::setting::SettingError;
use zerolag_sim::workload::rtapp::{Problem, RtAppError};
use zerolag_study::benchmark::RequestError;
use zerolag_study::case::CaseError;
use zerolag_study::replay::ReplayError;
use zerolag_study::store::StoreError;
use zerolag_study::study::StudyError;
use zerolag_study::sweep::SweepError;

/// Where something is wrong, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct Where {
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) key: Option<String>,
}

impl Where {
    fn place(file: &str, place: Place) -> Self {
        let known = |n: u32| Some(n).filter(|&n| n > 0);
        Self { file: Some(file.into()), line: known(place.line), column: known(place.column), key: None }
    }

    pub(crate) fn file(file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::default() }
    }

    fn key(key: impl ToString) -> Self {
        Self { key: Some(key.to_string()), ..Self::default() }
    }

    /// The other, if this has no line and that has: a place is of one file. The key is of either.
    fn or(self, other: Self) -> Self {
        let key = self.key.clone().or_else(|| other.key.clone());
        let better = self.file.is_none() || (self.line.is_none() && other.line.is_some());
        Self { key, ..if better { other } else { self } }
    }
}

/// An error that knows its place.
pub(crate) trait Placed: ToString {
    /// What is wrong, in Python's words.
    fn message(&self) -> String {
        self.to_string()
    }

    /// The exception's class, in `zerolag.errors`.
    fn class(&self) -> &'static str {
        "InputError"
    }

    /// Where it is.
    fn place(&self) -> Where;
}

impl Placed for ScenarioError {
    fn place(&self) -> Where {
        let place = Where::place(&self.file, self.place);
        match &*self.fault {
            Fault::UnknownKey { key, .. } | Fault::Value { key, .. } => {
                Where { key: Some(key.clone()), ..place }
            }
            Fault::Missing { key, .. } => Where { key: Some((*key).into()), ..place },
            Fault::Both { second, .. } => Where { key: Some((*second).into()), ..place },
            Fault::Machine(error) => error.place().or(place),
            Fault::RtApp(error) => error.place().or(place),
            _ => place,
        }
    }
}

impl Placed for MachineError {
    fn place(&self) -> Where {
        Where::place(&self.file, self.place)
    }
}

impl Placed for RtAppError {
    fn place(&self) -> Where {
        let key = match &*self.problem {
            Problem::Missing { key, .. } => Some((*key).to_owned()),
            Problem::UnknownKey { key, .. }
            | Problem::Value { key, .. }
            | Problem::UnknownName { key, .. }
            | Problem::Duplicate { key, .. } => Some(key.clone()),
            _ => None,
        };
        let (line, column) = (Some(self.at.line), Some(self.at.column));
        Where { file: Some(self.file.clone()), line, column, key }
    }
}

impl Placed for SettingError {
    fn place(&self) -> Where {
        let name = self.assignment.split('=').next().unwrap_or_default();
        Where::key(format_args!("set:{}", name.trim()))
    }
}

impl Placed for RequestError {
    fn class(&self) -> &'static str {
        match self {
            Self::Benchmark(BenchmarkError::Stuck(_)) => "StuckError",
            _ => "InputError",
        }
    }

    fn place(&self) -> Where {
        match self {
            Self::Options(_) => Where::key("options"),
            Self::Machine(error) => Where { key: Some("machine".into()), ..error.place() },
            Self::Kernel(_) => Where::key("kernel"),
            Self::Setting(error) => error.place(),
            _ => Where::default(),
        }
    }
}

impl Placed for ReplayError {
    fn class(&self) -> &'static str {
        match self {
            Self::Livelock(..) => "StuckError",
            _ => "InputError",
        }
    }

    fn place(&self) -> Where {
        match self {
            Self::Machine(error) => Where { key: Some("machine".into()), ..error.place() },
            Self::Context(error) => error.place(),
            Self::Setting(error) => error.place(),
            Self::Change(_) => Where::key("what_if"),
            _ => Where::default(),
        }
    }
}

impl Placed for InputError {
    fn place(&self) -> Where {
        match self {
            Self::Scenario(error) => error.place(),
            Self::RtApp(error) => error.place(),
            Self::Setting(error) => error.place(),
            Self::NoTime(file) => Where { key: Some("duration".into()), ..Where::file(file) },
            _ => Where::key("kernel"),
        }
    }
}

impl Placed for CaseError {
    fn place(&self) -> Where {
        match self {
            Self::Unreadable(file, _) => Where::file(file),
            Self::Choice { file, .. } => Where::file(file),
            Self::Value { key, .. } => Where::key(key),
            Self::Input { error, .. } => error.place(),
            _ => Where::default(),
        }
    }
}

impl Placed for SweepError {
    fn place(&self) -> Where {
        match self {
            Self::File(error) => error.place(),
            Self::Case { file, place, error } => Where::place(file, *place).or(error.place()),
            _ => Where::default(),
        }
    }
}

impl Placed for StoreError {
    fn class(&self) -> &'static str {
        "StoreError"
    }

    fn message(&self) -> String {
        self.to_string().replace("--resume", "resume=True")
    }

    fn place(&self) -> Where {
        match self {
            Self::Exists(path)
            | Self::Missing(path)
            | Self::NotAStore(path)
            | Self::Schema { path, .. }
            | Self::Version { path, .. }
            | Self::Busy(path)
            | Self::ReadOnly(path)
            | Self::Full(path)
            | Self::Failing(path)
            | Self::Sqlite { path, .. }
            | Self::Io { path, .. } => Where::file(path.display().to_string()),
            Self::Disagree(which) => Where::file(which.second.display().to_string()),
            _ => Where::default(),
        }
    }
}

/// The exception for an error.
pub(crate) fn raise<E: Placed>(error: &E) -> PyErr {
    exception(error.class(), &error.message(), error.place())
}

/// An exception, whether Python's or of an error of the engine.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl<E: Placed> From<E> for Raised {
    fn from(error: E) -> Self {
        Self(raise(&error))
    }
}

/// The exception for an error of a study.
pub(crate) fn of_study(error: &StudyError) -> PyErr {
    match error {
        StudyError::Case(error) => raise(error),
        StudyError::Store(error) => raise(error),
        StudyError::Workload { error: inner, .. } => {
            exception("InputError", &error.to_string(), inner.place())
        }
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// An exception of the class of this name.
pub(crate) fn exception(class: &str, message: &str, place: Where) -> PyErr {
    Python::attach(|py| {
        let make = || -> PyResult<PyErr> {
            let class = py.import("zerolag.errors")?.getattr(class)?;
            let kwargs = PyDict::new(py);
            kwargs.set_item("file", place.file)?;
            kwargs.set_item("line", place.line)?;
            kwargs.set_item("column", place.column)?;
            kwargs.set_item("key", place.key)?;
            Ok(PyErr::from_value(class.call((message,), Some(&kwargs))?))
        };
        make().unwrap_or_else(|error| error)
    })
}

/// Bad input that only Python can have.
pub(crate) fn input(message: &str, key: &str) -> PyErr {
    exception("InputError", message, Where::key(key))
}
