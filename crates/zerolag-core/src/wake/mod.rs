// SPDX-License-Identifier: GPL-2.0-only
//! Where a task that becomes runnable goes.
//!
//! ```text
//!   wake ─┬─ one CPU allowed ───────────────────────────────────────── there
//!         ├─ waker and wakee belong together ── affine: waker's CPU or its own? ── idle: an idle CPU near it
//!         └─ else ────────────────────────────────── own CPU ──────────────────── idle: an idle CPU near it
//!   fork, exec ── slow: the idlest group of each domain, from the top down
//! ```
//!
//! Source: kernel/sched/core.c, `select_task_rq()`; fair.c, `select_task_rq_fair()`, 6.12; 6.1 differs only
//! in what [`crate::variants::Variants`] names.

mod affine;
mod by_load;
mod by_weight;
mod idle;
pub(crate) mod memory;
mod slow;

use crate::domain::DomainFlags;
use crate::ids::{CpuId, Id, TaskId};
use crate::scheduler::Scheduler;
use crate::variants::{AffineBy, IdleSearch};

/// Why a CPU is chosen for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It wakes up; `sync` = its waker will sleep soon.
    Wake {
        /// The waker will sleep soon.
        sync: bool,
    },
    /// It is new.
    Fork,
    /// It replaces its program, and with it its memory.
    Exec,
}

impl Cause {
    /// Domains that are searched for it.
    const fn flag(self) -> DomainFlags {
        match self {
            Self::Wake { .. } => DomainFlags::BALANCE_WAKE,
            Self::Fork => DomainFlags::BALANCE_FORK,
            Self::Exec => DomainFlags::BALANCE_EXEC,
        }
    }
}

impl Scheduler {
    /// The CPU that `task`, last seen on `previous`, should go to; somebody on `this_cpu` asks.
    pub(crate) fn select_cpu(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        previous: CpuId,
        cause: Cause,
    ) -> CpuId {
        let cpu = match self.tasks[task].pinned {
            Some(only) => only,
            None => self.select_cpu_unchecked(this_cpu, task, previous, cause),
        };
        if self.may_run_on(task, cpu) { cpu } else { self.fallback_cpu(task) }
    }

    /// The same as the task's class wishes, whether the task may run there or not.
    pub(crate) fn select_cpu_unchecked(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        previous: CpuId,
        cause: Cause,
    ) -> CpuId {
        if self.tasks[task].policy.is_fair() {
            self.select_cpu_fair(this_cpu, task, previous, cause)
        } else {
            self.select_cpu_realtime(task, previous)
        }
    }

    /// The task is allowed on the CPU, and the CPU takes tasks.
    pub(crate) fn may_run_on(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task].affinity.contains(cpu) && self.active.contains(cpu)
    }

    /// A CPU for a task that may not run where it wanted: on its node, else anywhere it is allowed, else
    /// anywhere at all (`select_fallback_rq()`).
    pub(crate) fn fallback_cpu(&mut self, task: TaskId) -> CpuId {
        let t = &self.tasks[task];
        let node = self.topology.node(t.cpu);
        let allowed = |s: &Self| {
            let here = node.iter_and(&s.tasks[task].affinity).find(|&c| s.may_run_on(task, c));
            here.or_else(|| s.tasks[task].affinity.iter().find(|&c| s.may_run_on(task, c)))
        };
        if let Some(cpu) = allowed(self) {
            return cpu;
        }
        let all = self.all_cpus();
        self.change_affinity(task, all);
        self.active.first().expect("some CPU takes tasks")
    }

    fn select_cpu_fair(&mut self, this_cpu: CpuId, task: TaskId, previous: CpuId, cause: Cause) -> CpuId {
        if self.config.variants.balance.by_weight {
            return match cause {
                Cause::Wake { sync } => self.select_cpu_by_weight(this_cpu, task, previous, sync),
                Cause::Fork | Cause::Exec => {
                    let allowed = self.tasks[task].affinity.clone();
                    self.balance_self(this_cpu, &allowed, cause.flag())
                }
            };
        }
        let mut cpu = previous;
        let mut want_affine = false;
        if let Cause::Wake { .. } = cause {
            if !self.config.variants.cfs.absolute_before_charge {
                self.record_wakee(this_cpu, task);
            }
            let unfit = self.wakes_wide(this_cpu, task)
                || self.config.variants.wake.looks_at_capacity
                    && self.needs_more_capacity(task, this_cpu, previous);
            want_affine = !unfit && self.tasks[task].affinity.contains(this_cpu);
        }
        let mut slow = None;
        let mut at = self.domains.cpu(this_cpu).base;
        while let Some(id) = at {
            let domain = &self.domains[id];
            let flags = domain.flags;
            at = domain.parent;
            if want_affine
                && flags.contains(DomainFlags::WAKE_AFFINE)
                && self.domains.span(id).contains(previous)
            {
                if this_cpu != previous {
                    let sync = cause == Cause::Wake { sync: true };
                    cpu = match self.config.variants.wake.affine {
                        AffineBy::EffectiveLoad => {
                            let balanced = self.is_affine_by_effect(id, task, this_cpu, previous, sync);
                            if balanced { this_cpu } else { previous }
                        }
                        AffineBy::EarlyFeatures | AffineBy::Features => {
                            self.wake_affine(id, task, this_cpu, previous, sync)
                        }
                    };
                }
                slow = None;
                break;
            }
            if flags.contains(cause.flag()) {
                slow = Some(id);
            } else if !want_affine {
                break;
            }
        }
        match (slow, cause) {
            (Some(domain), _) => self.find_idlest_cpu(domain, task, this_cpu, previous, cause),
            (None, Cause::Wake { .. }) => {
                let cpu = match self.config.variants.wake.idle {
                    IdleSearch::Bounded => self.select_idle_sibling(this_cpu, task, previous, cpu),
                    IdleSearch::Core => self.select_idle_core_or_cpu(this_cpu, task, previous, cpu),
                    IdleSearch::IdleGroup => self.select_idle_group(task, cpu),
                };
                if want_affine
                    && self.config.variants.wake.remembers_used
                    && let Some(waker) = self.cpus[this_cpu].curr
                {
                    self.tasks[waker].recent_used_cpu = this_cpu;
                }
                cpu
            }
            (None, _) => cpu,
        }
    }

    /// Real-time tasks: their own CPU unless something more urgent runs there, else the allowed one with the
    /// fewest tasks. (Linux looks for the lowest priority; see DIFFERENCES.md.)
    fn select_cpu_realtime(&self, task: TaskId, previous: CpuId) -> CpuId {
        if self.may_run_on(task, previous) && !self.runs_realtime(previous) {
            return previous;
        }
        let allowed = self.tasks[task].affinity.iter_and(&self.active);
        allowed.min_by_key(|&c| self.cpus[c].nr_running).unwrap_or(previous)
    }

    /// The idle task runs and nobody is on the way (`idle_cpu()`).
    #[inline]
    pub(crate) fn is_idle(&self, cpu: CpuId) -> bool {
        let rq = &self.cpus[cpu];
        rq.is_idle_task() && rq.nr_running == 0 && self.wake_lists[cpu].is_empty()
    }

    /// Only idle-policy tasks run: others may as well be placed here (`sched_idle_cpu()`).
    #[inline]
    pub(crate) fn is_sched_idle(&self, cpu: CpuId) -> bool {
        let rq = &self.cpus[cpu];
        self.config.variants.cfs.sched_idle_cpus
            && rq.nr_running != 0
            && rq.nr_running == self.queues[rq.root].idle_h_nr
    }

    /// Idle, or as good as.
    #[inline]
    fn is_available(&self, cpu: CpuId) -> bool {
        self.is_idle(cpu) || self.is_sched_idle(cpu)
    }

    /// The load of a CPU's fair tasks.
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.queues[self.cpus[cpu].root].avg.load_avg
    }

    /// All CPUs of the machine.
    pub(crate) fn all_cpus(&self) -> crate::cpu_set::CpuSet {
        crate::cpu_set::CpuSet::first_n(self.cpus.len())
    }

    /// The CPUs share the last-level cache; without domains all do.
    #[inline]
    pub(crate) fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || !self.has_domains || self.domains.cpu(a).llc_id == self.domains.cpu(b).llc_id
    }

    /// The next CPU after the last one taken, among those in both sets, so that they take turns
    /// (`cpumask_any_and_distribute()`).
    pub(crate) fn distribute(&mut self, this_cpu: CpuId, cpus: &crate::cpu_set::CpuSet) -> Option<CpuId> {
        let start = CpuId::from_index(self.cpus[this_cpu].distribute_from.index() + 1);
        let next = cpus.iter_and_wrap(&self.active, start).next();
        if let Some(next) = next {
            self.cpus[this_cpu].distribute_from = next;
        }
        next
    }
}
