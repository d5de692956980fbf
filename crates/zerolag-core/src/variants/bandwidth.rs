// SPDX-License-Identifier: GPL-2.0-only
//! CFS bandwidth.

/// What kernels do differently when they enforce a group's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthRules {
    /// What is taken off the CPU when a queue has nothing left.
    pub throttling: Throttling,
    /// A queue of another CPU is unthrottled over there, by an interrupt, not by the CPU of the timer.
    pub unthrottles_by_interrupt: bool,
    /// A throttled queue counts as throttled also while nobody is in it.
    pub counts_empty: bool,
    /// A change of domains lifts the limits of all CPUs for a moment, not only of one that goes offline.
    pub lifted_between_domains: bool,
}

/// What is taken off the CPU when a queue has nothing left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttling {
    /// The queue: its entity leaves the queue above, whatever its tasks are doing (up to 6.17).
    Queue,
    /// Each of its tasks, as soon as it has been picked and returns to user mode, where it can hold no
    /// resource of the kernel that others wait for (6.18).
    Tasks,
}

impl BandwidthRules {
    /// Linux 6.1.
    pub(crate) const LINUX_6_1: Self = Self {
        throttling: Throttling::Queue,
        unthrottles_by_interrupt: false,
        counts_empty: true,
        lifted_between_domains: true,
    };
    /// Linux 6.6.
    pub(crate) const LINUX_6_6: Self = Self { unthrottles_by_interrupt: true, ..Self::LINUX_6_1 };
    /// Linux 6.12.
    pub(crate) const LINUX_6_12: Self = Self { counts_empty: false, ..Self::LINUX_6_6 };
    /// Linux 6.18.
    pub(crate) const LINUX_6_18: Self =
        Self { throttling: Throttling::Tasks, lifted_between_domains: false, ..Self::LINUX_6_12 };
}
