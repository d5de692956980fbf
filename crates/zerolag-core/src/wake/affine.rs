// SPDX-License-Identifier: GPL-2.0-only
//! Should a wakee go to its waker's CPU?
//!
//! Its data may be there; but a waker of many, a server, would gather all its clients on one CPU. A task
//! that wakes many different ones *flips* often: if both flip much and the waker by a factor more, the two
//! do not belong together.
//!
//! Source: kernel/sched/fair.c, `record_wakee()`, `wake_wide()`, `wake_affine()`, same in 6.1 and 6.12.

use crate::features::Feature;
use crate::ids::{CpuId, DomainId, TaskId};
use crate::scheduler::Scheduler;
use crate::task::Waker;
use crate::units::Jiffies;
use crate::variants::AffineBy;

impl Waker {
    /// The count of flips is halved if more than a second has passed.
    fn note(&mut self, wakee: TaskId, now: Jiffies, hz: u32) {
        if now.0 > self.decayed_at.0 + u64::from(hz) {
            self.wakee_flips >>= 1;
            self.decayed_at = now;
        }
        if self.last_wakee != Some(wakee) {
            self.last_wakee = Some(wakee);
            self.wakee_flips += 1;
        }
    }
}

impl Scheduler {
    pub(crate) fn record_wakee(&mut self, this_cpu: CpuId, wakee: TaskId) {
        let (now, hz) = (self.jiffies(), self.config.hz);
        let waker = match self.cpus[this_cpu].curr {
            Some(task) => &mut self.tasks[task].waker,
            None => &mut self.cpus[this_cpu].idle_waker,
        };
        waker.note(wakee, now, hz);
    }

    pub(super) fn wakes_wide(&self, this_cpu: CpuId, wakee: TaskId) -> bool {
        let factor = self.domains.cpu(this_cpu).llc_size;
        let waker = match self.cpus[this_cpu].curr {
            Some(task) => self.tasks[task].waker.wakee_flips,
            None => self.cpus[this_cpu].idle_waker.wakee_flips,
        };
        let wakee = self.tasks[wakee].waker.wakee_flips;
        let (master, slave) = (waker.max(wakee), waker.min(wakee));
        slave >= factor && master >= slave * factor
    }

    /// The waker's CPU or the wakee's own: an idle one, else the less loaded.
    pub(super) fn wake_affine(
        &mut self,
        domain: DomainId,
        task: TaskId,
        this_cpu: CpuId,
        previous: CpuId,
        sync: bool,
    ) -> CpuId {
        let features = self.config.features;
        let mut target = None;
        if features.has(Feature::WaIdle) {
            target = self.affine_by_idleness(this_cpu, previous, sync);
        }
        if features.has(Feature::WaWeight) && target.is_none() {
            target = self.affine_by_load(domain, task, this_cpu, previous, sync).then_some(this_cpu);
        }
        if target == Some(this_cpu) { this_cpu } else { previous }
    }

    /// An idle waker's CPU is an interrupt's; it is taken only if the caches are shared, and then the wakee's
    /// own if that is idle as well.
    fn affine_by_idleness(&self, this_cpu: CpuId, previous: CpuId, sync: bool) -> Option<CpuId> {
        if self.is_idle(this_cpu) && self.share_cache(this_cpu, previous) {
            return Some(if self.is_idle(previous) { previous } else { this_cpu });
        }
        if sync {
            let rq = &self.cpus[this_cpu];
            let root = &self.queues[rq.root];
            if rq.nr_running - (root.h_nr_queued - root.h_nr_runnable) == 1 {
                return Some(this_cpu);
            }
        }
        let early = self.config.variants.wake.affine == AffineBy::EarlyFeatures;
        (!early && self.is_idle(previous)).then_some(previous)
    }

    /// True if the waker's CPU would be less loaded with the wakee than the wakee's own without it. Loads are
    /// compared relative to capacity, crosswise to save a division, with a margin in favour of staying.
    fn affine_by_load(
        &mut self,
        domain: DomainId,
        task: TaskId,
        this_cpu: CpuId,
        previous: CpuId,
        sync: bool,
    ) -> bool {
        let bias = self.config.features.has(Feature::WaBias);
        let early = self.config.variants.wake.affine == AffineBy::EarlyFeatures;
        let cpu_load = |s: &Self, cpu| if early { s.runnable_load(cpu) } else { s.cpu_load(cpu) };
        let mut here = cpu_load(self, this_cpu) as i64;
        if sync {
            // The waker is about to leave.
            let waker = match self.cpus[this_cpu].curr {
                Some(waker) => self.task_h_load(waker) as i64,
                // The idle task has no load, but asking for it settles the root's for the rest of this tick.
                None => {
                    self.update_h_load(self.cpus[this_cpu].root);
                    0
                }
            };
            if waker > here {
                return true;
            }
            here -= waker;
        }
        let load = self.task_h_load(task) as i64;
        let mut there = (cpu_load(self, previous) as i64).wrapping_sub(load);
        here += load;
        if bias {
            here *= 100;
            there = there.wrapping_mul(i64::from(100 + (self.domains[domain].imbalance_pct - 100) / 2));
        }
        here = here.wrapping_mul(i64::from(self.cpus[previous].balance.cpu_capacity));
        there = there.wrapping_mul(i64::from(self.cpus[this_cpu].balance.cpu_capacity));
        here < there + i64::from(sync)
    }
}
