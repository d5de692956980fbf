// SPDX-License-Identifier: GPL-2.0-only
//! Changing a task that is queued or runs.

/// How a task is taken out for a change and put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reinstating {
    /// The CPU's clock is brought up to date first, even if the task sleeps (4.9).
    pub updates_clock: bool,
    /// One that runs is made the running one again before it is queued again (up to 4.8).
    pub runs_before_queued: bool,
    /// One that runs is not put aside for a change of its nice level (up to 4.8).
    pub nice_keeps_running: bool,
    /// If its nice level changes, somebody else is picked when it became more urgent, or less so while it runs
    /// (up to 5.5); later it is looked at as if it had woken up.
    pub nice_reschedules: bool,
}

impl Reinstating {
    /// Linux 4.6.
    pub(crate) const LINUX_4_6: Self = Self {
        updates_clock: false,
        runs_before_queued: true,
        nice_keeps_running: true,
        nice_reschedules: true,
    };
    /// Linux 4.11.
    pub(crate) const LINUX_4_11: Self = Self { nice_reschedules: true, ..Self::LINUX_6_1 };
    /// Linux 6.1.
    pub(crate) const LINUX_6_1: Self = Self {
        updates_clock: true,
        runs_before_queued: false,
        nice_keeps_running: false,
        nice_reschedules: false,
    };
}
