// SPDX-License-Identifier: GPL-2.0-only
//! A simulation in which one can go back and forth.
//!
//! Going back means going on from a copy made earlier. Copies are made at even distances; when there are too
//! many, every second one is dropped and the distance doubles.

use std::collections::VecDeque;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::Sim;

use crate::explain::waits::Waits;

/// How many copies are kept, besides the one of the beginning.
const COPIES_MAX: usize = 64;
/// How many events are shown.
const EVENTS_SHOWN: usize = 8;

/// A moment of the simulation.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) sim: Sim,
    pub(crate) waits: Waits,
    /// The latest events.
    pub(crate) events: VecDeque<SchedEvent>,
}

/// The simulation, and copies of its past.
pub(crate) struct Player {
    pub(crate) now: Moment,
    pub(crate) end: Instant,
    /// In the order of time; the first is the beginning.
    copies: Vec<Moment>,
    distance: Nanos,
}

impl Moment {
    /// Goes on until `to`, or to the next scheduling event if that is earlier and `one` is set.
    fn go_on(&mut self, to: Instant, one: bool) {
        loop {
            let mut heard = Vec::new();
            if !self.sim.step(to, &mut |event: &SchedEvent| heard.push(*event)) {
                self.sim.run_until(to, &mut ());
                return;
            }
            let some = !heard.is_empty();
            for event in heard {
                self.waits.feed(&event);
                self.events.push_back(event);
                if self.events.len() > EVENTS_SHOWN {
                    self.events.pop_front();
                }
            }
            if one && some {
                return;
            }
        }
    }
}

impl Player {
    /// At the beginning of a simulation that ends at `end`.
    pub(crate) fn new(sim: Sim, end: Instant) -> Self {
        let now = Moment { sim, waits: Waits::default(), events: VecDeque::new() };
        let distance = Nanos((end.0 / COPIES_MAX as u64).clamp(1_000, 1_000_000_000));
        Self { copies: vec![now.clone()], now, end, distance }
    }

    pub(crate) fn time(&self) -> Instant {
        self.now.sim.now()
    }

    /// To the next scheduling event.
    pub(crate) fn step(&mut self) {
        self.now.go_on(self.end, true);
        self.remember();
    }

    /// To this time, forward or back.
    pub(crate) fn seek(&mut self, to: Instant) {
        let to = to.min(self.end);
        if to < self.time() {
            let at = self.copies.partition_point(|copy| copy.sim.now() <= to).max(1) - 1;
            self.now = self.copies[at].clone();
        }
        while self.time() + self.distance < to && self.now.sim.stop().is_none() {
            let next = self.time() + self.distance;
            self.now.go_on(next, false);
            self.remember();
        }
        if self.now.sim.stop().is_none() {
            self.now.go_on(to, false);
        }
    }

    fn remember(&mut self) {
        let last = self.copies.last().map_or(Instant::ZERO, |copy| copy.sim.now());
        if last + self.distance > self.time() {
            return;
        }
        self.copies.push(self.now.clone());
        if self.copies.len() > COPIES_MAX + 1 {
            let mut keep = false;
            self.copies.retain(|_| {
                keep = !keep;
                keep
            });
            self.distance = Nanos(self.distance.0 * 2);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use zerolag_core::kernel::Kernel;
    use zerolag_core::topology::Topology;
    use zerolag_sim::program::{Op, ProgramBuilder};
    use zerolag_sim::sim::Setup;
    use zerolag_sim::workload::{Start, Template, Workload};

    /// Three tasks of 50 ms each on two CPUs.
    pub(crate) fn player() -> Player {
        let mut workload = Workload::new();
        let program = ProgramBuilder::new().op(Op::Run(Nanos::from_millis(50).into())).build().unwrap();
        let hog = workload.template(Template::new("hog", program));
        for _ in 0..3 {
            workload.start(Start::new(hog));
        }
        let topology = Topology::preset("2cpu").unwrap();
        let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
        let sim = Sim::new(Setup::new(topology, config), workload).unwrap();
        Player::new(sim, Instant(60_000_000))
    }

    #[test]
    fn going_back_and_on_again_leads_to_the_same_state() {
        let mut straight = player();
        straight.seek(Instant(37_000_000));
        let mut wandering = player();
        for to in [50_000_000, 3_000_000, 37_500_000, 36_999_999, 0, 37_000_000] {
            wandering.seek(Instant(to));
            assert_eq!(wandering.time(), Instant(to));
        }
        assert_eq!(straight.now.sim, wandering.now.sim);
    }

    #[test]
    fn a_step_goes_to_the_next_event() {
        let mut player = player();
        player.seek(Instant(5_000_000));
        let before = player.now.events.back().copied();
        player.step();
        assert_ne!(player.now.events.back().copied(), before);
        assert!(player.time() > Instant(5_000_000) && player.time() <= Instant(9_000_000));
    }

    #[test]
    fn copies_stay_few() {
        let mut player = player();
        player.distance = Nanos(1_000);
        player.seek(Instant(40_000_000));
        assert!(player.copies.len() <= COPIES_MAX + 1);
        player.seek(Instant(1_000));
        assert_eq!(player.time(), Instant(1_000));
    }
}
