// SPDX-License-Identifier: GPL-2.0-only
//! Writers of schedules, in the formats of the tools that people look at them with.
//!
//! | writer | for |
//! |---|---|
//! | [`PerfScript`] | scripts that read `perf script` text, `perf`-style tools |
//! | [`Ftrace`] | LISA, trace viewers, everything that reads the `trace` file of tracefs |
//! | [`Perfetto`] | the Perfetto viewer and trace processor, also with counters |
//!
//! What is written can be read back by [`crate::read::open`] to the same events, up to the numbering of
//! tasks. The tracepoints' limits apply: names are cut to 15 bytes in the texts; ticks and balancing have
//! no tracepoint and are left out.

use std::io;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;

use crate::dense::at;
use crate::tasks::TaskTable;

mod ftrace;
mod perf_script;
mod perfetto;
mod tracepoint;

pub use ftrace::Ftrace;
pub use perf_script::PerfScript;
pub use perfetto::{CounterTrack, Perfetto};

/// Something that takes the events of a schedule in the order of time.
pub trait EventWriter {
    /// Writes one event. Of `names`, what holds at the event is used.
    ///
    /// # Errors
    /// If the output fails.
    fn event(&mut self, event: &SchedEvent, names: &TaskTable) -> io::Result<()>;

    /// Writes what is held back, and flushes the output.
    ///
    /// # Errors
    /// If the output fails.
    fn finish(&mut self) -> io::Result<()>;
}

/// Who runs on each CPU, as far as the events said.
#[derive(Debug, Default)]
struct Current(Vec<Option<TaskId>>);

impl Current {
    /// The task in whose context `event` happens; `None` for the idle task. A switch still happens in that
    /// of the task before.
    fn during(&mut self, event: &SchedEvent) -> Option<TaskId> {
        let current = at(&mut self.0, event.cpu);
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                *current = next;
                prev
            }
            _ => *current,
        }
    }
}
