// SPDX-License-Identifier: GPL-2.0-only
//! What programs report about themselves, beside the scheduling events: the raw material of rt-app's logs,
//! schbench's latencies and the like.

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::Instant;

use crate::resource::RosterId;

/// A report at a point of a task's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// When.
    pub time: Instant,
    /// On which CPU.
    pub cpu: CpuId,
    /// Whom it is about.
    pub task: TaskId,
    /// What it says.
    pub kind: NoteKind,
}

/// What a [`Note`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// The task passed an [`Op::Mark`](crate::program::Op::Mark) with this number.
    Mark(u32),
    /// The task used a timer that is due so many nanoseconds from now; if that is negative it was late and
    /// the task goes on at once.
    Timer {
        /// Next expiry less now.
        slack_ns: i64,
    },
    /// The task was on a roster, and another one released it. The time is when the release of the whole
    /// roster began, the CPU where.
    Released(RosterId),
}
