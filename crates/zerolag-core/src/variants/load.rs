// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking, and the weight of groups that follows from it.

use crate::units::{WEIGHT_SHIFT, Weight};

/// The form of a task's utilisation estimate (`util_est`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UtilEst {
    /// Utilisation at the last sleep and a moving average, without exception, and rising no faster than it falls.
    /// That nothing has changed since is noted in the lowest bit, which the estimate so gains (4.17).
    OddSample,
    /// The utilisation at the last sleep and a moving average, of which the greater counts. They are taken
    /// after the task was dequeued, unless it used more than the CPU has capacity (4.17 to 6.7).
    SampleAndAverage,
    /// The average alone, taken before the task is dequeued, with the same exception (6.8 to 6.12).
    WithinCapacity,
    /// The same without exception (6.18).
    Unbounded,
}

/// When a group's entity is given the weight that its share comes to. Even if that is the same weight, load
/// sums are rounded, and the running entity is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupReweight {
    /// Each time it is looked at (6.1).
    Always,
    /// If it differs (2017 document).
    IfChanged,
    /// If it differs, and somebody is in the group: the entity of an empty group keeps its weight, which a
    /// delayed dequeue needs (6.12).
    IfChangedAndPopulated,
    /// Not by whoever comes or goes: the shares are divided among the CPUs of a domain now and then
    /// (up to 2.6.37).
    ByDomain,
}

/// The weight in the first guess at a new task's utilisation, `util * weight / (load + 1)` of the queue it
/// joins, which is limited to half of what is left of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialUtil {
    /// In fine units, although the load is in table units: nearly always the limit (up to 6.7).
    FineWeight,
    /// In table units, as the load is (6.8).
    TableWeight,
}

/// What a load average is made of. `y` is the decay of a period, `M` the greatest value of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadTracking {
    /// An entity's load sum counts its weight as it was at the time; averages are sums over `M`. A queue has
    /// a second load, that of the entities that are queued. Time is taken in three steps, up to the end of a
    /// period, whole periods, the rest, and what is less than a unit is lost (4.3 to 4.11).
    WeightedInSteps {
        /// The sum of many whole periods is looked up as far as it is one of whole half-lives (4.7); before,
        /// the last half-life was left to rounding.
        half_lives: bool,
    },
    /// The same in one step, and less than a unit is kept (4.12 to 4.14).
    Weighted,
    /// An entity's load sum counts time, and its weight of today multiplies it; averages are sums over `M` of
    /// the moment. The load of those queued has a weight of its own, the runnable weight (4.15 to 5.0).
    RunnableWeight,
    /// The same without a second load; how many were runnable is averaged instead (5.7).
    RunnableTime,
}

/// How the entity of a group learns of load that joins or leaves the queue below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// It does not: its own past decays, and what is below shows over time only (4.3 to 4.9).
    Never,
    /// Its load becomes its part of the group's shares, or what is below if that is less (4.10 to 4.14).
    ByShare,
    /// The runnable time that joined or left below joins it or leaves it (4.15).
    ByTime,
}

/// The load of a queue that decides its part of the group's shares, when load is propagated by shares
/// (`prop_type` of the 2017 document).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareLoad {
    /// Of those queued.
    Runnable,
    /// Of all.
    Average,
    /// The weight of those queued.
    Weight,
}

/// In which unit the 2017 document's `FUDGE` gives a group's entity its part of the shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FudgeUnits {
    /// As the document has it: in the fine unit of weights, although load is in table units; 1024 times too
    /// much.
    Literal,
    /// In that of load.
    Scaled,
}

/// What a queued task that moves to another CPU does about its load in the queue that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOnMove {
    /// It is noted, to be taken off when that queue is next updated (up to 4.14).
    Removed,
    /// It is taken off once the task has been dequeued (4.15).
    DetachedAfter,
    /// It is taken off while the task is dequeued (6.1).
    DetachedWithin,
}

/// Which entities of groups are aged when the load of a CPU is, and whether what they change is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedEntities {
    /// None (up to 4.9).
    None,
    /// All, and nothing is reported (4.10 to 4.11).
    All,
    /// Those that have load or are told of some; nothing is reported (4.12 to 5.x).
    IfAnyQuietly,
    /// Those, and it is reported (6.1).
    IfAny,
}

/// How load starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstLoad {
    /// Full load and full use, for tasks when they are first woken, and for groups (4.3 to 4.6).
    Full,
    /// Tasks full load, and use as far as there is room; they join the queue's load before they are queued
    /// (4.7 to 4.14).
    FullLoad,
    /// The same, but the period starts with the queue's (4.15).
    AlignedLoad,
}

/// The part of a group's shares that is due to one of its queues is `shares * load / total`: with which load
/// of its own the queue counts, and whether there is a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupShare {
    /// The weight of those queued (4.3 to 4.14).
    Weight,
    /// The same, if `SMP_NICE_GROUPS` is on: then the total counts up to the weight of nice -10 (2016
    /// document). Off: every queue gets all of the shares.
    Bounded,
    /// That, or the load average if it is greater (4.15).
    Greater,
}

/// Rules of load tracking that changed between kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRules {
    /// What averages are made of.
    pub tracking: LoadTracking,
    /// How groups follow what is below them.
    pub propagation: Propagation,
    /// Whose load decides when that is by shares and `FUDGE` is on.
    pub propagated: ShareLoad,
    /// In which unit.
    pub fudge_units: FudgeUnits,
    /// How tasks that move take their load along.
    pub on_move: LoadOnMove,
    /// What a new task or group starts with.
    pub first: FirstLoad,
    /// The part of its shares that a group has on a CPU.
    pub share: GroupShare,
    /// Weights are kept in table units (up to 4.6).
    pub coarse_weights: bool,
    /// A weight of less than a table unit counts as none (4.7 to 4.17); later it counts as 2 units.
    pub small_weights_vanish: bool,
    /// The weight of a group follows once something has been queued in it; later, when its entity is queued
    /// (4.7).
    pub weighed_from_below: bool,
    /// A sleeper that leaves an idle CPU is aged for the time that the CPU has been idle (6.0).
    pub idle_time_counts: bool,
    /// Averages count time as a CPU of full capacity would need it (5.1); before, use is scaled instead.
    pub invariant_clock: bool,
    /// Queues without load leave the list of those that are aged (4.12).
    pub unlists_decayed: bool,
    /// Which entities of groups are aged when a CPU's load is.
    pub blocked_entities: BlockedEntities,
    /// CPUs keep histories of their load over several spans of ticks (up to 5.2).
    pub history: LoadHistory,
}

/// Histories of a CPU's load, `cpu_load[]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadHistory {
    /// None (5.3).
    None,
    /// Ticks that were left out while the CPU was idle count as no load (up to 4.6).
    IdleCountsAsNone,
    /// They count as the load at which the tick was stopped (4.7 to 5.2).
    IdleKeepsLoad,
}

impl LoadRules {
    /// Linux 4.6 (4.6.2).
    pub(crate) const LINUX_4_6: Self = Self {
        tracking: LoadTracking::WeightedInSteps { half_lives: false },
        propagation: Propagation::Never,
        on_move: LoadOnMove::Removed,
        first: FirstLoad::Full,
        share: GroupShare::Weight,
        coarse_weights: true,
        small_weights_vanish: true,
        weighed_from_below: true,
        idle_time_counts: false,
        invariant_clock: false,
        unlists_decayed: false,
        blocked_entities: BlockedEntities::None,
        history: LoadHistory::IdleCountsAsNone,
        ..Self::LINUX_6_12
    };
    /// Linux 4.11.
    pub(crate) const LINUX_4_11: Self = Self {
        tracking: LoadTracking::WeightedInSteps { half_lives: true },
        propagation: Propagation::ByShare,
        first: FirstLoad::FullLoad,
        blocked_entities: BlockedEntities::All,
        coarse_weights: false,
        weighed_from_below: false,
        history: LoadHistory::IdleKeepsLoad,
        ..Self::LINUX_4_6
    };
    /// Linux 4.12.
    pub(crate) const LINUX_4_12: Self =
        Self { tracking: LoadTracking::Weighted, unlists_decayed: true, ..Self::LINUX_4_11 };
    /// Linux 4.17.
    pub(crate) const LINUX_4_17: Self = Self {
        tracking: LoadTracking::RunnableWeight,
        propagation: Propagation::ByTime,
        on_move: LoadOnMove::DetachedAfter,
        first: FirstLoad::AlignedLoad,
        share: GroupShare::Greater,
        unlists_decayed: true,
        blocked_entities: BlockedEntities::IfAnyQuietly,
        ..Self::LINUX_4_11
    };
    /// Linux 6.1 to 6.18.
    pub(crate) const LINUX_6_12: Self = Self {
        tracking: LoadTracking::RunnableTime,
        propagation: Propagation::ByTime,
        propagated: ShareLoad::Average,
        fudge_units: FudgeUnits::Literal,
        on_move: LoadOnMove::DetachedWithin,
        first: FirstLoad::AlignedLoad,
        share: GroupShare::Greater,
        coarse_weights: false,
        small_weights_vanish: false,
        weighed_from_below: false,
        idle_time_counts: true,
        invariant_clock: true,
        unlists_decayed: true,
        blocked_entities: BlockedEntities::IfAny,
        history: LoadHistory::None,
    };

    /// A weight in table units.
    #[inline]
    pub(crate) const fn table(&self, weight: Weight) -> u64 {
        if self.small_weights_vanish { weight.0 >> WEIGHT_SHIFT } else { weight.down() }
    }
}
