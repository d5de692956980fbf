// SPDX-License-Identifier: GPL-2.0-only
//! Waits: times at which a task was ready and did not run.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

/// How a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// The task was woken on this CPU.
    Woken { by: CpuId },
    /// It was new.
    New { by: CpuId },
    /// It lost its CPU.
    Preempted,
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) task: TaskId,
    pub(crate) begin: Begin,
    pub(crate) from: Instant,
    /// Until it ran; nothing if it did not until the end.
    pub(crate) to: Option<Instant>,
    /// On whose queue it began to wait.
    pub(crate) cpu: CpuId,
}

impl Wait {
    /// How long it was, if the schedule ends at `end`.
    pub(crate) fn len(&self, end: Instant) -> Nanos {
        self.to.unwrap_or(end).saturating_since(self.from)
    }
}

/// Follows a schedule and says which waits have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    running: BTreeMap<TaskId, CpuId>,
    waiting: BTreeMap<TaskId, Wait>,
    /// Waits also begin with `sched_waking`: recordings may have nothing else.
    from_waking: bool,
}

impl Waits {
    /// Of a recording, which may say when a wake-up began and not when it was complete.
    pub(crate) fn of_recording() -> Self {
        Self { from_waking: true, ..Self::default() }
    }

    /// Takes the next event in; gives the wait that it ends.
    pub(crate) fn feed(&mut self, event: &SchedEvent) -> Option<Wait> {
        let (from, cpu) = (event.time, event.cpu);
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                if let Some(task) = prev {
                    self.running.remove(&task);
                    if prev_state.is_runnable() {
                        self.waiting
                            .insert(task, Wait { task, begin: Begin::Preempted, from, to: None, cpu });
                    }
                }
                let next = next?;
                self.running.insert(next, cpu);
                let wait = self.waiting.remove(&next)?;
                Some(Wait { to: Some(event.time), ..wait })
            }
            EventKind::Wakeup { task, target } => {
                self.begins(Wait { task, begin: Begin::Woken { by: cpu }, from, to: None, cpu: target });
                None
            }
            EventKind::Waking { task, target } if self.from_waking => {
                self.begins(Wait { task, begin: Begin::Woken { by: cpu }, from, to: None, cpu: target });
                None
            }
            EventKind::WakeupNew { task, target } => {
                self.begins(Wait { task, begin: Begin::New { by: cpu }, from, to: None, cpu: target });
                None
            }
            _ => None,
        }
    }

    fn begins(&mut self, wait: Wait) {
        if !self.running.contains_key(&wait.task) {
            self.waiting.entry(wait.task).or_insert(wait);
        }
    }

    /// Who waits now.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Wait> {
        self.waiting.values()
    }

    /// Who waits at the end.
    pub(crate) fn rest(self) -> impl Iterator<Item = Wait> {
        self.waiting.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::event::PrevState::{Runnable, Sleeping};

    #[test]
    fn waits_begin_and_end_where_they_should() {
        let (a, b, cpu) = (TaskId(0), TaskId(1), CpuId(0));
        let mut waits = Waits::default();
        let mut ended = Vec::new();
        for (time, kind) in [
            (0, EventKind::WakeupNew { task: a, target: cpu }),
            (2, EventKind::Switch { prev: None, prev_state: Runnable, next: Some(a) }),
            (3, EventKind::Wakeup { task: a, target: cpu }),
            (5, EventKind::Wakeup { task: b, target: cpu }),
            (9, EventKind::Switch { prev: Some(a), prev_state: Runnable, next: Some(b) }),
            (10, EventKind::Switch { prev: Some(b), prev_state: Sleeping, next: None }),
        ] {
            ended.extend(waits.feed(&SchedEvent { time: Instant(time), cpu, kind }));
        }
        let spans: Vec<_> = ended.iter().map(|w| (w.task, w.from.0, w.to.unwrap().0)).collect();
        assert_eq!(spans, [(a, 0, 2), (b, 5, 9)]);
        let rest: Vec<_> = waits.rest().map(|w| (w.task, w.begin, w.from.0)).collect();
        assert_eq!(rest, [(a, Begin::Preempted, 9)]);
    }
}
