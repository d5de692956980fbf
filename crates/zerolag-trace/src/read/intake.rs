// SPDX-License-Identifier: GPL-2.0-only
//! From records to events: names the tasks, puts the events in order, counts what is missing.

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::TaskId;

use super::naming::Naming;
use super::record::{Body, Record, Wake};
use crate::loss::{Continuity, LossReport};
use crate::sort::Sorter;
use crate::tasks::Change;

/// How many events are held to mend their order. Tools merge the CPUs' buffers themselves; what is left is
/// clock skew of microseconds, a few events on the busiest machine.
const WINDOW: usize = 4096;

/// What waits in the sorter: an event, or what became known of a task just before one.
#[derive(Debug)]
enum Item {
    Event(SchedEvent),
    Change(TaskId, Change),
}

#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) loss: LossReport,
    pub(crate) naming: Naming,
    sorter: Sorter<Item>,
    continuity: Continuity,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self {
            loss: LossReport::default(),
            naming: Naming::default(),
            sorter: Sorter::new(WINDOW),
            continuity: Continuity::default(),
        }
    }

    /// Takes one record in.
    pub(crate) fn take(&mut self, record: Record<'_>) {
        let time = record.time;
        self.loss.other_events += u64::from(record.body == Body::Other);
        let kind = self.kind(record.body);
        if let Some((pid, tgid)) = record.process {
            self.naming.set_tgid(pid, tgid);
        }
        for (task, change) in self.naming.news() {
            self.sorter.push(time, Item::Change(task, change));
        }
        if let Some(kind) = kind {
            self.sorter.push(time, Item::Event(SchedEvent { time, cpu: record.cpu, kind }));
        }
    }

    /// The input is over.
    pub(crate) fn finish(&mut self) {
        self.sorter.finish();
    }

    /// The next event in the order of time, if enough has been read to know it.
    pub(crate) fn next_event(&mut self) -> Option<SchedEvent> {
        loop {
            match self.sorter.pop()? {
                Item::Change(task, change) => self.naming.tasks.apply(task, change),
                Item::Event(event) => {
                    self.loss.events += 1;
                    self.continuity.follow(&event, &mut self.loss);
                    return Some(event);
                }
            }
        }
    }

    /// Completes the loss report after the last event.
    pub(crate) fn close(&mut self) {
        self.continuity.close(&mut self.loss);
        self.loss.reordered = self.sorter.mended();
        (self.loss.steps_back, self.loss.largest_step_back) = self.sorter.steps_back();
        self.loss.reused_pids = self.naming.reused_pids();
    }

    /// Nothing for what does not concern a schedule, or concerns only the idle task.
    fn kind(&mut self, body: Body<'_>) -> Option<EventKind> {
        let tasks = &mut self.naming;
        let mut wake = |w: Wake<'_>| Some((tasks.mention(w.task)?, w.target));
        Some(match body {
            Body::Switch { prev, prev_state, next } => {
                let prev = tasks.mention(prev);
                let next = tasks.mention(next);
                if let (Some(prev), true) = (prev, prev_state.last) {
                    tasks.died(prev);
                }
                // The idle task is always said to be runnable.
                let prev_state = if prev.is_some() { prev_state.state } else { PrevState::Runnable };
                EventKind::Switch { prev, prev_state, next }
            }
            Body::Waking(w) => wake(w).map(|(task, target)| EventKind::Waking { task, target })?,
            Body::Wakeup(w) => wake(w).map(|(task, target)| EventKind::Wakeup { task, target })?,
            Body::WakeupNew(w) => wake(w).map(|(task, target)| EventKind::WakeupNew { task, target })?,
            Body::Migrate { task, from, to } => EventKind::Migrate { task: tasks.mention(task)?, from, to },
            Body::Fork { parent, child } => {
                let parent = tasks.mention(parent);
                EventKind::Fork { parent, child: tasks.born(child, parent)? }
            }
            Body::Exit(task) => EventKind::Exit { task: tasks.mention(task)? },
            Body::Runtime { task, ran } => EventKind::Runtime { task: tasks.mention(task)?, ran },
            Body::Exec { pid, old_pid } => {
                tasks.took_over(old_pid, pid);
                return None;
            }
            Body::Other => return None,
        })
    }
}
