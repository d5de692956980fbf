// SPDX-License-Identifier: GPL-2.0-only
//! The idlest CPU of the machine, for tasks that have no data in any cache yet.
//!
//! Goes down the domains: in each, the idlest group, unless the local one is as good; in that group, the
//! CPU that has gone idle last (its caches and clocks are still warm), or the least loaded.
//!
//! Source: kernel/sched/fair.c, `find_idlest_cpu()` and what it calls (6.12: `sched_balance_find_dst_cpu()`),
//! same in 6.1 and 6.12.

use crate::balance::classify::{GroupStats, GroupType, adjust_numa_imbalance};
use crate::domain::{Domain, DomainFlags};
use crate::features::Feature;
use crate::ids::{CpuId, DomainId, SchedGroupId, TaskId};
use crate::scheduler::Scheduler;
use crate::task::OnRq;
use crate::units::{Instant, Weight};
use crate::variants::IdlestBy;
use crate::wake::Cause;

impl Scheduler {
    pub(super) fn find_idlest_cpu(
        &mut self,
        domain: DomainId,
        task: TaskId,
        this_cpu: CpuId,
        previous: CpuId,
        cause: Cause,
    ) -> CpuId {
        let rule = self.config.variants.wake.idlest;
        let by_type = rule == IdlestBy::GroupType;
        let stays = self.config.variants.wake.unplaced_stays;
        if !stays && !self.domains.span(domain).intersects(&self.tasks[task].affinity) {
            return previous;
        }
        if !stays && cause != Cause::Fork {
            self.sync_load(task);
            if by_type {
                self.task_h_load(task);
            }
        }
        let flag = cause.flag();
        let mut cpu = this_cpu;
        let mut best = if stays { previous } else { this_cpu };
        let mut at = Some(domain);
        while let Some(id) = at {
            at = self.domains[id].child;
            if !self.domains[id].flags.contains(flag) {
                continue;
            }
            let group = match rule {
                IdlestBy::Load => self.find_least_loaded_group(id, task, cpu),
                IdlestBy::SpareCapacity => self.find_roomiest_group(id, task, cpu, cause),
                IdlestBy::GroupType => self.find_idlest_group(id, task, cpu),
            };
            let Some(group) = group else { continue };
            best = self.find_idlest_in_group(group, task, cpu);
            if best == cpu {
                continue;
            }
            // Go on below from that CPU's point of view.
            cpu = best;
            let weight = self.domains[id].weight;
            let below = self.domains.chain(cpu).take_while(|&d| weight > self.domains[d].weight);
            at = below.filter(|&d| self.domains[d].flags.contains(flag)).last();
        }
        best
    }

    /// The group to go to, or nothing to stay in the local one.
    fn find_idlest_group(&self, id: DomainId, task: TaskId, this_cpu: CpuId) -> Option<SchedGroupId> {
        let domain = &self.domains[id];
        let allowed = &self.tasks[task].affinity;
        let mut local: Option<(SchedGroupId, GroupStats)> = None;
        let mut idlest: Option<(SchedGroupId, GroupStats)> = None;
        let worst = GroupStats {
            avg_load: u64::from(u32::MAX),
            group_type: GroupType::Overloaded,
            ..GroupStats::EMPTY
        };
        for group in self.domains.groups(domain) {
            let span = self.domains.group_span(group);
            if !span.intersects(allowed) {
                continue;
            }
            let stats = self.wakeup_stats(domain, group, task);
            if span.contains(this_cpu) {
                local = Some((group, stats));
            } else {
                let (other, best) = idlest.as_ref().map_or((None, &worst), |(g, s)| (Some(*g), s));
                if self.is_idler(group, &stats, other, best) {
                    idlest = Some((group, stats));
                }
            }
        }
        let (group, idlest) = idlest?;
        let Some((local_group, local)) = local else { return Some(group) };
        match local.group_type.cmp(&idlest.group_type) {
            core::cmp::Ordering::Less => None,
            core::cmp::Ordering::Greater => Some(group),
            core::cmp::Ordering::Equal => {
                self.is_worth_leaving(domain, task, (local_group, &local), (group, &idlest)).then_some(group)
            }
        }
    }

    /// A better candidate than the best so far.
    fn is_idler(
        &self,
        group: SchedGroupId,
        stats: &GroupStats,
        other: Option<SchedGroupId>,
        best: &GroupStats,
    ) -> bool {
        if stats.group_type != best.group_type {
            return stats.group_type < best.group_type;
        }
        match stats.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => stats.avg_load < best.avg_load,
            GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
            GroupType::MisfitTask => {
                other.is_none_or(|o| self.greatest_capacity(o) < self.greatest_capacity(group))
            }
            GroupType::HasSpare => {
                stats.idle_cpus > best.idle_cpus
                    || stats.idle_cpus == best.idle_cpus && stats.util < best.util
            }
        }
    }

    /// Both are in the same state: is the other group better by a margin?
    fn is_worth_leaving(
        &self,
        domain: &Domain,
        task: TaskId,
        (local_group, local): (SchedGroupId, &GroupStats),
        (group, idlest): (SchedGroupId, &GroupStats),
    ) -> bool {
        let numa = domain.flags.contains(DomainFlags::NUMA);
        let pct = u64::from(domain.imbalance_pct);
        match local.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let margin = Weight::NICE_0.down() * (pct - 100) / 100;
                if numa && idlest.avg_load + margin >= local.avg_load {
                    return false;
                }
                idlest.avg_load < local.avg_load + margin && 100 * local.avg_load > pct * idlest.avg_load
            }
            GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
            GroupType::MisfitTask => self.greatest_capacity(local_group) < self.greatest_capacity(group),
            GroupType::HasSpare => {
                if numa {
                    let span = self.domains.group_span(local_group);
                    let allowed = span.len_and(&self.tasks[task].affinity) as u32;
                    let tolerated = allowed.min(domain.imb_numa_nr);
                    let imbalance = i64::from(local.idle_cpus.abs_diff(idlest.idle_cpus));
                    if adjust_numa_imbalance(imbalance, local.nr_running + 1, tolerated) == 0 {
                        return false;
                    }
                }
                local.idle_cpus < idlest.idle_cpus
            }
        }
    }

    fn greatest_capacity(&self, group: SchedGroupId) -> u32 {
        self.states.capacities[self.domains.group(group).capacity].max_capacity
    }

    /// Sums over the CPUs of a group, without the task itself.
    fn wakeup_stats(&self, domain: &Domain, group: SchedGroupId, task: TaskId) -> GroupStats {
        let mut stats = GroupStats::EMPTY;
        let asymmetric = domain.flags.contains(DomainFlags::ASYM_CPUCAPACITY);
        let mut misfit = asymmetric;
        let util = if asymmetric { self.task_util_est(task) } else { 0 };
        let span = self.domains.group_span(group);
        let allowed = if self.config.variants.balance.placed_by_allowed_cpus {
            &self.tasks[task].affinity
        } else {
            span
        };
        for cpu in span.iter_and(allowed) {
            let rq = &self.cpus[cpu];
            let own = self.counted_on(cpu, task);
            stats.load += self.load_without(cpu, task);
            stats.util += self.util_without(cpu, task);
            stats.runnable += self.runnable_without(cpu, task);
            stats.h_nr_running += self.fair_tasks(cpu) - own;
            let nr_running = rq.nr_running - own;
            stats.nr_running += nr_running;
            if nr_running == 0 && self.idle_without(cpu, task) {
                stats.idle_cpus += 1;
            }
            misfit = misfit && !self.util_fits(util, cpu);
        }
        stats.misfit_task_load = u64::from(misfit);
        let sched_group = self.domains.group(group);
        let capacity = &self.states.capacities[sched_group.capacity];
        stats.capacity = u64::from(capacity.capacity);
        stats.weight = sched_group.weight;
        stats.group_type = stats.classify(domain.imbalance_pct, capacity.imbalance);
        if matches!(stats.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            stats.set_avg_load();
        }
        stats
    }

    /// The task's averages are part of the CPU's.
    fn is_attached_to(&self, cpu: CpuId, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.cpu == cpu && self.entities[t.entity].avg.last_update_time != Instant(0)
    }

    fn load_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let load = self.cpu_load(cpu);
        if !self.is_attached_to(cpu, task) {
            return load;
        }
        // The kernel works with 32 bits here.
        u64::from((load as u32).saturating_sub(self.known_h_load(task) as u32))
    }

    fn runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let runnable = self.queues[self.cpus[cpu].root].avg.runnable_avg;
        if !self.is_attached_to(cpu, task) {
            return runnable;
        }
        let own = self.entities[self.tasks[task].entity].avg.runnable_avg;
        u64::from((runnable as u32).saturating_sub(own as u32))
    }

    /// The CPU's utilisation, or the estimate if that is higher, without the task.
    fn util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let root = &self.queues[self.cpus[cpu].root].avg;
        let mut util = root.util_avg;
        let mut estimate = u64::from(root.util_est);
        if self.is_attached_to(cpu, task) {
            let t = &self.tasks[task];
            util = util.saturating_sub(self.entities[t.entity].avg.util_avg);
            if t.on_rq == OnRq::Queued {
                estimate = estimate.saturating_sub(self.own_util_est(task));
            }
        }
        if self.config.features.has(Feature::UtilEst) {
            util = util.max(estimate);
        }
        util.min(u64::from(self.cpus[cpu].capacity.0))
    }

    /// 1 if the task counts as running on the CPU.
    fn counted_on(&self, cpu: CpuId, task: TaskId) -> u32 {
        u32::from(self.is_attached_to(cpu, task) && self.tasks[task].on_rq == OnRq::Queued)
    }

    fn idle_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let rq = &self.cpus[cpu];
        let nobody_else = if rq.stopping { false } else { rq.curr.is_none_or(|c| c == task) };
        nobody_else && self.wake_lists[cpu].is_empty()
    }

    /// The CPU of a group that has gone idle last, else the least loaded.
    fn find_idlest_in_group(&self, group: SchedGroupId, task: TaskId, this_cpu: CpuId) -> CpuId {
        let span = self.domains.group_span(group);
        let by_type = self.config.variants.wake.idlest == IdlestBy::GroupType;
        let own_ties = self.config.variants.wake.unplaced_stays;
        if self.domains.group(group).weight == 1 && !self.config.variants.wake.looks_in_single {
            return span.first().expect("a group is not empty");
        }
        let mut latest = Instant(0);
        let mut idlest = None;
        let mut least_load = u64::MAX;
        let mut least_loaded = this_cpu;
        for cpu in span.iter_and(&self.tasks[task].affinity) {
            if self.is_sched_idle(cpu) {
                return cpu;
            }
            if self.is_idle(cpu) {
                // A CPU that has never run dry has no stamp and is never chosen.
                let stamp = self.cpus[cpu].balance.idle_stamp;
                if stamp > latest {
                    (latest, idlest) = (stamp, Some(cpu));
                }
            } else if idlest.is_none() {
                let load = if by_type { self.cpu_load(cpu) } else { self.runnable_load(cpu) };
                if load < least_load || own_ties && load == least_load && cpu == this_cpu {
                    (least_load, least_loaded) = (load, cpu);
                }
            }
        }
        idlest.unwrap_or(least_loaded)
    }
}
