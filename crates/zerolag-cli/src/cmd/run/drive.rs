// SPDX-License-Identifier: GPL-2.0-only
//! Drives a simulation to its end, with statistics, progress, and a word on how fast it went.

use std::time::Instant as HostInstant;

use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::sim::{Observer, Sim};
use zerolag_sim::workload::rtapp;
use zerolag_trace::metrics::{Metrics, Summary};

/// How often progress is shown.
const PARTS: u64 = 200;

/// What was seen.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) summary: Summary,
}

/// Listens to everything; notes wait until the simulation can be asked for names.
#[derive(Default)]
struct Ear {
    metrics: Metrics,
    notes: Vec<Note>,
}

impl Observer for Ear {
    fn event(&mut self, event: &SchedEvent) {
        self.metrics.feed(event);
    }

    fn note(&mut self, note: &Note) {
        self.notes.push(*note);
    }
}

/// Runs until `end`, or until the simulation ends by itself.
pub(super) fn drive(sim: &mut Sim, end: Instant, mut rtapp: Option<&mut rtapp::Observer<'_>>) -> Outcome {
    let mut ear = Ear::default();
    let began = HostInstant::now();
    // Hidden by itself where standard error is no terminal.
    let progress = ProgressBar::new(PARTS).with_style(
        ProgressStyle::with_template("{bar:40} {percent}% {eta} left").expect("the template is well-formed"),
    );
    for part in 1..=PARTS {
        let until = Instant((u128::from(end.0) * u128::from(part) / u128::from(PARTS)) as u64);
        while sim.step(until, &mut ear) {
            for note in ear.notes.drain(..) {
                if let Some(rtapp) = &mut rtapp {
                    rtapp.note(&note);
                }
            }
        }
        progress.inc(1);
    }
    sim.run_until(end, &mut ear);
    progress.finish_and_clear();
    ear.metrics.advance(sim.now());

    let seconds = began.elapsed().as_secs_f64();
    let events = sim.stats().scheduling_events();
    eprintln!(
        "simulated {:.3} s in {seconds:.3} s: {events} scheduling events, {:.2} million a second",
        sim.now().0 as f64 / 1e9,
        events as f64 / seconds / 1e6,
    );
    Outcome { summary: ear.metrics.summary() }
}
