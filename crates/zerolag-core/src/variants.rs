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
    /// Not at all (March 2023).
    Never,
    /// Until its request is served: its deadline changes then (6.6, 6.12; switched by `RUN_TO_PARITY`).
    UntilDeadline,
    /// For the shortest slice in the queue; without `RUN_TO_PARITY` for the unscaled base slice; in no case
    /// beyond its deadline (6.18).
    ForShortestSlice,
}

/// What becomes of a queued entity's vruntime `v` and deadline `d` when its weight changes from `w` to `w'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reweight {
    /// They stay (March 2023).
    Stay,
    /// The rest of the request is kept as CPU time: `d' = v + (d - v) w/w'` (6.6).
    RescaleRequest,
    /// Lag and the rest of the request are kept as CPU time: `v' = V - (V - v) w/w'` and
    /// `d' = V + (d - V) w/w'` (6.7 to 6.12).
    KeepLag,
    /// It is taken out, both distances are scaled, and it is placed again as if it joined (6.18).
    PlaceAgain,
}

/// What a task that yields gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielding {
    /// The contest of deadlines: its deadline moves by one request (up to 6.12.0).
    OneRequest,
    /// If it is eligible, the rest of its request: its vruntime becomes its deadline, and a request by the
    /// rules of the day follows (6.12.117).
    RestOfRequest,
    /// The same, and the request that follows is as long as the one before (6.18).
    RestOfRequestSameSlice,
}

/// How virtual time is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Toward zero (March 2023).
    TowardZero,
    /// Down (6.6).
    Down,
}

/// How the earliest eligible virtual deadline is looked for, where the timeline is ordered by vruntime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// As the series of March 2023 has it: in one descent, which may leave the best behind.
    Literal,
    /// The best of the eligible; of several, the leftmost, and the running one only if it is strictly better.
    Exact,
    /// In two descents (6.6): the best of the eligible; of several, one in a subtree that was left behind,
    /// then the running one.
    TwoDescents,
}

/// When the running entity is measured against the others, apart from wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptAt {
    /// At each tick (March 2023).
    Tick,
    /// When its request has been served (6.6).
    RequestEnd,
}

/// The form of a task's utilisation estimate (`util_est`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UtilEst {
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
    /// If it differs, and somebody is in the group: the entity of an empty group keeps its weight, which a
    /// delayed dequeue needs (6.12).
    IfChangedAndPopulated,
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

/// How long a request to skip clock updates holds during a reschedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSkip {
    /// Until the next task is chosen; requests made meanwhile are dropped with it (6.1).
    UntilPicked,
    /// For the one update at the start (6.12).
    FirstUpdate,
}

/// In which order entities become the running ones of their levels. It is seen in load: what a lower level
/// has to hand up reaches the upper one at once only from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// The root first, as it is picked (up to 6.11).
    WhilePicking,
    /// The task first (6.12).
    FromTask,
}

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
    /// Linux 6.12.
    pub(crate) const LINUX_6_12: Self =
        Self { unthrottles_by_interrupt: true, counts_empty: false, ..Self::LINUX_6_1 };
    /// Linux 6.18.
    pub(crate) const LINUX_6_18: Self =
        Self { throttling: Throttling::Tasks, lifted_between_domains: false, ..Self::LINUX_6_12 };
}
