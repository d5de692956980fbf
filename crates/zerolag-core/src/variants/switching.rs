// SPDX-License-Identifier: GPL-2.0-only
//! The order of things while a CPU switches.

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
