// SPDX-License-Identifier: GPL-2.0-only
//! What the marks of compiled programs mean.

use zerolag_core::units::Instant;

use super::error::Remark;

/// What is needed to understand what programs report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The number of the first mark.
    pub(super) first_mark: u32,
    /// What each mark means, in the order of their numbers.
    pub(super) meanings: Vec<Meaning>,
    /// When the threads start.
    pub(super) start: Instant,
    /// Length of the calibrated loop.
    pub(super) nanos_per_loop: u64,
    /// What is not simulated as the file says.
    pub remarks: Vec<Remark>,
}

/// What a mark means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The task, by position in the file.
    pub(super) task: usize,
    /// What it does.
    pub(super) what: What,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// At its beginning.
    ThreadStart,
    /// Past its delay.
    Ready,
    /// At the beginning of a phase's iteration.
    PhaseStart(u32),
    /// Before an event, or after one.
    Event { phase: u32, event: u32, start: bool },
    /// At the end of a phase's iteration.
    PhaseEnd,
    /// At its end.
    ThreadEnd,
}

impl Compiled {
    /// The meaning of a mark, if it belongs to this file.
    pub(super) fn meaning(&self, mark: u32) -> Option<Meaning> {
        let index = mark.checked_sub(self.first_mark)?;
        self.meanings.get(index as usize).copied()
    }
}
