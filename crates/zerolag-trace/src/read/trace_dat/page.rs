// SPDX-License-Identifier: GPL-2.0-only
//! Pages of the kernel's ring buffer, of which the per-CPU data of a `trace.dat` consists.
//!
//! ```text
//! page   time(u64) commit(long) event, event, …
//! event  header(u32) [u32] data
//! ```
//!
//! The header is `type_len` (5 bits) and the time since the event before (27 bits). `type_len` says what the
//! event is: 1 to 28 data of so many words, 0 data whose length stands in the next word, 29 padding, 30 a
//! longer step of time, 31 a time by itself. Source: `include/linux/ring_buffer.h` and
//! `kernel/trace/ring_buffer.c`, 4.17 to 6.18.

use zerolag_core::units::Instant;

use crate::read::bytes::{Bytes, Endian};

/// In `commit`: events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// In `commit`: how many stands behind the events.
const MISSED_STORED: u64 = 1 << 30;

const DATA_LEN_MAX: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

const DELTA_BITS: u32 = 27;
/// A time by itself has 59 bits; those above are the same as before.
const STAMP_BITS: u32 = 59;

/// How pages of one recording look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageShape {
    pub(super) endian: Endian,
    /// Bytes of a C `long`.
    pub(super) long_size: usize,
}

/// A page that is being read.
#[derive(Clone, Debug)]
pub(super) struct Page {
    bytes: Vec<u8>,
    at: usize,
    end: usize,
    time: u64,
    endian: Endian,
}

/// Events lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    Nothing,
    Unknown,
    Count(u64),
}

impl Page {
    /// A page and what was lost before it; none if it is too short to be one, or says that it holds more than
    /// `size`. Of a page that was cut off, what is there is read.
    pub(super) fn new(bytes: Vec<u8>, size: usize, shape: PageShape) -> Option<(Self, Missed)> {
        let mut header = Bytes::new(&bytes, shape.endian);
        let time = header.u64()?;
        let commit = shape.endian.number(header.take(shape.long_size)?);
        let start = 8 + shape.long_size;
        let len = usize::try_from(commit & (MISSED_STORED - 1)).ok()?;
        let end = start.checked_add(len).filter(|&end| end <= size)?.min(bytes.len());
        let missed = if commit & MISSED_EVENTS == 0 {
            Missed::Nothing
        } else if commit & MISSED_STORED == 0 {
            Missed::Unknown
        } else {
            let count = Bytes::new(&bytes[end..], shape.endian).take(shape.long_size);
            count.map_or(Missed::Unknown, |count| Missed::Count(shape.endian.number(count)))
        };
        Some((Self { bytes, at: start, end, time, endian: shape.endian }, missed))
    }

    /// The next event's time and data; none at the end of the page.
    pub(super) fn next_event(&mut self) -> Option<(Instant, &[u8])> {
        let range = loop {
            let mut rest = Bytes::new(&self.bytes[self.at..self.end], self.endian);
            let header = rest.u32()?;
            // The bit fields are laid out from the least significant bit on, or from the most significant.
            let (type_len, delta) = match self.endian {
                Endian::Little => (header & 0x1f, header >> 5),
                Endian::Big => (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1)),
            };
            let delta = u64::from(delta);
            match type_len {
                TIME_EXTEND => {
                    let high = rest.u32()?;
                    self.time = self.time.wrapping_add((u64::from(high) << DELTA_BITS) + delta);
                    self.at += 8;
                }
                TIME_STAMP => {
                    let high = rest.u32()?;
                    let kept = self.time >> STAMP_BITS << STAMP_BITS;
                    self.time = kept | (u64::from(high) << DELTA_BITS) | delta;
                    self.at += 8;
                }
                PADDING if delta == 0 => return None,
                PADDING => {
                    let len = rest.u32()?;
                    self.time = self.time.wrapping_add(delta);
                    self.at = self.at.checked_add(4 + usize::try_from(len).ok()?)?.min(self.end);
                }
                0 => {
                    // The length counts its own word.
                    let len = usize::try_from(rest.u32()?.checked_sub(4)?).ok()?;
                    rest.take(len)?;
                    self.time = self.time.wrapping_add(delta);
                    let start = self.at + 8;
                    self.at = (start + len.next_multiple_of(4)).min(self.end);
                    break start..start + len;
                }
                words => {
                    debug_assert!(words <= DATA_LEN_MAX);
                    let len = words as usize * 4;
                    rest.take(len)?;
                    self.time = self.time.wrapping_add(delta);
                    let start = self.at + 4;
                    self.at = start + len;
                    break start..start + len;
                }
            }
        };
        Some((Instant(self.time), &self.bytes[range]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: PageShape = PageShape { endian: Endian::Little, long_size: 8 };

    fn page(commit_flags: u64, events: &[u32]) -> Vec<u8> {
        let mut bytes = 1000u64.to_le_bytes().to_vec();
        bytes.extend(((events.len() as u64 * 4) | commit_flags).to_le_bytes());
        events.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    }

    fn header(type_len: u32, delta: u32) -> u32 {
        (delta << 5) | type_len
    }

    fn events(bytes: Vec<u8>) -> Vec<(u64, Vec<u8>)> {
        let size = bytes.len();
        let (mut page, _) = Page::new(bytes, size, SHAPE).unwrap();
        let mut all = Vec::new();
        while let Some((time, data)) = page.next_event() {
            all.push((time.0, data.to_vec()));
        }
        all
    }

    #[test]
    fn every_kind_of_event() {
        let bytes = page(
            0,
            &[
                header(1, 5),
                0xaaaa_aaaa,
                header(TIME_EXTEND, 1),
                2,
                header(0, 0),
                8,
                0xbbbb_bbbb,
                header(PADDING, 3),
                8,
                0,
                header(TIME_STAMP, 7),
                1,
                header(1, 1),
                0xcccc_cccc,
                header(PADDING, 0),
            ],
        );
        let extended = 1005 + (2 << 27) + 1;
        assert_eq!(
            events(bytes),
            [(1005, vec![0xaa; 4]), (extended, vec![0xbb; 4]), ((1 << 27) + 8, vec![0xcc; 4])]
        );
    }

    #[test]
    fn what_was_lost_before_a_page() {
        let missed =
            |flags, words: &[u32]| Page::new(page(flags, words), 60, SHAPE).map(|(_, missed)| missed);
        assert_eq!(missed(0, &[]), Some(Missed::Nothing));
        assert_eq!(missed(MISSED_EVENTS, &[]), Some(Missed::Unknown));
        let mut stored = page(MISSED_EVENTS | MISSED_STORED, &[header(1, 5), 0]);
        stored.extend(17u64.to_le_bytes());
        assert_eq!(Page::new(stored, 60, SHAPE).map(|(_, missed)| missed), Some(Missed::Count(17)));
        assert!(Page::new(page(64, &[]), 60, SHAPE).is_none(), "more than the page can hold");
    }

    proptest! {
        #[test]
        fn arbitrary_pages_never_panic(
            words in proptest::collection::vec(prop_oneof![any::<u32>(), (0u32..32, 0u32..9).prop_map(|(t, d)| header(t, d))], 0..50),
            big in any::<bool>(),
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            if let Some((mut page, _)) = Page::new(page(0, &words), 4096, PageShape { endian, long_size: 8 }) {
                while page.next_event().is_some() {}
            }
        }
    }
}
