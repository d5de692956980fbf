// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag compare`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{kill, kills, refusal, run, stdout};

const SERVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/batch-and-service.toml");
const GROUPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/groups.toml");

/// A short comparison of two kernels.
fn two_kernels<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let head = ["compare", SERVICE, "--vary", "kernel=6.1,6.12", "--duration", "200ms", "--repeat", "5"];
    head.iter().chain(more).copied().collect()
}

#[test]
fn kernels_are_compared_in_a_table() {
    let text = stdout(&two_kernels(&["--metric", "worker wake-up *", "--metric", "job share"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "5 runs each, seeds 1 to 5");
    assert_eq!(lines[1], "A  kernel=6.1 duration=200ms");
    assert!(lines[4].starts_with("METRIC"), "{text}");
    let p99 = lines.iter().position(|l| l.starts_with("worker wake-up p99 ")).expect("there is such a row");
    let other: Vec<&str> = lines[p99 + 1].split_whitespace().collect();
    assert_eq!(other[0], "B");
    assert!(other[3].ends_with('%') && other[4].contains("%.."), "{other:?}");
    assert!(!text.contains("machine busy"));
}

#[test]
fn a_setting_that_one_of_the_kernels_does_not_have_is_left_out_there() {
    let slices = ["--vary", "set:base_slice=1ms,3ms", "--metric", "job share"];
    let output = run(&two_kernels(&slices));
    let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let cases: Vec<&str> = text.lines().skip(1).take(4).collect();
    assert_eq!(
        cases,
        [
            "A  kernel=6.1 duration=200ms",
            "B  kernel=6.12 duration=200ms set:base_slice=1ms",
            "C  kernel=6.12 duration=200ms set:base_slice=3ms",
            ""
        ]
    );
    assert!(said.contains("Linux 6.1 has no tunable base_slice"), "{said}");
    // A slip is a slip if no kernel has it, or the kernel does not vary.
    let refused =
        refusal(&["compare", SERVICE, "--vary", "kernel=6.1,4.6", "--vary", "set:base_slice=1ms,3ms"]);
    assert!(refused.contains("has no tunable base_slice"), "{refused}");
    refusal(&["compare", SERVICE, "--kernel", "6.1", "--vary", "set:base_slice=1ms,3ms"]);
}

#[test]
fn the_same_bytes_at_any_number_of_jobs() {
    let one = run(&two_kernels(&["--json", "--jobs", "1"]));
    assert_eq!(one, run(&two_kernels(&["--json", "--jobs", "3"])));
    let report: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(report["schema"], "zerolag.compare/1");
    assert_eq!(report["seeds"], serde_json::json!([1, 2, 3, 4, 5]));
    assert_eq!(report["cases"][1]["choices"]["kernel"], "6.12");
    let share = report["metrics"].as_array().unwrap().iter().find(|m| m["name"] == "job share").unwrap();
    assert_eq!(share["better"], "neither");
    assert_eq!(share["cases"][0]["versus"], Value::Null);
    assert_eq!(share["cases"][1]["n"], 5);
    assert!(share["cases"][1]["versus"]["rank_sum"]["p"].is_f64());
}

#[test]
fn a_store_is_gone_on_from_and_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sqlite");
    let store = ["--store", path.to_str().unwrap()];
    let csv = |more: &[&str]| stdout(&two_kernels(&[&store[..], &["--csv", "-"], more].concat()));
    let first = csv(&[]);
    assert!(first.starts_with("file,duration,kernel,seed,metric,"), "{first}");
    assert!(refusal(&two_kernels(&store)).contains("--resume goes on from what is in it"));
    assert_eq!(csv(&["--resume"]), first);
    assert!(refusal(&two_kernels(&["--resume"])).contains("--store FILE"));
}

#[test]
fn files_are_compared_and_named() {
    let text = stdout(&[
        "compare",
        GROUPS,
        SERVICE,
        "--duration",
        "100ms",
        "--repeat",
        "1",
        "--metric",
        "machine *",
    ]);
    assert!(text.contains("A  ") && text.contains("groups.toml"), "{text}");
    assert!(text.contains("single"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_run() {
    for (args, said) in [
        (&["compare", GROUPS][..], "there is only one case"),
        (&["compare", GROUPS, GROUPS], "cases A and B are the same"),
        (&["compare", GROUPS, "--vary", "kernel"], "expected NAME=VALUE"),
        (&["compare", GROUPS, "--vary", "kernel=6.1,"], "a value is missing"),
        (
            &["compare", GROUPS, "--vary", "kernels=6.1,6.12"],
            "'kernels' is nothing that can vary; accepted: kernel,",
        ),
        (&["compare", GROUPS, "--vary", "kernel=6.1,7.12"], "kernel = 7.12: there are 2.6.29"),
        (&["compare", GROUPS, "--vary", "set:base_slise=1ms,2ms"], "did you mean 'base_slice'?"),
        (
            &["compare", GROUPS, "--vary", "cgroup:/c:cpu.weight=1,2"],
            "no group '/c'; it has: /a, /a/x, /a/y, /b",
        ),
        (&["compare", "nowhere.toml", "--vary", "kernel=6.1,6.12"], "nowhere.toml: "),
    ] {
        let complaint = refusal(args);
        assert!(complaint.contains(said), "{args:?}: {complaint}");
    }
}

#[test]
fn a_store_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("missing/s.sqlite");
    let output = run(&two_kernels(&["--store", below.to_str().unwrap()]));
    assert!(String::from_utf8(output.stderr).unwrap().contains("missing/s.sqlite"));
    assert!(!output.status.success());
    let file = dir.path().join("s.sqlite");
    fs::write(&file, "something else").unwrap();
    let complaint = refusal(&two_kernels(&["--resume", "--store", file.to_str().unwrap()]));
    assert!(complaint.contains("is not a result store"), "{complaint}");
    assert_eq!(fs::read(&file).unwrap(), b"something else");
    assert!(!Path::new("s.sqlite-wal").exists());
}

#[test]
fn runs_that_get_stuck_fail_the_comparison() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.toml");
    let text = "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nname = \"x\"\nprogram = \"acquire s\"\n";
    fs::write(&path, text).unwrap();
    let output = run(&["compare", path.to_str().unwrap(), "--vary", "kernel=6.1,6.12", "--repeat", "2"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint.contains("4 of 4 runs got stuck") && complaint.contains("deadlock"), "{complaint}");
}

#[test]
fn killed_at_any_time_nothing_is_lost_or_done_twice() {
    let dir = tempfile::tempdir().unwrap();
    let with = |store: &str, more: &[&str]| {
        let store = dir.path().join(store);
        let head = ["compare", SERVICE, "--vary", "kernel=6.1,6.12", "--duration", "50ms", "--repeat", "100"];
        let tail = ["--store", store.to_str().unwrap(), "--resume"];
        [&head[..], &tail, more].concat().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let rows = |store: &str| {
        let args = with(store, &["--csv", "-"]);
        let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let last = kill(kills(), Duration::from_millis(60), |store| with(&format!("k{store}"), &["--jobs", "2"]));
    assert_eq!(rows(&format!("k{last}")), rows("undisturbed"));
}

#[test]
fn rows_that_cannot_be_written_name_their_file_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let args = |csv: &str| run(&two_kernels(&["--metric", "job share", "--csv", csv]));
    if Path::new("/dev/full").exists() {
        let output = args("/dev/full");
        assert_eq!(output.status.code(), Some(2));
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains("/dev/full: No space left on device"), "{complaint}");
    }
    let missing = dir.path().join("no/rows.csv");
    let complaint = String::from_utf8(args(missing.to_str().unwrap()).stderr).unwrap();
    assert!(complaint.contains("no/rows.csv: No such file"), "{complaint}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
