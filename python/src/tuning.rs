// SPDX-License-Identifier: GPL-2.0-only
//! Tunings: what a file says may be set, and what is to come of it. The search itself is in Python.

use std::collections::BTreeMap;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use zerolag_core::kernel::Kernel;
use zerolag_study::axis::Values;
use zerolag_study::choice::Key;
use zerolag_study::store::Kind;
use zerolag_study::tuning::{self, Constraint};
use zerolag_study::{linux, sweep};

use crate::case::{Case, Outcome, keyed};
use crate::error::raise;
use crate::scenario::NAMELESS;
use crate::sweep::Given;

/// What may be set and what is to come of it, from a file (docs/tuning.md), or a dictionary of the same form whose
/// `scenario` may be a dictionary too. Each axis is checked when it is read.
///
/// Raises:
///     InputError: something in the file makes no sense.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Tuning {
    file: String,
    tuning: tuning::Tuning,
    kernel: Kernel,
    not_modelled: Vec<String>,
}

/// The key; what it may be, if that is a list; else both ends, least first, whether logarithms are spread evenly, and
/// whether they are nanoseconds.
type Axis = (String, Vec<String>, Option<(i64, i64, bool, bool)>);

#[pymethods]
impl Tuning {
    #[new]
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let (file, tuning) = match Given::of(given)? {
            Given::File(path) => (path.display().to_string(), py.detach(|| tuning::read(&path))),
            Given::Text(text, base) => {
                let read = py.detach(|| tuning::parse(NAMELESS, text.as_bytes(), base.as_base()));
                (NAMELESS.to_owned(), read)
            }
        };
        let tuning = tuning.map_err(|e| raise(&e))?;
        let scenario = tuning.baseline.input(None).map_err(|e| raise(&e))?.scenario;
        let (kernel, not_modelled) = (scenario.setup.config.kernel, linux::not_modelled(&scenario.setup));
        Ok(Self { file, tuning, kernel, not_modelled })
    }

    /// Where it is from.
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    /// What may be set, in the order of the file: the key; the values, if they are listed; else the ends of their
    /// range, least first, whether it is logarithmic, and whether it is of nanoseconds.
    #[getter]
    fn axes(&self) -> Vec<Axis> {
        let one = |(key, values): &(Key, Values)| match values {
            Values::Listed(values) => (key.to_string(), values.clone(), None),
            &Values::Range { from, to, log, time } => {
                (key.to_string(), Vec::new(), Some((from.min(to), from.max(to), log, time)))
            }
        };
        self.tuning.axes.iter().map(one).collect()
    }

    /// The scenario as it is.
    #[getter]
    fn baseline(&self) -> Case {
        self.tuning.baseline.clone().into()
    }

    /// How many candidates are tried.
    #[getter]
    fn candidates(&self) -> usize {
        self.tuning.candidates
    }

    /// The seeds of the search.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.tuning.seeds.clone()
    }

    /// The seeds of the confirmation.
    #[getter]
    fn confirm(&self) -> Vec<u64> {
        self.tuning.confirm.clone()
    }

    /// Where the search gets its chance from.
    #[getter]
    fn search_seed(&self) -> u64 {
        self.tuning.search_seed
    }

    /// The kernel of the baseline.
    #[getter]
    fn kernel(&self) -> &'static str {
        self.kernel.name()
    }

    /// What of a real machine the runs do not have, in words.
    #[getter]
    fn not_modelled(&self) -> Vec<String> {
        self.not_modelled.clone()
    }

    /// The scenario with this chosen.
    fn candidate(&self, choices: BTreeMap<String, String>) -> PyResult<Case> {
        self.tuning.candidate(keyed(choices)?).map(Case::from).map_err(|e| raise(&e))
    }

    /// What is to come of it, given what a run of the baseline came to.
    fn targets(&self, baseline: &Outcome) -> PyResult<Targets> {
        let kind = |m: &zerolag_sim::workload::model::Metric| Kind {
            name: m.name.clone(),
            unit: m.unit.to_string(),
            better: m.better,
        };
        let kinds: Vec<Kind> = baseline.0.metrics.iter().map(kind).collect();
        self.tuning.targets(&kinds).map(Targets).map_err(|e: sweep::SweepError| raise(&e))
    }

    /// A shell script that sets on a Linux machine what is chosen.
    fn commands(&self, choices: BTreeMap<String, String>) -> PyResult<String> {
        let choices = keyed(choices)?;
        let chosen = choices.get(&Key::Kernel).and_then(|name| Kernel::by_name(name));
        Ok(linux::script(chosen.unwrap_or(self.kernel), &choices))
    }
}

/// What is to come of a tuning.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Targets(tuning::Targets);

#[pymethods]
impl Targets {
    /// Figures that are to be as good as can be: name, unit, and which way is better.
    #[getter]
    fn objectives(&self) -> Vec<(String, String, &'static str)> {
        let one = |kind: &Kind| (kind.name.clone(), kind.unit.clone(), kind.better.name());
        self.0.objectives.iter().map(one).collect()
    }

    /// Figures that have to keep a bound: name, unit, in which way, and how much, in the figure's unit or percent.
    #[getter]
    fn constraints(&self) -> Vec<(String, String, &'static str, f64)> {
        let one = |c: &Constraint| (c.kind.name.clone(), c.kind.unit.clone(), c.limit.name(), c.bound);
        self.0.constraints.iter().map(one).collect()
    }

    /// By how much a figure breaks constraint number `at`, as a part of its bound; 0 or less if it does not.
    fn violation(&self, at: usize, figure: f64, baseline: f64) -> PyResult<f64> {
        let constraint = self.0.constraints.get(at);
        let constraint = constraint.ok_or_else(|| PyIndexError::new_err("there is no such constraint"))?;
        Ok(constraint.violation(figure, baseline))
    }
}
