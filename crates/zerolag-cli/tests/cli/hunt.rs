// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag hunt`: what it finds can be run, and is found again.

use crate::support::{refusal, run, stdout};

#[test]
fn the_worst_are_shrunk_to_scenarios_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let hunt = ["hunt", "--metric", "starvation", "--runs", "8", "--keep", "1", "--seed", "5", "--out", out];
    let found = stdout(&hunt);
    assert!(
        found.starts_with("starvation, ms, of 8 configurations on 2cpu (2 CPUs), Linux 6.12\n"),
        "{found}"
    );
    assert_eq!(found, stdout(&hunt));
    let scenario = format!("{out}/hunt-starvation-1.toml");
    assert!(found.trim_end().ends_with(&scenario), "{found}");
    assert_eq!(run(&["run", &scenario]).status.code(), Some(0));
}

#[test]
fn nonsense_is_refused() {
    assert!(refusal(&["hunt", "--metric", "boredom"]).contains("starvation"));
    assert!(refusal(&["hunt", "--metric", "wasted", "--machine", "moon"]).contains("moon"));
    assert!(refusal(&["hunt", "--metric", "wasted", "--runs", "0"]).contains("1.."));
}
