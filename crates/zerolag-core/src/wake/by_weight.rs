// SPDX-License-Identifier: GPL-2.0-only
//! Placing tasks by weight, as it was in 2.6.29.
//!
//! A task that wakes up stays where it was, or comes to its waker if that is not too busy:
//!
//! | in the smallest domain of the waker that has both | |
//! |---|---|
//! | it is to be balanced after the move, and the waker leaves soon | come |
//! | it is; or the waker's CPU would have no more than a task's weight with both | come |
//! | it spreads at wake-ups, and the waker's CPU is less busy by half of the tolerance | come |
//!
//! Idle CPUs are not looked for: no level of x86 asks for it.
//!
//! A task that is new, or replaces its program, goes down from the biggest domain to the least busy group, then to
//! the CPU there with the least weight.
//!
//! Source: kernel/sched_fair.c of 2.6.29, `select_task_rq_fair()`, `wake_affine()`; kernel/sched.c,
//! `sched_balance_self()`, `find_idlest_group()`, `find_idlest_cpu()`.

use crate::cpu_set::CpuSet;
use crate::domain::DomainFlags;
use crate::features::Feature;
use crate::ids::{CpuId, DomainId, GroupId, SchedGroupId, TaskId};
use crate::scheduler::Scheduler;

/// What the idle task would weigh as a waker.
const IDLE_TASK_WEIGHT: i64 = 1024;

impl Scheduler {
    /// The shares of groups are brought up to date in the smallest domain of `this_cpu` that has `cpu` as well.
    pub(crate) fn update_shares_towards(&mut self, this_cpu: CpuId, cpu: CpuId) {
        if let Some(domain) = self.common_domain(this_cpu, cpu) {
            self.update_shares(domain);
        }
    }

    fn common_domain(&self, this_cpu: CpuId, cpu: CpuId) -> Option<DomainId> {
        self.domains.chain(this_cpu).find(|&d| self.domains.span(d).contains(cpu))
    }

    /// Where a task that wakes up goes.
    pub(super) fn select_cpu_by_weight(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        previous: CpuId,
        sync: bool,
    ) -> CpuId {
        if previous == this_cpu || !self.tasks[task].affinity.contains(this_cpu) {
            return previous;
        }
        let Some(domain) = self.common_domain(this_cpu, previous) else { return previous };
        let sd = &self.domains[domain];
        let (flags, span) = (sd.flags, sd.load_indexes.wake);
        let tolerance = u64::from(100 + (sd.imbalance_pct - 100) / 2);
        let there = self.weight_at_most(previous, span);
        let here = self.weight_at_least(this_cpu, span);
        let affine = flags.contains(DomainFlags::WAKE_AFFINE)
            && self.config.features.has(Feature::AffineWakeups)
            && self.is_affine_by_weight(task, this_cpu, previous, sync, (here, there, tolerance, span));
        if affine || flags.contains(DomainFlags::WAKE_BALANCE) && tolerance * here <= 100 * there {
            this_cpu
        } else {
            previous
        }
    }

    fn is_affine_by_weight(
        &mut self,
        task: TaskId,
        this_cpu: CpuId,
        previous: CpuId,
        sync: bool,
        (here, there, tolerance, span): (u64, u64, u64, u8),
    ) -> bool {
        let (mut here, mut there) = (here as i64, there as i64);
        let waker = self.cpus[this_cpu].curr;
        let overlaps = |s: &Self, t: TaskId| s.tasks[t].wakes.avg_overlap > s.config.tunables.migration_cost;
        let sync = sync && !overlaps(self, task) && !waker.is_some_and(|w| overlaps(self, w));
        let weight_of = |s: &Self, t: TaskId| {
            let t = &s.tasks[t];
            (t.group, s.entities[t.entity].table_weight() as i64)
        };
        if sync {
            let (group, weight) =
                waker.map_or((GroupId::ROOT, IDLE_TASK_WEIGHT), |waker| weight_of(self, waker));
            here = here.wrapping_add(self.effective_weight(group, this_cpu, -weight, -weight));
            there = there.wrapping_add(self.effective_weight(group, previous, 0, -weight));
        }
        let (group, weight) = weight_of(self, task);
        let here_then = here.wrapping_add(self.effective_weight(group, this_cpu, weight, weight)) as u64;
        let there_then = there.wrapping_add(self.effective_weight(group, previous, 0, weight)) as u64;
        let balanced = here_then.wrapping_mul(100) <= there_then.wrapping_mul(tolerance);
        if sync && balanced {
            return true;
        }
        let mean = self.mean_weight(this_cpu);
        let (here, there) = (here as u64, there as u64);
        balanced || here <= there && here.wrapping_add(self.weight_at_least(previous, span)) <= mean
    }

    /// Where a task that has nothing in any cache goes from `cpu` (`sched_balance_self()`); `flag` = which
    /// domains are asked.
    pub(crate) fn balance_self(&mut self, cpu: CpuId, allowed: &CpuSet, flag: DomainFlags) -> CpuId {
        let mut cpu = cpu;
        let wants = |s: &Self, d: DomainId| s.domains[d].flags.contains(flag);
        let mut at = self.domains.chain(cpu).filter(|&d| wants(self, d)).last();
        if let Some(domain) = at {
            self.update_shares(domain);
        }
        while let Some(domain) = at {
            at = self.domains[domain].child;
            if !wants(self, domain) {
                continue;
            }
            let Some(group) = self.find_lightest_group(domain, allowed, cpu) else { continue };
            let Some(lightest) = self.find_lightest_cpu(group, allowed, cpu).filter(|&c| c != cpu) else {
                continue;
            };
            cpu = lightest;
            let weight = self.domains[domain].weight;
            let smaller = self.domains.chain(cpu).take_while(|&d| self.domains[d].weight < weight);
            at = smaller.filter(|&d| wants(self, d)).last();
        }
        cpu
    }

    fn find_lightest_group(&self, domain: DomainId, allowed: &CpuSet, cpu: CpuId) -> Option<SchedGroupId> {
        let sd = &self.domains[domain];
        let span = sd.load_indexes.forkexec;
        let tolerance = u64::from(100 + (sd.imbalance_pct - 100) / 2);
        let (mut here, mut least, mut lightest) = (0, u64::MAX, None);
        for group in self.domains.groups(sd) {
            let cpus = self.domains.group_span(group);
            if !cpus.intersects(allowed) {
                continue;
            }
            let local = cpus.contains(cpu);
            let load_of =
                |c| if local { self.weight_at_most(c, span) } else { self.weight_at_least(c, span) };
            let load = self.group_power(domain, group).divide(cpus.iter().map(load_of).sum());
            if local {
                here = load;
            } else if load < least {
                (least, lightest) = (load, Some(group));
            }
        }
        lightest.filter(|_| 100 * here >= tolerance * least)
    }

    /// Of CPUs of the same weight, the first; but `cpu` if it is one of them.
    fn find_lightest_cpu(&self, group: SchedGroupId, allowed: &CpuSet, cpu: CpuId) -> Option<CpuId> {
        let mut lightest: Option<(u64, CpuId)> = None;
        for c in self.domains.group_span(group).iter_and(allowed) {
            let load = self.weighted_load(c);
            if lightest.is_none_or(|(least, _)| load < least || load == least && c == cpu) {
                lightest = Some((load, c));
            }
        }
        lightest.map(|(_, c)| c)
    }
}
