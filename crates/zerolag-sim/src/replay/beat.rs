// SPDX-License-Identifier: GPL-2.0-only
//! How sleeps that no task ends are spaced.
//!
//! ```text
//! nanosleep(4 ms):     ▇▇▇▇────▇▇────▇▇▇▇▇▇────▇▇────     sleeps are equally long
//! until a beat:        ▇▇▇▇────▇▇──────▇▇▇▇▇▇──▇▇────     wake-ups are equally spaced
//!                              │       │       │
//! ```
//!
//! It matters when the schedule comes out differently: a task that sleeps for a time then gets later and later,
//! one that sleeps until a beat catches up. What varies less, lengths or distances from the beat, tells which it
//! is (lengths from one sleep to the next: there may be phases). If neither is regular the length of sleeps is kept: the recording does not say more.

use zerolag_core::units::{Instant, Nanos};

use super::cause::length;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rhythm {
    /// Nothing repeats itself.
    #[default]
    Irregular,
    /// All sleeps are about equally long.
    Lengths,
    /// Wake-ups come at multiples of a period.
    Beat,
}

/// Fewer sleeps show no rhythm.
const SLEEPS_MIN: usize = 8;

/// Nobody sets a timer for less: setting it and going to sleep takes as long.
const TIMED_MIN: Nanos = Nanos::from_micros(60);

/// The rhythm of these sleeps, in the order of time.
pub(super) fn rhythm(sleeps: &[(Instant, Instant)]) -> Rhythm {
    if sleeps.len() < SLEEPS_MIN {
        return Rhythm::Irregular;
    }
    let mut lengths: Vec<u64> = sleeps.iter().map(|&s| length(s).0).collect();
    let mut periods: Vec<u64> = sleeps.windows(2).map(|w| length((w[0].1, w[1].1)).0).collect();
    // From one sleep to the next, since a task may go through phases.
    let mut changes: Vec<u64> = lengths.windows(2).map(|w| w[0].abs_diff(w[1])).collect();
    let (length_spread, _) = spread(&mut changes);
    let (usual_length, _) = spread(&mut lengths);
    if usual_length < TIMED_MIN.0 {
        return Rhythm::Irregular;
    }
    let (period, _) = spread(&mut periods);
    // Beats that were slept through or missed are multiples of the period.
    let mut off_beat: Vec<u64> = periods.iter().map(|&d| distance_to_multiple(d, period)).collect();
    let (usual_off, _) = spread(&mut off_beat);
    let beat = is_small(Nanos(2 * usual_off), Nanos(period)).then_some(2 * usual_off);
    let even = is_small(Nanos(length_spread), Nanos(usual_length)).then_some(length_spread);
    match (beat, even) {
        (Some(beat), Some(even)) if 2 * beat >= even => Rhythm::Lengths,
        (Some(_), _) => Rhythm::Beat,
        (None, Some(_)) => Rhythm::Lengths,
        (None, None) => Rhythm::Irregular,
    }
}

/// What is still regular: a twentieth of the whole, or a timer's default slack.
fn is_small(spread: Nanos, whole: Nanos) -> bool {
    spread <= Nanos((whole.0 / 20).max(50_000).min(whole.0 / 4))
}

/// Median, and the distance between the quartiles.
fn spread(samples: &mut [u64]) -> (u64, u64) {
    samples.sort_unstable();
    let at = |quarter: usize| samples[(samples.len() - 1) * quarter / 4];
    (at(2), at(3) - at(1))
}

fn distance_to_multiple(span: u64, period: u64) -> u64 {
    if period == 0 {
        return span;
    }
    let nearest = ((span + period / 2) / period).max(1) * period;
    span.abs_diff(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(runs_and_ends: impl Iterator<Item = (u64, u64)>) -> Vec<(Instant, Instant)> {
        runs_and_ends.map(|(from, until)| (Instant(from * 1000), Instant(until * 1000))).collect()
    }

    /// A run of varying length before each sleep.
    fn run(n: u64) -> u64 {
        [300, 1700, 900, 2500, 400][n as usize % 5]
    }

    #[test]
    fn sleeps_of_equal_length_are_told_from_those_until_a_beat() {
        let mut now = 0;
        let equal = sleeps((0..20).map(|n| {
            let from = now + run(n);
            now = from + 4000 + n % 7;
            (from, now)
        }));
        assert_eq!(rhythm(&equal), Rhythm::Lengths);
        let beat = sleeps((0..20).map(|n| (n * 4000 + run(n), (n + 1) * 4000 + n % 7)));
        assert_eq!(rhythm(&beat), Rhythm::Beat);
    }

    #[test]
    fn missed_beats_do_not_hide_the_rhythm() {
        let kept = (0..40).filter(|n| n % 5 != 3);
        let beat = sleeps(kept.map(|n| (n * 1000 + run(n) / 4, (n + 1) * 1000)));
        assert_eq!(rhythm(&beat), Rhythm::Beat);
    }

    #[test]
    fn what_follows_no_rule_and_what_is_rare_is_irregular() {
        let odd = sleeps((0..40).map(|n| (n * 10_000, n * 10_000 + n * n * 37 % 9000)));
        assert_eq!(rhythm(&odd[..4]), Rhythm::Irregular);
        let mut now = 0;
        let random = sleeps((0..40).map(|n| {
            let from = now + run(n);
            now = from + 100 + n * n * 37 % 9000;
            (from, now)
        }));
        assert_eq!(rhythm(&random), Rhythm::Irregular);
    }
}
