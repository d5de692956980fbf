// SPDX-License-Identifier: GPL-2.0-only
//! What differs between kernels in how load is balanced.

use crate::balance::ByLoad;

/// What a CPU that runs dry asks before it ages its own load and looks at its domains for work. Always, that
/// some CPU of its root domain has two tasks; CPUs that are in none count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewIdleGate {
    /// That it has idled, on average, for at least as long as a task stays cache hot; domains do not matter
    /// (4.x).
    MigrationCost,
    /// That it has domains, and has idled for at least as long as balancing the lowest took at most
    /// (6.1.192, 6.12.117).
    LowestDomain,
    /// The same, but without domains nothing more: it ages its load for nobody (6.18.2).
    LowestDomainIfAny,
}

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
    /// When newly-idle balancing is tried at all.
    pub newidle_gate: NewIdleGate,
    /// A CPU has run dry if it has no fair task (6.12); before, if it has no task at all. It matters while a
    /// task of a higher class takes over.
    pub dry_without_fair: bool,
    /// Newly-idle balancing that brings nothing makes its domain count as half as costly again, up to a little
    /// more than the migration cost (6.18.2).
    pub failed_newidle_costs: bool,
    /// Tasks whose dequeue is delayed count among those of their CPU; not since 6.14, when loads that only
    /// they cause stopped being worth a move other than for load itself.
    pub counts_delayed: bool,
    /// A task that would have to wait for its turn where it comes from is left there until a balancing has
    /// failed (6.18).
    pub ineligible_stay: bool,
    /// A misfit task is worth taking only for a core that is idle as a whole (later fixes of 6.1 and 6.12).
    pub misfit_needs_idle_core: bool,
    /// Groups of bigger CPUs on which nobody waits are left out before groups are compared by their state;
    /// 6.18.2 does so after, and only for groups in the same state.
    pub bigger_left_out_first: bool,
    /// For a task that is new or executes another program, groups are compared by those of their CPUs that it
    /// may use (later fixes of 6.1 and 6.12); 6.18.2 by all.
    pub placed_by_allowed_cpus: bool,
    /// Balancing is by the weight of what is queued, with histories of it, and the shares of groups are divided
    /// in the course of it (2.6.29). Then nothing else here is asked.
    pub by_weight: bool,
    /// Balancing is by load, as it was up to 5.4, with these rules.
    pub by_load: Option<ByLoad>,
    /// How idle CPUs without a tick are taken care of.
    pub nohz: NohzScheme,
    /// A CPU is taken out of the mask of stale CPUs when it gets busy; the 2018 document forgot that.
    pub stale_until_busy: bool,
    /// CPUs that a pass leaves out because they are not stale still say when they are due for balancing; in the
    /// 2018 document they do not.
    pub skipped_are_due: bool,
    /// The busy CPUs that decide whether idle ones are to balance are counted for the level above the last-level
    /// cache, if there is one (up to 4.8).
    pub counts_busy_above_cache: bool,
    /// A domain falls due anew before it is balanced, as the last thing known; later, afterwards (up to 5.x).
    pub due_after_balancing: bool,
    /// The average idle time is rounded down (up to 5.x); later toward zero.
    pub floors_idle_average: bool,
    /// A busy CPU looks one tick earlier, so that not all domains fall due together (5.11).
    pub busy_tick_early: bool,
}

/// How idle CPUs whose tick is stopped are taken care of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NohzScheme {
    /// A busy CPU kicks an idle one, which balances for all (up to 4.16).
    Kick,
    /// It also does so to have blocked load aged, as long as a flag says that there may be some (4.17).
    HasBlocked,
    /// As long as some CPU is in a mask of those that may have some (2018 document).
    StaleCpus,
    /// There are more reasons, and a CPU that goes idle leaves ageing to its idle loop (5.15).
    Reasons,
}

impl BalanceRules {
    /// Linux 2.6.29.
    pub const LINUX_2_6_29: Self = Self { by_weight: true, ..Self::LINUX_6_1 };

    /// Linux 4.6.
    pub const LINUX_4_6: Self =
        Self { by_load: Some(ByLoad::LINUX_4_6), counts_busy_above_cache: true, ..Self::LINUX_4_11 };

    /// Linux 4.11.
    pub const LINUX_4_11: Self = Self {
        newidle_gate: NewIdleGate::MigrationCost,
        by_load: Some(ByLoad::LINUX_4_11),
        nohz: NohzScheme::Kick,
        due_after_balancing: true,
        floors_idle_average: true,
        busy_tick_early: false,
        ..Self::LINUX_6_1
    };

    /// Linux 4.16.
    pub const LINUX_4_16: Self = Self { by_load: Some(ByLoad::LINUX_4_17), ..Self::LINUX_4_11 };

    /// Linux 4.17.
    pub const LINUX_4_17: Self = Self { nohz: NohzScheme::HasBlocked, ..Self::LINUX_4_16 };

    /// Linux 6.1 (6.1.192).
    pub const LINUX_6_1: Self = Self {
        smt_aware: false,
        spread_asked_by_group: false,
        later_misfit_wins: true,
        misfit_on_biggest: true,
        waiting_counts_as_use: false,
        misfit_counts_as_failure: true,
        newidle_stops_on_work_only: true,
        newidle_gate: NewIdleGate::LowestDomain,
        dry_without_fair: false,
        failed_newidle_costs: false,
        counts_delayed: true,
        ineligible_stay: false,
        misfit_needs_idle_core: true,
        bigger_left_out_first: true,
        placed_by_allowed_cpus: true,
        by_weight: false,
        by_load: None,
        nohz: NohzScheme::Reasons,
        stale_until_busy: false,
        skipped_are_due: false,
        counts_busy_above_cache: false,
        due_after_balancing: false,
        floors_idle_average: false,
        busy_tick_early: true,
    };

    /// Linux 6.6.
    pub const LINUX_6_6: Self = Self {
        misfit_on_biggest: true,
        misfit_counts_as_failure: true,
        newidle_stops_on_work_only: true,
        dry_without_fair: false,
        ..Self::LINUX_6_12
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
        newidle_gate: NewIdleGate::LowestDomain,
        dry_without_fair: true,
        failed_newidle_costs: false,
        counts_delayed: true,
        ineligible_stay: false,
        misfit_needs_idle_core: true,
        bigger_left_out_first: true,
        placed_by_allowed_cpus: true,
        by_weight: false,
        by_load: None,
        nohz: NohzScheme::Reasons,
        stale_until_busy: false,
        skipped_are_due: false,
        counts_busy_above_cache: false,
        due_after_balancing: false,
        floors_idle_average: false,
        busy_tick_early: true,
    };

    /// Linux 6.18 (6.18.2).
    pub const LINUX_6_18: Self = Self {
        newidle_gate: NewIdleGate::LowestDomainIfAny,
        failed_newidle_costs: true,
        counts_delayed: false,
        ineligible_stay: true,
        misfit_needs_idle_core: false,
        bigger_left_out_first: false,
        placed_by_allowed_cpus: false,
        ..Self::LINUX_6_12
    };
}
