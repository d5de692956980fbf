// SPDX-License-Identifier: GPL-2.0-only
//! A binary recording, of which any part can be read at any time.
//!
//! Containers have their tables at the end or one stream per CPU, so they cannot be read from front to back.
//! A file is read where it lies; what comes through a pipe or a decompressor is written to a temporary file first,
//! if it is not small.

use std::env::temp_dir;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::{SpooledTempFile, spooled_tempfile};

/// So much is held in memory.
const IN_MEMORY_MAX: usize = 16 << 20;
/// How much is passed on at a time.
const CHUNK: usize = 64 << 10;

#[derive(Debug)]
pub(crate) enum Storage {
    Spooled(SpooledTempFile, u64),
    File(File, u64),
}

impl Storage {
    /// All that `input` gives, and the damage that ended it early if there was any: of a truncated archive, the
    /// first part is worth having.
    pub(crate) fn from_reader(input: impl Read) -> io::Result<(Self, Option<io::Error>)> {
        Self::spool(input, IN_MEMORY_MAX)
    }

    fn spool(mut input: impl Read, in_memory_max: usize) -> io::Result<(Self, Option<io::Error>)> {
        let mut spool = spooled_tempfile(in_memory_max);
        let mut chunk = vec![0; CHUNK];
        let mut len = 0;
        let damage = loop {
            match input.read(&mut chunk) {
                Ok(0) => break None,
                Ok(n) => {
                    spool.write_all(&chunk[..n]).map_err(not_spooled)?;
                    len += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if super::is_damage(&error) => break Some(error),
                Err(error) => return Err(error),
            }
        };
        Ok((Self::Spooled(spool, len), damage))
    }

    pub(crate) fn from_file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self::File(file, len))
    }

    pub(crate) const fn len(&self) -> u64 {
        match self {
            Self::Spooled(_, len) | Self::File(_, len) => *len,
        }
    }

    /// Reads `len` bytes from `offset` into `out`, fewer at the end.
    pub(crate) fn read_at(&mut self, offset: u64, len: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        // Damaged tables name places that no file can have.
        let offset = offset.min(self.len());
        let len = (self.len() - offset).min(len as u64);
        match self {
            Self::Spooled(file, _) => part(file, offset, len, out),
            Self::File(file, _) => part(file, offset, len, out),
        }
    }
}

fn part(mut file: impl Read + Seek, offset: u64, len: u64, out: &mut Vec<u8>) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.take(len).read_to_end(out)?;
    Ok(())
}

fn not_spooled(error: io::Error) -> io::Error {
    let dir = temp_dir();
    io::Error::new(error.kind(), format!("keeping what was unpacked in {}: {error}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives some bytes, then this error.
    struct Broken<'b>(&'b [u8], io::ErrorKind);

    impl Read for Broken<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(self.1.into()),
                n => Ok(n),
            }
        }
    }

    #[test]
    fn parts_are_the_same_in_memory_and_in_a_temporary_file() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        for in_memory_max in [0, 1000, 1 << 20] {
            let (mut storage, damage) = Storage::spool(&bytes[..], in_memory_max).unwrap();
            assert!(damage.is_none() && storage.len() == 200_000);
            let Storage::Spooled(spool, _) = &storage else { panic!("{storage:?}") };
            assert_eq!(spool.is_rolled(), in_memory_max < bytes.len());
            let mut out = Vec::new();
            for (offset, len) in [(0, 10), (199_990, 100), (70_000, 100_000), (200_000, 1), (u64::MAX, 5)] {
                storage.read_at(offset, len, &mut out).unwrap();
                let start = offset.min(200_000) as usize;
                assert!(out == bytes[start..(start + len).min(200_000)], "{offset} {len}");
            }
        }
    }

    #[test]
    fn what_came_before_damage_is_kept() {
        let (mut storage, damage) =
            Storage::spool(Broken(&[7; 50], io::ErrorKind::UnexpectedEof), 10).unwrap();
        assert_eq!(damage.map(|e| e.kind()), Some(io::ErrorKind::UnexpectedEof));
        let mut out = Vec::new();
        storage.read_at(20, 100, &mut out).unwrap();
        assert_eq!(out, [7; 30]);
        let refused = Storage::spool(Broken(&[7; 50], io::ErrorKind::PermissionDenied), 10);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
