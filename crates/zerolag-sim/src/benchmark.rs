// SPDX-License-Identifier: GPL-2.0-only
//! Runs a workload model alone on a machine and says how it went.
//!
//! ```
//! use zerolag_core::kernel::Kernel;
//! use zerolag_core::topology::Topology;
//! use zerolag_sim::benchmark::run;
//! use zerolag_sim::sim::Setup;
//! use zerolag_sim::workload::schbench::Classic;
//!
//! let model = Classic::parse(&["-m", "1", "-t", "2", "-r", "1"])?;
//! let topology = Topology::preset("2cpu")?;
//! let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
//! let outcome = run(&model, Setup::new(topology, config))?;
//! assert!(outcome.text.starts_with("Latency percentiles (usec)\n\t50.0000th: "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;

use crate::note::Note;
use crate::sim::{Observer, Setup, Sim, Stop};
use crate::workload::model::{Model, Outcome, Place, Watch};
use crate::workload::{Workload, WorkloadError};

/// Lets a [`Watch`] listen to a simulation.
#[derive(Debug)]
pub struct Watching<'a>(pub &'a mut dyn Watch);

impl Observer for Watching<'_> {
    fn event(&mut self, event: &SchedEvent) {
        self.0.event(event);
    }

    fn note(&mut self, note: &Note) {
        self.0.note(note);
    }

    fn wants_more(&self) -> bool {
        !self.0.is_over()
    }
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkError {
    /// The model does not fit the machine.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// It got stuck.
    #[error("the benchmark got stuck: {}", why(.0))]
    Stuck(Stop),
}

fn why(stop: &Stop) -> String {
    match stop {
        Stop::Finished => "it is over".into(),
        Stop::Deadlock(waits) => waits.iter().map(|wait| format!("{wait}; ")).collect(),
        Stop::Livelock { name, at, .. } => format!("{name} takes no time, at operation {at} of its program"),
    }
}

/// A model on a machine that has been switched on.
#[derive(Debug)]
pub struct Benchmark {
    /// The machine.
    pub sim: Sim,
    /// Who watches the model's tasks.
    pub watch: Box<dyn Watch>,
    /// When it is to end at the latest.
    pub end: Instant,
}

impl Benchmark {
    /// The model alone on a machine.
    ///
    /// # Errors
    /// If it does not fit the machine.
    pub fn new(model: &dyn Model, setup: Setup) -> Result<Self, WorkloadError> {
        let mut workload = Workload::new();
        let watch = model.add(&mut workload, &Place::on(&setup.topology));
        let end = model.run_time().map_or(Instant::MAX, |span| Instant::ZERO + span);
        Ok(Self { sim: Sim::new(setup, workload)?, watch, end })
    }

    /// How it went, after the machine has run to the end.
    ///
    /// # Errors
    /// [`BenchmarkError::Stuck`] if it got stuck.
    pub fn outcome(&mut self) -> Result<Outcome, BenchmarkError> {
        match self.sim.stop() {
            None | Some(Stop::Finished) => Ok(self.watch.finish(self.sim.now())),
            Some(stop) => Err(BenchmarkError::Stuck(stop.clone())),
        }
    }
}

/// Runs a model to its end. One that would not end by itself must say how long it runs.
///
/// # Errors
/// [`BenchmarkError`] if it does not fit the machine or gets stuck.
pub fn run(model: &dyn Model, setup: Setup) -> Result<Outcome, BenchmarkError> {
    let mut benchmark = Benchmark::new(model, setup)?;
    benchmark.sim.run_until(benchmark.end, &mut Watching(benchmark.watch.as_mut()));
    benchmark.outcome()
}
