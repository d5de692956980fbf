// SPDX-License-Identifier: GPL-2.0-only
//! Text as the `trace` file of tracefs has it, with nanoseconds.

use std::io::{self, Write};

use zerolag_core::event::SchedEvent;
use zerolag_core::units::NSEC_PER_SEC;

use super::tracepoint::{Shown, Text, name};
use super::{Current, EventWriter};
use crate::tasks::TaskTable;

const HEADER: &str = "\
# tracer: nop
#
#                                      _-----=> irqs-off/BH-disabled
#                                     / _----=> need-resched
#                                    | / _---=> hardirq/softirq
#                                    || / _--=> preempt-depth
#                                    ||| / _-=> migrate-disable
#                                    |||| /     delay
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
#              | |           |         |   |||||     |         |
";

/// Writes ftrace text.
#[derive(Debug)]
pub struct Ftrace<W> {
    out: W,
    current: Current,
    began: bool,
}

impl<W: Write> Ftrace<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, current: Current::default(), began: false }
    }

    /// What it writes to.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.began {
            self.began = true;
            self.out.write_all(HEADER.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> EventWriter for Ftrace<W> {
    fn event(&mut self, event: &SchedEvent, names: &TaskTable) -> io::Result<()> {
        self.begin()?;
        let &SchedEvent { time, cpu, kind } = event;
        let Some(name) = name(&kind) else { return Ok(()) };
        let current = self.current.during(event);
        let task = Shown::new(current, cpu, names);
        let comm = if current.is_none() { "<idle>" } else { task.comm() };
        let tgid = match current.and_then(|t| names.get(t)).and_then(|t| t.tgid) {
            Some(tgid) => format!("({tgid:7})"),
            None => "(-------)".to_owned(),
        };
        writeln!(
            self.out,
            "{comm:>16}-{:<7} {tgid} [{:03}] ..... {:5}.{:09}: {name}: {}",
            task.pid,
            cpu.0,
            time.0 / NSEC_PER_SEC,
            time.0 % NSEC_PER_SEC,
            Text { kind, cpu, names },
        )
    }

    fn finish(&mut self) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }
}
