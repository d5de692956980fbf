// SPDX-License-Identifier: GPL-2.0-only
//! How long tasks wait for a CPU each time they want one, as `/proc/PID/schedstat` counts it.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

/// Waits of all tasks (`struct sched_info`).
#[derive(Clone, Debug, Default)]
pub(super) struct Delays(BTreeMap<TaskId, Delay>);

#[derive(Clone, Debug, Default)]
struct Delay {
    /// Since when it waits.
    since: Option<Instant>,
    waited: Nanos,
    /// How often it got a CPU (`pcount`).
    times: u64,
}

impl Delays {
    pub(super) fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                self.waits(task, event.time)
            }
            EventKind::Switch { prev, prev_state, next } => {
                if let Some(prev) = prev.filter(|_| prev_state.is_runnable()) {
                    self.waits(prev, event.time);
                }
                if let Some(delay) = next.map(|next| self.0.entry(next).or_default()) {
                    let since = delay.since.take().unwrap_or(event.time);
                    delay.waited += event.time.saturating_since(since);
                    delay.times += 1;
                }
            }
            EventKind::Exit { task } => drop(self.0.remove(&task)),
            _ => {}
        }
    }

    fn waits(&mut self, task: TaskId, time: Instant) {
        self.0.entry(task).or_default().since.get_or_insert(time);
    }

    /// Mean wait of a task.
    pub(super) fn mean(&self, task: TaskId) -> Nanos {
        self.0.get(&task).map_or(Nanos::ZERO, |delay| Nanos(delay.waited.0 / delay.times.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::event::PrevState;
    use zerolag_core::ids::CpuId;

    #[test]
    fn waiting_counts_from_waking_and_from_preemption() {
        let (a, b) = (TaskId(0), TaskId(1));
        let mut delays = Delays::default();
        let mut at = |time, kind| delays.event(&SchedEvent { time: Instant(time), cpu: CpuId(0), kind });
        let switch = |prev, prev_state, next| EventKind::Switch { prev, prev_state, next };
        at(0, EventKind::WakeupNew { task: a, target: CpuId(0) });
        at(10, switch(None, PrevState::Runnable, Some(a)));
        at(20, EventKind::Wakeup { task: b, target: CpuId(0) });
        at(50, switch(Some(a), PrevState::Preempted, Some(b)));
        at(60, switch(Some(b), PrevState::Sleeping, Some(a)));
        assert_eq!((delays.mean(a), delays.mean(b)), (Nanos(10), Nanos(30)));
    }
}
