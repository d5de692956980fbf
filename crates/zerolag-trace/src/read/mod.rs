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

mod batch;
mod body;
mod bytes;
mod cursor;
mod format;
mod header;
mod intake;
mod lines;
mod naming;
mod perf_data;
mod perfetto;
mod record;
mod remark;
mod storage;
mod text;
mod trace_dat;
mod tracing_data;
mod unpack;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use thiserror::Error;
use zerolag_core::event::SchedEvent;

use crate::loss::LossReport;
use crate::tasks::TaskTable;
use intake::Intake;
use perf_data::PerfData;
use perfetto::Perfetto;
use storage::Storage;
use text::Text;
use trace_dat::TraceDat;
use unpack::{Binary, HEAD_LEN, Input, Unpacked, unpack};

/// Why a recording could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input itself failed.
    #[error("reading the trace: {0}")]
    Io(#[from] io::Error),
    /// The input is of no known format.
    #[error("not a trace of a known format; it begins with {beginning:?}")]
    UnknownFormat {
        /// The first bytes, with those that are not UTF-8 replaced.
        beginning: String,
    },
    /// A part of the input without which nothing can be read makes no sense.
    #[error("{0}: damaged or not understood")]
    Malformed(&'static str),
    /// The input is of a kind that is not read.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
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

/// Reads a recording of any known format, told by its content: the texts of [`Trace::text`], `perf.data`,
/// `trace.dat`, Perfetto's protobuf; each as it is or compressed by gzip or zstd.
///
/// Texts and Perfetto stream. `perf.data` and `trace.dat` cannot be read from front to back, so more than a few
/// megabytes of them are put into a temporary file; use [`open_path`] for files.
///
/// # Errors
/// If the input cannot be read, is of no known format, or lacks what its format needs.
pub fn open<'a>(input: impl Read + 'a) -> Result<Trace<'a>, ReadError> {
    match unpack(Box::new(input))? {
        Unpacked::Text(input) => Ok(Trace::text(input)),
        Unpacked::Perfetto(input) => Ok(Trace::new(Source::Perfetto(Perfetto::new(input)), Intake::new())),
        Unpacked::Binary(format, input) => {
            let (storage, damage) = Storage::from_reader(input)?;
            let mut trace = Trace::binary(format, storage)?;
            if let Some(error) = damage {
                trace.intake.loss.cut_short = Some(error.to_string());
            }
            Ok(trace)
        }
        Unpacked::Unknown(head) => {
            let beginning = String::from_utf8_lossy(&head[..head.len().min(16)]).into_owned();
            Err(ReadError::UnknownFormat { beginning })
        }
    }
}

/// Reads a recording in a file; as [`open`], but a binary format that is not compressed is read where it lies.
///
/// # Errors
/// As [`open`].
pub fn open_path(path: &Path) -> Result<Trace<'static>, ReadError> {
    let mut file = File::open(path)?;
    let mut head = vec![0; HEAD_LEN];
    let len = file.read(&mut head)?;
    head.truncate(len);
    if file.rewind().is_err() {
        // A pipe has a path as well, as in `<(perf script)`.
        return open(io::Cursor::new(head).chain(file));
    }
    match Binary::of(&head) {
        Some(format) => Trace::binary(format, Storage::from_file(file)?),
        None => open(file),
    }
}

/// A recording being read: an iterator of its events in the order of time.
///
/// What is said of the tasks (their names, for one) is as of the latest event given out. The loss report is
/// complete when the iterator has ended.
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
/// let mut trace = Trace::text(text.as_bytes());
/// let events = trace.by_ref().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(events.len(), 3);
/// assert_eq!(trace.tasks().by_pid(7).map(|t| trace.tasks().comm(t)), Some("hog"));
/// assert!(trace.loss().is_clean());
/// # Ok::<(), zerolag_trace::read::ReadError>(())
/// ```
pub struct Trace<'a> {
    source: Source<'a>,
    intake: Intake,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// Nothing more comes in; events may still be held.
    Exhausted,
    Ended,
}

enum Source<'a> {
    Text(Text<Input<'a>>),
    PerfData(Box<PerfData>),
    Perfetto(Perfetto<Input<'a>>),
    TraceDat(TraceDat),
}

impl<'a> Trace<'a> {
    /// Reads text: of `perf script` with any selection of fields that has the CPU, the time, the event and
    /// its text; the `trace` file of tracefs; of `trace-cmd report`, plain, raw or with plugins.
    pub fn text(input: impl Read + 'a) -> Self {
        Self::new(Source::Text(Text::new(Box::new(input))), Intake::new())
    }

    fn binary(format: Binary, storage: Storage) -> Result<Self, ReadError> {
        let mut intake = Intake::new();
        let source = match format {
            Binary::PerfData => Source::PerfData(Box::new(PerfData::open(storage)?)),
            Binary::TraceDat => Source::TraceDat(TraceDat::open(storage, &mut intake)?),
        };
        Ok(Self::new(source, intake))
    }

    const fn new(source: Source<'a>, intake: Intake) -> Self {
        Self { source, intake, state: State::Reading }
    }

    /// Who the tasks are.
    pub const fn tasks(&self) -> &TaskTable {
        &self.intake.naming.tasks
    }

    /// What was odd or missing so far.
    pub const fn loss(&self) -> &LossReport {
        &self.intake.loss
    }

    /// Takes the names and the report out, for use after the last event.
    pub fn into_parts(self) -> (TaskTable, LossReport) {
        (self.intake.naming.tasks, self.intake.loss)
    }

    fn read_on(&mut self) -> Result<bool, ReadError> {
        match &mut self.source {
            Source::Text(text) => Ok(text.read_on(&mut self.intake)?),
            Source::PerfData(data) => data.read_on(&mut self.intake),
            Source::Perfetto(trace) => Ok(trace.read_on(&mut self.intake)?),
            Source::TraceDat(data) => data.read_on(&mut self.intake),
        }
    }

    /// Completes the report; an error if there was nothing.
    fn end(&mut self) -> Result<(), ReadError> {
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

    /// The next event. After an error of the input, what was read before it can still be had by going on.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.intake.next_event() {
                return Some(Ok(event));
            }
            match self.state {
                State::Reading => {}
                State::Exhausted => {
                    self.state = State::Ended;
                    return self.end().err().map(Err);
                }
                State::Ended => return None,
            }
            let outcome = self.read_on();
            if !matches!(outcome, Ok(true)) {
                self.state = State::Exhausted;
                self.intake.finish();
            }
            match outcome {
                Ok(_) => {}
                Err(ReadError::Io(error)) if is_damage(&error) => {
                    self.intake.loss.cut_short = Some(error.to_string());
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// True if the input ended in the middle or made no sense, false if it could not be read: of a damaged
/// recording, the part before the damage is worth having.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

impl fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("intake", &self.intake).finish_non_exhaustive()
    }
}
