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
    pub(super) fn unpack(self, bytes: &[u8], limit: u64) -> Bounded<Box<dyn Read + '_>> {
        let unpacked: Box<dyn Read + '_> = match self {
            Self::None => Box::new(bytes),
            Self::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(bytes)),
        };
        Bounded { unpacked, limit, count: 0 }
    }
}

/// Counts what is read, and fails where [`Read::take`] would pretend that all has been read.
pub(super) struct Bounded<R> {
    unpacked: R,
    limit: u64,
    count: u64,
}

impl<R> Bounded<R> {
    /// How many bytes have been read.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        self.count += count as u64;
        if self.count > self.limit {
            return Err(io::Error::other("unpacks to more than a tree of files of a machine can have"));
        }
        Ok(count)
    }
}
