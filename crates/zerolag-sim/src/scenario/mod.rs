// SPDX-License-Identifier: GPL-2.0-only
//! Scenario files: a machine, a kernel, a workload and what happens to it, in TOML.
//!
//! ```toml
//! about = "two hogs in groups of different weight, and a periodic task"
//! kernel = "6.12"            # else 6.12
//! machine = "2cpu"           # a preset, or a file
//! duration = "10s"
//! seed = 1                   # else 1
//! hz = 250                   # else 250
//! costs = "x86-server"       # else ideal; or a table with preset and single costs
//! stagger_ticks = true       # else all CPUs tick at once
//! ties = 7                   # events of the same moment in random order; "seed": drawn from the seed
//! speed = [{ cpus = "1", percent = 50 }]
//! partitions = ["0"]         # CPUs that are balanced among themselves only, as in an exclusive cpuset
//! isolated = "1"             # CPUs that are not balanced at all
//! runnable_per_node = "1s"   # studies also say how many tasks are runnable on each node, over such pieces of time
//!
//! [[frequency]]              # else all CPUs always run at their nominal speed
//! cpus = "0-1"               # those that share a clock
//! levels = [500, 1000, 2000] # MHz, ascending; at the last they have their capacity
//! governor = "schedutil"     # or "fixed", which is the default
//! level = 1000               # at first; else the greatest if fixed, the least if not
//! rate_limit = "1ms"         # of schedutil: no change sooner after another
//!
//! [features]
//! RUN_TO_PARITY = false
//!
//! [tunables]
//! base_slice = "3ms"
//!
//! [cgroup."/a"]
//! "cpu.weight" = 200         # or cpu.shares; cpu.idle = 1; "cpu.latency.nice" = -5 in kernels that have it (eevdf-rfc)
//! "cpu.max" = "50000 100000" # microseconds of CPU time in each period, or "max"; cpu.max.burst = 20000
//!
//! [[workload]]
//! kind = "hog"
//! name = "hog"
//! count = 2
//! cgroup = "/a"
//! cpus = "0"
//! nice = 5
//! policy = "batch"
//! latency_nice = 0           # other levels where the kernel has them (eevdf-rfc)
//! slice = "3ms"
//! start = "1s"
//!
//! [[workload]]
//! name = "server"
//! program = """
//! forever { acquire requests; run exponential(1ms) }
//! """
//!
//! [[workload]]
//! name = "client"
//! timer_slack = "1us"
//! program = "forever { sleep 10ms; post requests }"
//!
//! [[workload]]
//! model = "schbench"
//! options = "-m 2 -t 4 -r 10"
//!
//! [[at]]
//! time = "5s"
//! task = [{ match = "hog*", nice = 0 }] # or policy, slice, latency_nice, cpus, cgroup
//! offline = "1"              # and "online"; "partitions" and "isolated"; frequency = [{ cpus = "0-1", level = 500 }]
//! ```
//!
//! Some kernels leave a choice that `[rules]` makes: see [`crate::rule`]. Clocks: [`crate::frequency`].
//! Kinds of workload: see [`tasks`]; benchmarks: [`models`]; programs: [`language`]; what programs share: [`names`]; changes at given
//! times: [`changes`]. Durations always have a unit. Keys that mean nothing are errors, and every error says
//! where it is and what would be accepted.

pub(crate) mod attributes;
pub mod changes;
mod error;
pub(crate) mod groups;
pub mod language;
pub mod models;
pub mod names;
pub mod section;
pub(crate) mod setup;
pub mod tasks;

use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};

pub(crate) use error::DidYouMean;
pub use error::{Fault, ScenarioError, nearest};
pub use models::{ModelPart, Watches};
pub use setup::Files;
pub use tasks::RtAppPart;

use self::names::Names;
use self::section::{Section, Source};
use crate::machines::Place;
use crate::sim::{Change, RecordedError, Setup, Sim};
use crate::workload::Workload;

/// The duration of a scenario that ends when its models are over, whenever that is.
pub const UNTIL_OVER: Nanos = Nanos(u64::MAX);

/// Everything that a scenario file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file.
    pub file: String,
    /// How long it is to run; [`UNTIL_OVER`] if until all models are.
    pub duration: Nanos,
    /// The machine and its scheduler.
    pub setup: Setup,
    /// Over pieces of time so long, studies say how many tasks are runnable on each node.
    pub runnable_per_node: Option<Nanos>,
    /// What runs.
    pub workload: Workload,
    /// What is changed, and when.
    pub changes: Vec<(Instant, Change)>,
    /// Which of it comes from rt-app files, for their logs.
    pub rtapps: Vec<RtAppPart>,
    /// Which of it are benchmarks.
    pub models: Vec<ModelPart>,
}

/// What somebody else has said already; it takes precedence over the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The kernel.
    pub kernel: Option<Kernel>,
    /// The machine.
    pub machine: Option<Topology>,
    /// How long it is to run.
    pub duration: Option<Nanos>,
    /// Where chance comes from.
    pub seed: Option<u64>,
}

/// Reads a scenario. Other files that it refers to are got from `files`.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(
    file: &str,
    bytes: &[u8],
    overrides: &Overrides,
    files: Files<'_>,
) -> Result<Scenario, ScenarioError> {
    let source = Source::new(file, bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the scenario", parsed.get_ref(), 0..0);
    root.text("about")?;
    let setup = setup::read(&root, overrides, files)?;
    let runnable_per_node = root.get("runnable_per_node").map(|entry| entry.some_time()).transpose()?;
    let duration = match (overrides.duration, root.get("duration")) {
        (Some(duration), _) => duration,
        (None, Some(entry)) => entry.some_time()?,
        (None, None) => UNTIL_OVER,
    };
    let mut workload = Workload::new();
    let mut names = Names::default();
    groups::read(&root, &setup.config, &mut workload)?;
    names.declare(&root, &mut workload)?;
    let (rtapps, models) = tasks::read(&root, &setup, files, &mut names, &mut workload)?;
    let duration = match duration {
        UNTIL_OVER if models.is_empty() => root.need("duration", crate::duration::ACCEPTED)?.some_time()?,
        UNTIL_OVER => models::all_over(&models).map_or(UNTIL_OVER, |end| Nanos(end.0)),
        other => other,
    };
    let changes = changes::read(&root, &setup, &workload)?;
    root.finish()?;
    Ok(Scenario { file: file.into(), duration, setup, runnable_per_node, workload, changes, rtapps, models })
}

impl Scenario {
    /// Who watches its models, from the beginning.
    pub fn watches(&self) -> Watches {
        Watches::new(&self.models, self.duration == UNTIL_OVER)
    }

    /// The machine, switched on.
    ///
    /// # Errors
    /// If the workload cannot run on it.
    pub fn simulate(&self) -> Result<Sim, ScenarioError> {
        let mut sim = Sim::new(self.setup.clone(), self.workload.clone()).map_err(|e| ScenarioError {
            file: self.file.clone(),
            place: Place::default(),
            fault: Box::new(e.into()),
        })?;
        self.schedule_changes(&mut sim);
        Ok(sim)
    }

    /// The same, with what the scheduler is asked to do written down as an event script.
    ///
    /// # Errors
    /// As [`Sim::recorded`].
    pub fn simulate_recorded(&self) -> Result<Sim, RecordedError> {
        let mut sim = Sim::recorded(self.setup.clone(), self.workload.clone())?;
        self.schedule_changes(&mut sim);
        Ok(sim)
    }

    fn schedule_changes(&self, sim: &mut Sim) {
        for (at, change) in &self.changes {
            sim.change_at(*at, change.clone());
        }
    }
}

#[cfg(test)]
mod tests;
