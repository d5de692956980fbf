// SPDX-License-Identifier: GPL-2.0-only
//! What differs between kernels in how load is balanced.

/// How a kernel balances load between domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceRules {
    /// Threads of a core are known to share it: a core with several tasks is relieved by an idle one, groups
    /// are compared by cores rather than by CPUs, and an idle core balances rather than an idle thread (6.6).
    pub smt_aware: bool,
    /// Tasks are spread if the busiest group asks for it (6.6); before, if the domain below does.
    pub spread_asked_by_group: bool,
    /// Of two groups with misfit tasks equally big, the later one is taken; since 6.6 the first.
    pub later_misfit_wins: bool,
    /// The most used queue is looked for with time spent waiting taken into account (6.5).
    pub waiting_counts_as_use: bool,
    /// A task can be a misfit on the biggest CPU it may use, if it needs most of that; not since 6.10.
    pub misfit_on_biggest: bool,
    /// A misfit task that could not be moved counts as a failure, and makes the domain wait longer; not since
    /// 6.10.
    pub misfit_counts_as_failure: bool,
    /// Newly-idle balancing goes on to the next domain unless work has come; since 6.12 also not if the one
    /// below was not to be balanced by this CPU any more.
    pub newidle_stops_on_work_only: bool,
}

impl BalanceRules {
    /// Linux 6.1 (6.1.192).
    pub const LINUX_6_1: Self = Self {
        smt_aware: false,
        spread_asked_by_group: false,
        later_misfit_wins: true,
        misfit_on_biggest: true,
        waiting_counts_as_use: false,
        misfit_counts_as_failure: true,
        newidle_stops_on_work_only: true,
    };

    /// Linux 6.12 (6.12.117).
    pub const LINUX_6_12: Self = Self {
        smt_aware: true,
        spread_asked_by_group: true,
        later_misfit_wins: false,
        misfit_on_biggest: false,
        waiting_counts_as_use: true,
        misfit_counts_as_failure: false,
        newidle_stops_on_work_only: false,
    };
}
