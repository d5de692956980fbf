// SPDX-License-Identifier: GPL-2.0-only
//! A binary recording, of which any part can be read at any time.
//!
//! Containers have their tables at the end or one stream per CPU, so they cannot be read from front to back.
//! A file is read where it lies; what comes through a pipe or a decompressor is held in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

#[derive(Debug)]
pub(crate) enum Storage {
    Memory(Vec<u8>),
    File(File, u64),
}

impl Storage {
    /// All that `input` gives, and the damage that ended it early if there was any: of a truncated archive, the
    /// first part is worth having.
    pub(crate) fn from_reader(mut input: impl Read) -> io::Result<(Self, Option<io::Error>)> {
        let mut all = Vec::new();
        let damage = match input.read_to_end(&mut all) {
            Ok(_) => None,
            Err(error) if super::is_damage(&error) => Some(error),
            Err(error) => return Err(error),
        };
        Ok((Self::Memory(all), damage))
    }

    pub(crate) fn from_file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self::File(file, len))
    }

    pub(crate) const fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    /// Reads `len` bytes from `offset` into `out`, fewer at the end.
    pub(crate) fn read_at(&mut self, offset: u64, len: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        let len = self.len().saturating_sub(offset).min(len as u64);
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                out.extend_from_slice(&bytes[start..start + len as usize]);
            }
            Self::File(file, _) => {
                file.seek(SeekFrom::Start(offset))?;
                file.take(len).read_to_end(out)?;
            }
        }
        Ok(())
    }
}
