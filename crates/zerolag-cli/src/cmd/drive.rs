// SPDX-License-Identifier: GPL-2.0-only
//! Drives a simulation to its end, with progress, and a word on how fast it went.

use std::time::Instant as HostInstant;

use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::units::Instant;
use zerolag_sim::sim::{Observer, Sim};

/// How often progress is shown.
const PARTS: u64 = 200;

/// Runs until `end`, or until the simulation ends by itself.
pub(super) fn drive(sim: &mut Sim, end: Instant, observer: &mut impl Observer) {
    let began = HostInstant::now();
    // Hidden by itself where standard error is no terminal.
    let progress = ProgressBar::new(PARTS).with_style(
        ProgressStyle::with_template("{bar:40} {percent}% {eta} left").expect("the template is well-formed"),
    );
    for part in 1..=PARTS {
        let until = (u128::from(end.0) * u128::from(part) / u128::from(PARTS)) as u64;
        if sim.run_until(Instant(until), observer).is_some() || !observer.wants_more() {
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
