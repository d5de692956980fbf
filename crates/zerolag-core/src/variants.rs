// SPDX-License-Identifier: GPL-2.0-only
//! The choices behind [`crate::config::Variants`]: rules that one kernel has so and another otherwise, with
//! no feature to switch them.

/// What a queue's vruntimes are counted from. The choice is seen where nobody competes (a joiner starts
/// there), and in rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Virtual time itself: each time it is computed, the anchor moves there, forwards or backwards
    /// (`zero_vruntime`, 6.12.117).
    ZeroLag,
    /// The least vruntime there is, but never backwards (`min_vruntime`).
    Minimum,
}

/// How long the running entity is left alone once it has been picked, as long as it is eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Until its request is served: its deadline changes then (6.6, 6.12; switched by `RUN_TO_PARITY`).
    UntilDeadline,
    /// For the shortest slice in the queue; without `RUN_TO_PARITY` for the unscaled base slice; in no case
    /// beyond its deadline (6.18).
    ForShortestSlice,
}

/// What becomes of a queued entity's vruntime `v` and deadline `d` when its weight changes from `w` to `w'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reweight {
    /// Lag and the rest of the request are kept as CPU time: `v' = V - (V - v) w/w'` and
    /// `d' = V + (d - V) w/w'` (6.7 to 6.12).
    KeepLag,
    /// It is taken out, both distances are scaled, and it is placed again as if it joined (6.18).
    PlaceAgain,
}

/// What a task that yields gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielding {
    /// If it is eligible, the rest of its request: its vruntime becomes its deadline, and a request by the
    /// rules of the day follows (6.12.117).
    RestOfRequest,
    /// The same, and the request that follows is as long as the one before (6.18).
    RestOfRequestSameSlice,
}

/// When a task's utilisation is taken into its estimate (`util_est`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UtilEst {
    /// Unless it is more than the CPU has capacity (6.12).
    WithinCapacity,
    /// Always (6.18).
    Unbounded,
}

/// What kernels do differently when they enforce a group's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthRules {
    /// A queue of another CPU is unthrottled over there, by an interrupt, not by the CPU of the timer.
    pub unthrottles_by_interrupt: bool,
    /// A throttled queue counts as throttled also while nobody is in it.
    pub counts_empty: bool,
}

impl BandwidthRules {
    /// Linux 6.12.
    pub(crate) const LINUX_6_12: Self = Self { unthrottles_by_interrupt: true, counts_empty: false };
}
