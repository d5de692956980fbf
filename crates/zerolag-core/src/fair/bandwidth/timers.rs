// SPDX-License-Identifier: GPL-2.0-only
//! The timers of a group's bandwidth, and how the pool is shared out among throttled queues.

use alloc::vec::Vec;

use crate::fair::bandwidth::{BandwidthTimer, SLACK_DELAY, SLACK_MARGIN};
use crate::ids::{CpuId, GroupId, QueueId};
use crate::scheduler::{Effect, Scheduler};
use crate::units::{Instant, Nanos};

impl Scheduler {
    /// Sets the period timer, unless it is set (`start_cfs_bandwidth()`).
    pub(crate) fn start_period(&mut self, group: GroupId) {
        let now = self.now;
        let bandwidth = &mut self.groups[group].bandwidth;
        if !bandwidth.period_active {
            bandwidth.period_active = true;
            bandwidth.forward(now);
            let at = bandwidth.period_ends;
            self.push(Effect::BandwidthTimer { group, timer: BandwidthTimer::Period, at });
        }
    }

    /// Sets the slack timer, unless it is set or the period ends soon (`start_cfs_slack_bandwidth()`).
    pub(super) fn start_slack(&mut self, group: GroupId) {
        let now = self.now;
        let bandwidth = &mut self.groups[group].bandwidth;
        if bandwidth.ends_within(now, SLACK_DELAY + SLACK_MARGIN) || bandwidth.slack_started {
            return;
        }
        bandwidth.slack_started = true;
        self.push(Effect::BandwidthTimer { group, timer: BandwidthTimer::Slack, at: now + SLACK_DELAY });
    }

    /// A timer that [`Effect::BandwidthTimer`] asked for has expired; its interrupt runs on `this_cpu`.
    pub fn bandwidth_timer(&mut self, now: Instant, this_cpu: CpuId, group: GroupId, timer: BandwidthTimer) {
        self.at(now);
        match timer {
            BandwidthTimer::Period => self.end_period(this_cpu, group),
            BandwidthTimer::Slack => self.pay_slack(this_cpu, group),
        }
    }

    /// `sched_cfs_period_timer()`
    fn end_period(&mut self, this_cpu: CpuId, group: GroupId) {
        let ended = self.groups[group].bandwidth.forward(self.now);
        if ended == 0 || self.begin_period(this_cpu, group, ended) {
            let at = self.groups[group].bandwidth.period_ends;
            self.push(Effect::BandwidthTimer { group, timer: BandwidthTimer::Period, at });
        } else {
            self.groups[group].bandwidth.period_active = false;
        }
    }

    /// Fills the pool and pays throttled queues. Returns true if the timer is to go on: not if a whole period
    /// passed in which nobody took anything (`do_sched_cfs_period_timer()`).
    fn begin_period(&mut self, this_cpu: CpuId, group: GroupId, ended: u64) -> bool {
        let bandwidth = &mut self.groups[group].bandwidth;
        if bandwidth.quota.is_none() {
            return false;
        }
        let throttled = !bandwidth.throttled.is_empty();
        bandwidth.stat.nr_periods += ended;
        bandwidth.refill();
        if !throttled {
            return !core::mem::replace(&mut bandwidth.idle, true);
        }
        bandwidth.stat.nr_throttled += ended;
        while self.groups[group].bandwidth.runtime > Nanos::ZERO && self.distribute_runtime(this_cpu, group) {
        }
        self.groups[group].bandwidth.idle = false;
        true
    }

    /// `do_sched_cfs_slack_timer()`
    fn pay_slack(&mut self, this_cpu: CpuId, group: GroupId) {
        let now = self.now;
        let slice = self.config.tunables.bandwidth_slice;
        let bandwidth = &mut self.groups[group].bandwidth;
        bandwidth.slack_started = false;
        if !bandwidth.ends_within(now, SLACK_MARGIN) && bandwidth.quota.is_some() && bandwidth.runtime > slice
        {
            self.distribute_runtime(this_cpu, group);
        }
    }

    /// Pays the debts of throttled queues, in their order, as far as the pool goes; those with something left
    /// then are unthrottled. Returns true if somebody could not be (`distribute_cfs_runtime()`).
    fn distribute_runtime(&mut self, this_cpu: CpuId, group: GroupId) -> bool {
        let waiting: Vec<QueueId> = self.groups[group].bandwidth.throttled.iter().copied().collect();
        let by_interrupt = self.bandwidth_rules().unthrottles_by_interrupt;
        let mut here = None;
        let mut unpaid = false;
        let mut exhausted = false;
        for q in waiting {
            if exhausted {
                unpaid = true;
                break;
            }
            let throttle = &mut self.queues[q].throttle;
            if !throttle.throttled || throttle.unthrottling {
                continue;
            }
            let pool = &mut self.groups[group].bandwidth.runtime;
            let amount = (1 - throttle.runtime_remaining).min(pool.0 as i64);
            pool.0 -= amount as u64;
            exhausted = *pool == Nanos::ZERO;
            throttle.runtime_remaining += amount;
            let paid = throttle.runtime_remaining > 0;
            unpaid |= !paid;
            if paid && !by_interrupt {
                self.unthrottle(q);
            } else if paid && self.queues[q].cpu == this_cpu {
                here = Some(q);
            } else if paid {
                self.unthrottle_remotely(q);
            }
        }
        if let Some(q) = here {
            self.unthrottle(q);
        }
        unpaid
    }

    fn unthrottle_remotely(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        queue.throttle.unthrottling = true;
        let cpu = queue.cpu;
        if self.cpus[cpu].unthrottle_list.is_empty() {
            self.push(Effect::UnthrottleIpi { cpu });
        }
        self.cpus[cpu].unthrottle_list.push(q);
    }

    /// The interrupt that [`Effect::UnthrottleIpi`] stands for: the CPU unthrottles the queues that were paid
    /// (`__cfsb_csd_unthrottle()`).
    pub fn finish_unthrottling(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        self.update_clock(cpu);
        for q in core::mem::take(&mut self.cpus[cpu].unthrottle_list) {
            self.queues[q].throttle.unthrottling = false;
            if self.queues[q].throttle.throttled {
                self.unthrottle(q);
            }
        }
    }
}
