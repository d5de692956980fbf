// SPDX-License-Identifier: GPL-2.0-only

use zerolag_core::kernel::Kernel;
use zerolag_core::units::Instant;

use super::*;
use crate::scenario::{Overrides, read};
use crate::sim::EventHash;

fn everything() -> Space {
    Space::everything(Kernel::implemented().collect())
}

fn no_files(_: &str) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

#[test]
fn the_same_seed_draws_the_same_case() {
    for seed in 0..50 {
        assert_eq!(draw(seed, &everything()), draw(seed, &everything()));
    }
    assert_ne!(draw(1, &everything()).to_toml(), draw(2, &everything()).to_toml());
}

#[test]
fn every_case_drawn_is_accepted_by_the_reader() {
    for seed in 0..300 {
        let text = draw(seed, &everything()).to_toml();
        let scenario = read("case", text.as_bytes(), &Overrides::default(), &no_files);
        if let Err(error) = scenario.and_then(|s| s.simulate()) {
            panic!("seed {seed}: {error}\n{text}");
        }
    }
}

#[test]
fn mutants_are_accepted_too_and_stay_equal() {
    let space = Space { equal: true, ..everything() };
    for seed in 0..40 {
        let mut case = draw(seed, &space);
        for step in 0..20 {
            case = mutate(&case, seed * 100 + step, &space);
            let text = case.to_toml();
            let scenario = read("case", text.as_bytes(), &Overrides::default(), &no_files);
            if let Err(error) = scenario.and_then(|s| s.simulate()) {
                panic!("seed {seed}: {error}\n{text}");
            }
        }
        assert!(case.features.is_empty() && case.tunables.is_empty());
        assert!(case.changes.iter().all(|(at, c)| matches!(c, Change::Online(..)) && *at <= case.busy));
        assert!(case.works.iter().all(|w| w.nice == 0 && w.policy.is_none() && w.slice.is_none()));
    }
}

#[test]
fn a_case_runs_to_the_same_end_each_time() {
    for seed in 0..6 {
        let text = draw(seed, &everything()).to_toml();
        let run = || {
            let scenario = read("case", text.as_bytes(), &Overrides::default(), &no_files).unwrap();
            let mut hash = EventHash::default();
            let mut sim = scenario.simulate().unwrap();
            sim.run_until(Instant(20_000_000), &mut hash);
            hash
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

/// A fault that needs a nice task and a change of some group's weight.
fn shows(case: &Case) -> bool {
    case.works.iter().any(|w| w.nice != 0 && w.group.is_some())
        && case.changes.iter().any(|(_, change)| matches!(change, Change::Weight(..)))
}

#[test]
fn what_shrinking_returns_shows_the_fault_and_nothing_can_be_left_out() {
    let faulty = (0..).map(|seed| draw(seed, &everything())).find(shows).unwrap();
    let small = shrink(&faulty, usize::MAX, shows);
    assert!(shows(&small));
    assert_eq!((small.works.len(), small.changes.len()), (1, 1), "{}", small.to_toml());
    assert_eq!((small.features.len(), small.tunables.len()), (0, 0));
    assert!(small.groups.len() <= 2 && small.works[0].count == 1 && small.machine == "1cpu");
}

#[test]
fn shrinking_stops_when_its_runs_are_used_up() {
    let mut asked = 0;
    shrink(&draw(3, &everything()), 10, |_| {
        asked += 1;
        true
    });
    assert!(asked <= 10);
}
