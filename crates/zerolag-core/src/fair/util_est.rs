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
use crate::pelt::SchedAvg;
use crate::scheduler::Scheduler;
use crate::variants::UtilEst;

/// Differences below this are noise: 1 % of a CPU.
const MARGIN: u64 = 1024 / 100;
/// Set in the estimate while it is that of the last sleep, in 4.17.
pub(super) const ODD_UNCHANGED: u32 = 1;
/// The average moves by this fraction of the difference, as a shift.
const WEIGHT_SHIFT: u32 = 2;

impl Scheduler {
    /// The task's own estimate.
    pub(crate) fn own_util_est(&self, task: TaskId) -> u64 {
        u64::from(self.estimate(self.tasks[task].entity))
    }

    /// What the task uses, or is estimated to use (`task_util_est()`).
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        self.entities[self.tasks[task].entity].avg.util_avg.max(self.own_util_est(task))
    }

    fn estimate(&self, se: EntityId) -> u32 {
        let avg = &self.entities[se].avg;
        let taken = avg.util_est & !UTIL_UNCHANGED;
        match self.config.variants.util_est {
            UtilEst::OddSample => avg.util_est.max(avg.util_est_ewma),
            UtilEst::SampleAndAverage => taken.max(avg.util_est_ewma),
            UtilEst::WithinCapacity | UtilEst::Unbounded => taken,
        }
    }

    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let estimate = self.estimate(se) | self.odd_flag();
        let root = self.cpus[cpu].root;
        let sum = &mut self.queues[root].avg.util_est;
        *sum = sum.wrapping_add(estimate);
    }

    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let odd = self.odd_flag();
        let estimate = self.estimate(se) | odd;
        let root = self.cpus[cpu].root;
        let queue = &mut self.queues[root];
        let left = queue.avg.util_est.saturating_sub(estimate);
        queue.avg.util_est = if odd != 0 && queue.nr_queued == 0 { 0 } else { left };
    }

    /// 4.17 sums estimates with their mark.
    fn odd_flag(&self) -> u32 {
        if self.config.variants.util_est == UtilEst::OddSample { ODD_UNCHANGED } else { 0 }
    }

    /// The task goes to sleep: takes its utilisation into the estimate.
    pub(crate) fn util_est_update(&mut self, cpu: CpuId, se: EntityId) {
        if !self.config.features.has(Feature::UtilEst) {
            return;
        }
        let capacity = u64::from(self.cpus[cpu].capacity.0);
        let fast_up = self.config.features.has(Feature::UtilEstFastup);
        let form = self.config.variants.util_est;
        let avg = &mut self.entities[se].avg;
        if form == UtilEst::OddSample {
            avg.take_odd_sample();
            return;
        }
        if avg.util_est & UTIL_UNCHANGED != 0 {
            return;
        }
        if form == UtilEst::SampleAndAverage {
            avg.take_sample(capacity, fast_up);
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

impl SchedAvg {
    /// Notes the utilisation as the last sample and takes it into the average, unless that would change by less
    /// than the margin.
    fn take_odd_sample(&mut self) {
        if self.util_est & ODD_UNCHANGED != 0 {
            return;
        }
        let sample = self.util_avg as u32 | ODD_UNCHANGED;
        let average = self.util_est_ewma;
        if u64::from(sample.abs_diff(average)) < MARGIN {
            return;
        }
        let moved = (average << WEIGHT_SHIFT).wrapping_add(sample.wrapping_sub(average));
        (self.util_est, self.util_est_ewma) = (sample, moved >> WEIGHT_SHIFT);
    }

    /// Notes the utilisation as the last sample, and takes it into the average, which with `fast_up` rises
    /// at once. If both would change by less than the margin, nothing is noted.
    fn take_sample(&mut self, capacity: u64, fast_up: bool) {
        let util = self.util_avg as u32;
        let is_noise = |a: u32, b: u32| u64::from(a.abs_diff(b)) < MARGIN;
        let average = self.util_est_ewma;
        let new = if fast_up && average < util {
            util
        } else if is_noise(util, average) {
            if is_noise(util, self.util_est) {
                return;
            }
            average
        } else if u64::from(util) > capacity {
            return;
        } else {
            // average + (util - average) / 4, rounded down
            (average << WEIGHT_SHIFT).wrapping_add(util.wrapping_sub(average)) >> WEIGHT_SHIFT
        };
        (self.util_est, self.util_est_ewma) = (util | UTIL_UNCHANGED, new);
    }
}
