// SPDX-License-Identifier: GPL-2.0-only
//! The same input gives the same schedule: in one thread or many, optimised or not, on any computer.
//!
//! Event hashes of drawn configurations are recorded here. They change when behaviour does; then look whether
//! it should have, and let `UPDATE_EXPECT=1` write them anew. `cargo test --release -p zerolag-sim --test
//! determinism` checks that optimised code without debug assertions gives the same.

use std::thread;

use expect_test::expect;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Instant;
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::sim::EventHash;
use zerolag_sim::swarm::{Space, draw};

/// The hash of a drawn configuration's first 50 ms.
fn hash(seed: u64, kernel: Kernel) -> String {
    let text = draw(seed, &Space::everything(vec![kernel])).to_toml();
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = read("drawn", text.as_bytes(), &Overrides::default(), &no_files).unwrap();
    let mut sim = scenario.simulate().unwrap();
    let mut events = EventHash::default();
    sim.run_until(Instant(50_000_000), &mut events);
    format!("{kernel} {seed}: {:016x}\n", events.get())
}

fn configurations() -> impl Iterator<Item = (u64, Kernel)> {
    [Kernel::V6_1, Kernel::V6_12].into_iter().flat_map(|kernel| (1..=6).map(move |seed| (seed, kernel)))
}

#[test]
fn a_schedule_is_the_same_on_every_computer() {
    let hashes: String = configurations().map(|(seed, kernel)| hash(seed, kernel)).collect();
    expect![[r#"
        6.1 1: 74560113bcac92a3
        6.1 2: 35a7bae1496f7a80
        6.1 3: 4dfd9194312c2ee2
        6.1 4: f3a0aedb8b03f8b9
        6.1 5: 74c740e6fd452282
        6.1 6: 38d545cba7e4d779
        6.12 1: 0ad645c34f607c3d
        6.12 2: 78a65ca6321b7d4c
        6.12 3: b0fa7eef794885ae
        6.12 4: b6e781773eaeda68
        6.12 5: 25670fbc41dfe4fc
        6.12 6: db113db9489b9e39
    "#]]
    .assert_eq(&hashes);
}

#[test]
fn a_schedule_is_the_same_in_any_number_of_threads() {
    let alone: Vec<String> = configurations().map(|(seed, kernel)| hash(seed, kernel)).collect();
    let together: Vec<String> = thread::scope(|scope| {
        let runs: Vec<_> = configurations().map(|(s, k)| scope.spawn(move || hash(s, k))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}
