// SPDX-License-Identifier: GPL-2.0-only
//! Taking typed values out of an object, and refusing what does not belong in it.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Problem, Remark, nearest};
use super::spec::{MemRun, TimerSpec};
use super::{Mode, SuspendName, keys};
use crate::workload::json::{Data, Member, Object, Position, Value};

/// A problem with its place; the file's name is added at the end.
pub(super) type Failure = (Position, Problem);

/// What reading a file carries along.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) mode: Mode,
    pub(super) suspend: SuspendName,
    pub(super) remarks: Vec<Remark>,
    /// Timers that threads share, in order of first mention.
    pub(super) shared_timers: Vec<TimerSpec>,
    /// The first `memrun` event of each shared buffer.
    pub(super) buffers: BTreeMap<String, Vec<MemRun>>,
    /// Task groups named so far.
    pub(super) groups: BTreeSet<String>,
}

impl Reader {
    pub(super) fn remark(&mut self, at: Position, text: impl Into<String>) {
        self.remarks.push(Remark { at, text: text.into() });
    }
}

/// An object and what it is called in messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) members: &'a Object,
    pub(super) at: Position,
    pub(super) name: &'a str,
    pub(super) mode: Mode,
}

/// The problem that a member's value is not what it should be.
pub(super) fn bad_value(member: &Member, accepted: impl Into<String>) -> Failure {
    let problem =
        Problem::Value { key: member.key.clone(), found: member.value.describe(), accepted: accepted.into() };
    (member.value.at, problem)
}

/// An integer as json-c gives it to rt-app: 32 bits. Greater ones are cut there, or refused.
pub(super) fn int(member: &Member, mode: Mode) -> Result<i32, Failure> {
    let number = member.value.as_int().ok_or_else(|| bad_value(member, "an integer"))?;
    match i32::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) if mode == Mode::Compatible => Ok(if number < 0 { i32::MIN } else { i32::MAX }),
        Err(_) => Err(bad_value(member, format!("an integer up to {}", i32::MAX))),
    }
}

/// An integer that is a quantity.
pub(super) fn natural(member: &Member, mode: Mode) -> Result<u32, Failure> {
    let number = int(member, mode)?;
    u32::try_from(number).map_err(|_| bad_value(member, "0 or more"))
}

/// A string.
pub(super) fn text(member: &Member) -> Result<&str, Failure> {
    member.value.as_text().ok_or_else(|| bad_value(member, "a string"))
}

/// One of a set of words.
pub(super) fn word<T: Copy>(member: &Member, words: &[(&'static str, T)]) -> Result<T, Failure> {
    let accepted = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let found = member.value.as_text().ok_or_else(|| bad_value(member, accepted()))?;
    let known = words.iter().find(|(word, _)| *word == found);
    known.map(|(_, meaning)| *meaning).ok_or_else(|| bad_value(member, accepted()))
}

impl<'a> Scope<'a> {
    /// The first member with this key, unless its value is `null`: json-c makes no difference between the two.
    pub(super) fn get(&self, key: &str) -> Option<&'a Member> {
        self.members.get(key).filter(|member| member.value.data != Data::Null)
    }

    pub(super) fn int(&self, key: &str) -> Result<Option<i32>, Failure> {
        self.get(key).map(|member| int(member, self.mode)).transpose()
    }

    pub(super) fn natural(&self, key: &str) -> Result<Option<u32>, Failure> {
        self.get(key).map(|member| natural(member, self.mode)).transpose()
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, Failure> {
        let read = |member: &Member| member.value.as_bool().ok_or_else(|| bad_value(member, "true, false"));
        self.get(key).map(read).transpose()
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Failure> {
        self.get(key).map(text).transpose()
    }

    /// An array of numbers of things, with at least one element.
    pub(super) fn numbers(&self, key: &str) -> Result<Option<Vec<u32>>, Failure> {
        let Some(member) = self.get(key) else { return Ok(None) };
        let number = |value: &Value| value.as_int().and_then(|n| u32::try_from(n).ok());
        let elements = member.value.as_array().filter(|elements| !elements.is_empty());
        let elements = elements.ok_or_else(|| bad_value(member, "an array of at least one number"))?;
        let read = |value: &Value| {
            let at_element = Member { key: member.key.clone(), key_at: member.key_at, value: value.clone() };
            number(value).ok_or_else(|| bad_value(&at_element, "numbers from 0"))
        };
        elements.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// Refuses members that mean nothing here, and the second of two that mean the same. `events` says whether
    /// events are expected, which may repeat. json-c has no such scruples.
    pub(super) fn check_keys(&self, known: &[&[&'static str]], events: bool) -> Result<(), Failure> {
        if self.mode == Mode::Compatible {
            return Ok(());
        }
        let is_known = |key: &str| known.iter().any(|keys| keys.contains(&key));
        let mut firsts: BTreeMap<&str, Position> = BTreeMap::new();
        for member in self.members {
            let key = member.key.as_str();
            // `lock_pages` in a task would be taken for a `lock`.
            let is_event = events && keys::event(key).is_some() && !keys::GLOBAL.contains(&key);
            if !is_known(key) && !is_event {
                let known = || known.iter().copied().flatten().copied();
                let with_events = || known().chain(keys::EVENTS.iter().copied().filter(move |_| events));
                let mut accepted = known().collect::<Vec<_>>().join(", ");
                if events {
                    accepted += &format!("; events: {}", keys::EVENTS.join(", "));
                }
                let problem = Problem::UnknownKey {
                    key: key.into(),
                    scope: self.name.into(),
                    nearest: nearest(key, with_events()),
                    belongs: keys::home(key),
                    accepted,
                };
                return Err((member.key_at, problem));
            }
            let first = *firsts.entry(key).or_insert(member.key_at);
            if first != member.key_at && !is_event {
                let problem = Problem::Duplicate { key: key.into(), scope: self.name.into(), first };
                return Err((member.key_at, problem));
            }
        }
        Ok(())
    }
}
