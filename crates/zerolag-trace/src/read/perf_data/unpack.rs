// SPDX-License-Identifier: GPL-2.0-only
//! Records that `perf record -z` compressed.
//!
//! Their payloads, put together, are one zstd frame that is never ended. A record may end in the middle of a
//! block. The decoder keeps a window of the latest output to itself until the frame ends, so at the end
//! an empty last block is added.

use std::fmt;
use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A frame's header has at most so many bytes.
const FRAME_HEADER_LEN_MAX: usize = 18;
const BLOCK_HEADER_LEN: usize = 3;
/// An empty block that says it is the last.
const LAST_BLOCK: [u8; BLOCK_HEADER_LEN] = [1, 0, 0];

#[derive(Default)]
pub(super) struct Unpacker {
    decoder: FrameDecoder,
    inside_frame: bool,
    pending: Vec<u8>,
}

impl Unpacker {
    /// Appends to `out` what can be decompressed with this payload.
    pub(super) fn feed(&mut self, payload: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.pending.extend_from_slice(payload);
        let mut rest = self.pending.as_slice();
        loop {
            if !self.inside_frame {
                if rest.len() < FRAME_HEADER_LEN_MAX {
                    break;
                }
                self.decoder.init(&mut rest).map_err(damaged)?;
                self.inside_frame = true;
            }
            if block_len(rest).is_none_or(|len| rest.len() < len) {
                break;
            }
            self.decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
            self.inside_frame = !self.decoder.is_finished();
            self.decoder.read_to_end(out)?;
        }
        let used = self.pending.len() - rest.len();
        self.pending.drain(..used);
        Ok(())
    }

    /// Appends what the decoder still holds.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if !self.inside_frame {
            return Ok(());
        }
        // What is left is a block that was cut off.
        self.pending.clear();
        self.feed(&LAST_BLOCK, out)
    }
}

/// The length of the block that begins here, with its header: one bit that it is the last, two bits of
/// type, 21 bits of size.
fn block_len(bytes: &[u8]) -> Option<usize> {
    const RUN_LENGTH: usize = 1;
    let header = bytes.get(..BLOCK_HEADER_LEN)?;
    let header = header.iter().rev().fold(0, |value, &b| value << 8 | usize::from(b));
    let size = if header >> 1 & 3 == RUN_LENGTH { 1 } else { header >> 3 };
    Some(BLOCK_HEADER_LEN + size)
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").field("inside_frame", &self.inside_frame).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn a_frame_comes_out_whole_however_it_is_cut() {
        let text: Vec<u8> = (0..400_000u32).flat_map(|i| (i % 251).to_le_bytes()).collect();
        let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
        for piece in [1000, 65_000, packed.len()] {
            let (mut unpacker, mut out) = (Unpacker::default(), Vec::new());
            packed.chunks(piece).for_each(|p| unpacker.feed(p, &mut out).unwrap());
            assert!(out == text, "pieces of {piece}");
        }
    }

    #[test]
    fn a_frame_without_an_end_comes_out_up_to_its_last_whole_block() {
        let text: Vec<u8> = (0..400_000u32).flat_map(|i| (i % 251).to_le_bytes()).collect();
        let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
        let (mut unpacker, mut out) = (Unpacker::default(), Vec::new());
        unpacker.feed(&packed[..packed.len() - 7], &mut out).unwrap();
        unpacker.finish(&mut out).unwrap();
        assert!(out.len() > text.len() / 2 && text.starts_with(&out), "{} of {}", out.len(), text.len());
    }

    #[test]
    fn what_is_no_frame_is_damage() {
        let error = Unpacker::default().feed(&[0xff; 100], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
