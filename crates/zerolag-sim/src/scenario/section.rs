// SPDX-License-Identifier: GPL-2.0-only
//! Walking over TOML so that every error knows its line and column.
//!
//! A [`Section`] is a table that is being read. It remembers what was asked for; in the end, whatever else is
//! in it is an unknown key, and what was asked for is what would have been accepted.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::units::Nanos;

use super::error::{Fault, ScenarioError, nearest};
use crate::duration;
use crate::machines::Place;

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl<'t> Source<'t> {
    /// # Errors
    /// If it is not text.
    pub(crate) fn new(file: &'t str, bytes: &'t [u8]) -> Result<Self, ScenarioError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { file, text }),
            Err(e) => {
                let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
                let source = Self { file, text: good };
                Err(source.error(good.len()..good.len(), Fault::NotUtf8))
            }
        }
    }

    /// # Errors
    /// If it is not TOML.
    pub(crate) fn parse(self) -> Result<Spanned<DeTable<'t>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|e| {
            let message = e.message().lines().collect::<Vec<_>>().join(", ");
            self.error(e.span().unwrap_or_default(), Fault::Toml(message))
        })
    }

    /// Line and column at which the span begins.
    pub(crate) fn place(self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        Place { line, column }
    }

    pub(crate) fn error(self, span: Range<usize>, fault: Fault) -> ScenarioError {
        ScenarioError { file: self.file.into(), place: self.place(span.start), fault: fault.into() }
    }
}

/// A table that is being read.
#[derive(Debug)]
pub(crate) struct Section<'t> {
    pub(crate) source: Source<'t>,
    /// What it is called in messages.
    pub(crate) scope: String,
    table: &'t DeTable<'t>,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'t> Section<'t> {
    pub(crate) fn new(
        source: Source<'t>,
        scope: impl Into<String>,
        table: &'t DeTable<'t>,
        span: Range<usize>,
    ) -> Self {
        Self { source, scope: scope.into(), table, span, asked: RefCell::default() }
    }

    /// The value of this key.
    pub(crate) fn get(&self, key: &'static str) -> Option<Entry<'t>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).map(|value| Entry { source: self.source, key, value })
    }

    /// The value of this key, which must be there and is described by `accepted`.
    pub(crate) fn need(&self, key: &'static str, accepted: &str) -> Result<Entry<'t>, ScenarioError> {
        self.get(key).ok_or_else(|| {
            self.error(Fault::Missing { key, scope: self.scope.clone(), accepted: accepted.into() })
        })
    }

    /// All keys, as they were chosen by the author.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'t>> {
        let source = self.source;
        self.table.iter().map(move |(key, value)| Entry { source, key: key.get_ref(), value })
    }

    /// The duration of this key, if there is one.
    pub(crate) fn duration(&self, key: &'static str) -> Result<Option<Nanos>, ScenarioError> {
        self.get(key).map(|e| e.duration()).transpose()
    }

    /// The integer of this key, if there is one.
    pub(crate) fn integer(
        &self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, ScenarioError> {
        self.get(key).map(|e| e.integer(range)).transpose()
    }

    /// The truth value of this key, if there is one.
    pub(crate) fn boolean(&self, key: &'static str) -> Result<Option<bool>, ScenarioError> {
        self.get(key).map(|e| e.boolean()).transpose()
    }

    /// The text of this key, if there is one.
    pub(crate) fn text(&self, key: &'static str) -> Result<Option<&'t str>, ScenarioError> {
        self.get(key).map(|e| e.text()).transpose()
    }

    /// Tables of the array of this key.
    pub(crate) fn sections(&self, key: &'static str) -> Result<Vec<Section<'t>>, ScenarioError> {
        let Some(entry) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = entry.value.get_ref() else {
            return Err(entry.wrong("tables, as in [[...]]"));
        };
        let table = |(n, value)| Entry { source: self.source, key, value }.table(format!("{key} {}", n + 1));
        items.iter().enumerate().map(table).collect()
    }

    /// Nothing else may be in it.
    pub(crate) fn finish(self) -> Result<(), ScenarioError> {
        let asked = self.asked.borrow();
        let unknown = self.table.keys().filter(|key| !asked.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let mut accepted = asked.clone();
        accepted.dedup();
        let fault = Fault::UnknownKey {
            key: key.get_ref().to_string(),
            scope: self.scope.clone(),
            nearest: nearest(key.get_ref(), accepted.iter().copied()),
            accepted: accepted.join(", "),
        };
        Err(self.source.error(key.span(), fault))
    }

    /// An error about the table as a whole.
    pub(crate) fn error(&self, fault: Fault) -> ScenarioError {
        self.source.error(self.span.clone(), fault)
    }
}

/// A value with its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'t> {
    source: Source<'t>,
    pub(crate) key: &'t str,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Entry<'t> {
    pub(crate) fn text(&self) -> Result<&'t str, ScenarioError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a text in quotes")),
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool, ScenarioError> {
        match self.value.get_ref() {
            DeValue::Boolean(b) => Ok(*b),
            _ => Err(self.wrong("true or false")),
        }
    }

    pub(crate) fn integer(&self, range: RangeInclusive<i64>) -> Result<i64, ScenarioError> {
        let number = match self.value.get_ref() {
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok(),
            _ => None,
        };
        let accepted = || match (*range.start(), *range.end()) {
            (least, i64::MAX) => format!("an integer from {least} on"),
            (least, most) => format!("an integer from {least} to {most}"),
        };
        number.filter(|n| range.contains(n)).ok_or_else(|| self.wrong(accepted()))
    }

    pub(crate) fn duration(&self) -> Result<Nanos, ScenarioError> {
        match self.value.get_ref() {
            DeValue::String(text) => {
                duration::parse(text).map_err(|e| self.wrong(format_args!("{}; {e}", duration::ACCEPTED)))
            }
            DeValue::Integer(_) | DeValue::Float(_) => Err(self.wrong(format_args!(
                "{}, in quotes; a mere number does not say what it counts",
                duration::ACCEPTED
            ))),
            _ => Err(self.wrong(duration::ACCEPTED)),
        }
    }

    /// A duration that is not 0.
    pub(crate) fn some_time(&self) -> Result<Nanos, ScenarioError> {
        match self.duration()? {
            Nanos::ZERO => Err(self.wrong("a duration that is not 0")),
            some => Ok(some),
        }
    }

    /// A set of CPUs of a machine that has `count`.
    pub(crate) fn cpus(&self, count: usize) -> Result<CpuSet, ScenarioError> {
        let accepted = || format!("CPUs of this machine, 0 to {}, as in \"0-1,3\"", count - 1);
        let set: CpuSet = match self.value.get_ref() {
            DeValue::String(text) => text.parse().map_err(|_| self.wrong(accepted()))?,
            DeValue::Integer(i) => i.as_str().parse().map_err(|_| self.wrong(accepted()))?,
            _ => return Err(self.wrong(accepted())),
        };
        if set.is_empty() || !set.is_subset(&CpuSet::first_n(count)) {
            return Err(self.wrong(accepted()));
        }
        Ok(set)
    }

    pub(crate) fn table(&self, scope: impl Into<String>) -> Result<Section<'t>, ScenarioError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Section::new(self.source, scope, table, self.value.span())),
            _ => Err(self.wrong("a table")),
        }
    }

    /// Whether it is a text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }

    /// The value is not what it should be.
    pub(crate) fn wrong(&self, accepted: impl Display) -> ScenarioError {
        self.wrong_name(accepted, [])
    }

    /// The value is not one of these names.
    pub(crate) fn wrong_name<'n>(
        &self,
        accepted: impl Display,
        names: impl IntoIterator<Item = &'n str>,
    ) -> ScenarioError {
        let (found, near) = match self.value.get_ref() {
            DeValue::String(text) => (format!("'{}'", text.escape_debug()), nearest(text, names)),
            DeValue::Integer(i) => (i.to_string(), None),
            DeValue::Float(f) => (f.to_string(), None),
            DeValue::Boolean(b) => (b.to_string(), None),
            DeValue::Datetime(d) => (d.to_string(), None),
            DeValue::Array(_) => ("an array".into(), None),
            DeValue::Table(_) => ("a table".into(), None),
        };
        let key = self.key.to_owned();
        self.error(Fault::Value { key, found, accepted: accepted.to_string(), nearest: near })
    }

    pub(crate) fn error(&self, fault: Fault) -> ScenarioError {
        self.source.error(self.value.span(), fault)
    }

    /// Where a place within the text is in the file: exactly, unless there are escapes in it.
    pub(crate) fn place_in_text(&self, offset: usize) -> Place {
        let span = self.value.span();
        let DeValue::String(text) = self.value.get_ref() else { return self.source.place(span.start) };
        let raw = self.source.text.get(span.clone()).unwrap_or_default();
        match raw.find(text.as_ref()) {
            Some(start) => self.source.place(span.start + start + offset),
            None => self.source.place(span.start),
        }
    }

    pub(crate) fn error_in_text(&self, offset: usize, fault: Fault) -> ScenarioError {
        ScenarioError {
            file: self.source.file.into(),
            place: self.place_in_text(offset),
            fault: fault.into(),
        }
    }
}
