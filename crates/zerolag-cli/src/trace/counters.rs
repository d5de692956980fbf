// SPDX-License-Identifier: GPL-2.0-only
//! Values of tasks and CPUs over time, as tracks of a Perfetto trace.
//!
//! Values are those that the scheduler has when something happens to a task or on a CPU: a switch, a wake-up, a
//! tick, a migration. In between they stand still, as they do in the kernel.

use std::collections::BTreeMap;
use std::io::{self, Write};

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_sim::sim::Sim;
use zerolag_study::values::{OfCpu, OfTask};
use zerolag_trace::TaskTable;
use zerolag_trace::write::{CounterTrack, Perfetto};

use crate::args::low::Counter;

const OF_TASKS: [Counter; 5] =
    [Counter::TaskVruntime, Counter::TaskLag, Counter::TaskDeadline, Counter::TaskLoad, Counter::TaskUtil];
const OF_CPUS: [Counter; 3] = [Counter::CpuLoad, Counter::CpuUtil, Counter::CpuRunning];

/// What is wanted, and what was last written.
pub(super) struct Counters {
    of_tasks: Vec<Counter>,
    of_cpus: Vec<Counter>,
    tracks: BTreeMap<(Subject, usize), (CounterTrack, i64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Task(TaskId),
    Cpu(CpuId),
}

impl Counters {
    pub(super) fn new(wanted: &[Counter]) -> Self {
        let some = |all: &[Counter], whole| -> Vec<Counter> {
            all.iter().copied().filter(|one| wanted.contains(one) || wanted.contains(&whole)).collect()
        };
        Self {
            of_tasks: some(&OF_TASKS, Counter::Task),
            of_cpus: some(&OF_CPUS, Counter::Cpu),
            tracks: BTreeMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_tasks.is_empty() && self.of_cpus.is_empty()
    }

    /// Writes what has changed of whom the event is about.
    pub(super) fn sample<W: Write>(
        &mut self,
        event: &SchedEvent,
        names: &TaskTable,
        sim: &Sim,
        out: &mut Perfetto<W>,
    ) -> io::Result<()> {
        let curr = sim.scheduler().cpus()[event.cpu].curr;
        let (tasks, cpu) = match event.kind {
            EventKind::Switch { prev, next, .. } => ([prev, next], event.cpu),
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                ([Some(task), None], target)
            }
            EventKind::Migrate { task, from, to } => {
                self.cpu(event, from, sim, out)?;
                ([Some(task), None], to)
            }
            EventKind::Tick => ([curr, None], event.cpu),
            _ => return Ok(()),
        };
        for task in tasks.into_iter().flatten() {
            self.task(event, task, names, sim, out)?;
        }
        self.cpu(event, cpu, sim, out)
    }

    fn task<W: Write>(
        &mut self,
        event: &SchedEvent,
        task: TaskId,
        names: &TaskTable,
        sim: &Sim,
        out: &mut Perfetto<W>,
    ) -> io::Result<()> {
        let Some(values) = OfTask::at(sim, task) else { return Ok(()) };
        for at in 0..self.of_tasks.len() {
            let (name, unit, value) = match (self.of_tasks[at], values.deadline_ns) {
                (Counter::TaskVruntime, _) => ("vruntime", "ns", values.vruntime_ns),
                (Counter::TaskLag, _) => ("lag", "ns", values.lag_ns),
                (Counter::TaskDeadline, Some(deadline)) => ("deadline", "ns", deadline),
                (Counter::TaskDeadline, None) => continue,
                (Counter::TaskLoad, _) => ("load", "", values.load),
                _ => ("util", "", values.util),
            };
            let called = || format!("{} {} {name}", names.comm(task), names.pid(task).unwrap_or(0));
            self.set((Subject::Task(task), at), called, unit, event, value, out)?;
        }
        Ok(())
    }

    fn cpu<W: Write>(
        &mut self,
        event: &SchedEvent,
        cpu: CpuId,
        sim: &Sim,
        out: &mut Perfetto<W>,
    ) -> io::Result<()> {
        let values = OfCpu::at(sim, cpu);
        for at in 0..self.of_cpus.len() {
            let (name, value) = match self.of_cpus[at] {
                Counter::CpuLoad => ("load", values.load),
                Counter::CpuUtil => ("util", values.util),
                _ => ("running", i64::from(values.running)),
            };
            self.set((Subject::Cpu(cpu), at), || format!("cpu{cpu} {name}"), "", event, value, out)?;
        }
        Ok(())
    }

    fn set<W: Write>(
        &mut self,
        key: (Subject, usize),
        name: impl Fn() -> String,
        unit: &str,
        event: &SchedEvent,
        value: i64,
        out: &mut Perfetto<W>,
    ) -> io::Result<()> {
        let track = match self.tracks.get_mut(&key) {
            Some((_, last)) if *last == value => return Ok(()),
            Some((track, last)) => {
                *last = value;
                *track
            }
            None => {
                let track = out.counter(&name(), unit)?;
                self.tracks.insert(key, (track, value));
                track
            }
        };
        out.set(track, event.time, value)
    }
}
