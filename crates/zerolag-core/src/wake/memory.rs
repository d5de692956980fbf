// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of whom a task wakes (up to 2.6.35).
//!
//! | value | is about | is updated when |
//! |---|---|---|
//! | `last_wakeup` | CPU time used when it last woke somebody | it does; cleared when it sleeps |
//! | `avg_overlap` | CPU time from then until it sleeps | it sleeps, if it has woken somebody |
//! | `start_runtime` | CPU time used when it was last woken | it is woken |
//! | `avg_wakeup` | CPU time between wake-ups it causes | it wakes somebody; or sleeps without having done so, which counts as the wake-up granularity |
//!
//! CPU time is what it was last charged for. So a task that sleeps is measured to its last tick or so, and
//! one that wakes a task of another CPU likewise; only a wake-up on its own CPU charges it first.
//!
//! Source: kernel/sched.c of 2.6.29, `update_avg()`, `dequeue_task()`, `try_to_wake_up()`, and the patch
//! "sched: introduce avg_wakeup" of January 2009.

use crate::ids::{CpuId, TaskId};
use crate::scheduler::{Scheduler, WokenFrom};
use crate::units::Nanos;
use crate::variants::WakerMemory;

/// How a task wakes others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeStats {
    /// CPU time used when it last woke somebody; 0 = it has not since it last slept.
    pub last_wakeup: Nanos,
    /// How long it runs on after that, on average.
    pub avg_overlap: Nanos,
    /// CPU time used when it was last woken.
    pub start_runtime: Nanos,
    /// How long it runs between wake-ups that it causes, on average.
    pub avg_wakeup: Nanos,
}

impl WakeStats {
    /// Those of a new task. It is taken for one that wakes nobody.
    pub(crate) fn new(memory: WakerMemory, granularity: Nanos) -> Self {
        let avg_wakeup = match memory {
            WakerMemory::OverlapAndInterval => granularity,
            WakerMemory::Nothing | WakerMemory::Overlap => Nanos(0),
        };
        Self { avg_wakeup, ..Self::default() }
    }
}

/// Moves a mean by an eighth of the difference to the sample, rounded down.
fn update_mean(mean: &mut Nanos, sample: u64) {
    let difference = sample.wrapping_sub(mean.0) as i64;
    mean.0 = mean.0.wrapping_add((difference >> 3) as u64);
}

impl Scheduler {
    /// The task is about to leave its queue because it sleeps.
    #[inline]
    pub(crate) fn remember_sleep(&mut self, task: TaskId) {
        let memory = self.config.variants.wakers.memory;
        if memory == WakerMemory::Nothing {
            return;
        }
        let granularity = self.config.tunables.wakeup_granularity;
        let used = self.entities[self.tasks[task].entity].sum_exec;
        let stats = &mut self.tasks[task].wakes;
        if stats.last_wakeup != Nanos(0) {
            update_mean(&mut stats.avg_overlap, used.0.wrapping_sub(stats.last_wakeup.0));
            stats.last_wakeup = Nanos(0);
        } else if memory == WakerMemory::OverlapAndInterval {
            update_mean(&mut stats.avg_wakeup, granularity.0);
        }
    }

    /// The task is about to join its queue because it was woken.
    #[inline]
    pub(crate) fn remember_woken(&mut self, task: TaskId) {
        if self.config.variants.wakers.memory == WakerMemory::OverlapAndInterval {
            self.tasks[task].wakes.start_runtime = self.entities[self.tasks[task].entity].sum_exec;
        }
    }

    /// Somebody was woken from `this_cpu`, and is queued by now.
    #[inline]
    pub(crate) fn remember_wakeup(&mut self, this_cpu: CpuId, from: WokenFrom) {
        if self.config.variants.wakers.memory != WakerMemory::OverlapAndInterval
            || from == WokenFrom::Interrupt
        {
            return;
        }
        let Some(waker) = self.cpus[this_cpu].curr else { return };
        let used = self.entities[self.tasks[waker].entity].sum_exec;
        let stats = &mut self.tasks[waker].wakes;
        let since = if stats.last_wakeup == Nanos(0) { stats.start_runtime } else { stats.last_wakeup };
        update_mean(&mut stats.avg_wakeup, used.0.wrapping_sub(since.0));
        stats.last_wakeup = used;
    }

    /// An attempt to wake somebody from `this_cpu` is over, whatever came of it.
    #[inline]
    pub(crate) fn remember_attempt(&mut self, this_cpu: CpuId) {
        if self.config.variants.wakers.memory == WakerMemory::Overlap
            && let Some(waker) = self.cpus[this_cpu].curr
        {
            self.tasks[waker].wakes.last_wakeup = self.entities[self.tasks[waker].entity].sum_exec;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_moves_by_an_eighth_rounded_down() {
        for (mean, sample, after) in [(0, 80, 10), (80, 0, 70), (0, 7, 0), (7, 0, 6), (100, 100, 100)] {
            let mut value = Nanos(mean);
            update_mean(&mut value, sample);
            assert_eq!(value.0, after, "{mean} {sample}");
        }
    }

    #[test]
    fn a_new_task_is_taken_for_one_that_wakes_nobody() {
        let granularity = Nanos(5_000_000);
        assert_eq!(WakeStats::new(WakerMemory::OverlapAndInterval, granularity).avg_wakeup, granularity);
        assert_eq!(WakeStats::new(WakerMemory::Overlap, granularity), WakeStats::default());
    }
}
