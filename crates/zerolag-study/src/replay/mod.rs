// SPDX-License-Identifier: GPL-2.0-only
//! Recordings beside their replays: what was measured beside what was simulated, task by task.

mod change;
mod json;
mod recording;
mod request;
mod verdict;

use std::collections::BTreeMap;

use zerolag_core::ids::{GroupId, Id, TaskId};
use zerolag_core::units::Nanos;
use zerolag_sim::replay::Replay;
use zerolag_sim::sim::Sim;
use zerolag_sim::workload::TemplateId;
use zerolag_trace::metrics::{Distribution, Summary, TaskFigures};

pub use self::change::{Change, ChangeError};
pub use self::recording::{Recording, RecordingError, recorded};
pub use self::request::{ContextFile, Heard, ReplayError, Request};
pub use self::verdict::Verdict;

/// Figures of one task in one schedule.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// CPU time.
    pub run: Nanos,
    /// CPU time over the time recorded.
    pub share: f64,
    /// How often it got a CPU.
    pub switches: u64,
    /// How often it lost one.
    pub preempted: u64,
    /// From wake-up to running.
    pub wakeup: Distribution,
    /// What came out in each repetition, this one first, where there were several.
    pub repeated: Vec<Self>,
}

impl Figures {
    fn new(f: &TaskFigures, duration: Nanos, has_wakeups: bool) -> Self {
        Self {
            run: f.run(),
            share: f.run().0 as f64 / duration.0 as f64,
            // Recordings lose one end of a stay on a CPU, or the other.
            switches: f.switches_in.max(f.voluntary + f.preempted),
            preempted: f.preempted,
            wakeup: if has_wakeups { f.wakeup.clone() } else { f.waking.clone() },
            repeated: Vec::new(),
        }
    }

    /// The least, the middle and the largest share of all repetitions, if there were several.
    pub fn range(&self) -> Option<[f64; 3]> {
        let mut shares: Vec<f64> = self.repeated.iter().map(|f| f.share).collect();
        shares.sort_by(f64::total_cmp);
        Some([*shares.first()?, shares[shares.len() / 2], *shares.last()?])
    }
}

/// A replay, and what came out of it.
#[derive(Debug)]
struct Replayed {
    replay: Replay,
    tasks: BTreeMap<TaskId, Figures>,
    /// What came out when it was repeated.
    again: Vec<BTreeMap<TaskId, Figures>>,
}

impl Replayed {
    /// What came out of a simulation.
    fn new(replay: Replay, sim: &Sim, summary: &Summary, has_wakeups: bool) -> Self {
        let tasks = (0..sim.task_count()).map(TaskId::from_index);
        let of = |task: TaskId| {
            let figures = summary.tasks.get(&task)?;
            Some((replay.recorded(sim, task), Figures::new(figures, replay.duration, has_wakeups)))
        };
        Self { tasks: tasks.filter_map(of).collect(), again: Vec::new(), replay }
    }

    /// Adds a repetition.
    fn repeat(&mut self, again: Self) {
        self.again.push(again.tasks);
    }

    /// Figures by recorded task: those of the first time, with those of all.
    fn of(&self, task: TaskId) -> Figures {
        let of = |tasks: &BTreeMap<TaskId, Figures>| tasks.get(&task).cloned().unwrap_or_default();
        let mut figures = of(&self.tasks);
        if !self.again.is_empty() {
            figures.repeated = std::iter::once(&self.tasks).chain(&self.again).map(of).collect();
        }
        figures
    }
}

/// One task of the recording.
#[derive(Debug)]
pub struct Task {
    id: TaskId,
    /// Its name.
    pub comm: String,
    /// Its number.
    pub pid: u32,
    /// The path of its group.
    pub group: String,
    /// As recorded.
    pub measured: Figures,
    /// As asked as a whole.
    pub simulated: Figures,
    /// As recorded, where that is something else.
    pub as_recorded: Option<Figures>,
    /// With each of the changes.
    pub what_if: Vec<Figures>,
}

impl Task {
    /// As recorded.
    pub fn baseline(&self) -> &Figures {
        self.as_recorded.as_ref().unwrap_or(&self.simulated)
    }
}

/// A recording beside its replays.
#[derive(Debug)]
pub struct Comparison {
    /// Where the recording came from.
    pub input: String,
    /// The kernel that replayed it.
    pub kernel: &'static str,
    /// On how many CPUs.
    pub cpus: usize,
    /// From the first to the last event.
    pub duration: Nanos,
    /// How many events the recording has.
    pub events: u64,
    /// In the order in which they appear in the recording; those that never had a CPU are left out.
    pub tasks: Vec<Task>,
    /// What the changes are called.
    pub changes: Vec<String>,
    /// What is odd about the replay as asked.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// A recording beside a replay as asked.
    fn new(recording: &Recording, replayed: &Replayed) -> Self {
        let replay = &replayed.replay;
        let mut tasks = Vec::new();
        for (id, task) in recording.tasks.iter() {
            let of = |f: &TaskFigures| Figures::new(f, replay.duration, recording.has_wakeups);
            let measured = recording.summary.tasks.get(&id).map(of).unwrap_or_default();
            let simulated = replayed.of(id);
            if measured.switches + simulated.switches == 0 && measured.run == Nanos::ZERO {
                continue;
            }
            let template = replay.workload.templates.get(TemplateId::from_index(id.index()));
            let group = template.and_then(|t| t.attributes.group).unwrap_or(GroupId::ROOT);
            tasks.push(Task {
                id,
                comm: task.comm.clone(),
                pid: task.pid,
                group: replay.workload.groups[group].path.clone(),
                measured,
                simulated,
                as_recorded: None,
                what_if: Vec::new(),
            });
        }
        Self {
            input: recording.name.clone(),
            kernel: replay.setup.config.kernel.name(),
            cpus: replay.setup.topology.cpu_count(),
            duration: replay.duration,
            events: recording.events,
            tasks,
            changes: Vec::new(),
            remarks: replay.remarks.iter().map(ToString::to_string).collect(),
        }
    }

    /// Adds what comes out as recorded, if that is something else.
    fn add_as_recorded(&mut self, replayed: &Replayed) {
        for task in &mut self.tasks {
            task.as_recorded = Some(replayed.of(task.id));
        }
    }

    /// Adds what comes out with a change.
    fn add_what_if(&mut self, change: String, replayed: &Replayed) {
        for task in &mut self.tasks {
            task.what_if.push(replayed.of(task.id));
        }
        self.changes.push(change);
    }

    /// How far the replay is from the recording, if nothing is changed.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.tasks, Task::baseline)
    }
}
