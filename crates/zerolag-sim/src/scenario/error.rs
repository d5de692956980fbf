// SPDX-License-Identifier: GPL-2.0-only
//! What can be wrong with a scenario or a context file.

use std::fmt;

use zerolag_core::features::FeatureError;

use crate::machines::{MachineError, Place};
use crate::program::ProgramError;
use crate::workload::WorkloadError;
use crate::workload::options::OptionError;
use crate::workload::rtapp::RtAppError;

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{file}{place}: {fault}")]
pub struct ScenarioError {
    /// The file.
    pub file: String,
    /// The place in it; unknown if it concerns the file as a whole.
    pub place: Place,
    /// What is wrong.
    pub fault: Box<Fault>,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not text.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is not TOML.
    #[error("not TOML: {0}")]
    Toml(String),
    /// A key means nothing where it stands.
    #[error("unknown key '{key}' in {scope}{}; accepted: {accepted}", DidYouMean(.nearest))]
    UnknownKey {
        /// The key.
        key: String,
        /// Where it stands.
        scope: String,
        /// The accepted key that looks most like it.
        nearest: Option<String>,
        /// All that are accepted.
        accepted: String,
    },
    /// A key that must be there is not.
    #[error("{scope} has no '{key}' (accepted: {accepted})")]
    Missing {
        /// The key.
        key: &'static str,
        /// Where it belongs.
        scope: String,
        /// What it would say.
        accepted: String,
    },
    /// A value is of the wrong kind, out of range, or names nothing.
    #[error("'{key}' is {found}{}; accepted: {accepted}", DidYouMean(.nearest))]
    Value {
        /// The key.
        key: String,
        /// What it is.
        found: String,
        /// What it may be.
        accepted: String,
        /// The accepted one that looks most like it.
        nearest: Option<String>,
    },
    /// The kernel does not have a feature that others have.
    #[error(transparent)]
    Feature(#[from] FeatureError),
    /// Two keys exclude each other.
    #[error("{scope} has both '{first}' and '{second}'; accepted: one of them")]
    Both {
        /// Where.
        scope: String,
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// The text of a program makes no sense.
    #[error("in the program: found {found}{}; accepted: {accepted}", DidYouMean(.nearest))]
    Program {
        /// What stands there.
        found: String,
        /// What could stand there.
        accepted: String,
        /// The accepted one that looks most like it.
        nearest: Option<String>,
    },
    /// A program that can be read makes no sense.
    #[error("the program makes no sense: {0}")]
    Senseless(#[from] ProgramError),
    /// Each part is right, but together they make no sense.
    #[error("{0}")]
    Sense(String),
    /// A file that this one refers to cannot be read.
    #[error("cannot read '{file}': {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// The machine's file is wrong.
    #[error("the machine: {0}")]
    Machine(MachineError),
    /// An rt-app file is wrong.
    #[error("{0}")]
    RtApp(Box<RtAppError>),
    /// The options of a model are wrong.
    #[error("{0}")]
    Options(OptionError),
    /// Everything can be read, but does not fit together.
    #[error("{0}")]
    Workload(#[from] WorkloadError),
}

pub(crate) struct DidYouMean<'a>(pub(crate) &'a Option<String>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (did you mean '{name}'?)"),
            None => Ok(()),
        }
    }
}

/// Of these names the one that looks most like `found`, if any looks like it at all: by common beginnings and
/// letters, or because one slip of the finger lies between them.
pub fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let found = found.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let slip = strsim::osa_distance(&found, &name) == 1 && found.len() > 2;
        strsim::jaro_winkler(&found, &name).max(if slip { 0.9 } else { 0.0 })
    };
    let rated = names.into_iter().map(|name| (likeness(name), name));
    let best = rated.filter(|&(likeness, _)| likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, name)| name.to_owned())
}
