// SPDX-License-Identifier: GPL-2.0-only
//! When the recorded machine's tick came.
//!
//! A tick charges whoever runs (`sched_stat_runtime`) at the same moment of every period. So do wake-ups and
//! switches, but at moments of their own: a charge right after a `sched_waking` of its CPU, or right before its
//! task falls asleep, is not counted.
//!
//! ```text
//! charges          │    │ │      │        │         │  │  │
//! modulo a tick    0 ···········▂▂▁▂▁▁█▂▁▁▁▁▂▂··········· 4 ms
//!                                     └ the tick
//! ```

use zerolag_core::units::{Instant, Nanos};

/// So close to another event a charge is that event's.
const NEAR: Nanos = Nanos::from_micros(30);
/// Ticks of one machine come within this of the same moment of the period.
const JITTER: Nanos = Nanos::from_micros(50);
/// Fewer in one place are not taken for ticks.
const TICKS_MIN: usize = 20;
/// More do not make it better.
const SAMPLES_MAX: usize = 100_000;

/// What one CPU's last events were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    waking: Option<Instant>,
    charge: Option<Instant>,
}

impl Recent {
    pub(super) fn waking(&mut self, now: Instant) {
        self.waking = Some(now);
    }

    /// A task falls asleep.
    pub(super) fn sleeps(&mut self, now: Instant) {
        self.charge = self.charge.filter(|&at| now.saturating_since(at) > NEAR);
    }
}

/// When a machine ticked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    /// How long after multiples of the period.
    pub(super) phase: Nanos,
    /// How much later than that some came.
    pub(super) jitter: Nanos,
}

/// Times of charges that may have been ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges(Vec<Instant>);

impl Charges {
    /// A charge; whether it counts is seen at the next one of its CPU.
    pub(super) fn record(&mut self, recent: &mut Recent, now: Instant) {
        let by_wakeup = recent.waking.is_some_and(|at| now.saturating_since(at) <= NEAR);
        let settled = std::mem::replace(&mut recent.charge, (!by_wakeup).then_some(now));
        if self.0.len() < SAMPLES_MAX {
            self.0.extend(settled);
        }
    }

    /// When in each period ticks come, if that is to be seen: most charges of some place in it, and five times as
    /// many as chance would put there.
    pub(super) fn ticks(&self, period: Nanos) -> Option<Ticks> {
        let mut phases: Vec<u64> = self.0.iter().map(|at| at.0 % period.0).collect();
        phases.sort_unstable();
        let count = phases.len();
        // Once around and a little further, for a tick at the end of the period.
        let later: Vec<u64> = phases.iter().map(|p| p + period.0).collect();
        phases.extend(later.iter().take_while(|&&p| p < period.0 + JITTER.0));
        let within = |first: usize| phases.partition_point(|&p| p < phases[first] + JITTER.0) - first;
        let first = (0..count).max_by_key(|&first| (within(first), std::cmp::Reverse(first)))?;
        let ticks = within(first);
        let by_chance = count as u64 * JITTER.0 / period.0;
        let is_seen = ticks >= TICKS_MIN && ticks as u64 > 5 * by_chance;
        is_seen.then(|| {
            // The first and the last are as likely something else.
            let (early, late) = (phases[first + ticks / 10], phases[first + ticks - 1 - ticks / 10]);
            Ticks { phase: Nanos(early % period.0), jitter: Nanos(late - early) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    /// Charges at these microseconds, with nothing else near.
    fn charges(times: impl IntoIterator<Item = u64>) -> Charges {
        let (mut charges, mut recent) = (Charges::default(), Recent::default());
        for time in times {
            charges.record(&mut recent, Instant(us(time).0));
        }
        charges
    }

    #[test]
    fn ticks_are_found_among_other_charges_wherever_in_the_period_they_come() {
        for phase in [0, 10, 1234, 3990] {
            // One stray charge for each tick; ticks come up to 12 us late.
            let times = (1..200)
                .flat_map(|n| [n * 4000 + phase + n * 7 % 13, n * 4000 + phase + 20 + n * 1237 % 3900]);
            let found = charges(times).ticks(us(4000)).unwrap();
            let late = (found.phase.0 + us(4000).0 - us(phase).0) % us(4000).0;
            assert!(late + found.jitter.0 <= us(12).0, "{phase}: {found:?}");
            assert!(found.jitter >= us(6), "{phase}: {found:?}");
        }
    }

    #[test]
    fn charges_without_a_rhythm_and_few_charges_are_no_ticks() {
        let mut at = 0;
        let odd = (0..400u64).map(|n| {
            at += 1000 + n * n * 7919 % 5000;
            at
        });
        assert_eq!(charges(odd).ticks(us(4000)), None);
        assert_eq!(charges((1..20).map(|n| n * 4000)).ticks(us(4000)), None);
        assert_eq!(charges([]).ticks(us(4000)), None);
    }

    #[test]
    fn charges_by_wake_ups_and_sleeps_do_not_count() {
        let (mut charges, mut recent) = (Charges::default(), Recent::default());
        for n in 1..100u64 {
            let at = |later: u64| Instant(us(n * 4000 + later).0);
            recent.waking(at(0));
            charges.record(&mut recent, at(2));
            charges.record(&mut recent, at(500));
            recent.sleeps(at(505));
            charges.record(&mut recent, at(900));
        }
        assert_eq!(charges.ticks(us(4000)), Some(Ticks { phase: us(900), jitter: us(0) }));
    }
}
