// SPDX-License-Identifier: GPL-2.0-only
//! Plans which queue to take tasks from, and which tasks.
//!
//! Tasks are judged one at a time, the one that has waited longest first, since what a task stands for
//! changes with what has been taken before it: loads of groups follow their tasks.
//!
//! | measure | a task is taken if | and counts as |
//! |---|---|---|
//! | load | its load, halved for each failure so far, is no more than what is left | its load |
//! | utilisation | the same of its utilisation | its utilisation |
//! | tasks | always | 1 |
//! | misfit | it does not fit where it is | all that is left |
//!
//! Source: kernel/sched/fair.c, `sched_balance_find_src_rq()`, `can_migrate_task()`, `task_hot()`,
//! `detach_tasks()`, 6.12; others differ as [`super::BalanceRules`] says.

use crate::balance::Pass;
use crate::balance::collect::Aim;
use crate::balance::decide::{Imbalance, Measure, is_greater};
use crate::domain::DomainFlags;
use crate::features::Feature;
use crate::ids::{CpuId, SchedGroupId, TaskId};
use crate::nice::Policy;
use crate::scheduler::Scheduler;

/// Loads below this are not worth a move (`LB_MIN`).
const SMALL_LOAD: u64 = 16;
/// The migration cost, -1 to the kernel, that keeps every task where it is.
const HOT_FOR_EVER: u64 = u32::MAX as u64;

/// One of the queues to choose from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) cpu: CpuId,
    pub(crate) h_nr_running: u32,
    /// What the CPU has for fair tasks.
    pub(crate) capacity: u64,
    /// Higher classes take noticeably much of it.
    pub(crate) reduced: bool,
    pub(crate) load: u64,
    pub(crate) util: u64,
    pub(crate) misfit_load: u64,
    /// Packing prefers it to the CPU that would get the tasks.
    pub(crate) packs: bool,
}

/// The queue that contributes most to the imbalance; the first of equals.
pub(super) fn choose_queue(
    aim: &Aim,
    imbalance: Imbalance,
    queues: impl Iterator<Item = Queue>,
) -> Option<CpuId> {
    let mut best = None;
    let (mut most, mut most_capacity) = (0, 1);
    for queue in queues {
        let alone = queue.h_nr_running == 1;
        // A lone task is left where it runs better.
        let better_off = aim.flags.contains(DomainFlags::ASYM_CPUCAPACITY)
            && !is_greater(aim.capacity, queue.capacity)
            || queue.packs;
        if queue.h_nr_running == 0 || alone && better_off {
            continue;
        }
        let busier = match imbalance.measure {
            // Moving a lone task that is more than the imbalance would only turn it round.
            Measure::Load if alone && queue.load as i64 > imbalance.amount && !queue.reduced => false,
            // load / capacity > most / most_capacity
            Measure::Load => queue.load * most_capacity > most * queue.capacity,
            // The task that runs cannot be moved, so there is nothing to take.
            Measure::Util => !alone && queue.util > most,
            Measure::Tasks => u64::from(queue.h_nr_running) > most,
            Measure::Misfit => queue.misfit_load > most,
        };
        if busier {
            best = Some(queue.cpu);
            most_capacity = queue.capacity;
            most = match imbalance.measure {
                Measure::Load => queue.load,
                Measure::Util => queue.util,
                Measure::Tasks => u64::from(queue.h_nr_running),
                Measure::Misfit => queue.misfit_load,
            };
        }
    }
    best
}

impl Imbalance {
    /// Takes a task of this size into account. Returns false if it is too much.
    pub(super) fn take(&mut self, size: u64, failures: u32, skip_small: bool) -> bool {
        let fits = match self.measure {
            Measure::Load if skip_small && size < SMALL_LOAD => false,
            Measure::Load | Measure::Util => (size >> failures.min(63)) as i64 <= self.amount,
            Measure::Tasks | Measure::Misfit => true,
        };
        if fits {
            self.amount = match self.measure {
                Measure::Load | Measure::Util => self.amount - size as i64,
                Measure::Tasks => self.amount - 1,
                Measure::Misfit => 0,
            };
        }
        fits
    }
}

/// Whether a task may go where the pass wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mobility {
    /// It may.
    Free,
    /// Its affinity does not allow it.
    Pinned,
    /// It is left where it is, and does not count as pinned: its group has used up its quota, or it is not
    /// worth a move (yet).
    Limited,
    /// It may, but not now: it runs, or its data are in the cache.
    Held,
}

impl Scheduler {
    /// The queue of the group from which the pass should take.
    pub(super) fn find_queue(&self, aim: &Aim, pass: &Pass, group: SchedGroupId) -> Option<CpuId> {
        let queue = |cpu: CpuId| {
            let rq = &self.cpus[cpu];
            let root = &self.queues[rq.root];
            let boosted = aim.rules.waiting_counts_as_use;
            Queue {
                cpu,
                h_nr_running: self.fair_tasks(cpu),
                capacity: self.capacity_of(cpu),
                reduced: self.has_reduced_capacity(cpu, aim.imbalance_pct),
                load: root.avg.load_avg,
                util: if boosted { self.cpu_util_boosted(cpu) } else { self.cpu_util(cpu) },
                misfit_load: rq.balance.misfit_task_load,
                packs: self.packs(aim, cpu) && cpu < aim.to,
            }
        };
        choose_queue(aim, pass.left, self.candidates(pass, self.domains.group_span(group)).map(queue))
    }

    /// As [`Aim::packs`], for another CPU than the one that tasks would go to.
    pub(super) fn packs(&self, aim: &Aim, cpu: CpuId) -> bool {
        aim.flags.contains(DomainFlags::ASYM_PACKING)
            && (aim.flags.contains(DomainFlags::SHARE_CPUCAPACITY) || self.is_core_idle(cpu))
    }

    /// Whether the task may be moved by the pass.
    pub(super) fn mobility(&self, pass: &Pass, task: TaskId) -> Mobility {
        if self.is_throttled_between(task, pass.from, pass.to) || !self.is_worth_a_move(pass, task) {
            Mobility::Limited
        } else if !self.tasks[task].affinity.contains(pass.to) {
            Mobility::Pinned
        } else if self.cpus[pass.from].curr == Some(task) {
            Mobility::Held
        } else if pass.pushes && self.config.variants.balance.by_load.is_none() || !self.is_hot(pass, task) {
            Mobility::Free
        } else {
            let tries = self.domains[pass.domain].cache_nice_tries;
            let failures = self.states.domains[pass.domain].nr_balance_failed;
            if failures > tries { Mobility::Free } else { Mobility::Held }
        }
    }

    /// The task's group may not run on one of two CPUs (`throttled_lb_pair()`). Where tasks are throttled one
    /// by one, those that are still queued may well run where they are.
    fn is_throttled_between(&self, task: TaskId, from: CpuId, to: CpuId) -> bool {
        let group = &self.groups[self.tasks[task].group];
        let throttled = |cpu: CpuId| self.in_throttled_hierarchy(group.on(cpu).queue);
        throttled(to) || throttled(from) && self.throttles_queues()
    }

    /// A task that is asleep but still queued stands for load alone, and one that has had more than its share
    /// would have to wait over there as well.
    fn is_worth_a_move(&self, pass: &Pass, task: TaskId) -> bool {
        let rules = self.config.variants.balance;
        let se = self.tasks[task].entity;
        if !rules.counts_delayed && self.entities[se].delayed && pass.left.measure != Measure::Load {
            return false;
        }
        let group = &self.groups[self.tasks[task].group];
        let waits = |queue| self.config.features.has(Feature::PlaceLag) && self.queues[queue].nr_queued > 0;
        !rules.ineligible_stay
            || self.states.domains[pass.domain].nr_balance_failed > 0
            || !waits(group.on(pass.to).queue)
            || self.queues[self.entities[se].queue].is_eligible(&self.entities, se)
    }

    /// The task's data are probably in its CPU's cache, and would have to be fetched anew.
    fn is_hot(&self, pass: &Pass, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let by_load = self.config.variants.balance.by_load.is_some();
        if t.policy == Policy::Idle
            || !by_load && self.domains[pass.domain].flags.contains(DomainFlags::SHARE_CPUCAPACITY)
        {
            return false;
        }
        let se = t.entity;
        let entity = &self.entities[se];
        let queue = &self.queues[entity.queue];
        if self.config.features.has(Feature::CacheHotBuddy)
            && self.cpus[pass.to].nr_running != 0
            && [queue.next, queue.last].contains(&Some(se))
        {
            return true;
        }
        let since = self.cpus[pass.from].clock_task.0.wrapping_sub(entity.exec_start.0) as i64;
        let cost = self.config.tunables.migration_cost.0;
        cost == HOT_FOR_EVER || since < cost as i64 && cost != 0
    }

    /// The task counts as this much of what is to be moved. Nothing if it should stay whatever is left.
    pub(super) fn size_of(&mut self, pass: &Pass, task: TaskId) -> Option<u64> {
        match pass.left.measure {
            Measure::Load if self.config.variants.balance.by_load.is_some() => Some(self.task_h_load(task)),
            Measure::Load => Some(self.task_h_load(task).max(1)),
            Measure::Util => Some(self.task_util_est(task)),
            Measure::Tasks => Some(1),
            Measure::Misfit => {
                let fits = self.util_fits(self.task_util_est(task), pass.from);
                (!fits).then_some(1)
            }
        }
    }
}
