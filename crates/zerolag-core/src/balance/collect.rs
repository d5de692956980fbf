// SPDX-License-Identifier: GPL-2.0-only
//! Collects what a decision about a domain is based on: sums over each group's CPUs, the busiest group so
//! far, and totals.
//!
//! [`Scheduler::survey`] only reads. What a look at a domain leaves behind for others, the capacity of the
//! local group before it, the mark of overload and the length of wake-up searches after it, is written by
//! functions of their own.
//!
//! Source: kernel/sched/fair.c, `update_sd_lb_stats()` and what it calls, 6.12; others differ as
//! [`BalanceRules`] says.

use crate::balance::classify::{GroupStats, GroupType};
use crate::balance::decide;
use crate::balance::{BalanceRules, IdleType, Pass};
use crate::cpu_set::CpuSet;
use crate::domain::{DomainFlags, Domains};
use crate::features::Feature;
use crate::ids::{CpuId, DomainId, SchedGroupId};
use crate::scheduler::Scheduler;

/// What a pass wants: to bring tasks to a CPU of a domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    pub(crate) idle: IdleType,
    /// Where tasks would go.
    pub(crate) to: CpuId,
    /// What that CPU has for fair tasks.
    pub(crate) capacity: u64,
    /// Its whole core is idle, or would be but for itself.
    pub(crate) core_idle: bool,
    /// Of the domain, as are the rest.
    pub(crate) flags: DomainFlags,
    pub(crate) imbalance_pct: u32,
    pub(crate) imb_numa_nr: u32,
    /// The domain below asks for tasks to be spread.
    pub(crate) child_spreads: bool,
    pub(crate) rules: BalanceRules,
}

/// A group of the domain.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) group: SchedGroupId,
    pub(crate) stats: GroupStats,
    /// Its CPUs are the threads of one core.
    pub(crate) smt: bool,
    /// It asks for tasks to be spread over it and its neighbours.
    pub(crate) spreads: bool,
    pub(crate) cores: u32,
    /// Its first CPU: the one that packing prefers.
    pub(crate) first: CpuId,
    pub(crate) min_capacity: u64,
    pub(crate) max_capacity: u64,
}

/// A domain at a glance.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// The group that tasks would go to.
    pub(crate) local: Side,
    /// The group that needs most to be relieved.
    pub(crate) busiest: Option<Side>,
    pub(crate) total_load: u64,
    pub(crate) total_capacity: u64,
    total_util: u64,
    /// Some CPU has more than one task, or one that is too big for it.
    overloaded: bool,
}

impl Survey {
    #[cfg(test)]
    pub(super) fn of(local: Side, busiest: Option<Side>, total_load: u64, total_capacity: u64) -> Self {
        Self { local, busiest, total_load, total_capacity, total_util: 0, overloaded: false }
    }

    /// Load relative to capacity, over the whole domain.
    pub(crate) fn avg_load(&self) -> u64 {
        self.total_load.wrapping_mul(1024) / self.total_capacity.max(1)
    }
}

impl Aim {
    /// The CPU may pull tasks from CPUs that packing likes less: where threads share a core, only a wholly
    /// idle one may (`sched_use_asym_prio()`).
    pub(crate) fn packs(&self) -> bool {
        self.flags.contains(DomainFlags::ASYM_PACKING)
            && (self.flags.contains(DomainFlags::SHARE_CPUCAPACITY) || self.core_idle)
    }

    /// Packing fills CPUs from the first one up (`arch_asym_cpu_priority()`).
    pub(crate) fn packs_from(&self, from: CpuId) -> bool {
        self.packs() && self.to < from
    }
}

impl Scheduler {
    pub(super) fn aim(&self, pass: &Pass) -> Aim {
        let domain = &self.domains[pass.domain];
        let spreads = |d: DomainId| self.domains[d].flags.contains(DomainFlags::PREFER_SIBLING);
        Aim {
            idle: pass.idle,
            to: pass.to,
            capacity: self.capacity_of(pass.to),
            core_idle: self.is_core_idle(pass.to),
            flags: domain.flags,
            imbalance_pct: domain.imbalance_pct,
            imb_numa_nr: domain.imb_numa_nr,
            child_spreads: domain.child.is_some_and(spreads),
            rules: self.config.variants.balance,
        }
    }

    /// Looks at all groups of the pass's domain.
    pub(super) fn survey(&self, aim: &Aim, pass: &Pass) -> Survey {
        let domain = &self.domains[pass.domain];
        let mut survey = Survey {
            local: side(&self.domains, self.domains.local_group(pass.domain)),
            busiest: None,
            total_load: 0,
            total_capacity: 0,
            total_util: 0,
            overloaded: false,
        };
        for group in self.domains.groups(domain) {
            let local = self.domains.group_span(group).contains(pass.to);
            let mut side = side(&self.domains, group);
            survey.overloaded |= self.sum_up(aim, pass, local, &mut side);
            survey.total_load += side.stats.load;
            survey.total_capacity += side.stats.capacity;
            survey.total_util += side.stats.util;
            if local {
                // Where groups overlap several may contain the CPU: the last one counts.
                survey.local = side;
            } else if decide::is_busier(aim, &survey.local.stats, survey.busiest.as_ref(), &side) {
                survey.busiest = Some(side);
            }
        }
        survey
    }

    /// Sums over the CPUs of a group (`update_sg_lb_stats()`). Returns true if one of them is overloaded.
    fn sum_up(&self, aim: &Aim, pass: &Pass, local: bool, side: &mut Side) -> bool {
        let asymmetric = aim.flags.contains(DomainFlags::ASYM_CPUCAPACITY);
        let stats = &mut side.stats;
        let mut overloaded = false;
        for cpu in self.candidates(pass, self.domains.group_span(side.group)) {
            let rq = &self.cpus[cpu];
            let root = &self.queues[rq.root];
            let load = root.avg.load_avg;
            stats.load += load;
            stats.util += self.cpu_util(cpu);
            stats.runnable += root.avg.runnable_avg;
            stats.h_nr_running += self.fair_tasks(cpu);
            stats.nr_running += rq.nr_running;
            overloaded |= rq.nr_running > 1;
            if rq.nr_running == 0 && self.is_idle(cpu) {
                stats.idle_cpus += 1;
                continue;
            }
            if local {
                continue;
            }
            if asymmetric {
                let misfit = rq.balance.misfit_task_load;
                overloaded |= misfit > stats.misfit_task_load;
                stats.misfit_task_load = stats.misfit_task_load.max(misfit);
            } else if aim.idle.is_idle()
                && self.fair_tasks(cpu) == 1
                && self.has_reduced_capacity(cpu, aim.imbalance_pct)
            {
                // A lone task would run faster on a CPU that is not interrupted so much.
                stats.misfit_task_load = stats.misfit_task_load.max(load);
            }
        }
        let capacity = &self.states.capacities[self.domains.group(side.group).capacity];
        stats.capacity = u64::from(capacity.capacity);
        side.min_capacity = u64::from(capacity.min_capacity);
        side.max_capacity = u64::from(capacity.max_capacity);
        if !local {
            (side.stats.asym_packing, side.stats.smt_balance) = decide::wants_relief(aim, side);
        }
        let stats = &mut side.stats;
        stats.group_type = stats.classify(aim.imbalance_pct, capacity.imbalance);
        if stats.group_type == GroupType::Overloaded {
            stats.set_avg_load();
        }
        overloaded
    }

    /// The CPUs of a set that the pass may consider.
    pub(super) fn candidates<'a>(
        &'a self,
        pass: &'a Pass,
        cpus: &'a CpuSet,
    ) -> impl Iterator<Item = CpuId> + 'a {
        cpus.iter_and(&self.active).filter(|&c| !pass.excluded.contains(c))
    }

    /// Brings the capacity of the group that tasks would go to up to date. A CPU about to go idle does so
    /// only when that is due.
    pub(super) fn refresh_capacity(&mut self, pass: &Pass) {
        let time = self.tick_time();
        let domain = &self.domains[pass.domain];
        let due = self.domains.groups(domain).any(|group| {
            let next = self.states.capacities[self.domains.group(group).capacity].next_update;
            self.domains.group_span(group).contains(pass.to)
                && (pass.idle != IdleType::NewlyIdle || time.now >= next)
        });
        if !due {
            return;
        }
        if domain.child.is_none() {
            let rq = &mut self.cpus[pass.to];
            rq.balance.cpu_capacity = rq.free_capacity();
        }
        let cpus = &self.cpus;
        let free = |cpu: CpuId| cpus[cpu].balance.cpu_capacity;
        self.states.update_group_capacity(&self.domains, pass.domain, time, free);
    }

    /// Writes down what others want to know of a survey.
    pub(super) fn note_survey(&mut self, pass: &Pass, survey: &Survey) {
        if self.domains[pass.domain].parent.is_none()
            && let Some(root) = self.domains.cpu(pass.to).root
        {
            self.overloaded[root] = survey.overloaded;
        }
        self.note_idle_scan(pass, survey.total_util);
    }

    /// How many CPUs of the last-level cache a wake-up should look at for an idle one: the fewer, the more of
    /// them are busy (`update_idle_cpu_scan()`).
    ///
    /// With x = mean utilisation of a CPU, of 1024, and p = imbalance_pct / 100, that is
    /// `(1 - (x * p / 1024)^2)` of its CPUs.
    fn note_idle_scan(&mut self, pass: &Pass, total_util: u64) {
        let places = self.domains.cpu(pass.to);
        let domain = &self.domains[pass.domain];
        let (Some(shared), true) = (places.shared, self.config.features.has(Feature::SisUtil)) else {
            return;
        };
        if pass.idle == IdleType::NewlyIdle || domain.weight != places.llc_size {
            return;
        }
        let cpus = u64::from(places.llc_size);
        let (x, pct) = (total_util / cpus, u64::from(domain.imbalance_pct));
        let busy = (x * x * pct * pct / (10_000 * 1024)).min(1024);
        self.states.shared[shared].nr_idle_scan = ((1024 - busy) * cpus / 1024) as u32;
    }

    /// How many fair tasks balancing sees on the CPU.
    pub(crate) fn fair_tasks(&self, cpu: CpuId) -> u32 {
        let root = &self.queues[self.cpus[cpu].root];
        if self.config.variants.balance.counts_delayed { root.h_nr_queued } else { root.h_nr_runnable }
    }

    /// What the CPU has for fair tasks (`capacity_of()`).
    pub(super) fn capacity_of(&self, cpu: CpuId) -> u64 {
        u64::from(self.cpus[cpu].balance.cpu_capacity)
    }

    /// Higher classes take noticeably much of the CPU (`check_cpu_capacity()`).
    pub(super) fn has_reduced_capacity(&self, cpu: CpuId, imbalance_pct: u32) -> bool {
        let rq = &self.cpus[cpu];
        rq.balance.cpu_capacity * imbalance_pct < rq.capacity.0 * 100
    }

    /// What the CPU's fair tasks use, or are estimated to use (`cpu_util_cfs()`).
    pub(crate) fn cpu_util(&self, cpu: CpuId) -> u64 {
        self.util_at_least(cpu, 0)
    }

    /// The same, or the time they want to run if that is more (`cpu_util_cfs_boost()`).
    pub(crate) fn cpu_util_boosted(&self, cpu: CpuId) -> u64 {
        self.util_at_least(cpu, self.queues[self.cpus[cpu].root].avg.runnable_avg)
    }

    fn util_at_least(&self, cpu: CpuId, least: u64) -> u64 {
        let rq = &self.cpus[cpu];
        let avg = &self.queues[rq.root].avg;
        let mut util = avg.util_avg.max(least);
        if self.config.features.has(Feature::UtilEst) {
            util = util.max(u64::from(avg.util_est));
        }
        util.min(u64::from(rq.capacity.0))
    }

    /// No other thread of the CPU's core runs anything (`is_core_idle()`).
    pub(super) fn is_core_idle(&self, cpu: CpuId) -> bool {
        self.siblings(cpu).iter().all(|c| c == cpu || self.is_idle(c))
    }
}

/// A group of which nothing has been summed up yet.
fn side(domains: &Domains, group: SchedGroupId) -> Side {
    let facts = domains.group(group);
    Side {
        group,
        stats: GroupStats { weight: facts.weight, ..GroupStats::EMPTY },
        smt: facts.flags.contains(DomainFlags::SHARE_CPUCAPACITY),
        spreads: facts.flags.contains(DomainFlags::PREFER_SIBLING),
        cores: facts.cores,
        first: domains.group_span(group).first().expect("a group is not empty"),
        min_capacity: 0,
        max_capacity: 0,
    }
}
