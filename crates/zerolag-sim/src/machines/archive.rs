// SPDX-License-Identifier: GPL-2.0-only
//! Archives, packed or not.

use std::io::{self, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// How a tar archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Bzip2,
}

impl Packing {
    /// Nothing if it is no archive.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            _ if bytes.get(257..262) == Some(b"ustar") => Some(Self::None),
            _ => None,
        }
    }

    /// What is packed; reading more than `limit` bytes of it fails.
    pub(super) fn unpack(self, bytes: &[u8], limit: u64) -> impl Read + '_ {
        let unpacked: Box<dyn Read + '_> = match self {
            Self::None => Box::new(bytes),
            Self::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(bytes)),
        };
        Bounded { unpacked, left: limit }
    }
}

/// Fails where [`Read::take`] would pretend that all has been read.
struct Bounded<R> {
    unpacked: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("unpacks to more than a tree of files of a machine can have"))?;
        Ok(count)
    }
}
