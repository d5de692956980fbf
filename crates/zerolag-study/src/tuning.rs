// SPDX-License-Identifier: GPL-2.0-only
//! Tunings: what may be set, and what is to come of it, from a TOML file.
//!
//! ```toml
//! scenario = "batch-and-service.toml"   # beside this file
//! candidates = 100                      # how many settings are tried
//! seeds = 3                             # 1 to 3; or a list: with which each candidate is run
//! confirm = 10                          # the next 10 after these; or a list: with which the best are run again
//! search_seed = 1                       # where the search gets its chance from
//!
//! [choices]                             # the same for all, the baseline too
//! duration = "5s"
//!
//! [[axis]]                              # as in a sweep, without steps
//! key = "set:base_slice"
//! from = "500us"
//! to = "8ms"
//! scale = "log"
//!
//! [[objective]]                         # as good as can be
//! metric = "/service wake-up p99"
//! better = "lower"                      # only where the figure itself does not say which way is better
//!
//! [[constraint]]                        # with every seed
//! metric = "/batch share"
//! loss_at_most = "3%"                   # against the baseline with the same seed; or at_most, at_least
//! ```
//!
//! The *baseline* is the scenario with what `[choices]` says and nothing else. Several objectives make a front:
//! candidates that none other beats in all of them. Without an objective the constrained figures are the
//! objectives. Which figures there are, and in what they are counted, is known only once the baseline has been
//! run; then [`Tuning::targets`] checks the names and takes `"2ms"` to the figure's unit.
//!
//! Searching is not done here: whoever searches asks for [candidates](Tuning::candidate) and runs them.

use std::path::Path;

use zerolag_sim::costs::Costs;
use zerolag_sim::duration;
use zerolag_sim::machines::Place;
use zerolag_sim::scenario::section::{Entry, Section, Source};
use zerolag_sim::scenario::{self, Fault, ScenarioError};
use zerolag_sim::workload::model::Better;

use crate::axis::{Values, shown};
use crate::case::{Case, Sealed};
use crate::choice::Key;
use crate::store::Kind;
use crate::sweep::{Base, Blame, Point, SweepError, axes, common, once, open, seeds};

/// More candidates than this are more likely a slip than a wish.
const CANDIDATES_MAX: i64 = 1_000_000;
const CANDIDATES: i64 = 100;
/// With how many seeds candidates are confirmed if nobody says.
const CONFIRM: u64 = 10;

/// A tuning.
#[derive(Debug)]
pub struct Tuning {
    /// What may be set, in the order of the file.
    pub axes: Vec<(Key, Values)>,
    /// The scenario as it is.
    pub baseline: Sealed,
    /// How many candidates are tried.
    pub candidates: usize,
    /// The seeds with which they are.
    pub seeds: Vec<u64>,
    /// The seeds with which the best are confirmed: others.
    pub confirm: Vec<u64>,
    /// Where the search gets its chance from.
    pub search_seed: u64,
    base: Case,
    blame: Blame,
    objectives: Vec<Wish>,
    constraints: Vec<Wish>,
}

/// What somebody wants of a figure that may not exist.
#[derive(Debug)]
struct Wish {
    metric: Located,
    better: Option<Better>,
    bound: Option<(Limit, Located)>,
}

/// A text of the file that may turn out to make no sense.
#[derive(Clone, Debug)]
struct Located {
    text: String,
    file: String,
    place: Place,
    key: &'static str,
}

impl Located {
    fn new(file: &str, key: &'static str, entry: &Entry<'_>, text: String) -> Self {
        Self { text, file: file.into(), place: entry.place(), key }
    }

    fn wrong(&self, accepted: String, nearest: Option<String>) -> ScenarioError {
        let found = format!("'{}'", self.text.escape_debug());
        let fault = Fault::Value { key: self.key.into(), found, accepted, nearest };
        ScenarioError { file: self.file.clone(), place: self.place, fault: Box::new(fault) }
    }
}

/// How a constraint bounds a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It may be as much as this.
    AtMost,
    /// It has to be as much as this.
    AtLeast,
    /// It may be worse than the baseline by so many percent.
    LossAtMost,
}

impl Limit {
    const ALL: [Self; 3] = [Self::AtMost, Self::AtLeast, Self::LossAtMost];

    /// The key that says so.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::LossAtMost => "loss_at_most",
        }
    }
}

/// What is to come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// Figures that are to be as good as can be. [`Better::Neither`] is none of theirs.
    pub objectives: Vec<Kind>,
    /// Figures that have to keep a bound.
    pub constraints: Vec<Constraint>,
}

/// A figure that has to keep a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The figure.
    pub kind: Kind,
    /// In which way.
    pub limit: Limit,
    /// How much: in the figure's unit, or percent of the baseline.
    pub bound: f64,
}

/// Reads a tuning and checks each axis of it.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(path: &Path) -> Result<Tuning, SweepError> {
    let (file, bytes) = open(path)?;
    parse(&file, &bytes, Base::In(path.parent().unwrap_or(Path::new(""))))
}

/// Makes a tuning of a text; `file` is what messages call it.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(file: &str, bytes: &[u8], base: Base<'_>) -> Result<Tuning, SweepError> {
    let source = Source::new(file, bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the tuning", parsed.get_ref(), 0..0);
    let mut blame = Blame::of(file);

    let base = base.find(&root)?;
    let candidates = root.integer("candidates", 1..=CANDIDATES_MAX)?.unwrap_or(CANDIDATES) as usize;
    let seeds_entry = root.need("seeds", "how many, or a list of them")?;
    let seeds = seeds(&seeds_entry, 1)?;
    let confirm = confirm(&root, &seeds)?;
    let search_seed = root.integer("search_seed", 0..=i64::from(u32::MAX))?.unwrap_or(1) as u64;
    let common = common(&root, &mut blame)?;
    let axes = axes(&root, &mut blame)?;
    for axis in &axes {
        axis.no_steps()?;
        settable(&axis.key).map_err(|accepted| axis.named.wrong(accepted))?;
    }
    let keys: Vec<Key> = axes.iter().map(|axis| axis.key.clone()).collect();
    once(&keys, &common, &root)?;
    let objectives = root.sections("objective")?.into_iter().map(|s| objective(file, s));
    let objectives = objectives.collect::<Result<Vec<_>, _>>()?;
    let constraints = root.sections("constraint")?.into_iter().map(|s| constraint(file, s));
    let constraints = constraints.collect::<Result<Vec<_>, _>>()?;
    for (nothing, what) in [
        (axes.is_empty(), "there is nothing to set: give an [[axis]]"),
        (
            objectives.is_empty() && constraints.is_empty(),
            "there is nothing to reach: give an [[objective]] or a [[constraint]]",
        ),
    ] {
        if nothing {
            return Err(root.error(Fault::Sense(what.into())).into());
        }
    }
    root.finish()?;

    let mut base = base.case(&blame)?;
    base.choices.extend(common);
    let baseline = base.seal().map_err(|e| blame.at(e))?;
    let axes: Vec<(Key, Values)> = axes.into_iter().map(|axis| (axis.key, axis.values)).collect();
    let tuning = Tuning {
        axes,
        baseline,
        candidates,
        seeds,
        confirm,
        search_seed,
        base,
        blame,
        objectives,
        constraints,
    };
    for (key, values) in &tuning.axes {
        for value in ends(values) {
            tuning.candidate(Point::from([(key.clone(), value)]))?;
        }
    }
    Ok(tuning)
}

/// The seeds of the confirmation.
fn confirm(root: &Section<'_>, seeds: &[u64]) -> Result<Vec<u64>, ScenarioError> {
    let after = seeds.iter().max().map_or(1, |last| last.saturating_add(1));
    let Some(entry) = root.get("confirm") else { return Ok((after..).take(CONFIRM as usize).collect()) };
    let confirm = self::seeds(&entry, after)?;
    match confirm.iter().find(|seed| seeds.contains(seed)) {
        Some(seed) => Err(entry.wrong(format_args!("seeds that the search does not use; it uses {seed}"))),
        None => Ok(confirm),
    }
}

/// Whether it makes sense to look for the best value of this.
fn settable(key: &Key) -> Result<(), String> {
    let a_cost = |name: &str| name == "costs" || Costs::NAMES.contains(&name);
    match key {
        Key::Machine | Key::Duration => {
            Err("what can be set on a given machine: set:NAME, cgroup:PATH:KEY, workload:NAME:KEY, kernel"
                .into())
        }
        Key::Set(name) if a_cost(name) => {
            Err("features, tunables and hz: costs are what a machine has, nobody sets them".into())
        }
        _ => Ok(()),
    }
}

fn objective(file: &str, section: Section<'_>) -> Result<Wish, ScenarioError> {
    let metric = metric(file, &section)?;
    let better = match section.get("better") {
        None => None,
        Some(entry) => {
            let found = [Better::Lower, Better::Higher]
                .into_iter()
                .find(|b| entry.text().is_ok_and(|text| text == b.name()));
            Some(found.ok_or_else(|| entry.wrong_name("lower, higher", ["lower", "higher"]))?)
        }
    };
    section.finish()?;
    Ok(Wish { metric, better, bound: None })
}

fn constraint(file: &str, section: Section<'_>) -> Result<Wish, ScenarioError> {
    let metric = metric(file, &section)?;
    let given: Vec<(Limit, Entry<'_>)> =
        Limit::ALL.into_iter().filter_map(|limit| Some((limit, section.get(limit.name())?))).collect();
    let scope = section.scope.clone();
    let (limit, entry) = match given.as_slice() {
        &[one] => one,
        [] => {
            let accepted = "a bound; or 'at_least', or 'loss_at_most'".into();
            return Err(section.error(Fault::Missing { key: "at_most", scope, accepted }));
        }
        [(first, _), (second, _), ..] => {
            let (first, second) = (first.name(), second.name());
            return Err(section.error(Fault::Both { scope, first, second }));
        }
    };
    let text = match entry.is_text() {
        true => entry.text()?.to_owned(),
        false => entry.number()?.to_string(),
    };
    section.finish()?;
    Ok(Wish { metric, better: None, bound: Some((limit, Located::new(file, limit.name(), &entry, text))) })
}

fn metric(file: &str, section: &Section<'_>) -> Result<Located, ScenarioError> {
    let entry = section.need("metric", "the name of a figure, as in \"/service wake-up p99\"")?;
    Ok(Located::new(file, "metric", &entry, entry.text()?.into()))
}

/// Values of an axis from which one can tell whether it makes sense.
fn ends(values: &Values) -> Vec<String> {
    match values {
        Values::Listed(values) => values.clone(),
        &Values::Range { from, to, time, .. } => vec![shown(from, time), shown(to, time)],
    }
}

impl Tuning {
    /// The scenario with this chosen.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn candidate(&self, chosen: Point) -> Result<Sealed, SweepError> {
        let mut case = self.base.clone();
        case.choices.extend(chosen);
        case.seal().map_err(|e| self.blame.at(e))
    }

    /// What is to come of it, given which figures the baseline has.
    ///
    /// # Errors
    /// If one is named that it has not, or that cannot be counted so.
    pub fn targets(&self, kinds: &[Kind]) -> Result<Targets, SweepError> {
        let constraints = self.constraints.iter().map(|wish| limited(wish, kinds));
        let constraints = constraints.collect::<Result<Vec<Constraint>, ScenarioError>>()?;
        let objectives = match self.objectives.is_empty() {
            false => {
                self.objectives.iter().map(|wish| aimed(wish, kinds)).collect::<Result<_, ScenarioError>>()?
            }
            true => constraints.iter().map(Constraint::aim).collect(),
        };
        Ok(Targets { objectives, constraints })
    }
}

fn find(metric: &Located, kinds: &[Kind]) -> Result<Kind, ScenarioError> {
    let names = || kinds.iter().map(|kind| kind.name.as_str());
    kinds.iter().find(|kind| kind.name == metric.text).cloned().ok_or_else(|| {
        let accepted = format!("figures of the baseline: {}", names().collect::<Vec<_>>().join(", "));
        metric.wrong(accepted, scenario::nearest(&metric.text, names()))
    })
}

fn aimed(wish: &Wish, kinds: &[Kind]) -> Result<Kind, ScenarioError> {
    let mut kind = find(&wish.metric, kinds)?;
    kind.better = wish.better.unwrap_or(kind.better);
    if kind.better == Better::Neither {
        let accepted = "also 'better', \"lower\" or \"higher\": the figure does not say which";
        return Err(wish.metric.wrong(accepted.into(), None));
    }
    Ok(kind)
}

fn limited(wish: &Wish, kinds: &[Kind]) -> Result<Constraint, ScenarioError> {
    let kind = find(&wish.metric, kinds)?;
    let Some((limit, bound)) = &wish.bound else { return Err(wish.metric.wrong("a bound".into(), None)) };
    let unit = if *limit == Limit::LossAtMost { "%" } else { &kind.unit };
    let bound = quantity(&bound.text, unit).map_err(|accepted| bound.wrong(accepted, None))?;
    Ok(Constraint { kind, limit: *limit, bound })
}

/// How much of a unit a text says: a mere number, or one with its unit.
fn quantity(text: &str, unit: &str) -> Result<f64, String> {
    let ns = match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let said = number(text).or_else(|| match ns {
        Some(ns) => duration::parse(text).ok().map(|time| time.0 as f64 / ns),
        None => text.strip_suffix(unit).and_then(number),
    });
    said.ok_or_else(|| match ns {
        Some(_) => format!("{}, or a number of {unit}", duration::ACCEPTED),
        None => format!("a number, or one with its unit, as in \"3{unit}\""),
    })
}

impl Constraint {
    /// The figure, as something that is to be as good as can be.
    fn aim(&self) -> Kind {
        let better = match (self.limit, self.kind.better) {
            (Limit::AtMost, _) | (Limit::LossAtMost, Better::Lower) => Better::Lower,
            (Limit::AtLeast, _) | (Limit::LossAtMost, _) => Better::Higher,
        };
        Kind { better, ..self.kind.clone() }
    }

    /// By how much a figure breaks the bound, as a part of it; 0 or less if it does not. `baseline` is the same
    /// figure of the baseline.
    pub fn violation(&self, figure: f64, baseline: f64) -> f64 {
        let part = |over: f64, of: f64| if of == 0.0 { over } else { over / of.abs() };
        match self.limit {
            Limit::AtMost => part(figure - self.bound, self.bound),
            Limit::AtLeast => part(self.bound - figure, self.bound),
            Limit::LossAtMost => {
                let lost =
                    if self.kind.better == Better::Lower { figure - baseline } else { baseline - figure };
                // Of nothing, nothing can be lost but by getting below it.
                part(lost, baseline) - self.bound / 100.0
            }
        }
    }
}

#[cfg(test)]
mod tests;
