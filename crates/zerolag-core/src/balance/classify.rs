// SPDX-License-Identifier: GPL-2.0-only
//! What state a group of CPUs is in.
//!
//! The states are ordered by how much a group needs to be relieved: a group is only ever helped by one in a
//! lower state, so comparing two states is most of the decision.
//!
//! Source: kernel/sched/fair.c, `enum group_type`, `group_classify()`, 6.12; 6.1 has the same but for
//! `SmtBalance`.

/// The state of a group of CPUs, the least loaded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupType {
    /// It has room for more tasks.
    HasSpare,
    /// Every CPU is busy, nobody has to wait.
    FullyBusy,
    /// It runs a task that is too big for its CPUs.
    MisfitTask,
    /// A core runs several tasks while another core is idle.
    SmtBalance,
    /// A preferred CPU could run its task instead.
    AsymPacking,
    /// Balancing below failed because of affinity.
    Imbalanced,
    /// Tasks have to wait.
    Overloaded,
}

/// Sums over the CPUs of a group.
#[derive(Clone, Debug)]
pub(crate) struct GroupStats {
    /// Load per capacity, times 1024.
    pub(crate) avg_load: u64,
    pub(crate) load: u64,
    pub(crate) capacity: u64,
    pub(crate) util: u64,
    pub(crate) runnable: u64,
    /// Tasks of all classes.
    pub(crate) nr_running: u32,
    /// Fair tasks.
    pub(crate) h_nr_running: u32,
    pub(crate) idle_cpus: u32,
    /// CPUs.
    pub(crate) weight: u32,
    pub(crate) group_type: GroupType,
    pub(crate) asym_packing: bool,
    pub(crate) smt_balance: bool,
    /// Load of the biggest task that is too big for its CPU.
    pub(crate) misfit_task_load: u64,
}

impl GroupStats {
    pub(crate) const EMPTY: Self = Self {
        avg_load: 0,
        load: 0,
        capacity: 0,
        util: 0,
        runnable: 0,
        nr_running: 0,
        h_nr_running: 0,
        idle_cpus: 0,
        weight: 0,
        group_type: GroupType::HasSpare,
        asym_packing: false,
        smt_balance: false,
        misfit_task_load: 0,
    };

    /// Load relative to capacity.
    pub(crate) fn set_avg_load(&mut self) {
        self.avg_load = self.load.wrapping_mul(1024) / self.capacity.max(1);
    }

    /// The state that the sums describe. `imbalanced` = balancing below failed because of affinity.
    pub(crate) fn classify(&self, imbalance_pct: u32, imbalanced: bool) -> GroupType {
        let pct = u64::from(imbalance_pct);
        if self.is_overloaded(pct) {
            GroupType::Overloaded
        } else if imbalanced {
            GroupType::Imbalanced
        } else if self.asym_packing {
            GroupType::AsymPacking
        } else if self.smt_balance {
            GroupType::SmtBalance
        } else if self.misfit_task_load != 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// Fewer tasks than CPUs, or utilisation and waiting time leave a margin.
    pub(crate) fn has_capacity(&self, pct: u64) -> bool {
        if self.nr_running < self.weight {
            return true;
        }
        if self.capacity * pct < self.runnable * 100 {
            return false;
        }
        self.capacity * 100 > self.util * pct
    }

    /// More tasks than CPUs, and utilisation or waiting time show it.
    fn is_overloaded(&self, pct: u64) -> bool {
        if self.nr_running <= self.weight {
            return false;
        }
        self.capacity * 100 < self.util * pct || self.capacity * pct < self.runnable * 100
    }
}

/// An imbalance across nodes is tolerated while few tasks run: communicating pairs should stay together
/// (`adjust_numa_imbalance()`).
pub(crate) const fn adjust_numa_imbalance(imbalance: i64, dst_running: u32, imb_numa_nr: u32) -> i64 {
    // Allowed as long as the destination would not exceed its fair number.
    if dst_running > imb_numa_nr {
        return imbalance;
    }
    // A pair may stay on one node.
    if imbalance <= 2 { 0 } else { imbalance }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(nr_running: u32, util: u64, runnable: u64) -> GroupStats {
        GroupStats { nr_running, util, runnable, weight: 2, capacity: 2048, ..GroupStats::EMPTY }
    }

    #[test]
    fn states_follow_from_the_sums() {
        assert_eq!(stats(1, 1024, 1024).classify(117, false), GroupType::HasSpare);
        assert_eq!(stats(2, 2048, 2048).classify(117, false), GroupType::FullyBusy);
        assert_eq!(stats(3, 2048, 3072).classify(117, false), GroupType::Overloaded);
        assert_eq!(stats(3, 100, 100).classify(117, false), GroupType::HasSpare);
        assert_eq!(stats(1, 0, 0).classify(117, true), GroupType::Imbalanced);
    }

    #[test]
    fn a_pair_of_tasks_may_stay_on_its_node() {
        assert_eq!(adjust_numa_imbalance(2, 1, 4), 0);
        assert_eq!(adjust_numa_imbalance(3, 1, 4), 3);
        assert_eq!(adjust_numa_imbalance(2, 5, 4), 2);
    }
}
