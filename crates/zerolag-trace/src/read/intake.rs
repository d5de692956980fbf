// SPDX-License-Identifier: GPL-2.0-only
//! From records to events: names the tasks, puts the events in order, counts what is missing.

use zerolag_core::event::{EventKind, PrevState, SchedEvent};

use super::record::{Body, Record, Wake};
use crate::loss::{Continuity, LossReport};
use crate::sort::Sorter;
use crate::tasks::TaskTable;

/// How many events are held to mend their order. Tools merge the CPUs' buffers themselves; what is left is
/// clock skew of microseconds, a few events on the busiest machine.
const WINDOW: usize = 4096;

#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) tasks: TaskTable,
    pub(crate) loss: LossReport,
    sorter: Sorter<SchedEvent>,
    continuity: Continuity,
    finished: bool,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self {
            tasks: TaskTable::new(),
            loss: LossReport::default(),
            sorter: Sorter::new(WINDOW),
            continuity: Continuity::default(),
            finished: false,
        }
    }

    /// Takes one record in.
    pub(crate) fn take(&mut self, record: Record<'_>) {
        let Some(kind) = self.kind(record.body) else {
            self.loss.other_events += u64::from(record.body == Body::Other);
            return;
        };
        if let Some((pid, tgid)) = record.process {
            self.tasks.set_tgid(pid, tgid);
        }
        self.sorter.push(record.time, SchedEvent { time: record.time, cpu: record.cpu, kind });
    }

    /// The input is over.
    pub(crate) fn finish(&mut self) {
        self.sorter.finish();
    }

    /// The next event in the order of time, if enough has been read to know it.
    pub(crate) fn next_event(&mut self) -> Option<SchedEvent> {
        let event = self.sorter.pop()?;
        self.loss.events += 1;
        self.continuity.follow(&event, &mut self.loss);
        Some(event)
    }

    /// Completes the loss report after the last event.
    pub(crate) fn close(&mut self) {
        if !self.finished {
            self.finished = true;
            self.continuity.close(&mut self.loss);
            self.loss.reordered = self.sorter.mended();
            (self.loss.steps_back, self.loss.largest_step_back) = self.sorter.steps_back();
            self.loss.reused_pids = self.tasks.reused_pids();
        }
    }

    /// Nothing for what does not concern a schedule, or concerns only the idle task.
    fn kind(&mut self, body: Body<'_>) -> Option<EventKind> {
        let tasks = &mut self.tasks;
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
