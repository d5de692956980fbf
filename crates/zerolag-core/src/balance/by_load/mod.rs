// SPDX-License-Identifier: GPL-2.0-only
//! Balancing by load, as it was up to 5.4: groups are compared by the load of those queued in them, relative to
//! capacity, and what is moved is load.
//!
//! The steps are those of [`super`]:
//!
//! ```text
//!   collect   load, tasks, capacity of each group     classify   other, imbalanced, overloaded
//!   decide    is the difference worth it, how much    plan       the queue with most load per capacity
//!   apply     tasks of at most twice what is left
//! ```
//!
//! A CPU's load is taken from its history too: from a remote CPU the least, on the local side the most of now
//! and lately, so that short spikes move nobody (`LB_BIAS`).
//!
//! Source: kernel/sched/fair.c, `find_busiest_group()` and what it calls, `find_busiest_queue()`, 4.6, 4.11
//! and 4.17.

mod collect;
mod decide;
#[cfg(test)]
mod tests;

use crate::balance::pass::Pass;
use crate::balance::{Imbalance, Measure};
use crate::ids::{CpuId, SchedGroupId};
use crate::scheduler::Scheduler;

/// What differs between kernels that balance by load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByLoad {
    /// How far a group is above its capacity is measured in load (4.7); before, in capacity.
    pub excess_in_load: bool,
    /// Any idle CPU with room takes from an overloaded group (4.16); before, only one about to go idle.
    pub any_idle_takes: bool,
    /// Tasks are spread over siblings if the other group has at least two more than the local one (4.12);
    /// before, if it has at least two.
    pub spreads_surplus: bool,
    /// The task that has waited longest is looked at first (4.15); before, the one queued last.
    pub longest_waiting_first: bool,
    /// The clock of the CPU that tasks are taken from is brought up to date first (4.7).
    pub updates_source_clock: bool,
    /// Pushing the running task ends a row of failures (4.9).
    pub push_clears_failures: bool,
    /// A domain is left when all candidates outside of the local group are exhausted, and CPUs that are no
    /// candidates do not balance (4.12); before, when all CPUs are.
    pub stays_outside: bool,
}

impl ByLoad {
    /// Linux 4.6.
    pub const LINUX_4_6: Self = Self {
        excess_in_load: false,
        any_idle_takes: false,
        spreads_surplus: false,
        longest_waiting_first: false,
        updates_source_clock: false,
        push_clears_failures: false,
        stays_outside: false,
    };
    /// Linux 4.11.
    pub const LINUX_4_11: Self = Self {
        excess_in_load: true,
        updates_source_clock: true,
        push_clears_failures: true,
        ..Self::LINUX_4_6
    };
    /// Linux 4.17.
    pub const LINUX_4_17: Self = Self {
        any_idle_takes: true,
        spreads_surplus: true,
        longest_waiting_first: true,
        stays_outside: true,
        ..Self::LINUX_4_11
    };
}

impl Scheduler {
    /// The group to take from; how much, which may be nothing, is noted in the pass.
    pub(super) fn find_group_by_load(&mut self, pass: &mut Pass, rules: ByLoad) -> Option<SchedGroupId> {
        self.refresh_capacity(pass);
        let survey = self.survey_by_load(pass, rules);
        if self.domains[pass.domain].parent.is_none()
            && let Some(root) = self.domains.cpu(pass.to).root
        {
            self.overloaded[root] = survey.overloaded;
        }
        pass.left = Imbalance { measure: Measure::Load, amount: 0 };
        let amount = survey.imbalance(rules)?;
        pass.left.amount = amount;
        survey.busiest.map(|busiest| busiest.group)
    }

    /// The queue of a group that has most load relative to capacity; the first of equals. A lone task that is
    /// more than the imbalance is left where it is, unless something else takes part of its CPU.
    pub(super) fn find_queue_by_load(&self, pass: &Pass, group: SchedGroupId) -> Option<CpuId> {
        let imbalance_pct = self.domains[pass.domain].imbalance_pct;
        let (mut best, mut most, mut most_capacity) = (None, 0_u64, 1_u64);
        for cpu in self.candidates(pass, self.domains.group_span(group)) {
            let load = self.runnable_load(cpu);
            let alone = self.cpus[cpu].nr_running == 1;
            if alone && load as i64 > pass.left.amount && !self.has_reduced_capacity(cpu, imbalance_pct) {
                continue;
            }
            let capacity = self.capacity_of(cpu);
            // load / capacity > most / most_capacity
            if load.wrapping_mul(most_capacity) > most.wrapping_mul(capacity) {
                (best, most, most_capacity) = (Some(cpu), load, capacity);
            }
        }
        best
    }
}
