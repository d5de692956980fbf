// SPDX-License-Identifier: GPL-2.0-only
//! The events of one CPU, page by page.

use std::io::{self, Read};

use zerolag_core::ids::CpuId;
use zerolag_core::units::Instant;

use super::StreamPlace;
use super::page::{Missed, Page, PageShape};
use crate::loss::LossReport;
use crate::read::bytes::Bytes;
use crate::read::storage::Storage;
use crate::read::unpack::ZstdFrames;

/// Largest piece that is decompressed at once.
const CHUNK_LEN_MAX: u64 = 64 << 20;

/// One CPU's data that are being read.
#[derive(Debug)]
pub(super) struct Stream {
    place: StreamPlace,
    shape: PageShape,
    /// Where the next page, or the next compressed chunk, lies.
    at: u64,
    /// Pages of a chunk that was decompressed.
    unpacked: Vec<u8>,
    began: bool,
    page: Option<Page>,
    event: Vec<u8>,
}

impl Stream {
    pub(super) const fn new(place: StreamPlace, shape: PageShape) -> Self {
        let at = place.offset;
        Self { place, shape, at, unpacked: Vec::new(), began: false, page: None, event: Vec::new() }
    }

    pub(super) const fn cpu(&self) -> CpuId {
        self.place.cpu
    }

    /// The event gone to last.
    pub(super) fn event(&self) -> &[u8] {
        &self.event
    }

    /// About where it lies in the file.
    pub(super) const fn offset(&self) -> u64 {
        self.at
    }

    /// Goes to the next event and returns its time; none at the end.
    pub(super) fn advance(
        &mut self,
        storage: &mut Storage,
        loss: &mut LossReport,
    ) -> io::Result<Option<Instant>> {
        loop {
            if let Some(page) = &mut self.page
                && let Some((time, event)) = page.next_event()
            {
                self.event.clear();
                self.event.extend_from_slice(event);
                return Ok(Some(time));
            }
            let Some(bytes) = self.next_page(storage, loss)? else { return Ok(None) };
            match Page::new(bytes, self.place.page_size, self.shape) {
                Some((page, missed)) => {
                    match missed {
                        Missed::Nothing => {}
                        Missed::Unknown => loss.lost_unknown += 1,
                        Missed::Count(n) => loss.lost = loss.lost.saturating_add(n),
                    }
                    self.page = Some(page);
                }
                None => {
                    loss.did_not_understand(
                        self.at,
                        b"a page of the ring buffer that does not hold together",
                    );
                    self.page = None;
                }
            }
        }
    }

    fn end(&self) -> u64 {
        self.place.offset.saturating_add(self.place.size)
    }

    /// The bytes of the next page; none at the end.
    fn next_page(&mut self, storage: &mut Storage, loss: &mut LossReport) -> io::Result<Option<Vec<u8>>> {
        let len = self.place.page_size;
        if self.place.compressed {
            if self.unpacked.is_empty() && !self.unpack_chunk(storage, loss)? {
                return Ok(None);
            }
            let rest = self.unpacked.split_off(len.min(self.unpacked.len()));
            return Ok(Some(std::mem::replace(&mut self.unpacked, rest)));
        }
        if self.at >= self.end() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        storage.read_at(self.at, len, &mut bytes)?;
        self.at += len as u64;
        if bytes.len() < len {
            cut_short(loss, self.place.cpu);
            self.at = self.end();
        }
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// Decompresses the next chunk: compressed(u32) uncompressed(u32) data. The number of chunks stands before
    /// the first of them.
    fn unpack_chunk(&mut self, storage: &mut Storage, loss: &mut LossReport) -> io::Result<bool> {
        if !self.began {
            self.began = true;
            self.at += 4;
        }
        if self.at >= self.end() {
            return Ok(false);
        }
        let mut header = Vec::new();
        storage.read_at(self.at, 8, &mut header)?;
        let mut bytes = Bytes::new(&header, self.shape.endian);
        let (Some(packed_len), Some(_)) = (bytes.u32(), bytes.u32()) else {
            cut_short(loss, self.place.cpu);
            return Ok(false);
        };
        let mut packed = Vec::new();
        storage.read_at(self.at + 8, packed_len as usize, &mut packed)?;
        self.at += 8 + u64::from(packed_len);
        let unpacking = ZstdFrames::new(&packed[..]).take(CHUNK_LEN_MAX).read_to_end(&mut self.unpacked);
        if unpacking.is_err() || self.unpacked.is_empty() {
            cut_short(loss, self.place.cpu);
            self.at = self.end();
            self.unpacked.clear();
            return Ok(false);
        }
        Ok(true)
    }
}

fn cut_short(loss: &mut LossReport, cpu: CpuId) {
    loss.cut_short.get_or_insert_with(|| format!("the data of {cpu:?} end in the middle"));
}
