// SPDX-License-Identifier: GPL-2.0-only
//! What changes about scheduling domains while the machine runs.

use super::{Domain, DomainFlags, Domains};
use crate::ids::{CapacityId, CpuId, DomainId, IdVec, SchedGroupId, SharedId};
use crate::units::{Instant, Jiffies, Nanos};

/// The tick's time, and how long balancing may wait at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickTime {
    /// Ticks since the machine was switched on.
    pub now: Jiffies,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: u32,
    /// The longest time between two balancings of a domain (`max_load_balance_interval`).
    pub max_interval: Jiffies,
}

impl TickTime {
    /// When the machine is switched on: no time has passed, and balancing waits a tenth of a second at most.
    pub const fn boot(hz: u32) -> Self {
        Self { now: Jiffies(0), hz, max_interval: Jiffies(hz as u64 / 10) }
    }

    /// The longest time between balancings with so many CPUs online (`update_max_interval()`).
    pub const fn max_interval(hz: u32, online: usize) -> Jiffies {
        Jiffies(hz as u64 * online as u64 / 10)
    }
}

/// Where the balancing of one domain stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainState {
    /// When it was balanced last.
    pub last_balance: Jiffies,
    /// Time between balancings, in milliseconds; grows while there is nothing to do.
    pub balance_interval_ms: u32,
    /// When the shares of groups were last divided among the domain's CPUs (up to 2.6.37).
    pub shares_divided: Instant,
    /// How many balancings in a row found an imbalance but moved nothing.
    pub nr_balance_failed: u32,
    /// The longest that newly-idle balancing has taken lately.
    pub max_newidle_lb_cost: Nanos,
    /// When that was last made to decay.
    pub last_decay_max_lb_cost: Jiffies,
    /// How often newly-idle balancing was tried, in a decaying count.
    pub newidle_call: u32,
    /// How often it succeeded, in a decaying count.
    pub newidle_success: u32,
    /// The rate of success, of 1024.
    pub newidle_ratio: u32,
    /// The CPU's tick is stopped and the last-level cache counts it as idle.
    pub nohz_idle: bool,
}

impl DomainState {
    /// The state of a new domain: as if half of the newly-idle balancing had succeeded.
    pub(super) const fn new(now: Jiffies, interval_ms: u32) -> Self {
        Self {
            last_balance: now,
            balance_interval_ms: interval_ms,
            shares_divided: Instant(0),
            nr_balance_failed: 0,
            max_newidle_lb_cost: Nanos::ZERO,
            last_decay_max_lb_cost: now,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
            nohz_idle: false,
        }
    }
}

/// The computing power of a group, and what else its viewers share (`sched_group_capacity`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCapacity {
    /// Sum over the CPUs, less what higher classes and interrupts take.
    pub capacity: u32,
    /// The least of a CPU.
    pub min_capacity: u32,
    /// The greatest of a CPU.
    pub max_capacity: u32,
    /// When to add up again.
    pub next_update: Jiffies,
    /// A lower domain could not balance because of affinity (`sgc->imbalance`).
    pub imbalance: bool,
}

impl GroupCapacity {
    /// So many CPUs of full capacity, until they are looked at.
    pub(super) const fn of_full_cpus(count: u32) -> Self {
        Self {
            capacity: 1024 * count,
            min_capacity: 1024,
            max_capacity: 1024,
            next_update: Jiffies(0),
            imbalance: false,
        }
    }
}

/// What the CPUs of a last-level cache share (`sched_domain_shared`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// CPUs whose tick runs.
    pub nr_busy_cpus: i32,
    /// There may be a core with all threads idle.
    pub has_idle_cores: bool,
    /// How many CPUs a wake-up looks at (SIS_UTIL).
    pub nr_idle_scan: u32,
}

/// The changing part of [`Domains`]; the two belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainStates {
    /// Of each domain.
    pub domains: IdVec<DomainId, DomainState>,
    /// Of each group.
    pub capacities: IdVec<CapacityId, GroupCapacity>,
    /// Of each last-level cache.
    pub shared: IdVec<SharedId, SharedState>,
}

impl DomainStates {
    /// Adds up the capacity of the domain's local group (`update_group_capacity()`).
    ///
    /// `capacity_of` gives what a CPU has left for fair tasks (`rq->cpu_capacity`); at the lowest level bring
    /// that of the domain's CPU up to date first.
    pub fn update_group_capacity(
        &mut self,
        domains: &Domains,
        domain: DomainId,
        time: TickTime,
        capacity_of: impl Fn(CpuId) -> u32,
    ) {
        let sd = &domains[domain];
        let interval = Jiffies::from_millis(u64::from(self.domains[domain].balance_interval_ms), time.hz);
        let interval = Jiffies(interval.0.clamp(1, time.max_interval.0.max(1)));
        let local = domains.local_group(domain);
        let (capacity, min_capacity, max_capacity) = self.sum_of_parts(domains, sd, local, capacity_of);
        let group = &mut self.capacities[domains.group(local).capacity];
        *group = GroupCapacity {
            capacity,
            min_capacity,
            max_capacity,
            next_update: Jiffies(time.now.0 + interval.0),
            imbalance: group.imbalance,
        };
    }

    /// Sum, least and greatest of the parts of the local group.
    fn sum_of_parts(
        &self,
        domains: &Domains,
        sd: &Domain,
        local: SchedGroupId,
        capacity_of: impl Fn(CpuId) -> u32,
    ) -> (u32, u32, u32) {
        let mut parts = (0, u32::MAX, 0);
        let mut add = |capacity: u32, min: u32, max: u32| {
            parts = (parts.0 + capacity, parts.1.min(min), parts.2.max(max));
        };
        match sd.child {
            None => {
                let capacity = capacity_of(sd.cpu);
                add(capacity, capacity, capacity);
            }
            // Overlapping groups of the child need not make up the local group: go by CPUs.
            Some(child) if domains[child].flags.contains(DomainFlags::OVERLAP) => {
                for cpu in domains.group_span(local).iter() {
                    let capacity = capacity_of(cpu);
                    add(capacity, capacity, capacity);
                }
            }
            Some(child) => {
                for group in domains.groups(&domains[child]) {
                    let part = &self.capacities[domains.group(group).capacity];
                    add(part.capacity, part.min_capacity, part.max_capacity);
                }
            }
        }
        parts
    }
}
