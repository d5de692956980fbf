// SPDX-License-Identifier: GPL-2.0-only
//! Placing tasks by load, as it was up to 5.4.
//!
//! Source: kernel/sched/fair.c, `wake_affine()`, `effective_load()`, `select_idle_sibling()`,
//! `find_idlest_group()`, 4.6 and 4.11.

use crate::cpu_set::CpuSet;
use crate::domain::DomainFlags;
use crate::features::Feature;
use crate::group::Shares;
use crate::ids::{CpuId, DomainId, GroupId, SchedGroupId, TaskId};
use crate::scheduler::Scheduler;
use crate::units::{Instant, Weight};
use crate::wake::Cause;
use crate::wake::idle::next_wrapped;

/// A group as a new task sees it.
struct Room {
    group: SchedGroupId,
    /// Load of those queued, per capacity.
    queued: u64,
    /// Load, per capacity.
    load: u64,
    /// The most that a CPU has to spare.
    spare: u64,
}

impl Scheduler {
    /// True if the waker's CPU is not busier than the wakee's own would be, once the wakee is there.
    ///
    /// Loads are compared relative to capacity, crosswise to save a division, with a margin in favour of
    /// moving.
    pub(super) fn is_affine_by_effect(
        &mut self,
        domain: DomainId,
        task: TaskId,
        this_cpu: CpuId,
        previous: CpuId,
        sync: bool,
    ) -> bool {
        let mut here = self.runnable_load(this_cpu) as i64;
        let mut there = self.runnable_load(previous) as i64;
        if sync {
            // The waker is about to leave.
            let waker = self.cpus[this_cpu].curr.map(|t| &self.tasks[t]);
            let (group, weight) =
                waker.map_or((GroupId::ROOT, 0), |t| (t.group, self.entities[t.entity].avg.load_avg as i64));
            here += self.effective_load(group, this_cpu, -weight, -weight);
            there += self.effective_load(group, previous, 0, -weight);
        }
        let (group, weight) = {
            let t = &self.tasks[task];
            (t.group, self.entities[t.entity].avg.load_avg as i64)
        };
        let mut here_scaled = 100 * self.capacity(previous);
        let margin = i64::from(100 + (self.domains[domain].imbalance_pct - 100) / 2);
        let mut there_scaled = margin * self.capacity(this_cpu);
        if here > 0 {
            here_scaled *= here + self.effective_load(group, this_cpu, weight, weight);
            there_scaled *= there + self.effective_load(group, previous, 0, weight);
        }
        here_scaled <= there_scaled
    }

    fn capacity(&self, cpu: CpuId) -> i64 {
        i64::from(self.cpus[cpu].balance.cpu_capacity)
    }

    /// By how much the load of a CPU changes if `load` joins a group there, and `total` joins the group
    /// anywhere. At each level the group's part of its shares changes:
    ///
    /// ```text
    ///     shares * (w + load) / (W + total) - what its entity has      w: load here, W: of the whole group
    /// ```
    ///
    /// which is what joins the level above.
    fn effective_load(&self, group: GroupId, cpu: CpuId, load: i64, total: i64) -> i64 {
        let rules = self.config.variants.load;
        let (mut load, mut total) = (load, total);
        let mut at = self.groups[group].on(cpu).entity;
        while let Some(se) = at {
            let entity = &self.entities[se];
            let queue = &self.queues[entity.my_queue.expect("only groups have a part of shares")];
            let group = &self.groups[queue.group];
            let own = queue.avg.load_avg as i64;
            // Up to 4.6 the whole counts this queue by its weight.
            let counted = if rules.weighed_from_below { rules.table(queue.load) as i64 } else { own };
            let whole = total + group.load_avg - queue.tg_load_contrib as i64 + counted;
            let part = own + load;
            let shares = rules.table(group.shares) as i64;
            load = if whole > 0 && part < whole { part.wrapping_mul(shares) / whole } else { shares };
            // The floor is an unsigned number, against which what would be negative counts as huge.
            if (load as u64) < Shares::MIN.get() {
                load = Shares::MIN.get() as i64;
            }
            load -= entity.avg.load_avg as i64;
            total = 0;
            at = entity.parent;
        }
        load
    }

    /// Up to 4.8: the target or the wakee's own CPU if idle, else the first CPU of an idle group near the
    /// target, of as big a domain as possible.
    pub(super) fn select_idle_group(&self, task: TaskId, target: CpuId) -> CpuId {
        let previous = self.tasks[task].cpu;
        if self.is_idle(target) {
            return target;
        }
        if previous != target && self.share_cache(previous, target) && self.is_idle(previous) {
            return previous;
        }
        let allowed = &self.tasks[task].affinity;
        let mut at = self.domains.cpu(target).llc;
        while let Some(id) = at {
            let domain = &self.domains[id];
            for group in self.domains.groups(domain) {
                let span = self.domains.group_span(group);
                if span.intersects(allowed) && span.iter().all(|c| c != target && self.is_idle(c)) {
                    return span.iter_and(allowed).next().unwrap_or(target);
                }
            }
            at = domain.child;
        }
        target
    }

    /// From 4.9: the target or the wakee's own CPU if idle, else an idle core, an idle CPU of the last-level
    /// cache, an idle thread of the target's core.
    pub(super) fn select_idle_core_or_cpu(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        previous: CpuId,
        target: CpuId,
    ) -> CpuId {
        if self.is_idle(target) {
            return target;
        }
        if previous != target && self.share_cache(previous, target) && self.is_idle(previous) {
            return previous;
        }
        let rules = self.config.variants.wake;
        if rules.remembers_used {
            let recent = self.tasks[task].recent_used_cpu;
            if recent != previous
                && recent != target
                && self.share_cache(recent, target)
                && self.is_idle(recent)
                && self.tasks[task].affinity.contains(recent)
            {
                // The one it was on may be good next time.
                self.tasks[task].recent_used_cpu = previous;
                return recent;
            }
        }
        let Some(llc) = self.domains.cpu(target).llc else { return target };
        if self.smt_present && self.has_idle_cores(target) {
            let mut cpus = self.take_spare_set();
            cpus.become_and(self.domains.span(llc), &self.tasks[task].affinity);
            let core = self.idle_core(&mut cpus, target);
            self.give_back(cpus);
            if let Some(core) = core {
                return core;
            }
            self.set_idle_cores(target, false);
        }
        if self.domains.cpu(this_cpu).llc.is_some()
            && let Some(cpu) = self.idle_within_reach(this_cpu, task, llc, target)
        {
            return cpu;
        }
        if self.smt_present {
            let allowed = &self.tasks[task].affinity;
            if let Some(thread) = self.siblings(target).iter_and(allowed).find(|&c| self.is_idle(c)) {
                return thread;
            }
        }
        target
    }

    /// An idle CPU of the last-level cache, the first after the target. With `SIS_PROP` so many are looked at as
    /// the waker's CPU is idle on average, in parts of 512 of a nanosecond for each CPU of the cache, since looking
    /// takes no time here; at least 4.
    fn idle_within_reach(
        &self,
        this_cpu: CpuId,
        task: TaskId,
        llc: DomainId,
        target: CpuId,
    ) -> Option<CpuId> {
        let mut left = u64::MAX;
        if self.config.features.has(Feature::SisProp) {
            let idle = self.cpus[this_cpu].balance.avg_idle.0 / 512;
            left = u64::from(self.domains[llc].weight) * idle;
            left = if left > 4 { left } else { 4 };
        }
        for cpu in self.domains.span(llc).iter_wrap(target) {
            left -= 1;
            if left == 0 {
                return None;
            }
            if self.tasks[task].affinity.contains(cpu) && self.is_idle(cpu) {
                return Some(cpu);
            }
        }
        None
    }

    /// CPUs differ in capacity, and the task needs more than the smaller of the two has (`wake_cap()`).
    pub(super) fn needs_more_capacity(&mut self, task: TaskId, this_cpu: CpuId, previous: CpuId) -> bool {
        let capacity = |s: &Self, c: CpuId| u64::from(s.cpus[c].capacity.0);
        let least = capacity(self, this_cpu).min(capacity(self, previous));
        let root = self.domains.cpu(this_cpu).root;
        let most = root
            .map_or(0, |r| self.domains.roots()[r].span.iter().map(|c| capacity(self, c)).max().unwrap_or(0));
        if most.saturating_sub(least) < most / 8 {
            return false;
        }
        self.sync_load(task);
        let util = self.entities[self.tasks[task].entity].avg.util_avg;
        least * 1024 < util * 1280
    }

    /// One of these CPUs whose core is wholly idle; the first after the target. What has been looked at leaves the set.
    fn idle_core(&self, cpus: &mut CpuSet, target: CpuId) -> Option<CpuId> {
        let (mut from, mut wrapped) = (Some(target), false);
        while let Some(cpu) = next_wrapped(cpus, target, &mut from, &mut wrapped) {
            let core = self.siblings(cpu);
            if core.iter().all(|c| self.is_idle(c)) {
                return Some(cpu);
            }
            cpus.remove_all(core);
        }
        None
    }

    /// Up to 4.8: the group with least load per capacity, unless the local one is about as good.
    pub(super) fn find_least_loaded_group(
        &self,
        id: DomainId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> Option<SchedGroupId> {
        let domain = &self.domains[id];
        let margin = u64::from(100 + (domain.imbalance_pct - 100) / 2);
        let (mut here, mut least, mut best) = (0_u64, u64::MAX, None);
        for group in self.domains.groups(domain) {
            let span = self.domains.group_span(group);
            if !span.intersects(&self.tasks[task].affinity) {
                continue;
            }
            let load: u64 = span.iter().map(|c| self.runnable_load(c)).sum();
            let load = load.wrapping_mul(1024) / self.group_capacity(group);
            if span.contains(this_cpu) {
                here = load;
            } else if load < least {
                (least, best) = (load, Some(group));
            }
        }
        best.filter(|_| 100 * here >= margin.wrapping_mul(least))
    }

    /// From 4.9: for a task that exists already, a group with room for it; else the group with less load
    /// queued, by the weight of a task times the domain's margin; of about equal ones that with less load.
    pub(super) fn find_roomiest_group(
        &self,
        id: DomainId,
        task: TaskId,
        this_cpu: CpuId,
        cause: Cause,
    ) -> Option<SchedGroupId> {
        let domain = &self.domains[id];
        let pct = u64::from(domain.imbalance_pct);
        let margin = 100 + (pct - 100) / 2;
        let least_gain = Weight::NICE_0.down() * (pct - 100) / 100;
        let (mut here, mut roomiest): (Option<Room>, Option<(SchedGroupId, u64)>) = (None, None);
        let (mut least_queued, mut least_load, mut best) = (u64::MAX, u64::MAX, None);
        for group in self.domains.groups(domain) {
            if !self.domains.group_span(group).intersects(&self.tasks[task].affinity) {
                continue;
            }
            let room = self.room_in(group, task);
            if self.domains.group_span(group).contains(this_cpu) {
                here = Some(room);
                continue;
            }
            if least_queued > room.queued + least_gain {
                (least_queued, least_load, best) = (room.queued, room.load, Some(room.group));
            } else if room.queued < least_queued.wrapping_add(least_gain)
                && least_load.wrapping_mul(100) > margin * room.load
            {
                (least_load, best) = (room.load, Some(room.group));
            }
            if roomiest.map_or(0, |(_, spare)| spare) < room.spare {
                roomiest = Some((room.group, room.spare));
            }
        }
        let (here_queued, here_load, here_spare) = here.map_or((0, 0, 0), |r| (r.queued, r.load, r.spare));
        if cause != Cause::Fork {
            let needed = self.entities[self.tasks[task].entity].avg.util_avg / 2;
            let most = roomiest.map_or(0, |(_, spare)| spare);
            if here_spare > needed && margin * here_spare > 100 * most {
                return None;
            }
            if most > needed {
                return roomiest.map(|(group, _)| group);
            }
        }
        let best = best?;
        if self.config.variants.wake.stays_on_node
            && domain.flags.contains(DomainFlags::NUMA)
            && least_queued + least_gain >= here_queued
        {
            return None;
        }
        if least_queued > here_queued + least_gain
            || here_queued < least_queued + least_gain && 100 * here_load < margin * least_load
        {
            return None;
        }
        Some(best)
    }

    fn room_in(&self, group: SchedGroupId, task: TaskId) -> Room {
        let capacity = self.group_capacity(group);
        let (mut queued, mut load, mut spare) = (0_u64, 0_u64, 0_u64);
        for cpu in self.domains.group_span(group).iter() {
            queued += self.runnable_load(cpu);
            load += self.cpu_load(cpu);
            spare = spare.max(self.spare_without(cpu, task));
        }
        Room {
            group,
            queued: queued.wrapping_mul(1024) / capacity,
            load: load.wrapping_mul(1024) / capacity,
            spare,
        }
    }

    fn group_capacity(&self, group: SchedGroupId) -> u64 {
        u64::from(self.states.capacities[self.domains.group(group).capacity].capacity).max(1)
    }

    /// What a CPU has to spare, not counting the task's own use of it (`capacity_spare_wake()`).
    fn spare_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let rq = &self.cpus[cpu];
        let t = &self.tasks[task];
        let entity = &self.entities[t.entity];
        let mut util = self.queues[rq.root].avg.util_avg;
        if t.cpu == cpu && entity.avg.last_update_time != Instant(0) {
            util = util.saturating_sub(entity.avg.util_avg);
        }
        let capacity = u64::from(rq.capacity.0);
        if !self.config.variants.wake.remembers_used {
            return capacity - util.min(capacity);
        }
        if self.config.features.has(Feature::UtilEst) {
            util = util.max(u64::from(self.queues[rq.root].avg.util_est));
        }
        u64::from(rq.balance.cpu_capacity).saturating_sub(util.min(capacity))
    }
}
