// SPDX-License-Identifier: GPL-2.0-only
//! Cases: a workload and what is chosen beside it; and what comes of one run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use zerolag_sim::workload::model::{Better, Metric};
use zerolag_study::VERSION;
use zerolag_study::case::{self, Beside, Contents, Sealed};
use zerolag_study::choice::Key;
use zerolag_study::run::{self, End};

use crate::error::{self, exception, raise};
use crate::follow::Pulse;
use crate::scenario::{self, NAMELESS};

/// A workload and what is chosen beside it: everything about a run but its seed.
///
/// It is checked when it is made, and reads its files then. It can be pickled, with everything that it depends
/// on, and is equal to a case of the same hash.
///
/// Args:
///     scenario, kernel, machine, duration, set, choices: as for `run`.
///
/// Raises:
///     InputError: something in the scenario, or chosen beside it, makes no sense.
#[pyclass(frozen, module = "zerolag", from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct Case(pub(crate) Arc<Sealed>);

impl From<Sealed> for Case {
    fn from(sealed: Sealed) -> Self {
        Self(Arc::new(sealed))
    }
}

impl Case {
    /// From what a user gives: a path, a dictionary, or another case to choose more for.
    pub(crate) fn of(given: &Bound<'_, PyAny>, chosen: BTreeMap<Key, String>) -> PyResult<Self> {
        let mut case = if let Ok(case) = given.cast::<Self>() {
            if chosen.is_empty() {
                return Ok(case.get().clone());
            }
            case.get().0.case().clone()
        } else if let Ok(mapping) = given.cast::<PyMapping>() {
            let text = scenario::text(mapping)?;
            let beside = Beside::Directory(PathBuf::new());
            case::Case {
                file: NAMELESS.into(),
                bytes: text.into_bytes().into(),
                beside,
                choices: BTreeMap::new(),
            }
        } else if let Ok(path) = given.extract::<PathBuf>() {
            case::Case::of_file(&path).map_err(|e| raise(&e))?
        } else {
            let kind = given.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a scenario is a path, a dict or a Case, not a {kind}"
            )));
        };
        case.choices.extend(chosen);
        given.py().detach(|| case.seal()).map(Self::from).map_err(|e| raise(&e))
    }
}

/// Choices from keyword arguments.
pub(crate) fn choices(
    kernel: Option<&str>,
    machine: Option<PathBuf>,
    duration: Option<&str>,
    set: Option<&Bound<'_, PyMapping>>,
    choices: Option<&Bound<'_, PyMapping>>,
) -> PyResult<BTreeMap<Key, String>> {
    let mut chosen = keyed(scenario::pairs(choices, "choices")?)?;
    let named = [
        (Key::Kernel, kernel.map(str::to_owned)),
        (Key::Machine, machine.map(|m| m.display().to_string())),
        (Key::Duration, duration.map(str::to_owned)),
    ];
    let named = named.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    let settings = scenario::pairs(set, "set")?.into_iter().map(|(name, value)| (Key::Set(name), value));
    for (key, value) in named.chain(settings) {
        let text = key.to_string();
        if chosen.insert(key, value).is_some() {
            return Err(error::input(&format!("{text} is chosen twice"), &text));
        }
    }
    Ok(chosen)
}

/// Choices by what their keys mean.
pub(crate) fn keyed(choices: impl IntoIterator<Item = (String, String)>) -> PyResult<BTreeMap<Key, String>> {
    let one = |(key, value): (String, String)| {
        let parsed: Key = key.parse().map_err(|e| error::input(&format!("{e}"), &key))?;
        Ok((parsed, value))
    };
    choices.into_iter().map(one).collect()
}

#[pymethods]
impl Case {
    #[new]
    #[pyo3(signature = (scenario, *, kernel=None, machine=None, duration=None, set=None, choices=None))]
    fn new(
        scenario: &Bound<'_, PyAny>,
        kernel: Option<&str>,
        machine: Option<PathBuf>,
        duration: Option<&str>,
        set: Option<&Bound<'_, PyMapping>>,
        choices: Option<&Bound<'_, PyMapping>>,
    ) -> PyResult<Self> {
        Self::of(scenario, self::choices(kernel, machine, duration, set, choices)?)
    }

    /// The file's name; "dict" for a scenario that was given as one.
    #[getter]
    fn file(&self) -> &str {
        &self.0.case().file
    }

    /// What is in the file: what lines in messages are those of.
    #[getter]
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.case().bytes).into_owned()
    }

    /// What is chosen, by key.
    #[getter]
    fn choices(&self) -> BTreeMap<String, String> {
        self.0.case().choices.iter().map(|(key, value)| (key.to_string(), value.clone())).collect()
    }

    /// Everything that its runs depend on but the seed and zerolag itself, as JSON that names files by hash.
    #[getter]
    fn inputs(&self) -> &str {
        self.0.inputs()
    }

    /// SHA-256 of the inputs, in hexadecimal.
    #[getter]
    fn hash(&self) -> &str {
        self.0.hash()
    }

    /// Run it, for figures that can be compared and kept in a store. `zerolag.run` says more about a single run.
    ///
    /// Other threads run meanwhile, and Ctrl-C ends it.
    fn run(&self, py: Python<'_>, seed: u64) -> PyResult<Outcome> {
        let input = self.0.input(seed).map_err(|e| raise(&e))?;
        let (mut pulse, mut signal) = (Pulse::new(None, None), Ok(()));
        let outcome = py.detach(|| {
            run::run(&input, &mut || {
                signal = pulse.look(0);
                signal.is_ok()
            })
        });
        signal?;
        let outcome = outcome.map_err(|e| raise(&e))?;
        outcome.map(Outcome::from).ok_or_else(|| PyValueError::new_err("the run was given up"))
    }

    fn __repr__(&self) -> String {
        let case = self.0.case();
        let chosen = case.chosen();
        format!("<zerolag.Case {}{}{chosen}>", case.file, if chosen.is_empty() { "" } else { ": " })
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.hash() == other.0.hash()
    }

    fn __hash__(&self) -> u64 {
        // Hexadecimal digits of SHA-256 are as good as random.
        self.0.hash().get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, CaseState<'py>)> {
        let py = slf.py();
        let case = slf.get().0.portable();
        let files = PyDict::new(py);
        if let Beside::Contents(contents) = &case.beside {
            for (name, bytes) in contents {
                files.set_item(name, PyBytes::new(py, bytes))?;
            }
        }
        let choices = slf.get().choices();
        let state = (VERSION, case.file, PyBytes::new(py, &case.bytes), files, choices);
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    #[staticmethod]
    fn _restore(
        py: Python<'_>,
        version: &str,
        file: String,
        bytes: &[u8],
        files: BTreeMap<String, Vec<u8>>,
        choices: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        same_version(version)?;
        let files: Contents = files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        let choices = keyed(choices)?;
        let case = case::Case { file, bytes: bytes.into(), beside: Beside::Contents(files), choices };
        py.detach(|| case.seal()).map(Self::from).map_err(|e| raise(&e))
    }
}

type CaseState<'py> =
    (&'static str, String, Bound<'py, PyBytes>, Bound<'py, PyDict>, BTreeMap<String, String>);

/// Refuses what another version made: versions may come to different results.
fn same_version(version: &str) -> PyResult<()> {
    if version == VERSION {
        return Ok(());
    }
    let message = format!("made by zerolag {version}; this is zerolag {VERSION}, and versions are not mixed");
    Err(exception("VersionError", &message, error::Where::default()))
}

/// What came of a run. It can be pickled.
#[pyclass(frozen, eq, module = "zerolag", from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome(pub(crate) run::Outcome);

impl From<run::Outcome> for Outcome {
    fn from(outcome: run::Outcome) -> Self {
        Self(outcome)
    }
}

/// Version, end, rows.
type OutcomeState = (&'static str, &'static str, Vec<Row>);

/// Name, unit, which way is better, value.
type Row = (String, String, String, f64);

#[pymethods]
impl Outcome {
    /// Why it ended: "duration", "finished", "deadlock", "livelock".
    #[getter]
    fn end(&self) -> &'static str {
        self.0.end.name()
    }

    /// Figures, in the order in which they are worth showing: name, unit, which way is better ("lower", "higher",
    /// "neither"), value.
    #[getter]
    fn rows(&self) -> Vec<Row> {
        let row = |m: &Metric| (m.name.clone(), m.unit.to_string(), m.better.name().to_owned(), m.value);
        self.0.metrics.iter().map(row).collect()
    }

    /// Figures by name; units are in `rows`.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let metrics = PyDict::new(py);
        self.0.metrics.iter().try_for_each(|m| metrics.set_item(&m.name, m.value))?;
        Ok(metrics.unbind())
    }

    fn __repr__(&self) -> String {
        format!("<zerolag.Outcome {}: {} metrics>", self.0.end, self.0.metrics.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, OutcomeState)> {
        let this = slf.get();
        Ok((slf.get_type().getattr("_restore")?, (VERSION, this.end(), this.rows())))
    }

    #[staticmethod]
    fn _restore(version: &str, end: &str, rows: Vec<Row>) -> PyResult<Self> {
        same_version(version)?;
        let unknown = |what: &str| PyValueError::new_err(format!("'{what}' means nothing in an outcome"));
        let end = End::ALL.into_iter().find(|e| e.name() == end).ok_or_else(|| unknown(end))?;
        let metric = |(name, unit, better, value): Row| {
            let found = Better::ALL.into_iter().find(|b| b.name() == better);
            Ok(Metric { name, unit: unit.into(), better: found.ok_or_else(|| unknown(&better))?, value })
        };
        let metrics = rows.into_iter().map(metric).collect::<PyResult<_>>()?;
        Ok(Self(run::Outcome { end, metrics }))
    }
}
