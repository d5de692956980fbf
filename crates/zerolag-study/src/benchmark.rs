// SPDX-License-Identifier: GPL-2.0-only
//! One of the models alone on a machine, run as its tool runs: again and again, where that raises the load by
//! itself.

use serde_json::{Value, json};
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;
use zerolag_sim::benchmark::{Benchmark, BenchmarkError};
use zerolag_sim::machines::{self, MachineError};
use zerolag_sim::setting::{self, SettingError};
use zerolag_sim::sim::Setup;
use zerolag_sim::workload::model::Outcome;
use zerolag_sim::workload::models::Kind;
use zerolag_sim::workload::options::OptionError;

use crate::report::json::{metrics, ms};

/// What is to be run, and where.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model.
    pub kind: &'static Kind,
    /// The tool's own options.
    pub options: Vec<String>,
    /// The kernel.
    pub kernel: Kernel,
    /// The machine: a name, or a file.
    pub machine: String,
    /// Where chance comes from.
    pub seed: u64,
    /// Settings (see [`setting`]), in order.
    pub settings: Vec<String>,
}

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The tool would not take these options.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// There is no such machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The kernel has no scheduler here.
    #[error("this version does not have the scheduler of Linux {0}; it has: {have}", have = implemented())]
    Kernel(Kernel),
    /// Something cannot be set.
    #[error("--set {0}")]
    Setting(#[from] SettingError),
    /// The model does not fit the machine, or gets stuck.
    #[error(transparent)]
    Benchmark(#[from] BenchmarkError),
}

fn implemented() -> String {
    Kernel::implemented().map(Kernel::name).collect::<Vec<_>>().join(", ")
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    request: Request,
    cpus: usize,
    runs: usize,
    duration: Nanos,
    /// The outcome of the last run.
    pub last: Outcome,
    /// What the tool prints, over all runs.
    pub text: String,
}

impl Request {
    fn setup(&self) -> Result<Setup, RequestError> {
        let topology = machines::open(&self.machine)?;
        let config = self.kernel.config(topology.cpu_count()).ok_or(RequestError::Kernel(self.kernel))?;
        let mut setup = Setup::new(topology, config);
        setup.seed = self.seed;
        for assignment in &self.settings {
            setting::apply(&mut setup, assignment)?;
        }
        Ok(setup)
    }

    /// Runs it. `drive` brings each benchmark to its end, `heard` is told of each outcome.
    ///
    /// # Errors
    /// If it makes no sense, or gets stuck; and those of `drive` and `heard`.
    pub fn run<E: From<RequestError>>(
        self,
        mut drive: impl FnMut(&mut Benchmark) -> Result<(), E>,
        mut heard: impl FnMut(&Outcome) -> Result<(), E>,
    ) -> Result<Report, E> {
        let mut model = self.kind.parse(&self.options).map_err(RequestError::from)?;
        let setup = self.setup()?;
        let cpus = setup.topology.cpu_count();
        let (mut text, mut runs, mut duration) = (String::new(), 0, Nanos::ZERO);
        let last = loop {
            let benchmark = Benchmark::new(model.as_ref(), setup.clone());
            let mut benchmark = benchmark.map_err(|e| RequestError::Benchmark(e.into()))?;
            drive(&mut benchmark)?;
            let outcome = benchmark.outcome().map_err(RequestError::from)?;
            text.push_str(&outcome.text);
            runs += 1;
            duration += Nanos(benchmark.sim.now().0);
            heard(&outcome)?;
            match model.again(&outcome) {
                Some(next) => model = next,
                None => break outcome,
            }
        };
        Ok(Report { request: self, cpus, runs, duration, last, text })
    }
}

impl Report {
    /// As docs/json.md describes it, schema `zerolag.benchmark/1`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "zerolag.benchmark/1",
            "model": self.request.kind.name,
            "options": self.request.options,
            "kernel": self.request.kernel.name(),
            "machine": self.request.machine,
            "cpu_count": self.cpus,
            "seed": self.request.seed,
            "runs": self.runs,
            "duration_ms": ms(self.duration),
            "metrics": metrics(&self.last.metrics),
            "text": self.text,
        })
    }
}
