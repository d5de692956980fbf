// SPDX-License-Identifier: GPL-2.0-only
//! Events (`parse_task_event_data()`).

use std::collections::BTreeSet;

use zerolag_core::units::Nanos;

use super::error::Problem;
use super::fields::{Failure, Reader, Scope, bad_value, natural, text, word};
use super::spec::{Event, EventKind, MemAccess, MemRun, TimerName, TimerSpec};
use super::{Mode, SuspendName, keys};
use crate::workload::json::{Data, Member, Object, Position};

/// Timers that one task may have for itself.
const OWN_TIMERS_MAX: usize = 256;

/// Name of a timer, condition or mutex that an event leaves out.
const UNNAMED: &str = "unknown";

/// The task whose events are read.
#[derive(Debug)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) own_timers: Vec<TimerSpec>,
}

/// Reads the events among the members of a phase, or of a task without phases.
pub(super) fn read(
    reader: &mut Reader,
    scope: Scope<'_>,
    owner: &mut Owner<'_>,
) -> Result<Vec<Event>, Failure> {
    let mut events = Vec::new();
    for (member, key) in scope.members.iter().zip(unique_keys(scope.members)) {
        if let Some(event) = keys::event(&member.key) {
            let kind = kind(reader, event, member, owner)?;
            events.push(Event { key, at: member.key_at, kind });
        }
    }
    if events.is_empty() {
        let problem = Problem::NoEvents { scope: scope.name.into(), accepted: keys::EVENTS.join(", ") };
        return Err((scope.at, problem));
    }
    Ok(events)
}

/// The keys of an object as `workgen` makes them unique: a number is appended to one seen before. The number
/// only ever grows within an object, whichever key needs it.
fn unique_keys(members: &Object) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut number = 1;
    let mut keys = Vec::with_capacity(members.len());
    for member in members {
        let mut key = member.key.clone();
        while !seen.insert(key.clone()) {
            key = format!("{}{number}", member.key);
            if seen.contains(&key) {
                number += 1;
            }
        }
        keys.push(key);
    }
    keys
}

fn kind(
    reader: &mut Reader,
    event: &'static str,
    member: &Member,
    owner: &mut Owner<'_>,
) -> Result<EventKind, Failure> {
    let name = |member| text(member).map(String::from);
    let span = |member| Ok(Nanos::from_micros(natural(member, reader.mode)?.into()));
    let count = |member| Ok(u64::from(natural(member, reader.mode)?));
    Ok(match event {
        "run" => EventKind::Run(span(member)?),
        "runtime" => EventKind::Runtime(span(member)?),
        "sleep" => EventKind::Sleep(span(member)?),
        "mem" => EventKind::Mem { bytes: count(member)? },
        "iorun" => EventKind::IoRun { bytes: count(member)? },
        "memrun" => EventKind::MemRun(memrun(reader, member)?),
        "timer" => timer(reader, member, owner)?,
        "lock" => EventKind::Lock(name(member)?),
        "unlock" => EventKind::Unlock(name(member)?),
        "signal" => EventKind::Signal(name(member)?),
        "broad" => EventKind::Broadcast(name(member)?),
        "wait" | "sync" => {
            let (condition, mutex) = condition(reader, event, member)?;
            if event == "wait" {
                EventKind::Wait { condition, mutex }
            } else {
                EventKind::Sync { condition, mutex }
            }
        }
        "suspend" => EventKind::Suspend(suspend(reader, member, owner.name)?),
        "resume" => EventKind::Resume(name(member)?),
        "barrier" => EventKind::Barrier(name(member)?),
        "fork" => EventKind::Fork(name(member)?),
        "sem_post" => EventKind::SemPost(name(member)?),
        "sem_wait" => EventKind::SemWait(name(member)?),
        _ => EventKind::Yield,
    })
}

/// The object that describes an event. rt-app takes whatever it does not understand for an empty one.
fn object<'a>(
    reader: &Reader,
    event: &'a str,
    member: &'a Member,
    none: &'a Object,
    known: &[&'static str],
) -> Result<Scope<'a>, Failure> {
    let members = match member.value.as_object() {
        Some(members) => members,
        None if reader.mode == Mode::Compatible => none,
        None => return Err(bad_value(member, format!("an object of {}", known.join(", ")))),
    };
    let scope = Scope { members, at: member.value.at, name: event, mode: reader.mode };
    scope.check_keys(&[known], false)?;
    Ok(scope)
}

fn condition(reader: &Reader, event: &'static str, member: &Member) -> Result<(String, String), Failure> {
    let none = Object::default();
    let scope = object(reader, event, member, &none, &["ref", "mutex"])?;
    let named = |key: &'static str| match scope.text(key)? {
        Some(name) => Ok(name.to_string()),
        None if reader.mode == Mode::Compatible => Ok(UNNAMED.to_string()),
        None => Err((scope.at, Problem::Missing { key, scope: format!("'{event}'") })),
    };
    Ok((named("ref")?, named("mutex")?))
}

fn timer(reader: &mut Reader, member: &Member, owner: &mut Owner<'_>) -> Result<EventKind, Failure> {
    const MODES: &[(&str, bool)] = &[("relative", false), ("absolute", true)];
    let none = Object::default();
    let scope = object(reader, "timer", member, &none, &["ref", "period", "mode"])?;
    let name = scope.text("ref")?.unwrap_or(UNNAMED);
    let period = Nanos::from_micros(scope.natural("period")?.unwrap_or(0).into());
    let absolute = match scope.get("mode") {
        Some(mode) if reader.mode == Mode::Compatible => text(mode)?.starts_with("absolute"),
        Some(mode) => word(mode, MODES)?,
        None => false,
    };
    let own = name.starts_with("unique");
    let timers = if own { &mut owner.own_timers } else { &mut reader.shared_timers };
    let number = timers.iter().position(|timer| timer.name == name).unwrap_or_else(|| {
        timers.push(TimerSpec { name: name.into(), absolute: false });
        timers.len() - 1
    });
    timers[number].absolute |= absolute;
    let timer = match u8::try_from(number) {
        _ if !own => TimerName::Shared(name.into()),
        Ok(number) => TimerName::Own(number),
        Err(_) => {
            let (count, max) = (number as u64 + 1, OWN_TIMERS_MAX as u64);
            return Err((member.key_at, Problem::TooMany { what: "unique timers in a task", count, max }));
        }
    };
    Ok(EventKind::Timer { timer, period })
}

fn memrun(reader: &mut Reader, member: &Member) -> Result<MemRun, Failure> {
    const TYPES: &[(&str, char)] = &[("read", 'r'), ("write", 'w'), ("chase", 'c')];
    const PATTERNS: &[(&str, bool)] = &[("random", true), ("sequential", false)];
    let Data::Object(members) = &member.value.data else {
        return Err(bad_value(member, "an object of type, size, count, ref, stride, pattern"));
    };
    let scope = Scope { members, at: member.value.at, name: "memrun", mode: reader.mode };
    scope.check_keys(&[&["type", "size", "count", "ref", "stride", "pattern"]], false)?;
    let needed = |key: &'static str| {
        scope.get(key).ok_or_else(|| (scope.at, Problem::Missing { key, scope: "'memrun'".into() }))
    };
    let positive = |member: &Member| match natural(member, reader.mode)? {
        0 => Err(bad_value(member, "1 or more bytes")),
        bytes => Ok(bytes),
    };
    let access = match word(needed("type")?, TYPES)? {
        'r' => MemAccess::Read,
        'w' => MemAccess::Write,
        _ => MemAccess::Chase {
            stride_bytes: scope.get("stride").map_or(Ok(64), positive)?,
            random: match scope.get("pattern") {
                Some(pattern) if reader.mode == Mode::Compatible => text(pattern)? != "sequential",
                Some(pattern) => word(pattern, PATTERNS)?,
                None => true,
            },
        },
    };
    let run = MemRun {
        access,
        size_bytes: positive(needed("size")?)?,
        count: natural(needed("count")?, reader.mode)?.into(),
        shared: scope.text("ref")?.map(String::from),
    };
    agree(reader, &run, member.key_at)?;
    Ok(run)
}

/// Events of one type that share a buffer must mean the same buffer.
fn agree(reader: &mut Reader, run: &MemRun, at: Position) -> Result<(), Failure> {
    let Some(name) = &run.shared else { return Ok(()) };
    let users = reader.buffers.entry(name.clone()).or_default();
    let same_type =
        |other: &&MemRun| std::mem::discriminant(&other.access) == std::mem::discriminant(&run.access);
    match users.iter().find(same_type) {
        Some(first) if (first.access, first.size_bytes) != (run.access, run.size_bytes) => {
            Err((at, Problem::BufferMismatch { name: name.clone() }))
        }
        Some(_) => Ok(()),
        None => {
            users.push(run.clone());
            Ok(())
        }
    }
}

/// The name under which a task is suspended: since June 2025 its own, before that the string.
fn suspend(reader: &mut Reader, member: &Member, task: &str) -> Result<String, Failure> {
    let named = match &member.value.data {
        Data::Text(name) => Some(name.as_str()).filter(|name| !name.is_empty()),
        Data::Null => None,
        _ if reader.mode == Mode::Compatible => None,
        _ => return Err(bad_value(member, "a string, or nothing")),
    };
    match (reader.suspend, named) {
        (SuspendName::Text, Some(name)) => Ok(name.into()),
        (SuspendName::Task, Some(name)) if name != task => {
            reader.remark(
                member.key_at,
                format!("suspend: '{task}' waits under its own name; rt-app before June 2025 took '{name}'"),
            );
            Ok(task.into())
        }
        _ => Ok(task.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::json::{Dialect, parse};

    #[test]
    fn equal_keys_become_unique_as_workgen_makes_them() {
        let root = parse(b"{'run','run','sleep','sleep','run','run1','run1'}", Dialect::Workgen).unwrap();
        let keys = unique_keys(root.as_object().unwrap());
        assert_eq!(keys, ["run", "run1", "sleep", "sleep1", "run2", "run12", "run13"]);
    }
}
