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
use std::path::{Path, PathBuf};

use zerolag_sim::machines::Place;
use zerolag_sim::rng::{Purpose, Stream};
use zerolag_sim::scenario::section::{Entry, Section, Source};
use zerolag_sim::scenario::{Fault, ScenarioError};

use crate::axis::{Axis, VALUES_MAX as POINTS_MAX, key};
use crate::case::{Case, CaseError, Sealed};
use crate::choice::Key;
use crate::study::Study;

/// More seeds than this are more likely a slip than a wish.
const SEEDS_MAX: i64 = 1_000_000;

const METHODS: [&str; 3] = ["grid", "random", "latin-hypercube"];

/// What is wrong with a sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// A point makes no sense, or the file cannot be read.
    #[error("{file}{place}: {error}")]
    Case {
        /// The file.
        file: String,
        /// Where what is to blame is chosen, if that is known.
        place: Place,
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

/// Where the scenario comes from.
#[derive(Clone, Debug)]
pub enum Base<'a> {
    /// From the file that the sweep names, in this directory.
    In(&'a Path),
    /// From somebody who has it already.
    Given(Box<Case>),
}

pub(crate) type Point = BTreeMap<Key, String>;

/// Reads a sweep and checks every point of it.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(path: &Path) -> Result<Sweep, SweepError> {
    let (file, bytes) = open(path)?;
    parse(&file, &bytes, Base::In(path.parent().unwrap_or(Path::new(""))))
}

/// What is in a file, and the file's name for messages.
pub(crate) fn open(path: &Path) -> Result<(String, Vec<u8>), SweepError> {
    let file = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => Ok((file, bytes)),
        Err(e) => Err(Blame::of(&file).at(CaseError::Unreadable("it cannot be read".into(), e))),
    }
}

/// Makes a sweep of a text; `file` is what messages call it.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(file: &str, bytes: &[u8], base: Base<'_>) -> Result<Sweep, SweepError> {
    let source = Source::new(file, bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the sweep", parsed.get_ref(), 0..0);
    let mut blame = Blame::of(file);

    let base = base.find(&root)?;
    let seeds = seeds(&root.need("seeds", "how many, or a list of them")?, 1)?;
    let common = common(&root, &mut blame)?;
    let method = Method::read(&root)?;
    let axes = axes(&root, &mut blame)?;
    let mut points = method.points(&axes, &root)?;
    let mut keys: Vec<Key> = axes.iter().map(|axis| axis.key.clone()).collect();
    for section in root.sections("point")? {
        let by_hand = point(&section, &mut blame)?;
        keys.extend(by_hand.keys().filter(|key| !keys.contains(key)).cloned().collect::<Vec<_>>());
        points.push(by_hand);
    }
    once(&keys, &common, &root)?;
    if points.is_empty() {
        return Err(root
            .error(Fault::Sense("there are no points: give an [[axis]] or a [[point]]".into()))
            .into());
    }
    root.finish()?;

    let base = base.case(&blame)?;
    let mut cases: Vec<Sealed> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for point in points {
        let mut case = base.clone();
        case.choices.extend(common.iter().chain(&point).map(|(k, v)| (k.clone(), v.clone())));
        let sealed = case.seal().map_err(|e| blame.at(e))?;
        if known.insert(sealed.hash().to_owned()) {
            cases.push(sealed);
        }
    }
    Ok(Sweep { keys, study: Study { cases, seeds } })
}

impl Base<'_> {
    /// Reads which file it is; what is in it does not matter yet.
    pub(crate) fn find(self, root: &Section<'_>) -> Result<Found, ScenarioError> {
        match self {
            Self::Given(case) => Ok(Found::Case(case)),
            Self::In(directory) => {
                let name = root.need("scenario", "the name of a scenario or rt-app file")?.text()?;
                Ok(Found::File(directory.join(name)))
            }
        }
    }
}

/// Where the scenario is.
pub(crate) enum Found {
    File(PathBuf),
    Case(Box<Case>),
}

impl Found {
    pub(crate) fn case(self, blame: &Blame) -> Result<Case, SweepError> {
        match self {
            Self::Case(case) => Ok(*case),
            Self::File(path) => Case::of_file(&path).map_err(|e| blame.at(e)),
        }
    }
}

/// Who is to blame for a case that makes no sense: where each key is chosen.
#[derive(Debug)]
pub(crate) struct Blame {
    file: String,
    places: BTreeMap<Key, Place>,
}

impl Blame {
    pub(crate) fn of(file: &str) -> Self {
        Self { file: file.into(), places: BTreeMap::new() }
    }

    fn note(&mut self, key: &Key, entry: &Entry<'_>) {
        self.places.entry(key.clone()).or_insert(entry.place());
    }

    /// The error at the place where its key is chosen.
    pub(crate) fn at(&self, error: CaseError) -> SweepError {
        let place = error.culprit().and_then(|culprit| {
            self.places.iter().find(|&(key, _)| culprit.is(key)).map(|(_, place)| *place)
        });
        let (file, place) = (self.file.clone(), place.unwrap_or_default());
        SweepError::Case { file, place, error: Box::new(error) }
    }
}

/// `[choices]`: what is the same at all points.
pub(crate) fn common(root: &Section<'_>, blame: &mut Blame) -> Result<Point, ScenarioError> {
    root.get("choices").map_or_else(|| Ok(Point::new()), |entry| point(&entry.table("choices")?, blame))
}

/// `[[axis]]`.
pub(crate) fn axes<'t>(root: &Section<'t>, blame: &mut Blame) -> Result<Vec<Axis<'t>>, ScenarioError> {
    let axes = root.sections("axis")?.into_iter().map(Axis::read).collect::<Result<Vec<Axis<'_>>, _>>()?;
    for axis in &axes {
        blame.note(&axis.key, &axis.named);
    }
    Ok(axes)
}

/// Nothing may be chosen in two ways.
pub(crate) fn once(keys: &[Key], common: &Point, root: &Section<'_>) -> Result<(), ScenarioError> {
    let mut all = keys.iter().enumerate();
    match all.find(|&(at, key)| keys[..at].contains(key) || common.contains_key(key)) {
        Some((_, key)) => Err(root.error(Fault::Sense(format!("'{key}' is chosen twice")))),
        None => Ok(()),
    }
}

/// A list of seeds, or how many, counted from `first`.
pub(crate) fn seeds(entry: &Entry<'_>, first: u64) -> Result<Vec<u64>, ScenarioError> {
    if !entry.is_array() {
        return Ok((first..).take(entry.integer(1..=SEEDS_MAX)? as usize).collect());
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

fn point(section: &Section<'_>, blame: &mut Blame) -> Result<Point, ScenarioError> {
    let one = |entry: Entry<'_>| {
        let key = key(&entry, entry.key)?;
        blame.note(&key, &entry);
        Ok((key, entry.scalar()?))
    };
    section.entries().map(one).collect()
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

#[cfg(test)]
mod tests;
