// SPDX-License-Identifier: GPL-2.0-only
//! Where the user wants something written: a file, which appears whole or not at all, or standard output.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use zerolag_study::file;

use crate::failure::Failure;

/// A file that is being written. It is gone if it is dropped before it is finished.
#[derive(Debug)]
pub(crate) enum NewFile {
    File(file::NewFile),
    StandardOutput(BufWriter<io::Stdout>),
}

impl NewFile {
    /// Begins a file; - is standard output.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput(BufWriter::new(io::stdout())));
        }
        file::NewFile::create(path).map(Self::File).map_err(|e| failure(path, &e))
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(out) => {
                let path = out.path().to_owned();
                out.finish().map_err(|e| failure(&path, &e))
            }
            Self::StandardOutput(mut out) => Ok(out.flush()?),
        }
    }

    /// What is wrong with it.
    pub(crate) fn failure(&self, error: io::Error) -> Failure {
        match self {
            Self::File(out) => failure(out.path(), &error),
            // Whoever reads it may stop reading.
            Self::StandardOutput(_) => Failure::Output(error),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(out) => out.write(bytes),
            Self::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(out) => out.flush(),
            Self::StandardOutput(out) => out.flush(),
        }
    }
}

/// Writes a whole file.
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut file = NewFile::create(path)?;
    file.write_all(content.as_ref()).map_err(|e| file.failure(e))?;
    file.finish()
}

/// What is wrong with a file.
pub(crate) fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format_args!("{}: {error}", path.display()))
}
