// SPDX-License-Identifier: GPL-2.0-only
//! What can be wrong with the file that describes a machine.

use std::fmt;
use std::io;

use thiserror::Error;
use zerolag_core::topology::TopologyError;

/// A file that does not describe a machine.
#[derive(Debug, Error)]
#[error("{file}{place}: {fault}")]
pub struct MachineError {
    /// The file; within an archive or directory, the file in there.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub fault: MachineFault,
}

/// A place in a text; lines and columns count from 1, 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => Ok(()),
            (line, 0) => write!(f, ":{line}"),
            (line, column) => write!(f, ":{line}:{column}"),
        }
    }
}

/// What is wrong with it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MachineFault {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
    /// Neither a file nor a preset.
    #[error("no such file, and {0}")]
    NoFileNorPreset(TopologyError),
    /// It is none of the kinds that are known.
    #[error("not a machine (accepted: hwloc XML, TOML, a tar of /sys plain or packed by gzip or bzip2)")]
    UnknownKind,
    /// It is bigger than anything sensible.
    #[error("{what} is bigger than {limit} bytes")]
    TooBig {
        /// What.
        what: &'static str,
        /// How many bytes are accepted.
        limit: u64,
    },
    /// The archive is damaged or cut short.
    #[error("damaged archive: {0}")]
    Archive(io::Error),
    /// Something is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// A value is not what it should be.
    #[error("{what} is '{}' (accepted: {accepted})", shortened(.found))]
    Value {
        /// Which.
        what: String,
        /// What was found.
        found: String,
        /// What would have been accepted.
        accepted: &'static str,
    },
    /// The text is no XML.
    #[error("not XML: {0}")]
    Xml(roxmltree::Error),
    /// An attribute is missing.
    #[error("{object} without {attribute}")]
    MissingAttribute {
        /// Of what.
        object: String,
        /// Which.
        attribute: &'static str,
    },
    /// The text is not the TOML that is expected.
    #[error("{0}")]
    Toml(String),
    /// What it describes is no machine.
    #[error("{0}")]
    Topology(#[from] TopologyError),
}

impl MachineFault {
    pub(super) fn in_file(self, file: impl Into<String>) -> MachineError {
        self.at(file, Place::default())
    }

    pub(super) fn at(self, file: impl Into<String>, place: Place) -> MachineError {
        MachineError { file: file.into(), place, fault: self }
    }

    /// For a name that is no file: says so, if it is no preset either.
    pub(super) fn no_preset(self) -> Self {
        match self {
            Self::Topology(error @ TopologyError::UnknownMachine { .. }) => Self::NoFileNorPreset(error),
            other => other,
        }
    }
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(60).flat_map(char::escape_default).collect();
    if text.chars().nth(60).is_some() {
        short += "...";
    }
    short
}
