// SPDX-License-Identifier: GPL-2.0-only
//! Who ran while a task waited.
//!
//! ```text
//! cpu0  │ hog ▇▇▇▇▇▇▇▇▇▇▇ other ▇▇▇▇▇ task ▇▇▇
//! task        └── hog ──┴── other ──┘
//!           woken                   runs
//! ```
//!
//! A task waits from its wake-up, or from losing the CPU, until it runs. What the CPU on whose queue it waits
//! runs meanwhile is what it waits for; the idle task stands for the time that a wake-up takes to arrive.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::dense::at;

/// Follows some tasks and adds up who ran while they waited.
///
/// The times of all rivals add up to the time that the watched tasks waited, as far as it is known who ran.
#[derive(Clone, Debug, Default)]
pub struct Rivals {
    /// Watched tasks, and since when and where they wait.
    watched: BTreeMap<TaskId, Option<Wait>>,
    current: Vec<Option<Option<TaskId>>>,
    ran: BTreeMap<Option<TaskId>, Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    cpu: CpuId,
    /// Up to when it is accounted for.
    since: Instant,
}

impl Rivals {
    /// Watches nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Watches `task` from now on.
    pub fn watch(&mut self, task: TaskId) {
        self.watched.entry(task).or_default();
    }

    /// How long each task ran while a watched one waited; `None` is the idle task.
    pub const fn ran(&self) -> &BTreeMap<Option<TaskId>, Nanos> {
        &self.ran
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                // The wait goes on, but for another task from now on.
                let current = at(&mut self.current, event.cpu).or(Some(prev));
                for wait in self.watched.values_mut().flatten().filter(|w| w.cpu == event.cpu) {
                    book(&mut self.ran, current, wait, event.time);
                }
                *at(&mut self.current, event.cpu) = Some(next);
                if let Some(wait) = next.and_then(|next| self.watched.get_mut(&next)) {
                    *wait = None;
                }
                if let Some(wait) = prev.and_then(|prev| self.watched.get_mut(&prev)) {
                    let begins = Wait { cpu: event.cpu, since: event.time };
                    *wait = prev_state.is_runnable().then_some(begins);
                }
            }
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                let running = self.current.contains(&Some(Some(task)));
                if let Some(wait) = self.watched.get_mut(&task)
                    && !running
                {
                    wait.get_or_insert(Wait { cpu: target, since: event.time });
                }
            }
            EventKind::Migrate { task, to, .. } => {
                if let Some(Some(wait)) = self.watched.get_mut(&task) {
                    let current = *at(&mut self.current, wait.cpu);
                    book(&mut self.ran, current, wait, event.time);
                    wait.cpu = to;
                }
            }
            _ => {}
        }
    }
}

/// Books the wait up to `now` on the task that ran meanwhile, if that is known.
fn book(
    ran: &mut BTreeMap<Option<TaskId>, Nanos>,
    current: Option<Option<TaskId>>,
    wait: &mut Wait,
    now: Instant,
) {
    if let Some(current) = current {
        *ran.entry(current).or_default() += now.saturating_since(wait.since);
    }
    wait.since = now;
}

#[cfg(test)]
mod tests {
    use super::*;
    use EventKind::{Migrate, Switch, Wakeup};
    use zerolag_core::event::PrevState::{Runnable, Sleeping};

    const TASK: TaskId = TaskId(0);
    const HOG: TaskId = TaskId(1);
    const OTHER: TaskId = TaskId(2);

    fn check(events: &[(u64, u32, EventKind)], want: &[(Option<TaskId>, u64)]) {
        let mut rivals = Rivals::new();
        rivals.watch(TASK);
        for &(time, cpu, kind) in events {
            rivals.feed(&SchedEvent { time: Instant(time), cpu: CpuId(cpu), kind });
        }
        let ran: Vec<_> = rivals.ran().iter().map(|(&who, &span)| (who, span.0)).collect();
        assert_eq!(ran, want);
    }

    fn switch(prev: Option<TaskId>, next: Option<TaskId>) -> EventKind {
        Switch { prev, prev_state: Runnable, next }
    }

    #[test]
    fn a_wait_is_shared_out_among_those_who_ran() {
        let events = [
            (0, 0, switch(None, Some(HOG))),
            (10, 1, Wakeup { task: TASK, target: CpuId(0) }),
            (30, 0, switch(Some(HOG), Some(OTHER))),
            (35, 0, switch(Some(OTHER), Some(TASK))),
            (40, 0, switch(Some(TASK), Some(HOG))),
            (47, 0, switch(Some(HOG), Some(TASK))),
            (50, 0, Switch { prev: Some(TASK), prev_state: Sleeping, next: Some(HOG) }),
            (90, 0, switch(Some(HOG), None)),
        ];
        check(&events, &[(Some(HOG), 27), (Some(OTHER), 5)]);
    }

    #[test]
    fn a_wake_up_on_its_way_waits_for_the_idle_task() {
        let events = [
            (0, 0, switch(Some(HOG), None)),
            (10, 1, Wakeup { task: TASK, target: CpuId(0) }),
            (13, 0, switch(None, Some(TASK))),
        ];
        check(&events, &[(None, 3)]);
    }

    #[test]
    fn a_wait_moves_with_the_task() {
        let events = [
            (0, 0, switch(None, Some(HOG))),
            (0, 1, switch(None, Some(OTHER))),
            (10, 0, Wakeup { task: TASK, target: CpuId(0) }),
            (15, 1, Migrate { task: TASK, from: CpuId(0), to: CpuId(1) }),
            (22, 1, switch(Some(OTHER), Some(TASK))),
        ];
        check(&events, &[(Some(HOG), 5), (Some(OTHER), 7)]);
    }

    #[test]
    fn before_its_first_switch_a_cpu_ran_what_that_switch_is_from() {
        let events =
            [(10, 1, Wakeup { task: TASK, target: CpuId(0) }), (13, 0, switch(Some(HOG), Some(TASK)))];
        check(&events, &[(Some(HOG), 3)]);
        // A task that is woken while it runs does not wait.
        let events = [
            (0, 0, switch(None, Some(TASK))),
            (5, 1, Wakeup { task: TASK, target: CpuId(0) }),
            (9, 0, switch(Some(TASK), None)),
        ];
        check(&events, &[]);
    }
}
