// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks that become runnable go.

/// How the waker's CPU and the wakee's own are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffineBy {
    /// By what the wakee's load would change on each, through the hierarchy of groups (up to 4.12).
    EffectiveLoad,
    /// By idleness of the waker's CPU, then by the load of those queued (4.14 to 5.4).
    EarlyFeatures,
    /// By idleness, then by load (5.x).
    Features,
}

/// How an idle CPU near a given one is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleSearch {
    /// A group of which all CPUs are idle, in each domain from the last-level cache down (up to 4.8).
    IdleGroup,
    /// An idle core, an idle CPU, an idle thread of the same core, from the CPU on (4.9 to 5.x).
    Core,
    /// As far as utilisation allows, with regard to clusters and capacities (6.x).
    Bounded,
}

/// How the idlest group of a domain is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlestBy {
    /// By load (up to 4.8).
    Load,
    /// By spare capacity, then by the load of those queued, then by load (4.9 to 5.4).
    SpareCapacity,
    /// By the state of groups (5.5).
    GroupType,
}

/// Rules of placing tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeRules {
    /// The waker's CPU or the wakee's own?
    pub affine: AffineBy,
    /// Which idle CPU is near?
    pub idle: IdleSearch,
    /// Which part of the machine is idlest?
    pub idlest: IdlestBy,
    /// A new task, or one that replaces its program, for which no group is better stays on the CPU it is on (up to
    /// 4.13); later it goes to the CPU that asks, which is the same if the task itself does.
    pub unplaced_stays: bool,
    /// The wakee goes to the waker's CPU only if it fits the smaller of the two (4.9 to 5.x).
    pub looks_at_capacity: bool,
    /// A CPU used before by whoever wakes others is tried as well (4.16); the estimate of a task's use counts.
    pub remembers_used: bool,
    /// New tasks go to another node only if that is idler by a margin (4.16).
    pub stays_on_node: bool,
    /// A CPU is looked for even in a group that has only one, and found only if it has run dry before (up to
    /// 4.8).
    pub looks_in_single: bool,
    /// An idle CPU takes up those that are woken to it by itself, even if it shares a cache with the waker
    /// (5.8).
    pub idle_cpus_take_wakees: bool,
}

impl WakeRules {
    /// Linux 4.12: as 4.11, but the search of the last-level cache is bounded.
    pub(crate) const LINUX_4_12: Self = Self { looks_at_capacity: true, ..Self::LINUX_4_11 };
    /// Linux 4.17.
    pub(crate) const LINUX_4_17: Self = Self {
        affine: AffineBy::EarlyFeatures,
        remembers_used: true,
        stays_on_node: true,
        unplaced_stays: false,
        ..Self::LINUX_4_12
    };
    /// Linux 4.6.
    pub(crate) const LINUX_4_6: Self = Self {
        idle: IdleSearch::IdleGroup,
        idlest: IdlestBy::Load,
        looks_in_single: true,
        ..Self::LINUX_4_11
    };
    /// Linux 4.11.
    pub(crate) const LINUX_4_11: Self = Self {
        affine: AffineBy::EffectiveLoad,
        idle: IdleSearch::Core,
        idlest: IdlestBy::SpareCapacity,
        unplaced_stays: true,
        looks_in_single: false,
        looks_at_capacity: false,
        remembers_used: false,
        stays_on_node: false,
        idle_cpus_take_wakees: false,
    };
    /// Linux 6.1 to 6.18.
    pub(crate) const LINUX_6_1: Self = Self {
        affine: AffineBy::Features,
        idle: IdleSearch::Bounded,
        idlest: IdlestBy::GroupType,
        unplaced_stays: false,
        looks_in_single: false,
        looks_at_capacity: false,
        remembers_used: false,
        stays_on_node: false,
        idle_cpus_take_wakees: true,
    };
}
