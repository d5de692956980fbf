// SPDX-License-Identifier: GPL-2.0-only
//! What all workload models have in common, so that commands, scenario files and comparisons need to know
//! none of them by name.
//!
//! ```text
//! options ── Model ── add ──▶ Workload (tasks, resources)
//!                        └──▶ Watch ◀── notes and events of the run
//!                                └──▶ Outcome: the tool's own output, and figures to compare
//! ```

use std::borrow::Cow;
use std::fmt;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::GroupId;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use crate::note::Note;

/// A workload model with its options.
pub trait Model: fmt::Debug {
    /// How long it runs, if it does not end by itself.
    fn run_time(&self) -> Option<Nanos>;

    /// Adds its tasks to a workload.
    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch>;

    /// The next run of a series that the tool makes by itself, such as one with ever more load.
    fn again(&self, _outcome: &Outcome) -> Option<Box<dyn Model>> {
        None
    }
}

/// Where a model's tasks run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The machine.
    pub machine: &'a Topology,
    /// When they start.
    pub start: Instant,
    /// In which group.
    pub group: GroupId,
}

impl<'a> Place<'a> {
    /// On this machine, from the beginning, in the root group.
    pub const fn on(machine: &'a Topology) -> Self {
        Self { machine, start: Instant::ZERO, group: GroupId::ROOT }
    }
}

/// Somebody who watches a model's tasks and says in the end how it went.
///
/// All notes and events of the run are shown in order; those of other workloads must not matter.
pub trait Watch: fmt::Debug + Send + Sync {
    /// A task reports something.
    fn note(&mut self, note: &Note);

    /// The scheduler did something.
    fn event(&mut self, _event: &SchedEvent) {}

    /// All there is to see has been seen: the benchmark would have ended.
    fn is_over(&self) -> bool {
        false
    }

    /// A copy that sees the same from here on.
    fn boxed(&self) -> Box<dyn Watch>;

    /// The run ended at this time.
    fn finish(&mut self, end: Instant) -> Outcome;
}

impl Clone for Box<dyn Watch> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the tool prints, in order, wherever it prints it.
    pub text: String,
    /// Figures, in the order in which they are worth showing.
    pub metrics: Vec<Metric>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: Cow<'static, str>,
    /// The figure.
    pub value: f64,
    /// Which way is better.
    pub better: Better,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The less, the better: times.
    Lower,
    /// The more, the better: rates.
    Higher,
    /// It depends on whom one asks: a share that one task gets, another does not.
    Neither,
}

impl Better {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lower, Self::Higher, Self::Neither];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

impl Metric {
    /// A time, of which less is better.
    pub fn time(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit: unit.into(), value, better: Better::Lower }
    }

    /// A rate, of which more is better.
    pub fn rate(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit: unit.into(), value, better: Better::Higher }
    }

    /// A figure of which neither more nor less is better by itself.
    pub fn neutral(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit: unit.into(), value, better: Better::Neither }
    }
}
