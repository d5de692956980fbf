// SPDX-License-Identifier: GPL-2.0-only
//! Group shares as they were up to 2.6.37: divided among the CPUs of a domain, now and then.
//!
//! A CPU's part of a group's shares is the weight of the group's entity there. It changes only when somebody has
//! the shares of a domain divided anew:
//!
//! ```text
//!                          weight of the group's queue here, or 1024 if nobody is in it
//!     part = parts of all * ----------------------------------------------------------- ,  2 to 2^18
//!                                          the same, of all CPUs of the domain
//! ```
//!
//! The parts of all are together what the domain's CPUs have; in the top domain, where that is everybody, the
//! whole shares. Small changes are not carried out. Groups are gone through from below, since the weight of a
//! queue depends on the parts of the groups in it.
//!
//! The load of a queue as seen from the top of the hierarchy is computed from the top, when balancing wants it.
//!
//! Source: kernel/sched.c of 2.6.29, `update_shares()`, `tg_shares_up()`, `update_group_shares_cpu()`,
//! `tg_load_down()`, and `effective_load()` of kernel/sched_fair.c.

use alloc::vec::Vec;

use crate::features::Feature;
use crate::group::Shares;
use crate::ids::{CpuId, DomainId, GroupId};
use crate::nice::LoadWeight;
use crate::scheduler::Scheduler;
use crate::units::Weight;

/// What a queue without entities is taken to weigh: so that whoever comes is not starved until the next time.
const EMPTY: u64 = 1024;

/// A group's part of a CPU. Weights are in units of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainShare {
    /// Weight of the tasks at this level; groups do not count.
    pub task_weight: u64,
    /// Part of the group's shares, as of the last time they were divided; 0 = they have not been.
    pub shares: u64,
    /// Weight of the queue at that time.
    pub rq_weight: u64,
    /// Load as seen from the top, when it was last asked for.
    pub h_load: u64,
}

impl Scheduler {
    /// Divides the shares of all groups among the CPUs of a domain, unless that was done a moment ago.
    pub(crate) fn update_shares(&mut self, domain: DomainId) {
        let last = self.states.domains[domain].shares_divided;
        let elapsed = self.now.0.wrapping_sub(last.0) as i64;
        if elapsed >= self.config.tunables.shares_ratelimit.0 as i64 {
            self.states.domains[domain].shares_divided = self.now;
            self.divide_from_below(GroupId::ROOT, domain);
        }
    }

    /// Of groups with the same parent, the one listed last comes first.
    fn divide_from_below(&mut self, group: GroupId, domain: DomainId) {
        let children: Vec<GroupId> = self.groups[group].children.iter().rev().copied().collect();
        for child in children {
            self.divide_from_below(child, domain);
        }
        self.divide_shares(group, domain);
    }

    fn divide_shares(&mut self, group: GroupId, domain: DomainId) {
        let whole = self.groups[group].shares.down();
        let cpus: Vec<CpuId> = self.domains.span(domain).iter().collect();
        let (mut weight, mut parts) = (0_u64, 0_u64);
        for &cpu in &cpus {
            let queue = &mut self.queues[self.groups[group].on(cpu).queue];
            queue.share.rq_weight = match queue.load.down() {
                0 => EMPTY,
                load => load,
            };
            weight += queue.share.rq_weight;
            parts += queue.share.shares;
        }
        if parts == 0 || parts > whole || self.domains[domain].parent.is_none() {
            parts = whole;
        }
        for cpu in cpus {
            self.set_part(group, cpu, parts, weight);
        }
    }

    fn set_part(&mut self, group: GroupId, cpu: CpuId, parts: u64, weight: u64) {
        let place = self.groups[group].on(cpu);
        let Some(se) = place.entity else { return };
        let part = parts.wrapping_mul(self.queues[place.queue].share.rq_weight) / weight;
        let part = part.clamp(Shares::MIN.get(), Shares::MAX.get());
        if part.abs_diff(self.entities[se].weight.down()) > self.config.tunables.shares_thresh {
            self.queues[place.queue].share.shares = part;
            let load = LoadWeight { weight: Weight::from_table(part), inverse: 0 };
            self.reweight(self.entities[se].queue, se, load);
        }
    }

    /// Every CPU gets the whole shares of a group, until they are divided next.
    pub(crate) fn spread_whole_shares(&mut self, group: GroupId) {
        let load = LoadWeight { weight: self.groups[group].shares, inverse: 0 };
        for cpu in self.cpus.ids() {
            let place = self.groups[group].on(cpu);
            self.queues[place.queue].share.shares = 0;
            if let Some(se) = place.entity {
                self.reweight(self.entities[se].queue, se, load);
            }
        }
        self.list_first(group);
    }

    /// The group comes first wherever groups are gone through: among its siblings, and among all queues of a
    /// CPU.
    pub(crate) fn list_first(&mut self, group: GroupId) {
        self.listed.retain(|&g| g != group);
        self.listed.push(group);
        if let Some(parent) = self.groups[group].parent {
            let siblings = &mut self.groups[parent].children;
            siblings.retain(|&g| g != group);
            siblings.push(group);
        }
    }

    /// Computes the load of all queues of a CPU as seen from the top (`update_h_load()`).
    pub(crate) fn update_loads_from_top(&mut self, cpu: CpuId) {
        let root = self.cpus[cpu].root;
        self.queues[root].share.h_load = self.weighted_load(cpu);
        // A group is made after its parent.
        for group in self.groups.ids().skip(1).collect::<Vec<_>>() {
            let queue = self.groups[group].on(cpu).queue;
            let parent = self.groups[group].parent.unwrap_or(GroupId::ROOT);
            let above = &self.queues[self.groups[parent].on(cpu).queue];
            let load =
                above.share.h_load.wrapping_mul(self.queues[queue].share.shares) / (above.load.down() + 1);
            self.queues[queue].share.h_load = load;
        }
    }

    /// By how much the weight of a CPU changes if `joins` joins the group there, and `total` joins the group
    /// anywhere. What has changed since shares were divided last counts as well. At each level, with `S` the
    /// shares, `s` the part, `w` the weight of then:
    ///
    /// ```text
    ///     joins' = s (S (w + joins) - S w - s total) / (S w + s total)
    /// ```
    pub(crate) fn effective_weight(&self, group: GroupId, cpu: CpuId, joins: i64, total: i64) -> i64 {
        if self.groups[group].parent.is_none() {
            return joins;
        }
        if joins == 0 && self.config.features.has(Feature::AsymEffLoad) {
            return joins;
        }
        let (mut joins, mut total) = (joins, total);
        let mut at = self.groups[group].on(cpu).entity;
        while let Some(se) = at {
            let entity = &self.entities[se];
            let queue = &self.queues[entity.my_queue.expect("only groups have a part of shares")];
            let since = (queue.load.down() as i64).wrapping_sub(queue.share.rq_weight as i64);
            joins = joins.wrapping_add(since);
            total = total.wrapping_add(since);
            let shares = self.groups[queue.group].shares.down() as i64;
            let (part, weight) = (queue.share.shares as i64, queue.share.rq_weight as i64);
            let with = shares.wrapping_mul(weight.wrapping_add(joins));
            let without = shares.wrapping_mul(weight).wrapping_add(part.wrapping_mul(total));
            joins = part.wrapping_mul(with.wrapping_sub(without));
            if without != 0 {
                joins = joins.wrapping_div(without);
            }
            // The group runs already, so its weight is accounted for above.
            total = 0;
            at = entity.parent;
        }
        joins
    }
}
