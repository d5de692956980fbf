// SPDX-License-Identifier: GPL-2.0-only
//! Which fields a sample has, and those that are read of it.
//!
//! `perf_event_open(2)`: a sample is a sequence of fields, each there if its bit is set in the event's
//! `sample_type`, in an order of their own.

use std::collections::BTreeMap;

use zerolag_core::ids::CpuId;
use zerolag_core::units::Instant;

use crate::read::bytes::Bytes;
use crate::read::header::cpu_id;

mod bit {
    pub(super) const IP: u64 = 1 << 0;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const RAW: u64 = 1 << 10;
    pub(super) const IDENTIFIER: u64 = 1 << 16;

    pub(super) const READ_TIME_ENABLED: u64 = 1 << 0;
    pub(super) const READ_TIME_RUNNING: u64 = 1 << 1;
    pub(super) const READ_ID: u64 = 1 << 2;
    pub(super) const READ_GROUP: u64 = 1 << 3;
    pub(super) const READ_LOST: u64 = 1 << 4;
}

/// The part of a `perf_event_attr` that says how samples look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    sample_type: u64,
    read_format: u64,
}

impl Shape {
    /// From an attribute: type, size, config, sample_period, sample_type, read_format, …
    pub(super) fn of_attr(attr: Bytes<'_>) -> Option<Self> {
        let mut attr = attr;
        attr.take(24)?;
        Some(Self { sample_type: attr.u64()?, read_format: attr.u64()? })
    }
}

/// The shapes of all events of a recording.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    all: Vec<Shape>,
    by_id: BTreeMap<u64, Shape>,
}

/// What is read of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) time: Instant,
    pub(super) cpu: CpuId,
    /// Thread and process id.
    pub(super) process: Option<(u32, u32)>,
    pub(super) raw: &'a [u8],
}

impl Shapes {
    pub(super) fn add(&mut self, shape: Shape, ids: impl Iterator<Item = u64>) {
        if !self.all.contains(&shape) {
            self.all.push(shape);
        }
        self.by_id.extend(ids.map(|id| (id, shape)));
    }

    /// Reads a sample; `Some(None)` if it has no payload of a tracepoint, none if it makes no sense.
    pub(super) fn sample<'a>(&self, body: Bytes<'a>) -> Option<Option<Sample<'a>>> {
        let shape = match self.all.as_slice() {
            [only] => *only,
            // Samples of different shapes begin with the id of their event.
            several if several.iter().all(|s| s.sample_type & bit::IDENTIFIER != 0) => {
                *self.by_id.get(&{ body }.u64()?)?
            }
            _ => return None,
        };
        shape.read(body)
    }
}

impl Shape {
    fn read<'a>(&self, mut body: Bytes<'a>) -> Option<Option<Sample<'a>>> {
        let has = |bit| self.sample_type & bit != 0;
        if !has(bit::TIME) || !has(bit::CPU) || !has(bit::RAW) {
            return Some(None);
        }
        let skip = |body: &mut Bytes<'a>, bit| if has(bit) { body.u64().map(drop) } else { Some(()) };
        skip(&mut body, bit::IDENTIFIER)?;
        skip(&mut body, bit::IP)?;
        let process = if has(bit::TID) {
            let (pid, tid) = (body.u32()?, body.u32()?);
            Some((tid, pid))
        } else {
            None
        };
        let time = Instant(body.u64()?);
        skip(&mut body, bit::ADDR)?;
        skip(&mut body, bit::ID)?;
        skip(&mut body, bit::STREAM_ID)?;
        let cpu = cpu_id(body.u32()?.into())?;
        body.u32()?;
        skip(&mut body, bit::PERIOD)?;
        if has(bit::READ) {
            self.skip_read(&mut body)?;
        }
        if has(bit::CALLCHAIN) {
            let frames = body.u64()?;
            body.take_long(frames.checked_mul(8)?)?;
        }
        let len = body.u32()?;
        let raw = body.take_long(len.into())?;
        Some(Some(Sample { time, cpu, process, raw }))
    }

    /// Steps over the counter values of a sample.
    fn skip_read(&self, body: &mut Bytes<'_>) -> Option<()> {
        let has = |bit| u64::from(self.read_format & bit != 0);
        let times = has(bit::READ_TIME_ENABLED) + has(bit::READ_TIME_RUNNING);
        let per_value = 1 + has(bit::READ_ID) + has(bit::READ_LOST);
        let values = if has(bit::READ_GROUP) == 1 { body.u64()? } else { 1 };
        let words = values.checked_mul(per_value)?.checked_add(times)?;
        body.take_long(words.checked_mul(8)?).map(drop)
    }
}
