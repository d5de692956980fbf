// SPDX-License-Identifier: GPL-2.0-only
//! Reads text line by line; what differs between `perf script` and ftrace is a [`Dialect`].

use std::io::{self, Read};

use super::body::body;
use super::header::{Header, header};
use super::intake::Intake;
use super::lines::Lines;
use super::record::Record;

/// What one tool writes differently from the others.
pub(crate) trait Dialect {
    /// What a line that is no event says.
    fn remark(&self, line: &[u8]) -> Remark;
    /// Thread and process id in the part of a line before the CPU, if both stand there.
    fn process(&self, prefix: &[u8]) -> Option<(u32, u32)>;
}

/// A line that is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// A comment, a stack frame, an empty line.
    Nothing,
    /// So many events are missing here, if the tool says how many.
    Lost(Option<u64>),
    /// Not something that this tool writes.
    Unknown,
}

pub(crate) struct Text<R, D> {
    lines: Lines<R>,
    dialect: D,
}

impl<R: Read, D: Dialect> Text<R, D> {
    pub(crate) fn new(input: R, dialect: D) -> Self {
        Self { lines: Lines::new(input), dialect }
    }

    /// Reads one line; false at the end of the input.
    pub(crate) fn read_on(&mut self, intake: &mut Intake) -> io::Result<bool> {
        let Some(line) = self.lines.next_line()? else { return Ok(false) };
        let loss = &mut intake.loss;
        loss.records += 1;
        if line.cut {
            loss.did_not_understand(line.number, line.text);
            return Ok(true);
        }
        let Some(Header { prefix, cpu, time, event, body: text }) = header(line.text) else {
            match self.dialect.remark(line.text) {
                Remark::Nothing => {}
                Remark::Lost(Some(n)) => loss.lost = loss.lost.saturating_add(n),
                Remark::Lost(None) => loss.lost_unknown += 1,
                Remark::Unknown => loss.did_not_understand(line.number, line.text),
            }
            return Ok(true);
        };
        match body(event, text) {
            Some(body) => {
                let process = self.dialect.process(prefix);
                intake.take(Record { time, cpu, process, body });
            }
            None => loss.did_not_understand(line.number, line.text),
        }
        Ok(true)
    }
}
