// SPDX-License-Identifier: GPL-2.0-only
//! What was measured beside what was simulated, task by task.

use std::collections::BTreeMap;

use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::Nanos;
use zerolag_sim::replay::Replay;
use zerolag_sim::sim::Sim;
use zerolag_trace::metrics::{Distribution, Summary, TaskFigures};

use super::recording::Recording;

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
            switches: f.switches_in,
            preempted: f.preempted,
            wakeup: if has_wakeups { f.wakeup.clone() } else { f.waking.clone() },
        }
    }
}

/// One task of the recording.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) comm: String,
    pub(super) pid: u32,
    /// The path of its group.
    pub(super) group: String,
    pub(super) measured: Figures,
    pub(super) simulated: Figures,
}

/// A recording beside its replay.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) input: String,
    pub(super) kernel: &'static str,
    pub(super) cpus: usize,
    pub(super) duration: Nanos,
    pub(super) events: u64,
    /// In the order in which they appear in the recording; those that never had a CPU are left out.
    pub(super) tasks: Vec<Task>,
}

impl Comparison {
    pub(super) fn new(recording: &Recording, replay: &Replay, (sim, summary): &(Sim, Summary)) -> Self {
        let stand_ins: BTreeMap<TaskId, TaskId> = (0..sim.task_count())
            .map(TaskId::from_index)
            .map(|task| (replay.recorded(sim, task), task))
            .collect();
        let of = |f: Option<&TaskFigures>| {
            f.map_or_else(Figures::default, |f| Figures::new(f, replay.duration, recording.has_wakeups))
        };
        let mut tasks = Vec::new();
        for (id, task) in recording.tasks.iter() {
            let measured = of(recording.summary.tasks.get(&id));
            let simulated = of(stand_ins.get(&id).and_then(|s| summary.tasks.get(s)));
            if measured.switches + simulated.switches == 0 && measured.run == Nanos::ZERO {
                continue;
            }
            let group =
                replay.workload.templates.iter().nth(id.index()).and_then(|(_, t)| t.attributes.group);
            let group = group.and_then(|g| replay.workload.groups.get(g));
            let group = group.map_or_else(|| "/".to_owned(), |g| g.path.clone());
            tasks.push(Task { comm: task.comm.clone(), pid: task.pid, group, measured, simulated });
        }
        Self {
            input: recording.name.clone(),
            kernel: replay.setup.config.kernel.name(),
            cpus: replay.setup.topology.cpu_count(),
            duration: replay.duration,
            events: recording.events,
            tasks,
        }
    }
}
