// SPDX-License-Identifier: GPL-2.0-only
//! Finds out what an input is by its first bytes, and takes compression off.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{perf_data, perfetto, tracing_data};

pub(crate) type Input<'a> = Box<dyn Read + 'a>;

/// What an input turned out to be, with the input from its start.
pub(crate) enum Unpacked<'a> {
    /// A text, or nothing at all.
    Text(Input<'a>),
    /// Perfetto's protobuf.
    Perfetto(Input<'a>),
    /// A binary recording that cannot be read from front to back.
    Binary(Binary, Input<'a>),
    /// Bytes of no known kind; the first few are given.
    Unknown(Vec<u8>),
}

/// Binary formats that have to be read here and there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    PerfData,
    TraceDat,
}

impl Binary {
    /// The format of what begins so.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(perf_data::MAGIC) || head.starts_with(perf_data::MAGIC_SWAPPED) {
            Some(Self::PerfData)
        } else if head.starts_with(tracing_data::MAGIC) {
            Some(Self::TraceDat)
        } else {
            None
        }
    }
}

/// How many of the first bytes decide. A text of traces has no zero byte among them.
pub(crate) const HEAD_LEN: usize = 512;

/// How many layers of compression are taken off; more is an attempt to fill the memory or the day.
const LAYERS_MAX: usize = 2;

pub(crate) fn unpack<'a>(input: Input<'a>) -> io::Result<Unpacked<'a>> {
    let mut input = input;
    for _ in 0..=LAYERS_MAX {
        let mut head = Vec::new();
        input.by_ref().take(HEAD_LEN as u64).read_to_end(&mut head)?;
        let unknown = head.contains(&0);
        let binary = Binary::of(&head);
        let start: [u8; 4] = std::array::from_fn(|i| head.get(i).copied().unwrap_or(0));
        let whole = BufReader::with_capacity(64 * 1024, Cursor::new(head.clone()).chain(input));
        if let Some(format) = binary {
            return Ok(Unpacked::Binary(format, Box::new(whole)));
        }
        if perfetto::is_perfetto(&head) {
            return Ok(Unpacked::Perfetto(Box::new(whole)));
        }
        input = match start {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(ZstdFrames::new(whole)),
            _ if unknown => return Ok(Unpacked::Unknown(head)),
            _ => return Ok(Unpacked::Text(Box::new(whole))),
        };
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "compressed too many times over"))
}

/// Decompresses one zstd frame after the other.
pub(crate) struct ZstdFrames<R> {
    input: R,
    decoder: FrameDecoder,
    inside_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, decoder: FrameDecoder::new(), inside_frame: false }
    }

    /// Begins the next frame; false at the end of the input.
    fn begin_frame(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.init(&mut self.input) {
            Ok(()) => self.inside_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
            }
            Err(error) => return Err(damaged(error)),
        }
        Ok(true)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside_frame {
                if !self.begin_frame()? {
                    return Ok(0);
                }
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            } else if self.decoder.is_finished() {
                self.inside_frame = false;
            } else {
                self.decoder
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(damaged)?;
            }
        }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
