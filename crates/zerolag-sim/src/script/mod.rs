// SPDX-License-Identifier: GPL-2.0-only
//! Event scripts: one small language for exactness.
//!
//! A script lists scheduler events, one a line (a task wakes up, a tick, 3 ms pass, ...). Running it prints
//! the scheduler's state after each, or a hash of it, in exactly the form in which the reference programs of
//! `oracle/` print it: `diff` is the test. The language is described in oracle/FORMAT.md.
//!
//! ```text
//!   text ── parse ── Command ── Interpreter ⇄ Scheduler
//!                                    └── dump ── state lines ── hash
//! ```
//!
//! What a simulation does can be written down as a script ([`RecordError`] says when not).
//!
//! Rescheduling is always an event of its own here: the interpreter acts on no effect but the interrupts that
//! an event causes, which it delivers at its end.

mod build;
mod command;
mod dump;
mod error;
mod interpreter;
mod machine;
mod names;
mod parse;
mod record;
mod timers;
mod write;

use std::io::{self, BufRead, Write};

use zerolag_core::fair::audit::{Auditor, Violation};

pub use build::Build;
pub(crate) use command::{Event, Ipi, Setting};
pub use error::{ScriptError, ScriptFault};
use interpreter::Interpreter;
pub use record::RecordError;
pub(crate) use record::{Recorder, group_number};

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// A line per event, with a hash of the state.
    #[default]
    Hash,
    /// A line per event, then all state lines.
    Full,
    /// As full, and the script cannot change it.
    Fullest,
    /// Nothing but what the script asks for with `show` and `dump`.
    Quiet,
    /// A line per event, then those state lines that concern idle balancing before 5.7.
    Nohz,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The script is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Reading it, or writing the result, failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An invariant does not hold after a line.
    #[error("line {line}: {violation}")]
    Unsound {
        /// The number of the line, from 1.
        line: usize,
        /// What does not hold.
        violation: Violation,
    },
}

/// What is done after each line, beside printing what it gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EachLine {
    /// What it gives is flushed, for somebody who waits for that before writing the next.
    pub flush: bool,
    /// Every invariant is looked at; a run ends with the first that does not hold.
    pub check: bool,
}

/// Runs a script as a kernel would, reading lines as they come and writing after each event.
pub fn run(
    build: impl Into<Build>,
    output: Output,
    input: impl BufRead,
    out: &mut impl Write,
) -> Result<(), RunError> {
    run_with(build, output, EachLine::default(), input, out)
}

/// The same, with something done after each line.
pub fn run_with(
    build: impl Into<Build>,
    output: Output,
    each_line: EachLine,
    input: impl BufRead,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let mut auditor = Auditor::new();
    let mut interpreter = Interpreter::new(build.into(), output);
    for (index, line) in input.split(b'\n').enumerate() {
        let line = line?;
        let number = index + 1;
        let text = std::str::from_utf8(&line).map_err(|_| ScriptError {
            line: number,
            text: String::from_utf8_lossy(&line).into_owned(),
            fault: ScriptFault::NotUtf8,
        })?;
        interpreter.line(text, out).map_err(|e| e.at(number, text))?;
        if each_line.flush {
            out.flush()?;
        }
        if let Some(scheduler) = interpreter.scheduler().filter(|_| each_line.check) {
            let seen = auditor.observe(scheduler);
            seen.map_err(|violation| RunError::Unsound { line: number, violation })?;
        }
    }
    Ok(())
}
