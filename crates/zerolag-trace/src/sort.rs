// SPDX-License-Identifier: GPL-2.0-only
//! Puts events of several CPUs into the order of time while holding only a few of them.
//!
//! Each CPU's buffer is in order, but clocks of CPUs differ a little and tools merge buffers in pieces, so
//! a recording is *nearly* in order. The sorter holds the latest events and gives out the earliest of them:
//!
//! ```text
//! in:   10 20 15 30 25 40 …          window of 3
//! held:     [15 20 30]               15 was put in its place
//! out:   10
//! ```
//!
//! Properties:
//! * every event comes out, exactly once;
//! * events of the same time keep the order in which they came;
//! * if no event is preceded by `window` or more later ones, everything comes out in the order of time;
//! * an event older than what is already out starts anew: all that is held goes out before it, so that
//!   a clock that jumps back costs one step back in the output and not a shuffle.

use std::collections::VecDeque;

use zerolag_core::units::{Instant, Nanos};

/// Holds up to `window` events; see the module's text.
#[derive(Clone, Debug)]
pub struct Sorter<T> {
    /// In the order of time.
    held: VecDeque<(Instant, T)>,
    /// How many of the front may go out although the window is not full.
    released: usize,
    window: usize,
    last_out: Instant,
    mended: u64,
    steps_back: u64,
    largest_step_back: Nanos,
}

impl<T> Sorter<T> {
    /// A sorter that mends events preceded by fewer than `window` later ones.
    pub const fn new(window: usize) -> Self {
        Self {
            held: VecDeque::new(),
            released: 0,
            window,
            last_out: Instant::ZERO,
            mended: 0,
            steps_back: 0,
            largest_step_back: Nanos::ZERO,
        }
    }

    /// Takes one event in.
    pub fn push(&mut self, time: Instant, item: T) {
        if time < self.last_out {
            self.steps_back += 1;
            self.largest_step_back = self.largest_step_back.max(self.last_out - time);
            self.finish();
            self.last_out = Instant::ZERO;
        }
        // What is released goes out first whatever its time, so the new event may only go behind it.
        let mut at = self.held.len();
        while at > self.released && self.held[at - 1].0 > time {
            at -= 1;
        }
        if at == self.held.len() {
            self.held.push_back((time, item));
        } else {
            self.mended += 1;
            self.held.insert(at, (time, item));
        }
    }

    /// Lets everything out that is held: the input is over.
    pub fn finish(&mut self) {
        self.released = self.held.len();
    }

    /// The next event that may go out.
    pub fn pop(&mut self) -> Option<T> {
        if self.released == 0 && self.held.len() < self.window {
            return None;
        }
        let (time, item) = self.held.pop_front()?;
        if self.released > 0 {
            self.released -= 1;
        } else {
            self.last_out = time;
        }
        Some(item)
    }

    /// Events that came late and were put in their place.
    pub const fn mended(&self) -> u64 {
        self.mended
    }

    /// How often time stepped back further than the window could mend, and by how much at most.
    pub const fn steps_back(&self) -> (u64, Nanos) {
        (self.steps_back, self.largest_step_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A time and where it stood in the input.
    type Item = (u64, usize);

    fn sorted(window: usize, times: &[u64]) -> (Vec<Item>, Sorter<Item>) {
        let mut sorter = Sorter::new(window);
        let mut out = Vec::new();
        for (i, &t) in times.iter().enumerate() {
            sorter.push(Instant(t), (t, i));
            out.extend(std::iter::from_fn(|| sorter.pop()));
        }
        sorter.finish();
        out.extend(std::iter::from_fn(|| sorter.pop()));
        (out, sorter)
    }

    #[test]
    fn a_clock_that_jumps_back_costs_one_step() {
        let (out, sorter) = sorted(3, &[100, 110, 120, 130, 140, 10, 20, 15, 30, 40, 50]);
        let times: Vec<u64> = out.iter().map(|x| x.0).collect();
        assert_eq!(times, [100, 110, 120, 130, 140, 10, 15, 20, 30, 40, 50]);
        assert_eq!(sorter.steps_back(), (1, Nanos(110)));
        assert_eq!(sorter.mended(), 1);
    }

    proptest! {
        #[test]
        fn every_event_comes_out_exactly_once(
            window in 1usize..20,
            times in proptest::collection::vec(0u64..50, 0..200),
        ) {
            let (mut out, _) = sorted(window, &times);
            out.sort_by_key(|x| x.1);
            let want: Vec<Item> = times.iter().copied().zip(0..).collect();
            prop_assert_eq!(out, want);
        }

        #[test]
        fn a_wide_window_sorts_like_a_stable_sort(times in proptest::collection::vec(0u64..50, 0..200)) {
            let (out, _) = sorted(201, &times);
            let mut want: Vec<Item> = times.iter().copied().zip(0..).collect();
            want.sort_by_key(|x| x.0);
            prop_assert_eq!(out, want);
        }

        #[test]
        fn small_disorder_is_mended_by_a_small_window(
            steps in proptest::collection::vec(0u64..5, 1..200),
            swaps in proptest::collection::vec(any::<bool>(), 200),
        ) {
            let mut times: Vec<u64> = steps.iter().scan(0, |t, s| { *t += s; Some(*t) }).collect();
            for i in (1..times.len()).step_by(2) {
                if swaps[i] {
                    times.swap(i - 1, i);
                }
            }
            let (out, _) = sorted(3, &times);
            prop_assert!(out.is_sorted_by_key(|x| x.0));
        }
    }
}
