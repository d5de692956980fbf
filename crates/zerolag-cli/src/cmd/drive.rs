// SPDX-License-Identifier: GPL-2.0-only
//! Drives a simulation to its end, with progress, and a word on how fast it went.

use std::time::Instant as HostInstant;

use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::units::Instant;
use zerolag_sim::sim::{Observer, Sim};

/// How often progress is shown.
const PARTS: u64 = 200;

/// Runs until `end`, until the observer wants no more, or until the simulation ends by itself.
pub(super) fn drive(sim: &mut Sim, end: Instant, observer: &mut impl Observer) {
    in_parts(sim, end, |sim, until| sim.run_until(until, observer).is_none() && observer.wants_more());
}

/// Runs until `end` part by part, each by `run_until`, which says whether there is a point in going on.
pub(crate) fn in_parts(sim: &mut Sim, end: Instant, mut run_until: impl FnMut(&mut Sim, Instant) -> bool) {
    let began = HostInstant::now();
    // Hidden by itself where standard error is no terminal.
    let progress = ProgressBar::new(PARTS).with_style(
        ProgressStyle::with_template("{bar:40} {percent}% {eta} left").expect("the template is well-formed"),
    );
    for part in 1..=PARTS {
        let until = (u128::from(end.0) * u128::from(part) / u128::from(PARTS)) as u64;
        if !run_until(sim, Instant(until)) {
            break;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();

    let seconds = began.elapsed().as_secs_f64();
    let events = sim.stats().scheduling_events();
    eprintln!(
        "simulated {:.3} s in {seconds:.3} s: {events} scheduling events, {:.2} million a second",
        sim.now().0 as f64 / 1e9,
        events as f64 / seconds / 1e6,
    );
}
