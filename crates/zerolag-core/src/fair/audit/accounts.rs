// SPDX-License-Identifier: GPL-2.0-only
//! Accounts that are kept beside the queues: bandwidth, who is idle without a tick, averages.

use alloc::format;
use alloc::vec::Vec;

use super::{Invariant, Queue, Violation};
use crate::ids::{CpuId, Id, QueueId};
use crate::pelt::{DIVIDER_MIN, LOAD_AVG_MAX};
use crate::scheduler::Scheduler;
use crate::task::TaskState;
use crate::variants::LoadTracking;

/// The limit of a sum with ten more bits, of which truncation takes less: `1024 / (1 - y)` is below 47789.
const FINE_SUM_MAX: u64 = 47_789 << 10;

/// Checks all of them.
pub(super) fn check(s: &Scheduler) -> Result<(), Violation> {
    if s.bandwidth_used {
        s.queues.ids().try_for_each(|q| bandwidth(s, q))?;
    }
    if s.has_domains && !s.config.variants.balance.by_weight {
        nohz(s)?;
        busy_cpus(s)?;
    }
    if s.config.variants.pelt && s.config.variants.load.tracking == LoadTracking::RunnableTime {
        s.queues.ids().try_for_each(|q| averages_of_queue(s, q))?;
        averages_of_tasks(s)?;
    }
    loads_of_groups(s)
}

fn bandwidth(s: &Scheduler, q: QueueId) -> Result<(), Violation> {
    let queue = Queue::of(s, q);
    let throttle = &queue.queue.throttle;
    let listed = s.groups[queue.queue.group].bandwidth.throttled.iter().filter(|&&other| other == q).count();
    queue.require(Invariant::ThrottledIsListed, listed == usize::from(throttle.throttled), || {
        format!("throttled: {}, listed {listed} times", throttle.throttled)
    })?;
    let mut above = 0;
    let mut at = Some(q);
    while let Some(q) = at {
        above += u32::from(s.queues[q].throttle.throttled);
        at = s.queues[q].parent;
    }
    queue.require(Invariant::ThrottleCount, throttle.throttle_count == above, || {
        format!("{} stored, {above} counted", throttle.throttle_count)
    })?;
    let spent = throttle.runtime_remaining <= 0 || throttle.unthrottling;
    queue.require(Invariant::ThrottledIsSpent, !throttle.throttled || spent, || {
        format!("{} ns are left", throttle.runtime_remaining)
    })
}

fn nohz(s: &Scheduler) -> Result<(), Violation> {
    let mut members = 0;
    for cpu in s.cpus.ids() {
        let queue = Queue::of(s, s.cpus[cpu].root);
        let (stopped, member) = (s.cpus[cpu].balance.nohz_tick_stopped, s.nohz.idle_cpus.contains(cpu));
        members += u32::from(member);
        queue.require(Invariant::NohzMask, stopped == member, || {
            format!("its tick is stopped: {stopped}, it is in the mask: {member}")
        })?;
        queue
            .require(Invariant::NohzMask, !member || s.active.contains(cpu), || "it takes no tasks".into())?;
    }
    let counted = s.nohz.nr_cpus;
    // Of no CPU in particular.
    let first = Queue::of(s, s.cpus[CpuId(0)].root);
    first.require(Invariant::NohzMask, counted == members, || {
        format!("{members} in the mask, {counted} counted")
    })
}

fn busy_cpus(s: &Scheduler) -> Result<(), Violation> {
    let mut idle: Vec<i32> = s.states.shared.iter().map(|_| 0).collect();
    let caches = || {
        let cpus = s.cpus.ids().filter(|&cpu| s.counts_busy(cpu)).map(|cpu| (cpu, s.domains.cpu(cpu)));
        cpus.filter_map(|(cpu, places)| Some((cpu, places.llc?, places.shared?)))
    };
    for (_, llc, shared) in caches() {
        idle[shared.index()] += i32::from(s.states.domains[llc].nohz_idle);
    }
    caches().try_for_each(|(cpu, llc, shared)| {
        // sd_init() begins with the CPUs of the cache, balanced or not, as it does for the interval.
        let counted = s.domains[llc].min_interval_ms as i32 - idle[shared.index()];
        let stored = s.states.shared[shared].nr_busy_cpus;
        Queue::of(s, s.cpus[cpu].root)
            .require(Invariant::BusyCpus, stored == counted, || format!("{stored} stored, {counted} counted"))
    })
}

fn averages_of_queue(s: &Scheduler, q: QueueId) -> Result<(), Violation> {
    let queue = Queue::of(s, q);
    let avg = &queue.queue.avg;
    // The kernel computes the least sum in 32 bits; what does not fit is not looked at.
    let least =
        |average: u64| Some(average * u64::from(DIVIDER_MIN)).filter(|&sum| sum >> 32 == 0).unwrap_or(0);
    let sound = u64::from(avg.util_sum) >= least(avg.util_avg)
        && avg.runnable_sum >= least(avg.runnable_avg)
        && (avg.load_sum != 0 || avg.load_avg == 0);
    queue.require(Invariant::SumsCarryAverages, sound, || format!("{avg:?}"))
}

fn loads_of_groups(s: &Scheduler) -> Result<(), Violation> {
    s.groups.iter().try_for_each(|(_, group)| {
        let contributed: i64 = group.per_cpu.iter().map(|on| s.queues[on.queue].tg_load_contrib as i64).sum();
        let first = Queue::of(s, group.per_cpu[0].queue);
        first.require(Invariant::GroupLoad, group.load_avg == contributed, || {
            format!("{} stored, {contributed} contributed", group.load_avg)
        })
    })
}

fn averages_of_tasks(s: &Scheduler) -> Result<(), Violation> {
    for (_, task) in s.tasks.iter().filter(|(_, t)| t.state != TaskState::Dead && t.policy.is_fair()) {
        let entity = &s.entities[task.entity];
        let avg = &entity.avg;
        let sound = avg.load_sum <= u64::from(LOAD_AVG_MAX)
            && avg.runnable_sum <= FINE_SUM_MAX
            && u64::from(avg.util_sum) <= FINE_SUM_MAX
            && avg.period_contrib < 1024;
        Queue::of(s, entity.queue).require(Invariant::SumsBounded, sound, || format!("{avg:?}"))?;
    }
    Ok(())
}
