// SPDX-License-Identifier: GPL-2.0-only
//! Limiting how much CPU time a group may use.
//!
//! Source: kernel/sched/core.c, `tg_set_cfs_bandwidth()`; same in 6.1 and 6.12.

use crate::fair::bandwidth::{Bandwidth, BandwidthError};
use crate::ids::GroupId;
use crate::scheduler::Scheduler;
use crate::units::{Instant, Nanos};
use crate::variants::{BandwidthRules, Throttling};

impl Scheduler {
    /// Sets how much CPU time a group may use in each period, and how much of what it did not use it may keep
    /// (`cpu.max` and `cpu.max.burst`): `quota` from 1 ms, nothing = unlimited; `period` from 1 ms to 1 s;
    /// `burst` up to the quota.
    ///
    /// A limit above that of a parent is accepted, and without effect, as in cgroup v2.
    pub fn set_bandwidth(
        &mut self,
        now: Instant,
        group: GroupId,
        quota: Option<Nanos>,
        period: Nanos,
        burst: Nanos,
    ) -> Result<(), BandwidthError> {
        self.at(now);
        if self.config.variants.bandwidth.is_none() {
            return Err(BandwidthError::NotInKernel);
        }
        if group == GroupId::ROOT {
            return Err(BandwidthError::IsRoot);
        }
        Bandwidth::check(quota, period, burst)?;
        self.bandwidth_used |= quota.is_some();
        let bandwidth = &mut self.groups[group].bandwidth;
        (bandwidth.quota, bandwidth.period, bandwidth.burst) = (quota, period, burst);
        bandwidth.refill();
        if quota.is_some() {
            self.start_period(group);
        }
        let per_task = self.bandwidth_rules().throttling == Throttling::Tasks;
        for cpu in self.online.clone().iter() {
            let q = self.groups[group].on(cpu).queue;
            let throttle = &mut self.queues[q].throttle;
            throttle.runtime_enabled = quota.is_some();
            // One that joins a throttled hierarchy must not be throttled itself while that is unthrottled.
            throttle.runtime_remaining = i64::from(per_task);
            if throttle.throttled {
                self.unthrottle(q);
            }
        }
        Ok(())
    }

    pub(crate) fn bandwidth_rules(&self) -> BandwidthRules {
        self.config.variants.bandwidth.expect("a kernel without bandwidth accepts no quota")
    }
}
