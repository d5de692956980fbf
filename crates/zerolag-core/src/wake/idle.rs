// SPDX-License-Identifier: GPL-2.0-only
//! An idle CPU near a given one.
//!
//! First those that are cheap to look at (the target, the previous CPU, the one used before that), then a
//! bounded search of the last-level cache: a wholly idle core if there may be one, else any idle CPU, a
//! cluster's first where there are clusters. On machines with CPUs of several sizes, one that the task fits.
//!
//! Source: kernel/sched/fair.c, `select_idle_sibling()` and what it calls, 6.12; `SIS_PROP`: 6.1.

use crate::cpu_set::CpuSet;
use crate::domain::DomainFlags;
use crate::features::Feature;
use crate::ids::{CpuId, DomainId, Id, TaskId};
use crate::scheduler::Scheduler;

/// A task fits a CPU if it uses less than four fifths of it.
pub(crate) const fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

/// What a search for an idle core found.
pub(super) struct CoreSearch {
    /// An idle CPU of a core that is not wholly idle.
    pub(super) idle_cpu: Option<CpuId>,
    /// CPUs still to be looked at.
    pub(super) cpus: CpuSet,
}

impl Scheduler {
    pub(super) fn select_idle_sibling(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        previous: CpuId,
        target: CpuId,
    ) -> CpuId {
        let asymmetric = self.asym_capacity;
        let mut util = 0;
        if asymmetric {
            self.sync_load(task);
            util = self.task_util_est(task);
        }
        let fits = |s: &Self, cpu| !asymmetric || s.util_fits(util, cpu);
        if self.is_available(target) && fits(self, target) {
            return target;
        }
        let mut near = None;
        if previous != target
            && self.share_cache(previous, target)
            && self.is_available(previous)
            && fits(self, previous)
        {
            if self.share_cluster(previous, target) {
                return previous;
            }
            near = Some(previous);
        }
        // A kernel thread that is bound to its CPU is done when it wakes somebody up: stay with it. The idle
        // task is one.
        let bound = !self.config.idle_cpus_are_interrupted && self.cpus[this_cpu].is_idle_task();
        if bound && previous == this_cpu && self.cpus[this_cpu].nr_running <= 1 && fits(self, previous) {
            return previous;
        }
        let recent = core::mem::replace(&mut self.tasks[task].recent_used_cpu, previous);
        let mut second = None;
        if recent != previous
            && recent != target
            && self.share_cache(recent, target)
            && self.is_available(recent)
            && self.tasks[task].affinity.contains(recent)
            && fits(self, recent)
        {
            if self.share_cluster(recent, target) {
                return recent;
            }
            second = Some(recent);
        }
        if asymmetric && let Some(domain) = self.domains.cpu(target).asym_cpucapacity {
            return self.select_idle_capacity(task, domain, target, util).unwrap_or(target);
        }
        let Some(llc) = self.domains.cpu(target).llc else { return target };
        let mut has_idle_core = false;
        if self.smt_present {
            has_idle_core = self.has_idle_cores(target);
            if !has_idle_core
                && self.share_cache(previous, target)
                && let Some(cpu) = self.select_idle_smt(task, llc, previous)
            {
                return cpu;
            }
        }
        self.select_idle_cpu(this_cpu, task, llc, has_idle_core, target).or(near).or(second).unwrap_or(target)
    }

    /// They are in the same cluster, or there are no clusters.
    fn share_cluster(&self, a: CpuId, b: CpuId) -> bool {
        !self.clusters_active || a == b || self.domains.cpu(a).share_id == self.domains.cpu(b).share_id
    }

    pub(super) fn has_idle_cores(&self, cpu: CpuId) -> bool {
        self.domains.cpu(cpu).shared.is_some_and(|s| self.states.shared[s].has_idle_cores)
    }

    pub(super) fn set_idle_cores(&mut self, cpu: CpuId, has: bool) {
        if let Some(shared) = self.domains.cpu(cpu).shared {
            self.states.shared[shared].has_idle_cores = has;
        }
    }

    /// A CPU went idle: its core may be wholly idle now (`__update_idle_core()`).
    pub(crate) fn note_idle_core(&mut self, cpu: CpuId) {
        if !self.smt_present || self.has_idle_cores(cpu) {
            return;
        }
        if self.siblings(cpu).iter().all(|c| c == cpu || self.is_idle(c)) {
            self.set_idle_cores(cpu, true);
        }
    }

    /// An idle CPU of the core that `target` is in.
    fn select_idle_smt(&self, task: TaskId, llc: DomainId, target: CpuId) -> Option<CpuId> {
        let span = self.domains.span(llc);
        let allowed = &self.tasks[task].affinity;
        self.siblings(target)
            .iter_and(allowed)
            .find(|&c| c != target && span.contains(c) && self.is_available(c))
    }

    /// A search of the last-level cache, as far as its utilisation allows (`SIS_UTIL`), else the waker's own idle
    /// time (`SIS_PROP`).
    fn select_idle_cpu(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        llc: DomainId,
        has_idle_core: bool,
        target: CpuId,
    ) -> Option<CpuId> {
        let mut left = u32::MAX;
        if self.config.features.has(Feature::SisProp) && !has_idle_core {
            // Whose CPU has no cache in common with others does not look.
            self.domains.cpu(this_cpu).llc?;
            left = self.looks_in_proportion(this_cpu, llc);
        }
        if self.config.features.has(Feature::SisUtil)
            && let Some(shared) = self.domains.cpu(target).shared
        {
            left = self.states.shared[shared].nr_idle_scan + 1;
            if left == 1 {
                return None;
            }
        }
        let start = CpuId::from_index(target.index() + 1);
        let mut cpus = self.take_spare_set();
        cpus.become_and(self.domains.span(llc), &self.tasks[task].affinity);
        let mut search = CoreSearch { idle_cpu: None, cpus };
        let found = self.search_llc(llc, has_idle_core, start, left, &mut search);
        if has_idle_core && found.is_none() {
            self.set_idle_cores(target, false);
        }
        self.give_back(search.cpus);
        found.or(search.idle_cpu)
    }

    /// How many CPUs are looked at, one for each nanosecond that the waker's CPU is expected to idle and for each
    /// CPU of the cache, since looking takes no time here (the kernel adds one to what it measured); but one less,
    /// and four at least. What is expected is halved with each tick since the CPU was last idle.
    fn looks_in_proportion(&mut self, this_cpu: CpuId, llc: DomainId) -> u32 {
        let (now, tick) = (self.now, self.config.tick().0);
        let weight = u64::from(self.domains[llc].weight);
        let rq = &mut self.cpus[this_cpu].balance;
        let ticks = (now.0 / tick).saturating_sub(rq.idle_halved.0 / tick);
        rq.idle_to_spend.0 = rq.idle_to_spend.0.checked_shr(ticks.min(64) as u32).unwrap_or(0);
        rq.idle_halved = now;
        (weight * rq.idle_to_spend.0).max(4) as u32
    }

    /// The search, from `start` on, of `left` CPUs at most if it is not for whole idle cores.
    fn search_llc(
        &self,
        llc: DomainId,
        has_idle_core: bool,
        start: CpuId,
        mut left: u32,
        search: &mut CoreSearch,
    ) -> Option<CpuId> {
        if self.clusters_active {
            let local = self.domains.local_group(llc);
            if self.domains.group(local).flags.contains(DomainFlags::CLUSTER) {
                let cluster = self.domains.group_span(local);
                for cpu in cluster.iter_wrap(start) {
                    if !search.cpus.contains(cpu) {
                        continue;
                    }
                    if has_idle_core {
                        if let Some(core) = self.whole_core_idle(cpu, search) {
                            return Some(core);
                        }
                    } else {
                        left -= 1;
                        if left == 0 {
                            return None;
                        }
                        if self.is_available(cpu) {
                            return Some(cpu);
                        }
                    }
                }
                search.cpus.remove_all(cluster);
            }
        }
        if has_idle_core {
            // Cores that have been looked at leave the set, so it is searched anew from where we are.
            let mut from = Some(start);
            let mut wrapped = false;
            while let Some(cpu) = next_wrapped(&search.cpus, start, &mut from, &mut wrapped) {
                if let Some(core) = self.whole_core_idle(cpu, search) {
                    return Some(core);
                }
            }
            return None;
        }
        for cpu in search.cpus.iter_wrap(start) {
            left -= 1;
            if left == 0 {
                return None;
            }
            if self.is_available(cpu) {
                return Some(cpu);
            }
        }
        None
    }

    /// `cpu` if all threads of its core are idle; else the core leaves the search, and the first idle thread
    /// of it that may be used is remembered (`select_idle_core()`).
    pub(super) fn whole_core_idle(&self, cpu: CpuId, search: &mut CoreSearch) -> Option<CpuId> {
        let core = self.siblings(cpu);
        let mut idle = true;
        for thread in core.iter() {
            if !self.is_idle(thread) {
                idle = false;
                if search.idle_cpu.is_some() {
                    break;
                }
                if self.is_sched_idle(thread) && search.cpus.contains(thread) {
                    search.idle_cpu = Some(thread);
                    break;
                }
                continue;
            }
            if search.idle_cpu.is_none() && search.cpus.contains(thread) {
                search.idle_cpu = Some(thread);
            }
        }
        if idle {
            return Some(cpu);
        }
        search.cpus.remove_all(core);
        None
    }

    /// An idle CPU that the task fits, else the biggest idle one.
    fn select_idle_capacity(
        &self,
        task: TaskId,
        domain: DomainId,
        target: CpuId,
        util: u64,
    ) -> Option<CpuId> {
        let mut best: Option<(u32, CpuId)> = None;
        for cpu in self.domains.span(domain).iter_and_wrap(&self.tasks[task].affinity, target) {
            if !self.is_available(cpu) {
                continue;
            }
            if self.util_fits(util, cpu) {
                return Some(cpu);
            }
            let capacity = self.cpus[cpu].balance.cpu_capacity;
            if best.is_none_or(|(most, _)| capacity > most) {
                best = Some((capacity, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }

    /// Utilisation fits what the CPU has left for fair tasks.
    pub(crate) fn util_fits(&self, util: u64, cpu: CpuId) -> bool {
        fits_capacity(util, u64::from(self.cpus[cpu].balance.cpu_capacity))
    }

    /// The threads of a CPU's core that are online.
    pub(crate) fn siblings(&self, cpu: CpuId) -> &CpuSet {
        &self.cpus[cpu].siblings
    }
}

/// The next member at or after `from`, once round from `start`; the set may lose members in between.
pub(super) fn next_wrapped(
    cpus: &CpuSet,
    start: CpuId,
    from: &mut Option<CpuId>,
    wrapped: &mut bool,
) -> Option<CpuId> {
    loop {
        let next = from.and_then(|f| cpus.iter_from(f).next()).filter(|&c| !*wrapped || c < start);
        match next {
            Some(cpu) => {
                *from = Some(CpuId::from_index(cpu.index() + 1));
                return Some(cpu);
            }
            None if *wrapped => return None,
            None => {
                *wrapped = true;
                *from = Some(CpuId(0));
            }
        }
    }
}
