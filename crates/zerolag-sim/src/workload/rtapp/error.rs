// SPDX-License-Identifier: GPL-2.0-only
//! Why a file is refused, and what is worth knowing about one that is not.

use std::fmt;

use crate::program::ProgramError;
use crate::workload::json::{JsonErrorKind, Position};

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{at}: {problem}")]
pub struct RtAppError {
    /// The file.
    pub file: String,
    /// The place.
    pub at: Position,
    /// What is wrong.
    pub problem: Box<Problem>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not even JSON.
    #[error("{0}")]
    Json(JsonErrorKind),
    /// A key that must be there is not.
    #[error("{scope} has no '{key}'")]
    Missing {
        /// The key.
        key: &'static str,
        /// Where it belongs.
        scope: String,
    },
    /// A key means nothing where it stands.
    #[error("unknown key '{key}' in {scope}{}; accepted: {accepted}", hint(.nearest, .belongs))]
    UnknownKey {
        /// The key.
        key: String,
        /// Where it stands.
        scope: String,
        /// The accepted key that looks most like it.
        nearest: Option<&'static str>,
        /// Where it would mean something.
        belongs: Option<&'static str>,
        /// What is accepted.
        accepted: String,
    },
    /// A value is of the wrong kind or out of range.
    #[error("'{key}' is {found}, accepted: {accepted}")]
    Value {
        /// The key.
        key: String,
        /// What it is.
        found: String,
        /// What it may be.
        accepted: String,
    },
    /// A value names something that does not exist.
    #[error("'{key}' names {what} '{found}', which does not exist{}", hint(.nearest, &None))]
    UnknownName {
        /// The key.
        key: String,
        /// What sort of thing it should be.
        what: &'static str,
        /// The name.
        found: String,
        /// The existing name that looks most like it.
        nearest: Option<String>,
    },
    /// The same key twice where only one can count.
    #[error("'{key}' twice in {scope}, first at {first}")]
    Duplicate {
        /// The key.
        key: String,
        /// Where.
        scope: String,
        /// Where it stands first.
        first: Position,
    },
    /// Nobody who does anything.
    #[error("'tasks' has none, so nothing would run; rt-app itself ends at once, as --rtapp-compat does")]
    NoTasks,
    /// Nothing to do.
    #[error("{scope} has no events, and would be useless; accepted: {accepted}")]
    NoEvents {
        /// What has none.
        scope: String,
        /// The events there are.
        accepted: String,
    },
    /// An event that is never reached because the task has phases.
    #[error("event '{key}' stands beside 'phases' in {scope} and would never run; move it into a phase")]
    EventBesidePhases {
        /// The event.
        key: String,
        /// The task.
        scope: String,
    },
    /// A task group with a policy that has no groups.
    #[error(
        "{scope} is in task group '{group}' with policy {policy}; groups are for SCHED_OTHER, SCHED_BATCH and SCHED_IDLE"
    )]
    GroupPolicy {
        /// The task or phase.
        scope: String,
        /// The group.
        group: String,
        /// The policy.
        policy: &'static str,
    },
    /// A barrier in a task that is forked: nobody can know how many will come.
    #[error(
        "barrier '{name}' in {scope}, which is forked: nobody can know how many threads it is to wait for"
    )]
    ForkedBarrier {
        /// The barrier.
        name: String,
        /// The task.
        scope: String,
    },
    /// Two `memrun` events share a buffer and do not agree on it.
    #[error("buffer '{name}' is shared by memrun events that differ in size, stride or pattern")]
    BufferMismatch {
        /// The buffer's name.
        name: String,
    },
    /// A task that goes round without end, and time never passes.
    #[error(
        "task '{task}' goes round without end and never takes time; it must run, sleep or wait somewhere"
    )]
    TakesNoTime {
        /// The task.
        task: String,
    },
    /// A task that cannot be made a program.
    #[error("task '{task}': {error}")]
    Program {
        /// The task.
        task: String,
        /// Why not.
        error: ProgramError,
    },
    /// Too many of something.
    #[error("{count} {what} (accepted: up to {max})")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// How many there may be.
        max: u64,
    },
}

fn hint<T: fmt::Display>(nearest: &Option<T>, belongs: &Option<&'static str>) -> String {
    match (nearest, belongs) {
        (_, Some(place)) => format!(" (it belongs to {place})"),
        (Some(name), None) => format!(" (did you mean '{name}'?)"),
        (None, None) => String::new(),
    }
}

/// Something accepted that may not do what its author thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub at: Position,
    /// What.
    pub text: String,
}

/// The name most like `wanted`, if any is like enough: at most one edit in three characters.
pub(super) fn nearest<T: AsRef<str>>(wanted: &str, names: impl IntoIterator<Item = T>) -> Option<T> {
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name.as_ref()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
