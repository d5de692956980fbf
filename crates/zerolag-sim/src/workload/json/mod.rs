// SPDX-License-Identifier: GPL-2.0-only
//! JSON as rt-app files are really written, every value with its place in the text.
//!
//! rt-app reads its files with json-c in non-strict mode, and most files in circulation rely on it: comments,
//! trailing commas, and, where they are meant for the `workgen` script that runs before rt-app, duplicate keys
//! and keys without a value. General JSON readers refuse all four, or lose the second of two equal keys, and
//! none says in which line an unknown key stands. Hence this reader.
//!
//! What is accepted beyond RFC 8259, in both dialects:
//!
//! | text | read as |
//! |---|---|
//! | `/* ... */`, `// ...` between tokens | nothing |
//! | `[1, 2, ]`, `{"a": 1, }` | the comma counts for nothing |
//! | `'text'` | a string |
//! | `True`, `NULL`, ... | the literal, whatever its case |
//! | `NaN`, `Infinity`, `-infinity` | a real number |
//! | `007`, `1.`, `-.5`, `1e` | 7, and reals |
//! | control characters inside strings | themselves |
//! | integers beyond 64 bits | the nearest integer of 64 bits |
//!
//! Where the two [`Dialect`]s differ:
//!
//! | text | [`Dialect::Workgen`] | [`Dialect::JsonC`] |
//! |---|---|---|
//! | `"run": 1, "sleep": 2, "run": 3` | three members in order | `"run": 3, "sleep": 2`: the last value in the first place |
//! | `"suspend",` | a member with an empty string | refused |
//! | text after the root value | refused | ignored |
//! | `/* a **/` | a comment | the comment goes on: after a star only a slash ends it, and the second star is eaten |
//!
//! # Properties
//! * Reading ends, without panic, for every sequence of bytes.
//! * The text has at most [`LEN_MAX`] bytes and values nest at most [`DEPTH_MAX`] deep, so the reader's stack
//!   and memory are bounded.
//! * Members come in the order of the text.
//!
//! Source: json-c 0.18 `json_tokener.c`; `doc/workgen` of rt-app.

mod error;
mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

pub use error::{JsonError, JsonErrorKind};
pub use value::{Data, Member, Object, Value};

/// Longest text accepted, in bytes: some hundred thousand events.
pub const LEN_MAX: usize = 16 << 20;

/// How deep a value may be nested; the root has depth 0 (json-c's `JSON_TOKENER_DEFAULT_DEPTH` is 32 levels).
pub const DEPTH_MAX: u32 = 31;

/// Who is going to read the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `workgen`, which makes duplicate keys unique and so keeps them all.
    #[default]
    Workgen,
    /// rt-app without `workgen`: json-c alone.
    JsonC,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character within the line, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Reads a text.
///
/// # Errors
/// [`JsonError`] with the place of the first character that does not fit.
///
/// ```
/// use zerolag_sim::workload::json::{Dialect, parse};
///
/// let value = parse(b"{ 'run': 10, /* twice */ 'run': 20, }", Dialect::Workgen)?;
/// let members = value.as_object().unwrap();
/// assert_eq!(members.iter().map(|m| m.value.as_int().unwrap()).collect::<Vec<_>>(), [10, 20]);
/// assert_eq!(members.iter().nth(1).unwrap().key_at.to_string(), "1:26");
/// # Ok::<(), zerolag_sim::workload::json::JsonError>(())
/// ```
pub fn parse(text: &[u8], dialect: Dialect) -> Result<Value, JsonError> {
    let text = text.get(..LEN_MAX + 1).map_or(Ok(text), |_| Err(JsonError::too_long(text.len())))?;
    let text = std::str::from_utf8(text).map_err(|e| JsonError::not_utf8(&text[..e.valid_up_to()]))?;
    parse::document(text, dialect)
}
