// SPDX-License-Identifier: GPL-2.0-only
//! CPU hogs: tasks that want all the CPU time they can get.

use zerolag_core::units::Nanos;

use crate::program::{Op, Program, ProgramBuilder, Times};

/// Work between two turns of an endless hog's loop; long, since each turn costs the simulator an event.
const TURN: Nanos = Nanos::from_secs(3600);

/// Does so much work and ends, or works without end.
pub fn program(work: Option<Nanos>) -> Program {
    let mut b = ProgramBuilder::new();
    match work {
        Some(work) => _ = b.op(Op::Run(work.into())),
        None => _ = b.begin(Times::Forever).op(Op::Run(TURN.into())).end(),
    }
    b.build().expect("a hog takes time")
}
