// SPDX-License-Identifier: GPL-2.0-only
//! Listens to a run: statistics, and what an rt-app file's threads record.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::sim::{Observer, Sim};
use zerolag_sim::workload::rtapp;
use zerolag_trace::metrics::{Metrics, Summary};

use crate::cmd::drive;

/// What was seen.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) summary: Summary,
}

/// Listens to everything.
struct Ear<'a, 'r> {
    metrics: Metrics,
    rtapp: Option<&'a mut rtapp::Observer<'r>>,
}

impl Observer for Ear<'_, '_> {
    fn event(&mut self, event: &SchedEvent) {
        self.metrics.feed(event);
    }

    fn note(&mut self, note: &Note) {
        if let Some(rtapp) = &mut self.rtapp {
            rtapp.note(note);
        }
    }
}

/// Runs until `end`, or until the simulation ends by itself.
pub(super) fn drive(sim: &mut Sim, end: Instant, rtapp: Option<&mut rtapp::Observer<'_>>) -> Outcome {
    let mut ear = Ear { metrics: Metrics::default(), rtapp };
    drive::drive(sim, end, &mut ear);
    ear.metrics.advance(sim.now());
    Outcome { summary: ear.metrics.summary() }
}
