// SPDX-License-Identifier: GPL-2.0-only
//! What was measured beside what was simulated, task by task.

use std::collections::BTreeMap;

use zerolag_core::ids::{GroupId, Id, TaskId};
use zerolag_core::units::Nanos;
use zerolag_sim::replay::Replay;
use zerolag_sim::sim::Sim;
use zerolag_sim::workload::TemplateId;
use zerolag_trace::metrics::{Distribution, Summary, TaskFigures};

use super::recording::Recording;
use super::verdict::Verdict;

/// Figures of one task in one schedule.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) run: Nanos,
    /// CPU time over the time recorded.
    pub(super) share: f64,
    pub(super) switches: u64,
    pub(super) preempted: u64,
    /// From wake-up to running.
    pub(super) wakeup: Distribution,
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
        }
    }
}

/// One task of the recording.
#[derive(Debug)]
pub(super) struct Task {
    id: TaskId,
    pub(super) comm: String,
    pub(super) pid: u32,
    /// The path of its group.
    pub(super) group: String,
    pub(super) measured: Figures,
    /// As the command line wants it as a whole.
    pub(super) simulated: Figures,
    /// As recorded, where that is something else.
    pub(super) as_recorded: Option<Figures>,
    /// With each of the changes.
    pub(super) what_if: Vec<Figures>,
}

impl Task {
    /// As recorded.
    pub(super) fn baseline(&self) -> &Figures {
        self.as_recorded.as_ref().unwrap_or(&self.simulated)
    }
}

/// A recording beside its replays.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) input: String,
    pub(super) kernel: &'static str,
    pub(super) cpus: usize,
    pub(super) duration: Nanos,
    pub(super) events: u64,
    /// In the order in which they appear in the recording; those that never had a CPU are left out.
    pub(super) tasks: Vec<Task>,
    /// What the changes are called.
    pub(super) changes: Vec<String>,
    has_wakeups: bool,
}

impl Comparison {
    pub(super) fn new(recording: &Recording, replay: &Replay, run: &(Sim, Summary)) -> Self {
        let all = simulated(recording.has_wakeups, replay, run);
        let mut tasks = Vec::new();
        for (id, task) in recording.tasks.iter() {
            let of = |f: &TaskFigures| Figures::new(f, replay.duration, recording.has_wakeups);
            let measured = recording.summary.tasks.get(&id).map(of).unwrap_or_default();
            let simulated = all.get(&id).cloned().unwrap_or_default();
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
            has_wakeups: recording.has_wakeups,
        }
    }

    /// Adds what comes out as recorded, if that is something else.
    pub(super) fn add_as_recorded(&mut self, replay: &Replay, run: &(Sim, Summary)) {
        let mut all = simulated(self.has_wakeups, replay, run);
        for task in &mut self.tasks {
            task.as_recorded = Some(all.remove(&task.id).unwrap_or_default());
        }
    }

    /// Adds what comes out with a change.
    pub(super) fn add_what_if(&mut self, change: String, replay: &Replay, run: &(Sim, Summary)) {
        let mut all = simulated(self.has_wakeups, replay, run);
        for task in &mut self.tasks {
            task.what_if.push(all.remove(&task.id).unwrap_or_default());
        }
        self.changes.push(change);
    }

    /// How far the replay is from the recording, if nothing is changed.
    pub(super) fn verdict(&self) -> Verdict {
        Verdict::of(&self.tasks, Task::baseline)
    }
}

/// Figures of a run by recorded task.
fn simulated(
    has_wakeups: bool,
    replay: &Replay,
    (sim, summary): &(Sim, Summary),
) -> BTreeMap<TaskId, Figures> {
    let tasks = (0..sim.task_count()).map(TaskId::from_index);
    let of = |task: TaskId| {
        let figures = summary.tasks.get(&task)?;
        Some((replay.recorded(sim, task), Figures::new(figures, replay.duration, has_wakeups)))
    };
    tasks.filter_map(of).collect()
}
