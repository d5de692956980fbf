// SPDX-License-Identifier: GPL-2.0-only
//! Utilisation estimate: what a task will need when it wakes up.
//!
//! A task that sleeps long has a decayed utilisation, yet will run as it did before. So its utilisation is
//! noted when it goes to sleep, in a moving average that rises at once and falls by a quarter of the
//! difference. The root queue holds the sum over the tasks that are queued.
//!
//! Source: kernel/sched/fair.c, `util_est_*()`, 6.12.

use crate::fair::load::UTIL_UNCHANGED;
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, TaskId};
use crate::scheduler::Scheduler;
use crate::variants::UtilEst;

/// Differences below this are noise: 1 % of a CPU.
const MARGIN: u64 = 1024 / 100;
/// The average moves by this fraction of the difference, as a shift.
const WEIGHT_SHIFT: u32 = 2;

impl Scheduler {
    /// The task's own estimate.
    pub(crate) fn own_util_est(&self, task: TaskId) -> u64 {
        u64::from(self.entities[self.tasks[task].entity].avg.util_est & !UTIL_UNCHANGED)
    }

    /// What the task uses, or is estimated to use (`task_util_est()`).
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        self.entities[self.tasks[task].entity].avg.util_avg.max(self.own_util_est(task))
    }

    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let estimate = self.entities[se].avg.util_est & !UTIL_UNCHANGED;
        let root = self.cpus[cpu].root;
        let sum = &mut self.queues[root].avg.util_est;
        *sum = sum.wrapping_add(estimate);
    }

    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let estimate = self.entities[se].avg.util_est & !UTIL_UNCHANGED;
        let root = self.cpus[cpu].root;
        let sum = &mut self.queues[root].avg.util_est;
        *sum = sum.saturating_sub(estimate);
    }

    /// The task goes to sleep: takes its utilisation into the estimate.
    pub(crate) fn util_est_update(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let capacity = u64::from(self.cpus[cpu].capacity.0);
        let avg = &mut self.entities[se].avg;
        if avg.util_est & UTIL_UNCHANGED != 0 {
            return;
        }
        let old = u64::from(avg.util_est);
        let util = avg.util_avg;
        let new = if old <= util {
            util
        } else {
            let fall = old - util;
            if fall < MARGIN {
                old
            } else if util > capacity && self.config.variants.util_est == UtilEst::WithinCapacity {
                return;
            } else if util + MARGIN < avg.runnable_avg {
                // It had to wait, so it might have run more: keep the estimate.
                old
            } else {
                ((old << WEIGHT_SHIFT) - fall) >> WEIGHT_SHIFT
            }
        };
        avg.util_est = new as u32 | UTIL_UNCHANGED;
    }
}
