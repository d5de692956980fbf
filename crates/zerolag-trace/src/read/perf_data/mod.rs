// SPDX-License-Identifier: GPL-2.0-only
//! `perf.data`: what `perf record` writes, to a file or into a pipe.
//!
//! ```text
//! file  header(104): "PERFILE2" size attr_size {attrs} {data} {types} features(256 bits)
//!       attrs:       perf_event_attr {ids}, …
//!       data:        record, record, …
//!       features:    {section} for each bit that is set; TRACING_DATA describes the tracepoints
//! pipe  header(16):  "PERFILE2" 16
//!       records, of which HEADER_ATTR and HEADER_TRACING_DATA take the place of the sections
//! ```
//!
//! `{…}` is a place in the file: offset and size. A record is `type(u32) misc(u16) size(u16)` and a body;
//! of interest are samples with the raw record of a tracepoint, who forked a thread (FORK), and how /proc names those
//! that are there when recording begins (COMM). Layout: `tools/perf/Documentation/
//! perf.data-file-format.txt` of the kernel's source.

mod sample;
mod unpack;

use std::io;

use super::ReadError;
use super::batch::Batch;
use super::bytes::{Bytes, Endian};
use super::format::Formats;
use super::intake::Intake;
use super::record::Record;
use super::storage::Storage;
use super::tracing_data;
use sample::{Shape, Shapes};
use unpack::Unpacker;

pub(crate) const MAGIC: &[u8] = b"PERFILE2";
pub(crate) const MAGIC_SWAPPED: &[u8] = b"2ELIFREP";

mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const HEADER_TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

const FEATURE_TRACING_DATA: u64 = 1 << 1;

const RECORD_HEADER_LEN: usize = 8;
/// How much is read at a time: several records of the greatest possible length.
const CHUNK_LEN: usize = 1 << 20;

/// A recording that is being read.
#[derive(Debug)]
pub(crate) struct PerfData {
    storage: Storage,
    endian: Endian,
    /// What is left of the data.
    at: u64,
    end: u64,
    chunk: Vec<u8>,
    shapes: Shapes,
    formats: Formats,
    batch: Batch,
    unpacker: Unpacker,
    /// Records that were compressed, and the beginning of the next one.
    unpacked: Vec<u8>,
    /// Something was compressed. What comes out of the decompressor lags behind the marks of rounds, which
    /// are not compressed.
    is_packed: bool,
}

/// A place in the file.
#[derive(Clone, Copy, Debug)]
struct Section {
    offset: u64,
    size: u64,
}

impl Section {
    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self { offset: bytes.u64()?, size: bytes.u64()? })
    }
}

impl PerfData {
    /// Reads the tables of a recording.
    pub(crate) fn open(mut storage: Storage) -> Result<Self, ReadError> {
        let mut head = Vec::new();
        storage.read_at(0, 104, &mut head)?;
        let endian = if head.starts_with(MAGIC) { Endian::Little } else { Endian::Big };
        let mut data = Self {
            at: 16,
            end: storage.len(),
            storage,
            endian,
            chunk: Vec::new(),
            shapes: Shapes::default(),
            formats: Formats::new(endian),
            batch: Batch::default(),
            unpacker: Unpacker::default(),
            unpacked: Vec::new(),
            is_packed: false,
        };
        let mut header = Bytes::new(&head, endian);
        let size = header.take(8).and_then(|_| header.u64());
        if size != Some(16) {
            data.read_tables(header).ok_or(ReadError::Malformed("the header of the perf.data file"))??;
        }
        Ok(data)
    }

    /// Reads attributes and features; the outer none says that the header is too short.
    fn read_tables(&mut self, mut header: Bytes<'_>) -> Option<Result<(), ReadError>> {
        let attr_size = header.u64()?;
        let attrs = Section::read(&mut header)?;
        let data = Section::read(&mut header)?;
        let _event_types = Section::read(&mut header)?;
        let features = header.u64()?;
        // The size is written when recording ends; without it, the data goes on to the end of the file.
        let size = if data.size == 0 { u64::MAX } else { data.size };
        (self.at, self.end) = (data.offset, data.offset.saturating_add(size).min(self.storage.len()));
        Some(self.read_attrs(attrs, attr_size).and_then(|()| self.read_tracing_data(data, features)))
    }

    fn read_attrs(&mut self, attrs: Section, attr_size: u64) -> Result<(), ReadError> {
        const WRONG: ReadError = ReadError::Malformed("the attributes of the perf.data file");
        const IDS_LEN: usize = 16;
        let table = self.read_section(attrs)?;
        let attr_size = usize::try_from(attr_size).ok().filter(|&size| size > IDS_LEN).ok_or(WRONG)?;
        for entry in table.chunks_exact(attr_size) {
            let (attr, ids) = entry.split_at(attr_size - IDS_LEN);
            let shape = Shape::of_attr(Bytes::new(attr, self.endian)).ok_or(WRONG)?;
            let ids = Section::read(&mut Bytes::new(ids, self.endian)).ok_or(WRONG)?;
            let ids = self.read_section(ids)?;
            self.shapes.add(shape, ids.chunks_exact(8).map(|id| self.endian.number(id)));
        }
        Ok(())
    }

    /// Reads the descriptions of tracepoints, the first of the features that follow the data.
    fn read_tracing_data(&mut self, data: Section, features: u64) -> Result<(), ReadError> {
        if features & FEATURE_TRACING_DATA == 0 {
            return Err(ReadError::Malformed(
                "a perf.data file without descriptions of tracepoints (TRACING_DATA)",
            ));
        }
        // Bit 0 is reserved and never set, so the section of bit 1 comes first.
        let table = Section { offset: data.offset.saturating_add(data.size), size: 16 };
        let table = self.read_section(table)?;
        let section = Section::read(&mut Bytes::new(&table, self.endian))
            .ok_or(ReadError::Malformed("the table of features of the perf.data file (it is truncated)"))?;
        let text = self.read_section(section)?;
        self.learn(&text)
    }

    fn learn(&mut self, text: &[u8]) -> Result<(), ReadError> {
        let mut bytes = Bytes::new(text, self.endian);
        tracing_data::preamble(&mut bytes)
            .and_then(|_| tracing_data::headers(&mut bytes))
            .and_then(|()| tracing_data::ftrace_events(&mut bytes))
            .and_then(|()| tracing_data::event_formats(&mut bytes, &mut self.formats))
            .ok_or(ReadError::Malformed("the descriptions of tracepoints in the perf.data file"))
    }

    fn read_section(&mut self, section: Section) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let size = usize::try_from(section.size).unwrap_or(usize::MAX);
        self.storage.read_at(section.offset, size, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads on; false at the end.
    pub(crate) fn read_on(&mut self, intake: &mut Intake) -> Result<bool, ReadError> {
        let formats = &self.formats;
        if self.batch.drain(|held, raw| match formats.decode(raw) {
            Some(body) => {
                intake.take(Record { time: held.time, cpu: held.cpu, process: held.process, body });
            }
            None => intake.loss.did_not_understand(held.time.0, raw),
        }) {
            return Ok(true);
        }
        if self.batch.is_full() {
            self.batch.release_half();
            return Ok(true);
        }
        self.read_chunk(intake)
    }

    /// Reads records up to the end of a round or of a chunk.
    fn read_chunk(&mut self, intake: &mut Intake) -> Result<bool, ReadError> {
        let mut chunk = std::mem::take(&mut self.chunk);
        let len = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(CHUNK_LEN);
        self.storage.read_at(self.at, len, &mut chunk)?;
        let mut used = 0;
        let mut more = false;
        while let Some(record) = self.record_at(&chunk[used..]) {
            let (kind, body) = record;
            let size = RECORD_HEADER_LEN + body.rest.len();
            used += size;
            more = true;
            if kind == kind::HEADER_TRACING_DATA {
                // Its text follows the record and may be longer than a chunk.
                let len = { body }.u32().unwrap_or(0);
                let place = Section { offset: self.at + used as u64, size: len.into() };
                let text = self.read_section(place)?;
                self.learn(&text)?;
                self.at += used as u64 + u64::from(len).next_multiple_of(8);
                self.chunk = chunk;
                return Ok(true);
            }
            self.record(kind, body, self.at + (used - size) as u64, intake)?;
            if kind == kind::FINISHED_ROUND {
                break;
            }
        }
        self.at += used as u64;
        self.chunk = chunk;
        if more {
            return Ok(true);
        }
        if self.at < self.end {
            let what = format!("{} bytes at {} are no whole record", self.end - self.at, self.at);
            intake.loss.cut_short.get_or_insert(what);
            self.at = self.end;
        }
        if self.is_packed {
            let finished = self.unpacker.finish(&mut self.unpacked);
            self.read_unpacked(intake)?;
            self.is_packed = false;
            finished?;
        }
        self.batch.finish();
        Ok(self.batch.has_released())
    }

    /// The record at the beginning of `bytes`, if it is there as a whole.
    fn record_at<'a>(&self, bytes: &'a [u8]) -> Option<(u32, Bytes<'a>)> {
        let mut header = Bytes::new(bytes, self.endian);
        let kind = header.u32()?;
        let _misc = header.u16()?;
        let body = usize::from(header.u16()?).checked_sub(RECORD_HEADER_LEN)?;
        Some((kind, Bytes::new(header.take(body)?, self.endian)))
    }

    fn record(
        &mut self,
        kind: u32,
        mut body: Bytes<'_>,
        offset: u64,
        intake: &mut Intake,
    ) -> Result<(), ReadError> {
        let Intake { loss, naming, .. } = intake;
        loss.records += 1;
        match kind {
            kind::SAMPLE => match self.shapes.sample(body) {
                Some(Some(sample))
                    if self.formats.id(sample.raw).is_some_and(|id| self.formats.knows(id)) =>
                {
                    self.batch.push(sample.time, sample.cpu, sample.process, sample.raw);
                }
                Some(_) => loss.other_events += 1,
                None => loss.did_not_understand(offset, body.rest),
            },
            kind::COMM => match body.u32().zip(body.u32()) {
                Some((_pid, tid)) => {
                    naming.announce_comm(tid, body.rest.split(|&b| b == 0).next().unwrap_or_default())
                }
                None => loss.did_not_understand(offset, body.rest),
            },
            kind::FORK => match fork(body) {
                Some((tid, parent_tid)) => naming.announce_parent(tid, parent_tid),
                None => loss.did_not_understand(offset, body.rest),
            },
            kind::LOST => {
                let lost = body.u64().and_then(|_id| body.u64());
                loss.lost = loss.lost.saturating_add(lost.unwrap_or(1));
            }
            kind::LOST_SAMPLES => loss.lost = loss.lost.saturating_add(body.u64().unwrap_or(1)),
            kind::FINISHED_ROUND if !self.is_packed => self.batch.end_round(),
            kind::HEADER_ATTR => match self.header_attr(body) {
                Some((shape, ids)) => {
                    self.shapes.add(shape, ids.chunks_exact(8).map(|id| self.endian.number(id)));
                }
                None => loss.did_not_understand(offset, body.rest),
            },
            kind::COMPRESSED | kind::COMPRESSED2 => {
                if kind == kind::COMPRESSED2 {
                    // This one is padded, and says how much of it is data.
                    let len = body.u64().unwrap_or(0);
                    body.rest = &body.rest[..body.rest.len().min(usize::try_from(len).unwrap_or(0))];
                }
                self.is_packed = true;
                self.unpacker.feed(body.rest, &mut self.unpacked)?;
                self.read_unpacked(intake)?;
            }
            kind::AUXTRACE => {
                return Err(ReadError::Unsupported("perf.data with hardware trace data (AUXTRACE)"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the records that were decompressed as far as they are whole.
    fn read_unpacked(&mut self, intake: &mut Intake) -> Result<(), ReadError> {
        let mut bytes = std::mem::take(&mut self.unpacked);
        let mut used = 0;
        while let Some((kind, body)) = self.record_at(&bytes[used..]) {
            // Compressed records hold none that are compressed again.
            if !matches!(kind, kind::COMPRESSED | kind::COMPRESSED2) {
                self.record(kind, body, self.at, intake)?;
            }
            used += RECORD_HEADER_LEN + body.rest.len();
        }
        bytes.drain(..used);
        self.unpacked = bytes;
        Ok(())
    }

    /// An attribute in a pipe, which says its own size, and the ids of its events.
    fn header_attr<'a>(&self, body: Bytes<'a>) -> Option<(Shape, &'a [u8])> {
        let size = usize::try_from(self.endian.number(body.rest.get(4..8)?)).ok()?;
        Some((Shape::of_attr(body)?, body.rest.get(size..)?))
    }
}

/// The threads of a FORK record: the new one, and its parent.
fn fork(mut body: Bytes<'_>) -> Option<(u32, u32)> {
    let [_pid, _parent_pid] = [body.u32()?, body.u32()?];
    Some((body.u32()?, body.u32()?))
}
