// SPDX-License-Identifier: GPL-2.0-only
//! `trace.dat`: what `trace-cmd record` and `trace-cmd extract` write, in the versions 6 and 7.
//!
//! ```text
//! both  17 08 44 "tracing" version\0 endian long_size page_size(u32)
//! 6     descriptions of tracepoints (see `tracing_data`), saved names, cpus(u32)
//!       "options  \0" { id(u16) size(u32) data } 0(u16), "flyrecord\0" { offset(u64) size(u64) } per CPU
//! 7     compression\0 version\0 offset(u64) of the first section of options
//!       section: id(u16) flags(u16) name(u32) size(u64) data, compressed if a flag says so
//!       options lead to the other sections and, by the last of them, to further options
//! ```
//!
//! The data of each CPU are pages of the kernel's ring buffer (see [`page`]), each in the order of time: they
//! are merged. Layout: `Documentation/trace-cmd/trace-cmd.dat.v6.5.txt` and `….v7.5.txt` of trace-cmd.

mod page;
mod sections;
mod stream;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use zerolag_core::ids::CpuId;
use zerolag_core::units::Instant;

use super::ReadError;
use super::bytes::{Bytes, Endian};
use super::format::Formats;
use super::intake::Intake;
use super::record::Record;
use super::storage::Storage;
use super::tracing_data;
use page::PageShape;
use stream::Stream;

/// A recording that is being read.
#[derive(Debug)]
pub(crate) struct TraceDat {
    storage: Storage,
    formats: Formats,
    streams: Vec<Stream>,
    /// The streams that have an event, the earliest first.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// What the tables of a recording say.
struct Tables {
    formats: Formats,
    streams: Vec<StreamPlace>,
    /// Those of buffers with a name.
    instances: Vec<StreamPlace>,
}

/// Where the data of one CPU lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StreamPlace {
    cpu: CpuId,
    offset: u64,
    size: u64,
    page_size: usize,
    compressed: bool,
}

/// How much is read to find the tables of version 6, whose sizes are not known before: so much at first, and
/// four times as much again until they are whole.
const TABLES_LEN_FIRST: usize = 1 << 20;
const TABLES_LEN_MAX: usize = 256 << 20;

/// Pages are as large as the kernel's, which can be made larger but not by much.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 64..=(16 << 20);

impl TraceDat {
    /// Reads the tables of a recording.
    pub(crate) fn open(mut storage: Storage, intake: &mut Intake) -> Result<Self, ReadError> {
        let mut head = Vec::new();
        storage.read_at(0, 64, &mut head)?;
        let mut bytes = Bytes::new(&head, Endian::Little);
        let preamble = tracing_data::preamble(&mut bytes).ok_or(MALFORMED)?;
        let shape = PageShape { endian: preamble.endian, long_size: preamble.long_size.into() };
        if !matches!(shape.long_size, 4 | 8) {
            return Err(MALFORMED);
        }
        let after = head.len() - bytes.rest.len();
        let page_size = preamble.page_size as usize;
        let tables = match preamble.version {
            b"6" => tables_6(&mut storage, after as u64, preamble.endian, page_size)?,
            b"7" => sections::version_7(&mut storage, after as u64, preamble.endian)?,
            _ => return Err(ReadError::Unsupported("a trace.dat of a version other than 6 and 7")),
        };
        if tables.streams.iter().any(|s| !PAGE_SIZES.contains(&s.page_size)) {
            return Err(MALFORMED);
        }
        let streams = tables.streams.into_iter().map(|place| Stream::new(place, shape)).collect();
        let mut this = Self { storage, formats: tables.formats, streams, next: BinaryHeap::new() };
        for index in 0..this.streams.len() {
            this.advance(index, intake)?;
        }
        Ok(this)
    }

    /// Reads one event; false at the end.
    pub(crate) fn read_on(&mut self, intake: &mut Intake) -> Result<bool, ReadError> {
        let Some(Reverse((time, index))) = self.next.pop() else { return Ok(false) };
        let stream = &self.streams[index];
        intake.loss.records += 1;
        match self.formats.decode(stream.event()) {
            Some(body) => intake.take(Record { time, cpu: stream.cpu(), process: None, body }),
            None => intake.loss.did_not_understand(stream.offset(), stream.event()),
        }
        self.advance(index, intake)?;
        Ok(true)
    }

    /// Goes to the next event of a stream.
    fn advance(&mut self, index: usize, intake: &mut Intake) -> Result<(), ReadError> {
        if let Some(time) = self.streams[index].advance(&mut self.storage, &mut intake.loss)? {
            self.next.push(Reverse((time, index)));
        }
        Ok(())
    }
}

const MALFORMED: ReadError = ReadError::Malformed("the tables of the trace.dat file");

/// Reads the tables of version 6, which begin at `at`, and no more of the file than they need.
fn tables_6(storage: &mut Storage, at: u64, endian: Endian, page_size: usize) -> Result<Tables, ReadError> {
    let mut len = TABLES_LEN_FIRST;
    let mut beginning = Vec::new();
    loop {
        storage.read_at(at, len, &mut beginning)?;
        if let Some(tables) = version_6(Bytes::new(&beginning, endian), page_size) {
            return Ok(tables);
        }
        if beginning.len() < len || len >= TABLES_LEN_MAX {
            return Err(MALFORMED);
        }
        len *= 4;
    }
}

/// Reads what follows the preamble in version 6.
fn version_6(mut bytes: Bytes<'_>, page_size: usize) -> Option<Tables> {
    let mut formats = Formats::new(bytes.endian);
    tracing_data::headers(&mut bytes)?;
    tracing_data::ftrace_events(&mut bytes)?;
    tracing_data::event_formats(&mut bytes, &mut formats)?;
    tracing_data::symbols(&mut bytes)?;
    let names = bytes.u64()?;
    bytes.take_long(names)?;
    let cpus = bytes.u32()?;
    if bytes.tag(b"options  \0").is_some() {
        while bytes.u16()? != 0 {
            let len = bytes.u32()?;
            bytes.take_long(len.into())?;
        }
    }
    bytes.tag(b"flyrecord\0")?;
    let mut streams = Vec::new();
    for cpu in 0..cpus {
        let cpu = super::header::cpu_id(cpu.into())?;
        let (offset, size) = (bytes.u64()?, bytes.u64()?);
        streams.push(StreamPlace { cpu, offset, size, page_size, compressed: false });
    }
    Some(Tables { formats, streams, instances: Vec::new() })
}
