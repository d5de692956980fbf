// SPDX-License-Identifier: GPL-2.0-only
//! Benchmarks, with the tools' own options.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use zerolag_sim::benchmark::Benchmark as Simulated;
use zerolag_sim::input::RTAPP_MACHINE;
use zerolag_sim::workload::models;
use zerolag_study::benchmark::{Report, Request};

use crate::error::{self, Raised};
use crate::follow::{Pulse, Watching};
use crate::scenario;

/// A benchmark that is over.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Benchmark(Report);

/// Run a benchmark alone on a machine, by its own options.
///
/// Args:
///     model: "schbench", "hackbench", ... (see docs/workloads.md).
///     options: the tool's own, as on its command line: ["-m", "2", "-t", "4", "-r", "10"].
///     kernel: the kernel whose scheduler runs it.
///     machine: a name, Ncpu for N equal CPUs, or a file; two equal CPUs without.
///     seed: where chance comes from.
///     set: features (True or False), tunables and costs ("3ms", or numbers), hz, costs, by name.
///     progress: as for `run`.
///
/// Other threads run meanwhile, and Ctrl-C ends it.
///
/// Raises:
///     InputError: the tool would not take these options, or something beside them makes no sense.
///     StuckError: it came to a deadlock, or went on and on without time passing.
#[pyfunction]
#[pyo3(signature = (model, options=Vec::new(), *, kernel="6.12", machine=None, seed=1, set=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn benchmark(
    py: Python<'_>,
    model: &str,
    options: Vec<String>,
    kernel: &str,
    machine: Option<PathBuf>,
    seed: u64,
    set: Option<&Bound<'_, PyMapping>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Benchmark> {
    let kind = models::by_name(model).map_err(|e| error::input(&e.to_string(), "model"))?;
    let request = Request {
        kind,
        options,
        kernel: scenario::kernel(kernel)?,
        machine: machine.map_or_else(|| RTAPP_MACHINE.to_owned(), |m| m.display().to_string()),
        seed,
        settings: scenario::settings(set)?,
    };
    let drive = |benchmark: &mut Simulated| -> Result<(), Raised> {
        let progress = progress.as_ref().map(|p| Python::attach(|py| p.clone_ref(py)));
        let mut pulse = Pulse::until(progress, benchmark.end);
        let mut watching = Watching { watch: benchmark.watch.as_mut(), pulse: &mut pulse, outcome: Ok(()) };
        benchmark.sim.run_until(benchmark.end, &mut watching);
        watching.outcome?;
        pulse.tell(benchmark.sim.now().0)?;
        Ok(())
    };
    let report = py.detach(|| request.run(drive, |_| Ok(()))).map_err(|Raised(error)| error)?;
    Ok(Benchmark(report))
}

#[pymethods]
impl Benchmark {
    /// What the tool prints.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// Its figures by name; units are in `report["metrics"]`.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let metrics = PyDict::new(py);
        self.0.last.metrics.iter().try_for_each(|m| metrics.set_item(&m.name, m.value))?;
        Ok(metrics.unbind())
    }

    /// All of it as a dictionary, schema zerolag.benchmark/1.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// What the command prints with --json, byte for byte.
    fn to_json(&self) -> String {
        format!("{:#}\n", self.0.to_json())
    }
}
