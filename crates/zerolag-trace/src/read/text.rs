// SPDX-License-Identifier: GPL-2.0-only
//! Reads the texts of `perf script`, of tracefs and of `trace-cmd report`, line by line. They differ in what
//! surrounds an event, and nothing that one of them writes means something else to another, so there is
//! one reader for all.

use std::io::{self, Read};

use super::body::body;
use super::header::{Header, header};
use super::intake::Intake;
use super::lines::Lines;
use super::record::Record;
use super::remark::{Remark, process, remark};

pub(crate) struct Text<R> {
    lines: Lines<R>,
}

impl<R: Read> Text<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { lines: Lines::new(input) }
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
            match remark(line.text) {
                Remark::Nothing => {}
                Remark::Lost(Some(n)) => loss.lost = loss.lost.saturating_add(n),
                Remark::Lost(None) => loss.lost_unknown += 1,
                Remark::Unknown => loss.did_not_understand(line.number, line.text),
            }
            return Ok(true);
        };
        match body(event, text) {
            Some(body) => intake.take(Record { time, cpu, process: process(prefix), body }),
            None => loss.did_not_understand(line.number, line.text),
        }
        Ok(true)
    }
}
