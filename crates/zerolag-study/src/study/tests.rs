// SPDX-License-Identifier: GPL-2.0-only
//! The properties that the crate promises.

use std::collections::BTreeMap;

use super::*;
use crate::case::{Beside, Case, Contents};

pub(crate) const RANDOM: &str = "machine = \"2cpu\"\nduration = \"100ms\"\n[cgroup.\"/a\"]\n\"cpu.weight\" = 50\n\
    [[workload]]\nname = \"x\"\ncount = 3\ncgroup = \"/a\"\n\
    program = \"forever { run exponential(2ms); sleep exponential(1ms) }\"\n\
    [[workload]]\nkind = \"hog\"\nname = \"hog\"\ncount = 2\n";

pub(crate) fn case(choices: &[(&str, &str)]) -> Sealed {
    let beside = Beside::Contents(Contents::new());
    let case =
        Case { file: "r.toml".into(), bytes: RANDOM.as_bytes().into(), beside, choices: BTreeMap::new() };
    choices.iter().fold(case, |case, (k, v)| case.with(k.parse().unwrap(), *v)).seal().unwrap()
}

pub(crate) fn study() -> Study {
    let cases = vec![
        case(&[("kernel", "6.1")]),
        case(&[("kernel", "6.12")]),
        case(&[("kernel", "6.12"), ("cgroup:/a:cpu.weight", "300")]),
    ];
    Study { cases, seeds: (1..=4).collect() }
}

pub(crate) fn means(jobs: usize) -> Means {
    Means { jobs: NonZeroUsize::new(jobs).unwrap(), shard: Shard::ALL }
}

pub(crate) fn csv(store: &Store) -> String {
    let mut out = Vec::new();
    store.write_csv(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn done(means: Means) -> Store {
    let mut store = Store::in_memory().unwrap();
    study().run(&mut store, means, &mut ()).unwrap();
    store
}

#[test]
fn the_same_rows_at_any_number_of_workers() {
    let alone = csv(&done(means(1)));
    assert_eq!(alone.matches("x wake-up p99,us,lower").count(), 12);
    assert_eq!(alone, csv(&done(means(4))));
}

/// Stops after so many runs.
struct After(usize);

impl Progress for After {
    fn at(&mut self, done: usize, _: usize, _: usize) {
        self.0 = self.0.saturating_sub(done);
    }

    fn goes_on(&mut self) -> bool {
        self.0 > 0
    }
}

#[test]
fn a_study_that_is_stopped_goes_on_from_whole_runs() {
    let mut store = Store::in_memory().unwrap();
    let first = study().run(&mut store, means(1), &mut After(3)).unwrap();
    assert!(first.stopped);
    let second = study().run(&mut store, means(1), &mut ()).unwrap();
    assert!(!second.stopped && (1..12).contains(&second.found), "{second:?}");
    assert_eq!(csv(&store), csv(&done(means(1))));
}

#[test]
fn what_is_there_is_not_done_again() {
    let study = study();
    let mut store = Store::in_memory().unwrap();
    let first = Study { seeds: vec![2, 3], ..study.clone() };
    assert_eq!(first.run(&mut store, means(2), &mut ()).unwrap(), Account { runs: 6, ..Account::default() });
    assert_eq!(
        study.run(&mut store, means(2), &mut ()).unwrap(),
        Account { runs: 12, found: 6, stopped: false }
    );
    assert_eq!(csv(&store), csv(&done(means(1))));
}

#[test]
fn shards_are_parts_of_the_whole() {
    let whole = csv(&done(means(2)));
    let mut merged = Store::in_memory().unwrap();
    for number in 1..=5 {
        let shard = Shard::new(number, 5).unwrap();
        merged.merge(&done(Means { shard, ..means(2) }), &BTreeMap::new()).unwrap();
    }
    assert_eq!(csv(&merged), whole);
    assert_eq!((Shard::new(0, 5), Shard::new(6, 5), Shard::new(1, 0)), (None, None, None));
}

#[test]
fn a_workload_that_cannot_run_stops_the_study_and_is_named() {
    let text = RANDOM.replace("kind = \"hog\"", "kind = \"hog\"\ncpus = 1").replace("2cpu", "4cpu");
    let beside = Beside::Contents(Contents::new());
    let case =
        Case { file: "r.toml".into(), bytes: text.as_bytes().into(), beside, choices: BTreeMap::new() };
    let error = case.with(crate::choice::Key::Machine, "1cpu").seal().unwrap_err().to_string();
    assert!(error.contains("CPUs of this machine"), "{error}");
}

#[test]
fn runs_that_get_stuck_are_kept_and_named() {
    let text = "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nname = \"x\"\nprogram = \"acquire s\"\n";
    let beside = Beside::Contents(Contents::new());
    let case =
        Case { file: "r.toml".into(), bytes: text.as_bytes().into(), beside, choices: BTreeMap::new() };
    let study = Study { cases: vec![case.seal().unwrap()], seeds: vec![1] };
    let mut store = Store::in_memory().unwrap();
    study.run(&mut store, means(1), &mut ()).unwrap();
    let stuck = study.stuck(&store).unwrap();
    assert_eq!((stuck.len(), stuck[0].2), (1, End::Deadlock));
}
