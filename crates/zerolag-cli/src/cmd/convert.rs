// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag convert`: a schedule in the format of another tool.

use zerolag_core::units::Instant;

use crate::args::low;
use crate::failure::Failure;
use crate::schedule::Schedule;
use crate::trace::TraceFile;

/// Follows a schedule and writes it.
pub(crate) fn run(args: &low::Convert) -> Result<(), Failure> {
    let from = low::Schedule { file: args.input.clone(), workload: args.workload.clone() };
    let schedule = Schedule::open(&from, &low::Beside::default())?;
    if !schedule.is_simulation() && !args.counters.counters.is_empty() {
        return Err(Failure::Input(format!(
            "{}: a recording has no counters; --counters needs a workload",
            args.input.display()
        )));
    }
    let (from, to) = schedule.times(args.time);
    let (from, to) = (from.unwrap_or(Instant::ZERO), to.unwrap_or(Instant::MAX));
    let mut trace = TraceFile::create(&args.output, args.to, &args.counters)?;
    schedule.follow(&mut |moment| {
        if !(from..=to).contains(&moment.event.time) {
            return Ok(());
        }
        trace.event(moment.event, moment.names, moment.sim)
    })?;
    trace.finish()
}
