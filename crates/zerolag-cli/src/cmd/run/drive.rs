// SPDX-License-Identifier: GPL-2.0-only
//! Listens to a run: statistics, and what an rt-app file's threads record.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::scenario::{ModelPart, Watches};
use zerolag_sim::sim::{Observer, Sim};
use zerolag_sim::workload::model;
use zerolag_sim::workload::rtapp;
use zerolag_trace::metrics::{Metrics, Summary};

use crate::cmd::drive;

/// What was seen.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) summary: Summary,
    pub(super) models: Vec<(ModelPart, model::Outcome)>,
    /// It ended because the models were over.
    pub(super) over: bool,
}

/// Listens to everything.
struct Ear<'a, 'r> {
    metrics: Metrics,
    watches: Watches,
    rtapp: Option<&'a mut rtapp::Observer<'r>>,
}

impl Observer for Ear<'_, '_> {
    fn event(&mut self, event: &SchedEvent) {
        self.metrics.feed(event);
        self.watches.event(event);
    }

    fn wants_more(&self) -> bool {
        self.watches.wants_more()
    }

    fn note(&mut self, note: &Note) {
        self.watches.note(note);
        if let Some(rtapp) = &mut self.rtapp {
            rtapp.note(note);
        }
    }
}

/// Runs until `end`, or until the simulation ends by itself.
pub(super) fn drive(
    sim: &mut Sim,
    end: Instant,
    watches: Watches,
    rtapp: Option<&mut rtapp::Observer<'_>>,
) -> Outcome {
    let mut ear = Ear { metrics: Metrics::default(), watches, rtapp };
    drive::drive(sim, end, &mut ear);
    ear.metrics.advance(sim.now());
    let over = !ear.watches.wants_more();
    Outcome { summary: ear.metrics.summary(), models: ear.watches.finish(sim.now()), over }
}
