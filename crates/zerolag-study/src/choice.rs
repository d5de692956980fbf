// SPDX-License-Identifier: GPL-2.0-only
//! One thing about a run that can vary, named by text: the vocabulary of `--vary` and of axes.
//!
//! | key | value | what it does |
//! |---|---|---|
//! | `kernel` | `6.1` | the kernel whose scheduler runs |
//! | `machine` | `2cpu`, or a file | what it runs on |
//! | `duration` | `10s` | how long |
//! | `set:NAME` | as in `--set` | a feature, tunable, cost, or the tick |
//! | `cgroup:PATH:KEY` | `cgroup:/a:cpu.weight` = `200` | a key of a group in the scenario |
//! | `workload:NAME:KEY` | `workload:hog:slice` = `3ms` | a key of a workload in the scenario |
//!
//! A value for a key of the scenario that reads as an integer, or as true or false, is one; anything else is a
//! text.

use std::fmt;
use std::str::FromStr;

use toml_edit::{DocumentMut, Item, Table, Value};

/// What varies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The kernel.
    Kernel,
    /// The machine.
    Machine,
    /// The length of the run.
    Duration,
    /// A setting (see [`zerolag_sim::setting`]).
    Set(String),
    /// A key of a group.
    Cgroup {
        /// The group's path.
        path: String,
        /// The key.
        key: String,
    },
    /// A key of a workload.
    Workload {
        /// The workload's name.
        name: String,
        /// The key.
        key: String,
    },
}

/// What keys look like, for messages.
pub const ACCEPTED: &str =
    "kernel, machine, duration, set:NAME, cgroup:PATH:KEY, workload:NAME:KEY (as in set:base_slice)";

/// Why something cannot vary, or not so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// It is no key.
    #[error("'{0}' is nothing that can vary; accepted: {ACCEPTED}")]
    Key(String),
    /// The scenario has no such group.
    #[error("the scenario has no group '{path}'; it has: {have}")]
    NoGroup {
        /// The path.
        path: String,
        /// Those it has.
        have: String,
    },
    /// The scenario has no such workload.
    #[error("the scenario has no workload '{name}'; it has: {have}")]
    NoWorkload {
        /// The name.
        name: String,
        /// Those it has.
        have: String,
    },
    /// It is no scenario.
    #[error("only in a scenario (TOML) can groups and workloads vary: {0}")]
    NoScenario(String),
}

impl FromStr for Key {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let wrong = || ChoiceError::Key(text.into());
        let parts = |rest: &str| {
            let (name, key) = rest.rsplit_once(':').ok_or_else(wrong)?;
            if name.is_empty() || key.is_empty() {
                Err(wrong())
            } else {
                Ok((name.to_owned(), key.to_owned()))
            }
        };
        match (text, text.split_once(':')) {
            ("kernel", _) => Ok(Self::Kernel),
            ("machine", _) => Ok(Self::Machine),
            ("duration", _) => Ok(Self::Duration),
            (_, Some(("set", name))) if !name.is_empty() => Ok(Self::Set(name.into())),
            (_, Some(("cgroup", rest))) => parts(rest).map(|(path, key)| Self::Cgroup { path, key }),
            (_, Some(("workload", rest))) => parts(rest).map(|(name, key)| Self::Workload { name, key }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.write_str("kernel"),
            Self::Machine => f.write_str("machine"),
            Self::Duration => f.write_str("duration"),
            Self::Set(name) => write!(f, "set:{name}"),
            Self::Cgroup { path, key } => write!(f, "cgroup:{path}:{key}"),
            Self::Workload { name, key } => write!(f, "workload:{name}:{key}"),
        }
    }
}

/// The text of a scenario with some of its keys changed. Everything else stays where it is, so that messages
/// about it still name the right line.
///
/// # Errors
/// If it has no such group or workload.
pub fn edit<'c>(
    text: &str,
    choices: impl IntoIterator<Item = (&'c Key, &'c str)>,
) -> Result<String, ChoiceError> {
    let mut choices = choices
        .into_iter()
        .filter(|(key, _)| matches!(key, Key::Cgroup { .. } | Key::Workload { .. }))
        .peekable();
    if choices.peek().is_none() {
        return Ok(text.to_owned());
    }
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| ChoiceError::NoScenario(e.message().to_owned()))?;
    for (key, value) in choices {
        match key {
            Key::Cgroup { path, key } => put(group(&mut document, path)?, key, value),
            Key::Workload { name, key } => put(workload(&mut document, name)?, key, value),
            _ => {}
        }
    }
    Ok(document.to_string())
}

fn group<'d>(document: &'d mut DocumentMut, path: &str) -> Result<&'d mut dyn Keys, ChoiceError> {
    let groups = document.get_mut("cgroup").and_then(Item::as_table_like_mut);
    let have = groups.as_ref().map(|g| g.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
    let found = groups.and_then(|g| g.get_mut(path)).and_then(Item::as_table_like_mut);
    found.map(|table| table as &mut dyn Keys).ok_or_else(|| ChoiceError::NoGroup {
        path: path.into(),
        have: have.filter(|h| !h.is_empty()).map_or_else(|| "none".into(), |h| h.join(", ")),
    })
}

fn workload<'d>(document: &'d mut DocumentMut, name: &str) -> Result<&'d mut Table, ChoiceError> {
    let tables = document.get_mut("workload").and_then(Item::as_array_of_tables_mut);
    let text = |table: &Table, key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    // A benchmark without a name goes by the model's.
    let named = |table: &Table| text(table, "name").or_else(|| text(table, "model"));
    let have: Vec<String> = tables.iter().flat_map(|t| t.iter()).filter_map(named).collect();
    let found = tables.and_then(|t| t.iter_mut().find(|t| named(t).as_deref() == Some(name)));
    found.ok_or_else(|| ChoiceError::NoWorkload {
        name: name.into(),
        have: if have.is_empty() { "none".into() } else { have.join(", ") },
    })
}

use toml_edit::TableLike as Keys;

fn put(table: &mut dyn Keys, key: &str, value: &str) {
    let item = Item::Value(typed(value));
    match table.get_mut(key) {
        // The old value's decoration is the comment behind it.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = typed(value);
            *old.decor_mut() = decor;
        }
        Some(old) => *old = item,
        None => _ = table.insert(key, item),
    }
}

fn typed(text: &str) -> Value {
    match (text.parse::<i64>(), text) {
        (Ok(number), _) => number.into(),
        (_, "true") => true.into(),
        (_, "false") => false.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "machine = \"1cpu\" # small\n\n[cgroup.\"/a\"]\n\"cpu.weight\" = 100 # default\n\n\
                        [[workload]]\nkind = \"hog\"\nname = \"x\"\n\n[[workload]]\nkind = \"hog\"\nname = \"y\"\n";

    fn after(choices: &[(&str, &str)]) -> Result<String, ChoiceError> {
        let keys: Vec<(Key, &str)> = choices.iter().map(|(k, v)| (k.parse().unwrap(), *v)).collect();
        edit(TEXT, keys.iter().map(|(k, v)| (k, *v)))
    }

    #[test]
    fn keys_are_written_as_they_are_read() {
        for key in ["kernel", "machine", "duration", "set:hz", "cgroup:/a/b:cpu.weight", "workload:a:nice"] {
            assert_eq!(key.parse::<Key>().unwrap().to_string(), key);
        }
        for key in ["", "kernels", "set:", "cgroup:/a", "workload::x", "workload:x:", "seed"] {
            assert_eq!(key.parse::<Key>(), Err(ChoiceError::Key(key.into())));
        }
    }

    #[test]
    fn nothing_moves_but_what_varies() {
        assert_eq!(after(&[("kernel", "6.1")]).unwrap(), TEXT);
        let heavier = after(&[("cgroup:/a:cpu.weight", "300")]).unwrap();
        assert_eq!(heavier, TEXT.replace("100 # default", "300 # default"));
        let sliced = after(&[("workload:y:slice", "3ms"), ("workload:x:count", "4")]).unwrap();
        assert_eq!(
            sliced,
            TEXT.replace("name = \"x\"\n", "name = \"x\"\ncount = 4\n")
                .replace("name = \"y\"\n", "name = \"y\"\nslice = \"3ms\"\n")
        );
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        assert!(after(&[("cgroup:/b:cpu.weight", "3")]).unwrap_err().to_string().ends_with("it has: /a"));
        assert!(after(&[("workload:z:nice", "3")]).unwrap_err().to_string().ends_with("it has: x, y"));
    }
}
