// SPDX-License-Identifier: GPL-2.0-only
//! Readers of recorded schedules.
//!
//! ```text
//! bytes ─ text: lines ─ header, body ─┐
//!                                     ├─ Record ─ Intake: name tasks, order, count losses ─ SchedEvent
//! bytes ─ binary containers ──────────┘
//! ```
//!
//! All of them stream: memory does not grow with the length of a recording, only with the number of its
//! tasks. They are tolerant: what makes no sense is counted in the [`LossReport`] and skipped. Only input
//! that is not a trace at all, or that cannot be read, is an error.

mod body;
mod cursor;
mod header;
mod intake;
mod lines;
mod perf_script;
mod record;
mod text;

use std::fmt;
use std::io::{self, Read};

use thiserror::Error;
use zerolag_core::event::SchedEvent;

use crate::loss::LossReport;
use crate::tasks::TaskTable;
use intake::Intake;
use perf_script::PerfScript;
use text::Text;

/// Why a recording could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input itself failed.
    #[error("reading the trace: {0}")]
    Io(#[from] io::Error),
    /// Nothing in the input is an event of the scheduler.
    #[error("no scheduler events in {records} lines or records{}", example(.loss))]
    NoEvents {
        /// Lines or records read.
        records: u64,
        /// What was found instead.
        loss: Box<LossReport>,
    },
}

fn example(loss: &LossReport) -> String {
    match loss.examples.first() {
        Some(e) => format!("; the first that was not understood is at {}: {:?}", e.at, e.text),
        None => String::new(),
    }
}

/// A recording being read: an iterator of its events in the order of time.
///
/// Who the tasks are is known as far as the events have been read, and may run ahead of the events given
/// out by a few thousand of them. The loss report is complete when the iterator has ended.
///
/// ```
/// use zerolag_trace::read::Trace;
///
/// let text = "\
///     swapper     0 [000] 1.000010: sched:sched_waking: comm=hog pid=7 prio=120 target_cpu=000
///     swapper     0 [000] 1.000020: sched:sched_wakeup: comm=hog pid=7 prio=120 target_cpu=000
///     swapper     0 [000] 1.000030: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
///         prev_state=R ==> next_comm=hog next_pid=7 next_prio=120
/// ";
/// let mut trace = Trace::perf_script(text.as_bytes());
/// let events = trace.by_ref().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(events.len(), 3);
/// assert_eq!(trace.tasks().by_pid(7).map(|t| trace.tasks().comm(t)), Some("hog"));
/// assert!(trace.loss().is_clean());
/// # Ok::<(), zerolag_trace::read::ReadError>(())
/// ```
pub struct Trace<'a> {
    source: Source<'a>,
    intake: Intake,
    ended: bool,
}

enum Source<'a> {
    PerfScript(Text<Box<dyn Read + 'a>, PerfScript>),
}

impl<'a> Trace<'a> {
    /// Reads the text that `perf script` writes, with any selection of fields that has the CPU, the time,
    /// the event and its text.
    pub fn perf_script(input: impl Read + 'a) -> Self {
        Self::new(Source::PerfScript(Text::new(Box::new(input), PerfScript)))
    }

    fn new(source: Source<'a>) -> Self {
        Self { source, intake: Intake::new(), ended: false }
    }

    /// Who the tasks are.
    pub const fn tasks(&self) -> &TaskTable {
        &self.intake.tasks
    }

    /// What was odd or missing so far.
    pub const fn loss(&self) -> &LossReport {
        &self.intake.loss
    }

    /// Takes the names and the report out, for use after the last event.
    pub fn into_parts(self) -> (TaskTable, LossReport) {
        (self.intake.tasks, self.intake.loss)
    }

    fn read_on(&mut self) -> Result<bool, ReadError> {
        match &mut self.source {
            Source::PerfScript(text) => Ok(text.read_on(&mut self.intake)?),
        }
    }

    fn end(&mut self) -> Result<(), ReadError> {
        self.ended = true;
        self.intake.close();
        let loss = self.loss();
        if loss.events == 0 {
            return Err(ReadError::NoEvents { records: loss.records, loss: Box::new(loss.clone()) });
        }
        Ok(())
    }
}

impl Iterator for Trace<'_> {
    type Item = Result<SchedEvent, ReadError>;

    /// The next event. After an error, what was read before it can still be had by going on.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.intake.next_event() {
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => {
                    self.intake.finish();
                    if let Some(event) = self.intake.next_event() {
                        return Some(Ok(event));
                    }
                    return self.end().err().map(Err);
                }
                Err(error) => {
                    self.intake.finish();
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("intake", &self.intake).finish_non_exhaustive()
    }
}
