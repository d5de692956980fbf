// SPDX-License-Identifier: GPL-2.0-only
//! Periodic tasks: run, rest, and again, without end.

use zerolag_core::units::Nanos;

use crate::program::{Late, Op, Program, ProgramBuilder, ProgramError, Times};
use crate::resource::TimerRef;

/// What comes between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// A sleep of this length: the longer a run takes, the later the next one begins.
    Sleep(Nanos),
    /// Waiting for the next beat of this period. A run that takes longer than that makes the following ones
    /// late until they have caught up.
    Period(Nanos),
}

/// Runs for so long at each beat. With a period the first run is at the first beat, one period after the start.
///
/// # Errors
/// If neither takes any time.
pub fn program(run: Nanos, rest: Rest) -> Result<Program, ProgramError> {
    let mut b = ProgramBuilder::new();
    b.begin(Times::Forever);
    match rest {
        Rest::Sleep(span) => b.op(Op::Run(run.into())).op(Op::Sleep(span.into())),
        Rest::Period(period) => {
            let timer = TimerRef::Own(0);
            b.op(Op::Timer { timer, period, late: Late::KeepBeat }).op(Op::Run(run.into()))
        }
    };
    b.end().build()
}
