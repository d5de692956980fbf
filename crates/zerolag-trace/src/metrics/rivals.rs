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
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::dense::at;

/// Follows all tasks and adds up who ran while each of them waited.
///
/// The times of a task's rivals add up to the time that it waited, as far as it is known who ran.
#[derive(Clone, Debug, Default)]
pub struct Rivals {
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    /// Where it waits, and up to when that is accounted for.
    wait: Option<(CpuId, Instant)>,
    runs: bool,
    ran: BTreeMap<Option<TaskId>, Nanos>,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    current: Option<Option<TaskId>>,
    waiting: Vec<TaskId>,
}

impl Rivals {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long each task ran while `task` waited; `None` is the idle task.
    pub fn of(&self, task: TaskId) -> impl Iterator<Item = (Option<TaskId>, Nanos)> + '_ {
        let ran = self.tasks.get(task.index()).into_iter().flat_map(|task| &task.ran);
        ran.map(|(&who, &span)| (who, span))
    }

    /// Counts from `now` on; who runs and who waits is not forgotten.
    pub fn restart(&mut self, now: Instant) {
        for task in &mut self.tasks {
            task.ran.clear();
            if let Some((_, since)) = &mut task.wait {
                *since = now;
            }
        }
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        let (now, cpu) = (event.time, event.cpu);
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                // Waits go on, but for another task from now on.
                let here = at(&mut self.cpus, cpu);
                let current = here.current.replace(next).unwrap_or(prev);
                for &waiting in &here.waiting {
                    at(&mut self.tasks, waiting).book(Some(current), now);
                }
                if let Some(next) = next {
                    self.waits_no_more(next);
                    at(&mut self.tasks, next).runs = true;
                }
                if let Some(prev) = prev {
                    at(&mut self.tasks, prev).runs = false;
                    if prev_state.is_runnable() {
                        self.waits(prev, cpu, now);
                    }
                }
            }
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                let known = at(&mut self.tasks, task);
                if !known.runs && known.wait.is_none() {
                    self.waits(task, target, now);
                }
            }
            EventKind::Migrate { task, to, .. } => {
                if let Some((from, _)) = at(&mut self.tasks, task).wait {
                    let current = at(&mut self.cpus, from).current;
                    at(&mut self.tasks, task).book(current, now);
                    self.waits(task, to, now);
                }
            }
            _ => {}
        }
    }

    fn waits(&mut self, task: TaskId, cpu: CpuId, now: Instant) {
        self.waits_no_more(task);
        at(&mut self.tasks, task).wait = Some((cpu, now));
        at(&mut self.cpus, cpu).waiting.push(task);
    }

    fn waits_no_more(&mut self, task: TaskId) {
        if let Some((cpu, _)) = at(&mut self.tasks, task).wait.take() {
            at(&mut self.cpus, cpu).waiting.retain(|&other| other != task);
        }
    }
}

impl Task {
    /// Books the wait up to `now` on the task that ran meanwhile, if that is known.
    fn book(&mut self, current: Option<Option<TaskId>>, now: Instant) {
        let Some((_, since)) = &mut self.wait else { return };
        let span = now.saturating_since(std::mem::replace(since, now));
        if let Some(current) = current {
            *self.ran.entry(current).or_default() += span;
        }
    }
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
        for &(time, cpu, kind) in events {
            rivals.feed(&SchedEvent { time: Instant(time), cpu: CpuId(cpu), kind });
        }
        let ran: Vec<_> = rivals.of(TASK).map(|(who, span)| (who, span.0)).collect();
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
