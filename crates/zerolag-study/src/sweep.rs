// SPDX-License-Identifier: GPL-2.0-only
//! Sweeps: a scenario at many points of a space of choices, from a TOML file.
//!
//! ```toml
//! scenario = "batch-and-service.toml"   # beside this file
//! seeds = 10                            # 1 to 10; or [3, 5, 8]
//! method = "grid"                       # or "random", "latin-hypercube"
//! # points = 100                        # how many, where they are drawn
//! # sample_seed = 1                     # where they are drawn from
//!
//! [choices]                             # the same at all points
//! "set:costs" = "x86-server"
//!
//! [[axis]]
//! key = "kernel"                        # see crate::choice
//! values = ["6.1", "6.12"]
//!
//! [[axis]]
//! key = "set:base_slice"
//! from = "1ms"                          # a duration, or an integer
//! to = "16ms"
//! steps = 5                             # of a grid, both ends included
//! scale = "log"                         # else linear
//!
//! [[point]]                             # one more point, by hand
//! kernel = "6.1"
//! "set:base_slice" = "3ms"
//! ```
//!
//! * A *grid* has all combinations, the last axis varying fastest.
//! * *random* draws each axis by itself. Each has its own stream of chance, so that another axis does not shift
//!   what is drawn for the first.
//! * *latin-hypercube* cuts each axis into as many equal parts as there are points, and draws one point in each
//!   (M. D. McKay, R. J. Beckman and W. J. Conover, Technometrics 21, 1979).
//!
//! Points that are drawn twice count once.

mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use zerolag_sim::duration;
use zerolag_sim::rng::{Purpose, Stream};
use zerolag_sim::scenario::section::{Entry, Section, Source};
use zerolag_sim::scenario::{Fault, ScenarioError};

use crate::case::{Case, CaseError, Sealed};
use crate::choice::{self, Key};
use crate::study::Study;

/// More points than this are more likely a slip than a wish.
const POINTS_MAX: usize = 1_000_000;
/// As are more seeds than this.
const SEEDS_MAX: i64 = 1_000_000;

const METHODS: [&str; 3] = ["grid", "random", "latin-hypercube"];
const SCALES: [&str; 2] = ["linear", "log"];

/// What is wrong with a sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// A point makes no sense, or the file cannot be read.
    #[error("{file}: {error}")]
    Case {
        /// The file.
        file: String,
        /// What is wrong.
        error: Box<CaseError>,
    },
}

/// A sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What varies, in the order of the file.
    pub keys: Vec<Key>,
    /// All points with all seeds.
    pub study: Study,
}

type Point = BTreeMap<Key, String>;

/// Reads a sweep and checks every point of it.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(path: &Path) -> Result<Sweep, SweepError> {
    let file = path.display().to_string();
    let wrong = |error: CaseError| SweepError::Case { file: file.clone(), error: Box::new(error) };
    let bytes = fs::read(path).map_err(|e| wrong(CaseError::Unreadable("it cannot be read".into(), e)))?;
    let source = Source::new(&file, &bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the sweep", parsed.get_ref(), 0..0);

    let scenario = root.need("scenario", "the name of a scenario or rt-app file")?.text()?;
    let seeds = seeds(&root)?;
    let common = match root.get("choices") {
        Some(entry) => point(&entry.table("choices")?)?,
        None => Point::new(),
    };
    let method = Method::read(&root)?;
    let axes = root.sections("axis")?.into_iter().map(Axis::read).collect::<Result<Vec<Axis>, _>>()?;
    let mut points = method.points(&axes, &root)?;
    let mut keys: Vec<Key> = axes.iter().map(|axis| axis.key.clone()).collect();
    for section in root.sections("point")? {
        let by_hand = point(&section)?;
        keys.extend(by_hand.keys().filter(|key| !keys.contains(key)).cloned().collect::<Vec<_>>());
        points.push(by_hand);
    }
    if let Some(key) =
        keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key) || common.contains_key(key))
    {
        return Err(root.error(Fault::Sense(format!("'{}' is chosen twice", key.1))).into());
    }
    if points.is_empty() {
        return Err(root
            .error(Fault::Sense("there are no points: give an [[axis]] or a [[point]]".into()))
            .into());
    }
    root.finish()?;

    let base = Case::of_file(&path.parent().unwrap_or(Path::new("")).join(scenario)).map_err(wrong)?;
    let mut cases: Vec<Sealed> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for point in points {
        let choices = common.iter().chain(&point).map(|(k, v)| (k.clone(), v.clone())).collect();
        let sealed = Case { choices, ..base.clone() }.seal().map_err(wrong)?;
        if known.insert(sealed.hash().to_owned()) {
            cases.push(sealed);
        }
    }
    Ok(Sweep { keys, study: Study { cases, seeds } })
}

fn seeds(root: &Section<'_>) -> Result<Vec<u64>, ScenarioError> {
    let entry = root.need("seeds", "how many, or a list of them")?;
    if !entry.is_array() {
        return Ok((1..=entry.integer(1..=SEEDS_MAX)? as u64).collect());
    }
    let mut seeds = Vec::new();
    for item in entry.items()? {
        let seed = item.integer(0..=i64::MAX)? as u64;
        if seeds.contains(&seed) {
            return Err(item.wrong("each seed once"));
        }
        seeds.push(seed);
    }
    if seeds.is_empty() { Err(entry.wrong("at least one seed")) } else { Ok(seeds) }
}

fn point(section: &Section<'_>) -> Result<Point, ScenarioError> {
    section.entries().map(|entry| Ok((key(&entry, entry.key)?, entry.scalar()?))).collect()
}

fn key(entry: &Entry<'_>, text: &str) -> Result<Key, ScenarioError> {
    let unknown = |_| {
        let key = text.to_owned();
        let accepted = choice::ACCEPTED.to_owned();
        entry.error(Fault::UnknownKey { key, scope: "what can vary".into(), nearest: None, accepted })
    };
    text.parse().map_err(unknown)
}

/// How points are found on the axes.
enum Method {
    Grid,
    Random { points: usize, seed: u64 },
    LatinHypercube { points: usize, seed: u64 },
}

impl Method {
    fn read(root: &Section<'_>) -> Result<Self, ScenarioError> {
        let entry = root.get("method");
        let name = entry.map_or(Ok("grid"), |e| e.text())?;
        let count = root.get("points");
        let seed = root.integer("sample_seed", 0..=i64::MAX)?.unwrap_or(1) as u64;
        if name == "grid" {
            return match count {
                Some(count) => {
                    Err(count.wrong("nothing: a grid has as many points as its axes say ('steps')"))
                }
                None => Ok(Self::Grid),
            };
        }
        let count = count.map_or_else(|| root.need("points", "how many to draw"), Ok)?;
        let points = count.integer(1..=POINTS_MAX as i64)? as usize;
        match (name, entry) {
            ("random", _) => Ok(Self::Random { points, seed }),
            ("latin-hypercube", _) => Ok(Self::LatinHypercube { points, seed }),
            (_, Some(entry)) => Err(entry.wrong_name(METHODS.join(", "), METHODS)),
            (_, None) => Ok(Self::Grid),
        }
    }

    fn points(&self, axes: &[Axis<'_>], root: &Section<'_>) -> Result<Vec<Point>, ScenarioError> {
        if axes.is_empty() {
            return Ok(Vec::new());
        }
        match *self {
            Self::Grid => {
                let values = axes.iter().map(Axis::grid).collect::<Result<Vec<_>, _>>()?;
                let all = values.iter().try_fold(1usize, |all, v| all.checked_mul(v.len()));
                if all.is_none_or(|all| all > POINTS_MAX) {
                    let why = format!("the grid has more than {POINTS_MAX} points");
                    return Err(root.error(Fault::Sense(why)));
                }
                let mut points = vec![Point::new()];
                for (axis, values) in axes.iter().zip(values) {
                    let with = |point: &Point| {
                        let with = |value: &String| {
                            let mut point = point.clone();
                            point.insert(axis.key.clone(), value.clone());
                            point
                        };
                        values.iter().map(with).collect::<Vec<_>>()
                    };
                    points = points.iter().flat_map(with).collect();
                }
                Ok(points)
            }
            Self::Random { points, seed } => {
                draw(axes, points, seed, |n, chance| (0..n).map(|_| chance.unit()).collect())
            }
            Self::LatinHypercube { points, seed } => draw(axes, points, seed, strata),
        }
    }
}

/// Draws points, each axis by itself.
fn draw(
    axes: &[Axis<'_>],
    points: usize,
    seed: u64,
    places: impl Fn(usize, &mut Stream) -> Vec<f64>,
) -> Result<Vec<Point>, ScenarioError> {
    let mut drawn = vec![Point::new(); points];
    for (number, axis) in (0..).zip(axes) {
        axis.no_steps()?;
        let places = places(points, &mut Stream::new(seed, Purpose::Study, number));
        for (point, place) in drawn.iter_mut().zip(places) {
            point.insert(axis.key.clone(), axis.at(place));
        }
    }
    Ok(drawn)
}

/// A place in each of `n` equal parts from 0 to 1, in random order.
fn strata(n: usize, chance: &mut Stream) -> Vec<f64> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, chance.below(last as u64 + 1) as usize);
    }
    order.into_iter().map(|part| (part as f64 + chance.unit()) / n as f64).collect()
}

/// Something that varies.
struct Axis<'t> {
    key: Key,
    values: Values,
    steps: Option<(Entry<'t>, usize)>,
    section: Section<'t>,
}

/// What it may be.
enum Values {
    Listed(Vec<String>),
    Range { from: i64, to: i64, log: bool, time: bool },
}

impl<'t> Axis<'t> {
    fn read(section: Section<'t>) -> Result<Self, ScenarioError> {
        let entry = section.need("key", choice::ACCEPTED)?;
        let key = key(&entry, entry.text()?)?;
        let (from, to) = (section.get("from"), section.get("to"));
        let steps =
            section.get("steps").map(|e| Ok((e, e.integer(2..=POINTS_MAX as i64)? as usize))).transpose()?;
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
        Ok(Self { key, values, steps, section })
    }

    /// All of its values in a grid.
    fn grid(&self) -> Result<Vec<String>, ScenarioError> {
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

    fn no_steps(&self) -> Result<(), ScenarioError> {
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
    fn at(&self, place: f64) -> String {
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

fn shown(value: i64, time: bool) -> String {
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

#[cfg(test)]
mod tests;
