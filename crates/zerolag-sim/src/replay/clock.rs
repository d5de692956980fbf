// SPDX-License-Identifier: GPL-2.0-only
//! The clock of a recording, mended: it never goes back, and does not leap.
//!
//! A damaged time stamp, or a clock that was set, would otherwise make a recording of seconds one of years in
//! which everybody who ran at that moment ran on.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};

/// Nothing at all happens for so long only if the clock leaps: a busy CPU ticks, and some task or other wakes
/// up on an idle machine.
const GAP_MAX: Nanos = Nanos::from_secs(60);

/// Mends the times of events that are passed through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    last_in: Option<Instant>,
    last_out: Instant,
    back: u64,
    leaps: u64,
}

impl Clock {
    /// A clock that has seen nothing.
    pub const fn new() -> Self {
        Self { last_in: None, last_out: Instant::ZERO, back: 0, leaps: 0 }
    }

    /// The event at its mended time. The first one keeps its own.
    pub fn mend(&mut self, event: &SchedEvent) -> SchedEvent {
        let passed = match self.last_in {
            None => {
                self.last_out = event.time;
                Nanos::ZERO
            }
            Some(last) => event.time.saturating_since(last),
        };
        if self.last_in.is_some_and(|last| event.time < last) {
            self.back += 1;
        }
        self.last_in = Some(event.time);
        if passed > GAP_MAX {
            self.leaps += 1;
        } else {
            self.last_out += passed;
        }
        SchedEvent { time: self.last_out, ..*event }
    }

    /// How often time went back.
    pub const fn back(&self) -> u64 {
        self.back
    }

    /// How often more than a minute was left out in which nothing happened.
    pub const fn leaps(&self) -> u64 {
        self.leaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::event::EventKind;
    use zerolag_core::ids::CpuId;

    #[test]
    fn time_neither_goes_back_nor_leaps() {
        let mut clock = Clock::new();
        let mend = |clock: &mut Clock, t: u64| {
            let event = SchedEvent { time: Instant(t), cpu: CpuId(0), kind: EventKind::Tick };
            clock.mend(&event).time.0
        };
        let out: Vec<u64> =
            [500, 600, 550, 560, 99_000_000_000_000, 99_000_000_000_007].map(|t| mend(&mut clock, t)).into();
        assert_eq!(out, [500, 600, 600, 610, 610, 617]);
        assert_eq!((clock.back(), clock.leaps()), (1, 1));
    }
}
