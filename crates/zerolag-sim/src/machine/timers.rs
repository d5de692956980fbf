// SPDX-License-Identifier: GPL-2.0-only
//! One CPU's timers (`hrtimer`s with slack).
//!
//! A timer has a time from which it *may* fire and, later by its slack, one at which it *must*. The CPU sets
//! its interrupt for the earliest "must". Whenever any timer interrupt happens on the CPU, the periodic tick
//! included, timers are taken in the order of "must" for as long as they may fire. So one interrupt serves
//! several, and a timer that nothing else comes to help fires at the end of its slack, never before.
//!
//! ```text
//! a      may ●────────────┤ must
//! b          may ●────────────────┤ must        a's interrupt serves b as well
//!            ────────────▲─────────────▶ time
//! ```
//!
//! Source: kernel/time/hrtimer.c, `__hrtimer_run_queues()`.

use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::ids::{GroupId, TaskId};
use zerolag_core::units::Instant;

use crate::resource::SemaphoreId;

/// What a timer does when it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Wakes a task.
    Wake(TaskId),
    /// Posts a semaphore: I/O has been served.
    Post(SemaphoreId),
    /// Serves the bandwidth of a group.
    Bandwidth(GroupId, BandwidthTimer),
}

/// A timer that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timer {
    must: Instant,
    /// Timers with the same "must" fire in the order in which they were set.
    sequence: u64,
    may: Instant,
    deed: Deed,
}

impl Timer {
    const fn key(&self) -> (u64, u64) {
        (self.must.0, self.sequence)
    }
}

/// The timers, as a binary heap on (must, sequence). None is ever cancelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Timers {
    heap: Vec<Timer>,
    sequence: u64,
}

impl Timers {
    pub(super) fn add(&mut self, may: Instant, must: Instant, deed: Deed) {
        self.sequence += 1;
        self.heap.push(Timer { must, sequence: self.sequence, may, deed });
        let mut at = self.heap.len() - 1;
        while at > 0 && self.heap[at].key() < self.heap[(at - 1) / 2].key() {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Takes over those of a CPU that is gone, in their order.
    pub(super) fn inherit(&mut self, mut gone: Self) {
        gone.heap.sort_unstable_by_key(Timer::key);
        for Timer { may, must, deed, .. } in gone.heap {
            self.add(may, must, deed);
        }
    }

    /// When the interrupt must come.
    pub(super) fn due(&self) -> Option<Instant> {
        self.heap.first().map(|t| t.must)
    }

    /// Takes the first timer, if it may fire at `now`.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Deed> {
        let first = self.heap.first()?;
        if first.may > now {
            return None;
        }
        let deed = first.deed;
        self.heap.swap_remove(0);
        let mut at = 0;
        loop {
            let children = (2 * at + 1)..self.heap.len().min(2 * at + 3);
            let Some(least) = children.min_by_key(|&c| self.heap[c].key()) else { break };
            if self.heap[at].key() < self.heap[least].key() {
                break;
            }
            self.heap.swap(at, least);
            at = least;
        }
        Some(deed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wake(task: u32) -> Deed {
        Deed::Wake(TaskId(task))
    }

    #[test]
    fn one_interrupt_serves_all_that_may_fire() {
        let mut timers = Timers::default();
        timers.add(Instant(10), Instant(60), wake(0));
        timers.add(Instant(30), Instant(80), wake(1));
        timers.add(Instant(70), Instant(120), wake(2));
        assert_eq!(timers.due(), Some(Instant(60)));
        assert_eq!(timers.take_expired(Instant(60)), Some(wake(0)));
        assert_eq!(timers.take_expired(Instant(60)), Some(wake(1)));
        assert_eq!(timers.take_expired(Instant(60)), None);
        assert_eq!(timers.due(), Some(Instant(120)));
    }

    #[test]
    fn a_timer_that_must_wait_hides_those_behind_it() {
        let mut timers = Timers::default();
        timers.add(Instant(50), Instant(50), wake(0));
        timers.add(Instant(10), Instant(60), wake(1));
        assert_eq!(timers.take_expired(Instant(20)), None);
    }

    proptest! {
        #[test]
        fn timers_fire_like_a_sorted_list(times in prop::collection::vec((0..50u64, 0..10u64), 0..40)) {
            let mut timers = Timers::default();
            let mut twin = Vec::new();
            for (i, &(may, slack)) in times.iter().enumerate() {
                timers.add(Instant(may), Instant(may + slack), wake(i as u32));
                twin.push((may + slack, i as u32));
            }
            twin.sort_unstable();
            for (must, task) in twin {
                prop_assert_eq!(timers.due(), Some(Instant(must)));
                prop_assert_eq!(timers.take_expired(Instant(must)), Some(wake(task)));
            }
            prop_assert_eq!(timers.due(), None);
        }
    }
}
