// SPDX-License-Identifier: GPL-2.0-only
//! Axes: one thing that varies, and what it may be.
//!
//! ```toml
//! [[axis]]
//! key = "set:base_slice"                # see crate::choice
//! from = "1ms"                          # a duration, or an integer; or values = [...]
//! to = "16ms"
//! steps = 5                             # of a grid, both ends included
//! scale = "log"                         # else linear
//! ```

use zerolag_sim::duration;
use zerolag_sim::scenario::section::{Entry, Section};
use zerolag_sim::scenario::{Fault, ScenarioError};

use crate::choice::{self, Key};

/// More values than this are more likely a slip than a wish.
pub(crate) const VALUES_MAX: usize = 1_000_000;

const SCALES: [&str; 2] = ["linear", "log"];

/// The key that this text names.
pub(crate) fn key(entry: &Entry<'_>, text: &str) -> Result<Key, ScenarioError> {
    let unknown = |_| {
        let key = text.to_owned();
        let accepted = choice::ACCEPTED.to_owned();
        entry.error(Fault::UnknownKey { key, scope: "what can vary".into(), nearest: None, accepted })
    };
    text.parse().map_err(unknown)
}

/// Something that varies.
#[derive(Debug)]
pub(crate) struct Axis<'t> {
    pub(crate) key: Key,
    /// Where the key stands.
    pub(crate) named: Entry<'t>,
    pub(crate) values: Values,
    steps: Option<(Entry<'t>, usize)>,
    section: Section<'t>,
}

/// What it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these.
    Listed(Vec<String>),
    /// An integer, both ends included.
    Range {
        /// One end.
        from: i64,
        /// The other, which may be less.
        to: i64,
        /// Logarithms are spread evenly, not the integers themselves.
        log: bool,
        /// They are nanoseconds.
        time: bool,
    },
}

impl<'t> Axis<'t> {
    pub(crate) fn read(section: Section<'t>) -> Result<Self, ScenarioError> {
        let entry = section.need("key", choice::ACCEPTED)?;
        let key = key(&entry, entry.text()?)?;
        let (from, to) = (section.get("from"), section.get("to"));
        let steps =
            section.get("steps").map(|e| Ok((e, e.integer(2..=VALUES_MAX as i64)? as usize))).transpose()?;
        let scale = section.get("scale");
        let log = match scale.map(|e| e.text()).transpose()? {
            None | Some("linear") => false,
            Some("log") => true,
            Some(_) => {
                return Err(
                    scale.map_or_else(|| entry.wrong(""), |e| e.wrong_name(SCALES.join(", "), SCALES))
                );
            }
        };
        let values = match (section.get("values"), from, to) {
            (Some(list), None, None) => Values::Listed(listed(&list)?),
            (None, Some(from), Some(to)) => range(&from, &to, log)?,
            (Some(_), ..) => {
                let scope = section.scope.clone();
                return Err(section.error(Fault::Both { scope, first: "values", second: "from" }));
            }
            (None, ..) => {
                let accepted = "a list of values; or 'from' and 'to'".into();
                let scope = section.scope.clone();
                return Err(section.error(Fault::Missing { key: "values", scope, accepted }));
            }
        };
        if let (Values::Listed(_), Some((entry, _))) = (&values, &steps) {
            return Err(entry.wrong("nothing: a list is gone through value by value"));
        }
        Ok(Self { key, named: entry, values, steps, section })
    }

    /// All of its values in a grid.
    pub(crate) fn grid(&self) -> Result<Vec<String>, ScenarioError> {
        match (&self.values, &self.steps) {
            (Values::Listed(values), _) => Ok(values.clone()),
            (Values::Range { .. }, Some((_, steps))) => {
                let last = (steps - 1) as f64;
                let mut values: Vec<String> = (0..*steps).map(|step| self.step(step as f64 / last)).collect();
                values.dedup();
                Ok(values)
            }
            (Values::Range { .. }, None) => {
                let (scope, accepted) = (self.section.scope.clone(), "how many values, from 2".into());
                Err(self.section.error(Fault::Missing { key: "steps", scope, accepted }))
            }
        }
    }

    pub(crate) fn no_steps(&self) -> Result<(), ScenarioError> {
        let refused = |(entry, _): &(Entry<'_>, usize)| entry.wrong("nothing: only a grid has steps");
        self.steps.as_ref().map_or(Ok(()), |steps| Err(refused(steps)))
    }

    /// The value so far along the range, both ends included.
    fn step(&self, place: f64) -> String {
        match self.values {
            Values::Listed(_) => self.at(place),
            Values::Range { from, to, log, time } => {
                let value = match log {
                    true => libm::exp(libm::log(from as f64) * (1.0 - place) + libm::log(to as f64) * place),
                    false => from as f64 + (to - from) as f64 * place,
                };
                let value = (libm::round(value) as i64).clamp(from.min(to), to.max(from));
                shown(value, time)
            }
        }
    }

    /// The value at a place from 0 up to 1: each one has the same share of it.
    pub(crate) fn at(&self, place: f64) -> String {
        match &self.values {
            Values::Listed(values) => {
                values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
            Values::Range { log: true, .. } | Values::Range { time: true, .. } => self.step(place),
            &Values::Range { from, to, time, .. } => {
                let (low, high) = (from.min(to), from.max(to));
                let offset = (place * ((high - low) as f64 + 1.0)) as i64;
                shown((low + offset).min(high), time)
            }
        }
    }
}

/// A value of a range as the text that is chosen.
pub fn shown(value: i64, time: bool) -> String {
    if time { format!("{value}ns") } else { value.to_string() }
}

fn listed(list: &Entry<'_>) -> Result<Vec<String>, ScenarioError> {
    let mut values = Vec::new();
    for item in list.items()? {
        let value = item.scalar()?;
        if values.contains(&value) {
            return Err(item.wrong("each value once"));
        }
        values.push(value);
    }
    if values.is_empty() { Err(list.wrong("at least one value")) } else { Ok(values) }
}

fn range(from: &Entry<'_>, to: &Entry<'_>, log: bool) -> Result<Values, ScenarioError> {
    let time = from.is_text();
    let end = |entry: &Entry<'_>| match time {
        true => {
            let ns = entry.duration()?.0;
            i64::try_from(ns)
                .map_err(|_| entry.wrong(format_args!("{}, up to 292 years", duration::ACCEPTED)))
        }
        // Differences of these do not overflow.
        false => entry.integer(-(1 << 53)..=1 << 53),
    };
    let (low, high) = (end(from)?, end(to)?);
    if low == high {
        return Err(to.wrong("another value than 'from'"));
    }
    for (entry, value) in [(from, low), (to, high)] {
        if log && value <= 0 {
            return Err(entry.wrong("something greater than 0, on a scale by logarithms"));
        }
    }
    Ok(Values::Range { from: low, to: high, log, time })
}
