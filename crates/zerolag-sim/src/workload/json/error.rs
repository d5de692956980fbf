// SPDX-License-Identifier: GPL-2.0-only
//! Why a text cannot be read.

use super::{DEPTH_MAX, LEN_MAX, Position};

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {kind}")]
pub struct JsonError {
    /// The first character that does not fit.
    pub at: Position,
    /// What is wrong with it.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The bytes are not UTF-8 from here on.
    #[error("not UTF-8 text from here on")]
    NotUtf8,
    /// The text is too long to be one.
    #[error("{len} bytes of text (accepted: up to {LEN_MAX})")]
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// Values nest too deep.
    #[error("values nest deeper than {DEPTH_MAX}")]
    TooDeep,
    /// The text ends too early.
    #[error("the text ends, accepted: {accepted}")]
    End {
        /// What could come.
        accepted: &'static str,
    },
    /// Something else should stand here.
    #[error("found {found}, accepted: {accepted}")]
    Unexpected {
        /// What stands here.
        found: String,
        /// What could stand here.
        accepted: &'static str,
    },
    /// A comment is not closed.
    #[error("this comment is never closed")]
    OpenComment,
    /// A string is not closed.
    #[error("this string is never closed")]
    OpenString,
    /// A backslash followed by something else than an escape.
    #[error("'\\{found}' in a string, accepted: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX")]
    Escape {
        /// The character after the backslash.
        found: String,
    },
    /// Something like a number, but none.
    #[error("'{found}' is no number")]
    Number {
        /// The text.
        found: String,
    },
    /// A word that means nothing.
    #[error(
        "'{found}' means nothing here, accepted: null, true, false, NaN, Infinity, or a string in quotes"
    )]
    Word {
        /// The word.
        found: String,
    },
    /// A key without a value, which json-c refuses.
    #[error("key {key:?} has no value: json-c refuses that (workgen's dialect reads it as an empty string)")]
    BareKey {
        /// The key.
        key: String,
    },
}

impl JsonError {
    pub(super) fn too_long(len: usize) -> Self {
        Self { at: Position { line: 1, column: 1 }, kind: JsonErrorKind::TooLong { len } }
    }

    /// An error behind the last of these bytes, which are UTF-8.
    pub(super) fn not_utf8(good: &[u8]) -> Self {
        let good = String::from_utf8_lossy(good);
        let line = good.matches('\n').count() + 1;
        let column = good.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Self { at: Position { line: line as u32, column: column as u32 }, kind: JsonErrorKind::NotUtf8 }
    }
}
