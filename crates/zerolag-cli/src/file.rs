// SPDX-License-Identifier: GPL-2.0-only
//! Files that appear whole or not at all: written beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file that is being written. It is gone if it is dropped before it is finished.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Beside(BufWriter<NamedTempFile>),
    /// A device, a pipe: nothing that could be replaced.
    Special(BufWriter<File>),
    StandardOutput(BufWriter<io::Stdout>),
}

impl NewFile {
    /// Begins a file; - is standard output.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let named = |e: io::Error| failure(path, &e);
        let place = if path == Path::new("-") {
            Place::StandardOutput(BufWriter::new(io::stdout()))
        } else if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            Place::Special(BufWriter::new(File::create(path).map_err(named)?))
        } else {
            let dir = path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
            Place::Beside(BufWriter::new(temporary(dir).map_err(named)?))
        };
        Ok(Self { path: path.to_owned(), place })
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Self { path, place } = self;
        let named = |e: io::Error| failure(&path, &e);
        match place {
            Place::Beside(out) => {
                let file = out.into_inner().map_err(|e| named(e.into_error()))?;
                file.persist(&path).map_err(|e| named(e.error))?;
            }
            Place::Special(mut out) => out.flush().map_err(named)?,
            Place::StandardOutput(mut out) => out.flush()?,
        }
        Ok(())
    }

    /// What is wrong with it.
    pub(crate) fn failure(&self, error: io::Error) -> Failure {
        match self.place {
            // Whoever reads it may stop reading.
            Place::StandardOutput(_) => Failure::Output(error),
            _ => failure(&self.path, &error),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Beside(out) => out.write(bytes),
            Place::Special(out) => out.write(bytes),
            Place::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Beside(out) => out.flush(),
            Place::Special(out) => out.flush(),
            Place::StandardOutput(out) => out.flush(),
        }
    }
}

/// A temporary file that can be read by whom the user lets read new files.
fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666)).tempfile_in(dir)
    }
    #[cfg(not(unix))]
    builder.tempfile_in(dir)
}

/// Writes a whole file.
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut file = NewFile::create(path)?;
    file.write_all(content.as_ref()).map_err(|e| failure(path, &e))?;
    file.finish()
}

/// What is wrong with a file.
pub(crate) fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format_args!("{}: {error}", path.display()))
}
