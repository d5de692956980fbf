// SPDX-License-Identifier: GPL-2.0-only
//! Virtual time and requests: what EEVDF did differently as it grew.

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

/// How a wake-up finds out whether the wakee would run, and what it does to those in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeupPick {
    /// It looks, and changes nothing: an eligible entity whose dequeue is delayed stands in the wakee's way. Buddies
    /// do not count, and protection is shortened only for a wakee with a shorter slice (6.12.117, 6.18.2).
    Looks,
    /// It picks as rescheduling would: delayed entities that it comes upon leave, and it picks again. Protection is
    /// shortened to the shortest slice whenever the wakee does not preempt. A new task, or one whose own dequeue is
    /// delayed, does not preempt at all unless its slice is shorter (a later stable update of 6.18, measured on
    /// 6.18.44 but for buddies, protection and delayed wakees, which are as that change has them).
    Dequeues,
}

/// When the running entity is measured against the others, apart from wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptAt {
    /// At each tick (March 2023).
    Tick,
    /// When its request has been served (6.6).
    RequestEnd,
}
