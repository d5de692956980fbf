// SPDX-License-Identifier: GPL-2.0-only
//! What a single run comes to: figures for each task, group and CPU.
//!
//! [`Watcher`] listens to the run, [`Report`] is what it has seen; [`Report::to_json`] is the form that
//! docs/json.md describes.

pub mod json;
pub mod rows;

use std::collections::BTreeMap;
use std::fmt;

use zerolag_core::balance::counts::NohzCounts;
use zerolag_core::event::SchedEvent;
use zerolag_core::fair::bandwidth::BandwidthStat;
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::Conservation;
use zerolag_sim::scenario::{ModelPart, Scenario, Watches};
use zerolag_sim::sim::{Clock, Observer, Sim, Stop};
use zerolag_sim::workload::model::Outcome;
use zerolag_trace::metrics::{Metrics, Summary, TaskFigures};

use rows::{ROWS_MAX, Row, ancestors};

/// What is known of a task beside its figures.
#[derive(Clone, Debug)]
pub struct TaskName {
    /// Its name.
    pub name: String,
    /// What it was made from.
    pub template: String,
    /// The path of its group at the end.
    pub group: String,
}

/// A run that is over.
#[derive(Debug)]
pub struct Report {
    /// What ran, as the user named it.
    pub input: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The machine by its name; nothing if the input describes it.
    pub machine: Option<String>,
    /// How many CPUs it has.
    pub cpus: usize,
    /// Where chance came from.
    pub seed: u64,
    /// Simulated time.
    pub duration: Nanos,
    /// Why it ended.
    pub end: End,
    /// All tasks that there have been.
    pub tasks: BTreeMap<TaskId, TaskName>,
    /// What tasks and CPUs did.
    pub summary: Summary,
    /// What the models among the workloads say.
    pub models: Vec<(ModelPart, Outcome)>,
    /// Time during which CPUs idled beside waiting tasks.
    pub conservation: Conservation,
    /// The clocks that have levels.
    pub clocks: Vec<Clock>,
    /// What balancing for idle CPUs did.
    pub nohz: NohzCounts,
    /// Groups with a limit of CPU time, now or earlier, by their path: what `cpu.stat` would say.
    pub limited: Vec<(String, BandwidthStat)>,
    /// The scheduler's state at some moments.
    pub dumps: Vec<Dumped>,
}

/// What a kernel's file would have shown at some moment.
#[derive(Clone, Debug)]
pub struct Dumped {
    /// When.
    pub time: Instant,
    /// The task whose file it is; nothing = the run queues.
    pub task: Option<String>,
    /// What it would have shown.
    pub text: String,
}

impl fmt::Display for Dumped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            Some(task) => writeln!(f, "At {}, {task}:\n\n{}", self.time, self.text),
            None => writeln!(f, "At {}:\n\n{}", self.time, self.text),
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The time was up.
    Duration,
    /// The models were over, and there was nothing else to wait for.
    Models,
    /// All tasks had ended.
    Finished,
    /// All tasks waited for each other.
    Deadlock,
    /// A task went on without time passing.
    Livelock,
}

impl End {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Models => "models",
            Self::Finished => "finished",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
        }
    }
}

/// Listens to a run for its report.
#[derive(Debug)]
pub struct Watcher {
    metrics: Metrics,
    conservation: Conservation,
}

impl Watcher {
    /// Before anything has happened.
    pub fn new(sim: &Sim) -> Self {
        Self { metrics: Metrics::new(), conservation: Conservation::new(sim.scheduler()) }
    }

    /// To be told of each event, with the simulation at that time.
    pub fn event(&mut self, event: &SchedEvent, sim: &Sim) {
        self.metrics.feed(event);
        self.conservation.event(event, sim.scheduler());
    }

    /// The report, when the run is over. `machine` is what the user calls it.
    pub fn finish(
        mut self,
        scenario: &Scenario,
        machine: Option<String>,
        sim: &Sim,
        watches: Watches,
        dumps: Vec<Dumped>,
    ) -> Report {
        self.metrics.advance(sim.now());
        self.conservation.advance(sim.now());
        let name = |task| {
            let group = sim.scheduler().tasks()[task].group;
            let name = TaskName {
                name: sim.task_name(task),
                template: sim.workload().templates[sim.template_of(task)].name.clone(),
                group: sim.workload().groups[group].path.clone(),
            };
            (task, name)
        };
        let setup = &scenario.setup;
        Report {
            input: scenario.file.clone(),
            kernel: setup.config.kernel.name(),
            machine,
            cpus: setup.topology.cpu_count(),
            seed: setup.seed,
            duration: Nanos(sim.now().0),
            end: match sim.stop() {
                None if !watches.wants_more() => End::Models,
                None => End::Duration,
                Some(Stop::Finished) => End::Finished,
                Some(Stop::Deadlock(_)) => End::Deadlock,
                Some(Stop::Livelock { .. }) => End::Livelock,
            },
            tasks: (0..sim.task_count()).map(TaskId::from_index).map(name).collect(),
            summary: self.metrics.summary(),
            conservation: self.conservation,
            clocks: sim.clocks().to_vec(),
            nohz: sim.scheduler().nohz().counts.clone(),
            limited: limited(sim),
            models: watches.finish(sim.now()),
            dumps,
        }
    }
}

/// The counters of all groups that have, or had, a limit.
fn limited(sim: &Sim) -> Vec<(String, BandwidthStat)> {
    let groups = sim.workload().groups.iter();
    let stats = groups.map(|(id, spec)| (spec, &sim.scheduler().groups()[id].bandwidth));
    let limited = stats.filter(|(_, b)| b.quota.is_some() || b.stat != BandwidthStat::default());
    limited.map(|(spec, b)| (spec.path.clone(), b.stat)).collect()
}

impl Report {
    /// The fraction of one CPU's time.
    pub fn share(&self, figures: &TaskFigures) -> f64 {
        if self.duration == Nanos::ZERO { 0.0 } else { figures.run().0 as f64 / self.duration.0 as f64 }
    }

    /// A row for each task, or if there are too many of them, for each template and group.
    pub fn task_rows(&self) -> Vec<Row> {
        if self.tasks.len() > ROWS_MAX {
            return self.added_up(|task| vec![(task.template.clone(), task.group.clone())]);
        }
        let known = self.tasks.iter();
        known
            .map(|(id, task)| Row {
                name: task.name.clone(),
                group: task.group.clone(),
                tasks: 1,
                figures: self.summary.tasks.get(id).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// A row for each group. Its figures are those of everybody below it.
    pub fn group_rows(&self) -> Vec<Row> {
        self.added_up(|task| ancestors(&task.group).map(|path| (String::new(), path.to_owned())).collect())
    }

    fn added_up(&self, keys: impl Fn(&TaskName) -> Vec<(String, String)>) -> Vec<Row> {
        rows::added_up(self.tasks.keys().copied(), &self.summary, |task| keys(&self.tasks[&task]))
    }
}
