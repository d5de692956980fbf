// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag soak`, and `run --check` that shows again what it finds.

use std::fs;

use crate::support::{refusal, run, stdout};

fn soak(dir: &tempfile::TempDir, more: &[&str]) -> String {
    let dir = dir.path().to_str().unwrap();
    stdout(&[&["soak", "--seed", "3", "--out", dir], more].concat())
}

#[test]
fn configurations_run_without_faults_and_the_same_at_any_number_of_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let one = soak(&dir, &["--cases", "2", "--jobs", "1"]);
    assert!(one.starts_with("2 configurations, ") && one.ends_with(" 0 faults\n"), "{one}");
    assert_eq!(one, soak(&dir, &["--cases", "2", "--jobs", "3"]));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_is_drawn_is_a_scenario_that_run_takes() {
    let dir = tempfile::tempdir().unwrap();
    let names = soak(&dir, &["--draw", "2", "--kernel", "6.12"]);
    assert_eq!(names.lines().count(), 2);
    for name in names.lines() {
        assert!(fs::read_to_string(name).unwrap().starts_with("kernel = \"6.12\"\n"));
        assert_eq!(run(&["run", name, "--duration", "20ms", "--check"]).status.code(), Some(0), "{name}");
    }
}

#[test]
fn nonsense_is_refused() {
    assert!(refusal(&["soak", "--hours", "0"]).contains("above 0"));
    assert!(refusal(&["soak", "--cases", "0"]).contains("1.."));
    assert!(refusal(&["soak", "--kernel", "7.0"]).contains("6.12"));
    assert!(refusal(&["soak", "--cases", "1", "--out", "/dev/null/x"]).contains("/dev/null/x"));
}
