// SPDX-License-Identifier: GPL-2.0-only
//! Published experiments, run again.
//!
//! An experiment is a file in `scenarios/reproduce/` (README.md there has the format): cases that are run,
//! and rows that were published, each with the band in which the simulated figure has to be. Bands are part of
//! the file, so that they are written down before anything is run.
//!
//! | verdict | when |
//! |---|---|
//! | reproduced | the figure is in the band |
//! | not reproduced | it is not |
//! | not simulable | there is no figure: the file says why, or this version lacks the kernel, the feature or the workload model |

pub mod arithmetic;
mod format;
pub mod library;
mod picture;

use std::collections::BTreeMap;

use crate::case::{Case, Sealed};
use crate::comparison::CONFIDENCE;
use crate::stats::{Interval, Sample, bootstrap};
use crate::store::{Store, StoreError};
use crate::study::Study;

use arithmetic::Expression;
pub use format::read;
pub use picture::{Drawn, Picture};

/// An experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Where the figures are from.
    pub document: String,
    /// Each case is run with seeds 1 to this.
    pub seeds: u64,
    /// What was fitted to what, or assumed.
    pub calibration: Vec<String>,
    /// What the simulation leaves out.
    pub cannot_show: Vec<String>,
    /// What did not come out, what was tried, and what it would take. Unlike all else in the file this is
    /// written afterwards.
    pub findings: Vec<String>,
    /// What is run, by id.
    pub cases: BTreeMap<String, Case>,
    /// What was published.
    pub rows: Vec<Row>,
    /// What there is to be seen.
    pub pictures: Vec<Picture>,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// Who says so.
    pub source: String,
    /// Its unit.
    pub unit: String,
    /// The figure, as it was published.
    pub published: String,
    /// What is compared with it.
    pub simulation: Simulation,
}

/// What is compared with a published figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Simulation {
    /// A figure of runs.
    Figure {
        /// What it is computed from: names, each with a case and a metric.
        of: BTreeMap<String, (String, String)>,
        /// How.
        value: Expression,
        /// Where it has to be.
        band: Interval,
    },
    /// Nothing, for this reason.
    Impossible(String),
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The simulated figure: computed from the means over all seeds.
    pub simulated: Option<f64>,
    /// Its bootstrap interval over seeds.
    pub interval: Option<Interval>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// What to make of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figure is in the band.
    Reproduced,
    /// It is not.
    NotReproduced,
    /// There is no figure, for this reason.
    NotSimulable(String),
}

impl Verdict {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::NotSimulable(_) => "not simulable",
        }
    }
}

/// An experiment whose cases have been checked.
#[derive(Debug)]
pub struct Prepared {
    /// What there is to run.
    pub study: Study,
    /// Each case's place in the study, or why it cannot be run.
    places: BTreeMap<String, Result<usize, String>>,
}

impl Experiment {
    /// Checks which cases this version can run; only those that a row needs count.
    pub fn prepare(&self, seeds: u64) -> Prepared {
        let needed = |id: &String| {
            let in_row = |row: &Row| match &row.simulation {
                Simulation::Figure { of, .. } => of.values().any(|(case, _)| case == id),
                Simulation::Impossible(_) => false,
            };
            self.rows.iter().any(in_row) || self.pictures.iter().any(|picture| picture.case == *id)
        };
        let mut cases: Vec<Sealed> = Vec::new();
        let mut places = BTreeMap::new();
        for (id, case) in self.cases.iter().filter(|(id, _)| needed(id)) {
            let place = case.seal().map_err(|e| short(&e.to_string())).map(|sealed| {
                let known = cases.iter().position(|other| other.hash() == sealed.hash());
                known.unwrap_or_else(|| {
                    cases.push(sealed);
                    cases.len() - 1
                })
            });
            places.insert(id.clone(), place);
        }
        Prepared { study: Study { cases, seeds: (1..=seeds).collect() }, places }
    }

    /// Judges all rows, in their order, by what is in the store.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn judge(&self, prepared: &Prepared, store: &Store) -> Result<Vec<Judged>, StoreError> {
        self.rows.iter().map(|row| row.judge(prepared, store)).collect()
    }
}

impl Row {
    fn judge(&self, prepared: &Prepared, store: &Store) -> Result<Judged, StoreError> {
        let nothing =
            |why: String| Judged { simulated: None, interval: None, verdict: Verdict::NotSimulable(why) };
        let (of, value, band) = match &self.simulation {
            Simulation::Figure { of, value, band } => (of, value, band),
            Simulation::Impossible(why) => return Ok(nothing(why.clone())),
        };
        let mut samples: Vec<(&str, Sample)> = Vec::new();
        for (name, (case, metric)) in of {
            match sample(prepared, store, case, metric)? {
                Ok(sample) => samples.push((name, sample)),
                Err(why) => return Ok(nothing(why)),
            }
        }
        let by_names = |means: &[f64]| {
            let named = samples.iter().map(|(name, _)| *name).zip(means.iter().copied());
            value.value(&named.collect())
        };
        let means: Vec<f64> = samples.iter().map(|(_, sample)| sample.mean()).collect();
        let simulated = by_names(&means);
        let all: Vec<&Sample> = samples.iter().map(|(_, sample)| sample).collect();
        let inside = band.low <= simulated && simulated <= band.high;
        Ok(Judged {
            simulated: Some(simulated).filter(|s| s.is_finite()),
            interval: bootstrap::interval(&all, CONFIDENCE, by_names),
            verdict: if inside { Verdict::Reproduced } else { Verdict::NotReproduced },
        })
    }
}

/// What is wrong, without what would be accepted instead and without what was chosen: many cases lack the same.
fn short(why: &str) -> String {
    let ends = ["; accepted:", "; it has:", " (did you mean", " (with "];
    let end = ends.iter().filter_map(|end| why.find(end)).min().unwrap_or(why.len());
    why[..end].to_owned()
}

/// What all runs of a case have of a metric, or why they have nothing.
fn sample(
    prepared: &Prepared,
    store: &Store,
    case: &str,
    metric: &str,
) -> Result<Result<Sample, String>, StoreError> {
    let place = match prepared.places.get(case) {
        Some(Ok(place)) => *place,
        Some(Err(why)) => return Ok(Err(why.clone())),
        None => return Ok(Err(format!("there is no case '{case}'"))),
    };
    let mut figures = Vec::new();
    for &seed in &prepared.study.seeds {
        let Some((end, run)) = store.figures(&prepared.study.cases[place], seed)? else { continue };
        if !end.is_good() {
            return Ok(Err(format!("runs of case '{case}' get stuck ({end})")));
        }
        figures.extend(run.get(metric));
    }
    Ok(Sample::new(figures).ok_or_else(|| format!("runs of case '{case}' have no figure '{metric}'")))
}

#[cfg(test)]
mod tests;
