// SPDX-License-Identifier: GPL-2.0-only
//! Files that appear whole or not at all: written beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is being written. What was there before stays until it is finished, and if it is dropped before
/// that.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Beside(BufWriter<NamedTempFile>),
    /// A device, a pipe: nothing that could be replaced.
    Special(BufWriter<File>),
}

impl NewFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If there cannot be one.
    pub fn create(path: &Path) -> io::Result<Self> {
        let place = if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            Place::Special(BufWriter::new(File::create(path)?))
        } else {
            let dir = path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
            Place::Beside(BufWriter::new(temporary(dir).map_err(unnamed)?))
        };
        Ok(Self { path: path.to_owned(), place })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// If the rest of it cannot be written, or not there.
    pub fn finish(self) -> io::Result<()> {
        match self.place {
            Place::Beside(out) => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(&self.path).map_err(|e| e.error)?;
                Ok(())
            }
            Place::Special(mut out) => out.flush(),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Beside(out) => out.write(bytes),
            Place::Special(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Beside(out) => out.flush(),
            Place::Special(out) => out.flush(),
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

/// The error without the temporary file's name, which says nothing to the user.
fn unnamed(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

/// Writes a whole file.
///
/// # Errors
/// If that cannot be done; then there is what was there before.
pub fn put(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_finished_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        put(&path, "old").unwrap();
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"half").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(new);
        put(&path, "new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = put(&dir.path().join("none/f"), "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("none"), "{error}");
    }
}
