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
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[1].ends_with(&scenario), "{found}");
    // Under the kernel that it was looked for under it is as bad as what was found.
    let marked: Vec<_> = lines.iter().filter(|line| line.ends_with("  <")).collect();
    let shrunk = lines[1].split_once("): ").unwrap().1.split_whitespace().next().unwrap();
    assert_eq!(marked.len(), 1, "{found}");
    let words: Vec<&str> = marked[0].split_whitespace().collect();
    assert_eq!(words[0], "6.12");
    assert!(words[1].parse::<f64>().unwrap() >= shrunk.parse::<f64>().unwrap(), "{found}");
    assert_eq!(run(&["run", &scenario]).status.code(), Some(0));
}

/// What is no worse than under the other kernel is no find.
#[test]
fn a_kernel_against_itself_shows_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let found = stdout(&[
        "hunt",
        "--metric",
        "wasted",
        "--machine",
        "4cpu",
        "--runs",
        "6",
        "--against",
        "6.12",
        "--out",
        out,
    ]);
    assert!(
        found.starts_with("wasted, percent of all CPUs more than under 6.12, of 6 configurations"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

#[test]
fn nonsense_is_refused() {
    assert!(refusal(&["hunt", "--metric", "boredom"]).contains("starvation"));
    assert!(refusal(&["hunt", "--metric", "wasted", "--machine", "moon"]).contains("moon"));
    assert!(refusal(&["hunt", "--metric", "wasted", "--runs", "0"]).contains("1.."));
}
