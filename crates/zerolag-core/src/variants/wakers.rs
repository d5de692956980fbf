// SPDX-License-Identifier: GPL-2.0-only
//! What kernels up to 2.6.35 make of who wakes whom.

/// How tasks that wake others are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakerRules {
    /// What is remembered of a task's wake-ups.
    pub memory: WakerMemory,
    /// Whose weight the wake-up granularity is scaled by, with `ASYM_GRAN`.
    pub asym_gran: AsymGran,
}

/// What is remembered of a task's wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerMemory {
    /// Nothing.
    Nothing,
    /// How long it runs on after the last wake-up it caused (`avg_overlap`). Whoever runs when something is
    /// woken has caused it, even if it was an interrupt, and even if there was nobody to be woken (2.6.29).
    Overlap,
    /// The same, and how long it runs between wake-ups that it causes (`avg_wakeup`). Interrupts and attempts
    /// that wake nobody do not count (the patch of January 2009).
    OverlapAndInterval,
}

/// Whose weight the wake-up granularity is scaled by, with the feature `ASYM_GRAN`. Without it, by that of the
/// one that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsymGran {
    /// By that of the one that runs if it is heavier than nice 0: it is preempted sooner, while a light one is
    /// preempted no later (2.6.29).
    HeavyRunner,
    /// By that of the wakee: the light have to be further behind (the patch of January 2009).
    Wakee,
}

impl WakerRules {
    /// Kernels that keep nothing of the kind; they have no `ASYM_GRAN` either.
    pub(crate) const NONE: Self = Self { memory: WakerMemory::Nothing, asym_gran: AsymGran::Wakee };
    /// Linux 2.6.29.
    pub(crate) const LINUX_2_6_29: Self =
        Self { memory: WakerMemory::Overlap, asym_gran: AsymGran::HeavyRunner };
    /// The same with "prefer wakers".
    pub(crate) const PREFER_WAKERS: Self =
        Self { memory: WakerMemory::OverlapAndInterval, asym_gran: AsymGran::Wakee };
}
