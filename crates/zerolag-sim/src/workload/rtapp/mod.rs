// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's workload files: JSON descriptions of threads that run, sleep and wait for each other.
//!
//! ```text
//! text ── json ── reading ── RtApp ── programs ── machine ── marks ── log rows, trace markers
//!                 (here)     (spec)
//! ```
//!
//! A file has `tasks`, each with attributes and `phases`, each with attributes and events in order; a task
//! with one phase may have the events in itself. An event is known by the beginning of its key, so `run`,
//! `run2` and `run_fast` are the same. [`read`] takes a file apart by the rules of rt-app itself; what is
//! known to surprise its users becomes a [`Remark`] or, in [`Mode::Strict`], an error:
//!
//! | in the file | [`Mode::Strict`] | [`Mode::Compatible`] |
//! |---|---|---|
//! | duplicate event keys | all are done, in order (what `workgen` is for) | the last value, in the first place |
//! | duplicate task, attribute | error | the last value, in the first place |
//! | duplicate phase | both | the last, in the first place |
//! | key without a value | an empty string | error |
//! | unknown key | error with the nearest known one | ignored |
//! | event beside `phases` | error | ignored |
//! | `wait` without `ref` or `mutex` | error | the name `unknown` |
//! | integer beyond 32 bits | error | cut to 32 bits |
//! | negative loop but -1 | error | without end |
//!
//! In both, what rt-app would find out only while running is an error of reading: priorities and reservations
//! that the kernel refuses, unknown tasks in `fork`, negative durations.
//!
//! Source: rt-app `src/rt-app_parse_config.c`, `src/rt-app.c`, `doc/workgen` of 2026-04.

mod attributes;
mod compile;
mod error;
mod events;
mod fields;
mod global;
mod keys;
mod log;
mod marker;
mod marks;
mod memory;
mod observe;
mod spec;
mod task;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use compile::{NANOS_PER_LOOP, Options, add};
pub use error::{Problem, Remark, RtAppError};
use fields::{Failure, Reader, Scope};
pub use log::{LOG_HEADER, Log, LogRow};
pub use marker::Marker;
pub use marks::Compiled;
pub use memory::MemoryCosts;
pub use observe::{Observer, Record};
pub use spec::{
    Calibration, Categories, Event, EventKind, Global, LogSize, MemAccess, MemRun, Phase, Placement, Policy,
    Repeat, RtApp, Scheduling, Task, TimerName, TimerSpec,
};

use crate::workload::json::{self, Dialect, Object, Position, Value};

/// How strictly a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Keys that mean nothing are errors; duplicate events are all done.
    #[default]
    Strict,
    /// As rt-app itself, without `workgen`.
    Compatible,
}

/// Under which name `suspend` waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SuspendName {
    /// The task's own; the event's string does not count (rt-app since June 2025).
    #[default]
    Task,
    /// The event's string, and the task's name without one (rt-app before).
    Text,
}

/// Reads a file.
///
/// # Errors
/// [`RtAppError`] with the place of the first thing that is wrong.
///
/// ```
/// use zerolag_sim::workload::rtapp::{EventKind, Mode, SuspendName, read};
///
/// let text = br#"{ "tasks": { "a": { "run": 1000, "sleep": 500, "run": 2000 } } }"#;
/// let file = read("a.json", text, Mode::Strict, SuspendName::Task)?;
/// assert_eq!(file.tasks[0].phases[0].events.len(), 3);
///
/// let error = read("a.json", br#"{ "tasks": { "a": { "slepp": 1 } } }"#, Mode::Strict, SuspendName::Task);
/// assert!(error.unwrap_err().to_string().contains("did you mean 'sleep'?"));
/// # Ok::<(), zerolag_sim::workload::rtapp::RtAppError>(())
/// ```
pub fn read(file: &str, text: &[u8], mode: Mode, suspend: SuspendName) -> Result<RtApp, RtAppError> {
    let failed = |(at, problem): Failure| RtAppError { file: file.into(), at, problem: Box::new(problem) };
    let dialect = match mode {
        Mode::Strict => Dialect::Workgen,
        Mode::Compatible => Dialect::JsonC,
    };
    let root = json::parse(text, dialect).map_err(|e| failed((e.at, Problem::Json(e.kind))))?;
    let mut reader = Reader {
        mode,
        suspend,
        remarks: Vec::new(),
        shared_timers: Vec::new(),
        buffers: BTreeMap::new(),
        groups: BTreeSet::new(),
    };
    let (global, tasks) = document(&mut reader, &root).map_err(failed)?;
    let Reader { remarks, shared_timers, .. } = reader;
    Ok(RtApp { file: file.into(), global, tasks, shared_timers, remarks })
}

/// Reads the root object (`get_opts_from_json_object()`).
fn document(reader: &mut Reader, root: &Value) -> Result<(Global, Vec<Task>), Failure> {
    let wrong = |at: Position, key: &str, value: &Value| {
        let (found, accepted) = (value.describe(), "an object".into());
        (at, Problem::Value { key: key.into(), found, accepted })
    };
    let mode = reader.mode;
    let members = root.as_object().ok_or_else(|| wrong(root.at, "the file", root))?;
    let scope = Scope { members, at: root.at, name: "the file", mode };
    scope.check_keys(&[keys::ROOT], false)?;
    let section = |name: &'static str| -> Result<Option<(&Object, Position)>, Failure> {
        let Some(member) = scope.get(name) else { return Ok(None) };
        let members = member.value.as_object().ok_or_else(|| wrong(member.value.at, name, &member.value))?;
        Ok(Some((members, member.key_at)))
    };
    let global = match section("global")? {
        Some((members, at)) => global::read(reader, Scope { members, at, name: "'global'", mode })?,
        None => Global::absent(),
    };
    if let Some((members, at)) = section("resources")? {
        global::check_resources(Scope { members, at, name: "'resources'", mode })?;
    }
    let missing = || (root.at, Problem::Missing { key: "tasks", scope: "the file".into() });
    let (members, at) = section("tasks")?.ok_or_else(missing)?;
    if members.iter().next().is_none() && mode == Mode::Strict {
        return Err((at, Problem::NoTasks));
    }
    let tasks = Scope { members, at, name: "'tasks'", mode };
    let tasks = task::read_all(reader, tasks, global.default_policy)?;
    check_names(reader, &tasks)?;
    Ok((global, tasks))
}

/// Checks what can be checked only when all tasks are known: who is forked, and who is resumed.
fn check_names(reader: &mut Reader, tasks: &[Task]) -> Result<(), Failure> {
    let events = || tasks.iter().flat_map(|t| &t.phases).flat_map(|p| &p.events);
    let names: BTreeSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    let mut forked: BTreeSet<&str> = BTreeSet::new();
    let mut suspended: BTreeSet<&str> = BTreeSet::new();
    for event in events() {
        match &event.kind {
            EventKind::Fork(name) if !names.contains(name.as_str()) => {
                let nearest = error::nearest(name, names.iter().copied()).map(String::from);
                let (key, found) = (event.key.clone(), name.clone());
                return Err((event.at, Problem::UnknownName { key, what: "task", found, nearest }));
            }
            EventKind::Fork(name) => {
                forked.insert(name);
            }
            EventKind::Suspend(name) | EventKind::Wait { condition: name, .. } => {
                suspended.insert(name);
            }
            EventKind::Sync { condition, .. } => {
                suspended.insert(condition);
            }
            _ => {}
        }
    }
    for event in events() {
        if let EventKind::Resume(name) = &event.kind
            && !suspended.contains(name.as_str())
        {
            reader.remark(event.at, format!("resume: nobody is ever suspended under '{name}'"));
        }
    }
    for task in tasks.iter().filter(|task| forked.contains(task.name.as_str())) {
        for event in task.phases.iter().flat_map(|phase| &phase.events) {
            if let EventKind::Barrier(name) = &event.kind {
                let (name, scope) = (name.clone(), format!("task '{}'", task.name));
                return Err((event.at, Problem::ForkedBarrier { name, scope }));
            }
        }
    }
    Ok(())
}
