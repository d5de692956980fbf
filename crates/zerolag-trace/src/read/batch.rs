// SPDX-License-Identifier: GPL-2.0-only
//! Orders records of which many come late at once.
//!
//! Recorders drain the buffers of the CPUs one after the other, so that a piece of each CPU's past lies
//! behind a piece of the other CPUs' past. That is more than the sorter of events mends, and mending it
//! there by inserting would be slow. So raw records are collected and sorted in batches:
//!
//! * perf marks the end of a round over all buffers. What is not later than anything of the round before
//!   the last cannot be overtaken any more and is released.
//! * Without such marks, the older half is released when there is too much of it.

use std::ops::Range;

use zerolag_core::ids::CpuId;
use zerolag_core::units::Instant;

/// Bytes of raw records that are held without a mark.
const HELD_MAX: usize = 64 << 20;

/// Records released at a time, so that what follows is not flooded.
const PORTION: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Held>,
    /// How many of the records at the front are sorted and released, and how many of these are out.
    released: usize,
    out: usize,
    latest: Instant,
    latest_of_last_round: Instant,
}

/// A record that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) time: Instant,
    pub(crate) cpu: CpuId,
    /// Thread and process id of the current task.
    pub(crate) process: Option<(u32, u32)>,
    start: usize,
    len: usize,
}

impl Batch {
    pub(crate) fn push(&mut self, time: Instant, cpu: CpuId, process: Option<(u32, u32)>, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.records.push(Held { time, cpu, process, start, len: record.len() });
        self.latest = self.latest.max(time);
    }

    /// True if it is time to release something although no mark came.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= HELD_MAX
    }

    /// Every CPU's buffer was drained once more.
    pub(crate) fn end_round(&mut self) {
        let safe = self.latest_of_last_round;
        self.latest_of_last_round = self.latest;
        self.records.sort_by_key(|r| r.time);
        self.released = self.records.partition_point(|r| r.time <= safe);
    }

    /// Releases the older half.
    pub(crate) fn release_half(&mut self) {
        self.records.sort_by_key(|r| r.time);
        self.released = self.records.len().div_ceil(2);
    }

    /// Releases everything: the input is over.
    pub(crate) fn finish(&mut self) {
        self.records.sort_by_key(|r| r.time);
        self.released = self.records.len();
    }

    /// True if something is released that is not out yet.
    pub(crate) const fn has_released(&self) -> bool {
        self.out < self.released
    }

    /// Gives some of the released records out; false if there are none.
    pub(crate) fn drain(&mut self, mut give: impl FnMut(&Held, &[u8])) -> bool {
        if self.out == self.released {
            self.compact();
            return false;
        }
        let portion = self.out..self.released.min(self.out + PORTION);
        for record in &self.records[portion.clone()] {
            give(record, &self.bytes[record.range()]);
        }
        self.out = portion.end;
        true
    }

    /// Forgets what is out.
    fn compact(&mut self) {
        if self.out == 0 {
            return;
        }
        let mut kept = Vec::with_capacity(self.bytes.len() / 2);
        self.records.drain(..self.out);
        for record in &mut self.records {
            let start = kept.len();
            kept.extend_from_slice(&self.bytes[record.range()]);
            record.start = start;
        }
        self.bytes = kept;
        (self.out, self.released) = (0, 0);
    }
}

impl Held {
    const fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(batch: &mut Batch) -> Vec<u64> {
        let mut out = Vec::new();
        while batch.drain(|held, bytes| {
            assert_eq!(bytes, held.time.0.to_le_bytes());
            out.push(held.time.0);
        }) {}
        out
    }

    fn push(batch: &mut Batch, times: &[u64]) {
        for &time in times {
            batch.push(Instant(time), CpuId(0), None, &time.to_le_bytes());
        }
    }

    #[test]
    fn a_round_releases_what_the_next_cannot_overtake() {
        let mut batch = Batch::default();
        push(&mut batch, &[10, 30, 50, 20, 40]);
        batch.end_round();
        assert_eq!(drained(&mut batch), [], "the next round may bring something older");
        push(&mut batch, &[60, 80, 45, 70]);
        batch.end_round();
        assert_eq!(drained(&mut batch), [10, 20, 30, 40, 45, 50]);
        batch.finish();
        assert_eq!(drained(&mut batch), [60, 70, 80]);
    }

    #[test]
    fn without_rounds_the_older_half_goes_first() {
        let mut batch = Batch::default();
        push(&mut batch, &[4, 3, 2, 1, 5]);
        batch.release_half();
        assert_eq!(drained(&mut batch), [1, 2, 3]);
        push(&mut batch, &[3]);
        batch.finish();
        assert_eq!(drained(&mut batch), [3, 4, 5]);
    }
}
