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
pub struct Source<'t> {
    /// The file's name, for messages.
    pub file: &'t str,
    /// What is in it.
    pub text: &'t str,
}

impl<'t> Source<'t> {
    /// The text of these bytes.
    ///
    /// # Errors
    /// If it is not text.
    pub fn new(file: &'t str, bytes: &'t [u8]) -> Result<Self, ScenarioError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { file, text }),
            Err(e) => {
                let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
                let source = Self { file, text: good };
                Err(source.error(good.len()..good.len(), Fault::NotUtf8))
            }
        }
    }

    /// What it says.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(self) -> Result<Spanned<DeTable<'t>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|e| {
            let message = e.message().lines().collect::<Vec<_>>().join(", ");
            self.error(e.span().unwrap_or_default(), Fault::Toml(message))
        })
    }

    /// Line and column at which the span begins.
    pub fn place(self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
        Place { line, column }
    }

    /// An error at this place.
    pub fn error(self, span: Range<usize>, fault: Fault) -> ScenarioError {
        ScenarioError { file: self.file.into(), place: self.place(span.start), fault: fault.into() }
    }
}

/// A table that is being read.
#[derive(Debug)]
pub struct Section<'t> {
    /// Where it stands.
    pub source: Source<'t>,
    /// What it is called in messages.
    pub scope: String,
    table: &'t DeTable<'t>,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'t> Section<'t> {
    /// A table that begins to be read, with its name for messages.
    pub fn new(
        source: Source<'t>,
        scope: impl Into<String>,
        table: &'t DeTable<'t>,
        span: Range<usize>,
    ) -> Self {
        Self { source, scope: scope.into(), table, span, asked: RefCell::default() }
    }

    /// The value of this key.
    pub fn get(&self, key: &'static str) -> Option<Entry<'t>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).map(|value| Entry { source: self.source, key, value })
    }

    /// The value of this key, which must be there and is described by `accepted`.
    ///
    /// # Errors
    /// If that is not so.
    pub fn need(&self, key: &'static str, accepted: &str) -> Result<Entry<'t>, ScenarioError> {
        self.get(key).ok_or_else(|| {
            self.error(Fault::Missing { key, scope: self.scope.clone(), accepted: accepted.into() })
        })
    }

    /// All keys, as they were chosen by the author.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'t>> {
        let source = self.source;
        self.table.iter().map(move |(key, value)| Entry { source, key: key.get_ref(), value })
    }

    /// The duration of this key, if there is one.
    ///
    /// # Errors
    /// If that is not so.
    pub fn duration(&self, key: &'static str) -> Result<Option<Nanos>, ScenarioError> {
        self.get(key).map(|e| e.duration()).transpose()
    }

    /// The integer of this key, if there is one.
    ///
    /// # Errors
    /// If that is not so.
    pub fn integer(
        &self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, ScenarioError> {
        self.get(key).map(|e| e.integer(range)).transpose()
    }

    /// The truth value of this key, if there is one.
    ///
    /// # Errors
    /// If that is not so.
    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, ScenarioError> {
        self.get(key).map(|e| e.boolean()).transpose()
    }

    /// The text of this key, if there is one.
    ///
    /// # Errors
    /// If that is not so.
    pub fn text(&self, key: &'static str) -> Result<Option<&'t str>, ScenarioError> {
        self.get(key).map(|e| e.text()).transpose()
    }

    /// Tables of the array of this key.
    ///
    /// # Errors
    /// If that is not so.
    pub fn sections(&self, key: &'static str) -> Result<Vec<Section<'t>>, ScenarioError> {
        let Some(entry) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = entry.value.get_ref() else {
            return Err(entry.wrong("tables, as in [[...]]"));
        };
        let table = |(n, value)| Entry { source: self.source, key, value }.table(format!("{key} {}", n + 1));
        items.iter().enumerate().map(table).collect()
    }

    /// Nothing else may be in it.
    ///
    /// # Errors
    /// If that is not so.
    pub fn finish(self) -> Result<(), ScenarioError> {
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
    pub fn error(&self, fault: Fault) -> ScenarioError {
        self.source.error(self.span.clone(), fault)
    }
}

/// A value with its key.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    source: Source<'t>,
    /// The key.
    pub key: &'t str,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Entry<'t> {
    /// A text.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self) -> Result<&'t str, ScenarioError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a text in quotes")),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// If it is something else.
    pub fn boolean(&self) -> Result<bool, ScenarioError> {
        match self.value.get_ref() {
            DeValue::Boolean(b) => Ok(*b),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// An integer within bounds.
    ///
    /// # Errors
    /// If it is something else.
    pub fn integer(&self, range: RangeInclusive<i64>) -> Result<i64, ScenarioError> {
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

    /// A duration.
    ///
    /// # Errors
    /// If it is something else.
    pub fn duration(&self) -> Result<Nanos, ScenarioError> {
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
    ///
    /// # Errors
    /// If that is not so.
    pub fn some_time(&self) -> Result<Nanos, ScenarioError> {
        match self.duration()? {
            Nanos::ZERO => Err(self.wrong("a duration that is not 0")),
            some => Ok(some),
        }
    }

    /// A set of CPUs of a machine that has `count`.
    ///
    /// # Errors
    /// If that is not so.
    pub fn cpus(&self, count: usize) -> Result<CpuSet, ScenarioError> {
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

    /// A table, with its name for messages.
    ///
    /// # Errors
    /// If it is something else.
    pub fn table(&self, scope: impl Into<String>) -> Result<Section<'t>, ScenarioError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Section::new(self.source, scope, table, self.value.span())),
            _ => Err(self.wrong("a table")),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// If it is something else.
    pub fn number(&self) -> Result<f64, ScenarioError> {
        let number = match self.value.get_ref() {
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|i| i as f64),
            DeValue::Float(f) => f.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|n: &f64| n.is_finite()).ok_or_else(|| self.wrong("a number"))
    }

    /// A text, or what an integer, true or false look like as a text.
    ///
    /// # Errors
    /// If it is something else.
    pub fn scalar(&self) -> Result<String, ScenarioError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(_) => Ok(self.integer(i64::MIN..=i64::MAX)?.to_string()),
            DeValue::Boolean(b) => Ok(b.to_string()),
            _ => Err(self.wrong("a text in quotes, an integer, or true or false")),
        }
    }

    /// What is in an array.
    ///
    /// # Errors
    /// If it is something else.
    pub fn items(&self) -> Result<Vec<Self>, ScenarioError> {
        match self.value.get_ref() {
            DeValue::Array(items) => {
                Ok(items.iter().map(|value| Self { source: self.source, key: self.key, value }).collect())
            }
            _ => Err(self.wrong("an array, as in [1, 2]")),
        }
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }

    /// The value is not what it should be.
    pub fn wrong(&self, accepted: impl Display) -> ScenarioError {
        self.wrong_name(accepted, [])
    }

    /// The value is not one of these names.
    pub fn wrong_name<'n>(
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

    /// Where the value stands.
    pub fn place(&self) -> Place {
        self.source.place(self.value.span().start)
    }

    /// An error about the value.
    pub fn error(&self, fault: Fault) -> ScenarioError {
        self.source.error(self.value.span(), fault)
    }

    /// Where a place within the text is in the file: exactly, unless there are escapes in it.
    pub fn place_in_text(&self, offset: usize) -> Place {
        let span = self.value.span();
        let DeValue::String(text) = self.value.get_ref() else { return self.source.place(span.start) };
        let raw = self.source.text.get(span.clone()).unwrap_or_default();
        match raw.find(text.as_ref()) {
            Some(start) => self.source.place(span.start + start + offset),
            None => self.source.place(span.start),
        }
    }

    /// An error at a place within the text.
    pub fn error_in_text(&self, offset: usize, fault: Fault) -> ScenarioError {
        ScenarioError {
            file: self.source.file.into(),
            place: self.place_in_text(offset),
            fault: fault.into(),
        }
    }
}
