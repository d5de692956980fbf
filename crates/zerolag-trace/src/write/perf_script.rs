// SPDX-License-Identifier: GPL-2.0-only
//! Text as `perf script --ns` writes it for a recording of the scheduler's tracepoints.

use std::io::{self, Write};

use zerolag_core::event::SchedEvent;
use zerolag_core::units::NSEC_PER_SEC;

use super::tracepoint::{Shown, Text, name};
use super::{Current, EventWriter};
use crate::tasks::TaskTable;

/// Width of the longest `group:name:`, to which perf aligns the others.
const EVENT_WIDTH: usize = "sched:sched_process_fork:".len();

/// Writes `perf script` text.
#[derive(Debug)]
pub struct PerfScript<W> {
    out: W,
    current: Current,
}

impl<W: Write> PerfScript<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, current: Current::default() }
    }

    /// What it writes to.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }
}

impl<W: Write> EventWriter for PerfScript<W> {
    fn event(&mut self, event: &SchedEvent, names: &TaskTable) -> io::Result<()> {
        let &SchedEvent { time, cpu, kind } = event;
        let Some(name) = name(&kind) else { return Ok(()) };
        let current = self.current.during(event);
        let task = Shown::new(current, cpu, names);
        // perf calls every CPU's idle task by the same name.
        let comm = if current.is_none() { "swapper" } else { task.comm() };
        let name = format!("sched:{name}:");
        writeln!(
            self.out,
            "{comm:>16} {:7} [{:03}] {:5}.{:09}: {name:>EVENT_WIDTH$} {}",
            task.pid,
            cpu.0,
            time.0 / NSEC_PER_SEC,
            time.0 % NSEC_PER_SEC,
            Text { kind, cpu, names },
        )
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
