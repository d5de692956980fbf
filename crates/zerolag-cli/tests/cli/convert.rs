// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag convert` and `zerolag run --trace`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::run;

const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../zerolag-trace/tests/data/perf_sched/hogs_nice_0_and_5.perf.data.gz"
);
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/groups.toml");

/// Two CPUs, so that tasks are balanced and migrate.
const TWO_CPUS: &str = r#"
    machine = "2cpu"
    duration = "300ms"
    [[workload]]
    kind = "hog"
    name = "hog"
    count = 3
    nice = 3
    [[workload]]
    name = "light"
    program = "forever { run 1ms; sleep 3ms }"
"#;

#[track_caller]
fn succeed(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The history and figures of a schedule, as far as every format has them: not the ids of processes, nor the
/// order of what happens on several CPUs at the same time.
fn seen(file: &str) -> (Vec<String>, Value) {
    let mut stat: Value = serde_json::from_str(&succeed(&["stat", file, "--json"])).unwrap();
    stat["tasks"].as_array_mut().unwrap().iter_mut().for_each(|task| task["group"] = Value::Null);
    let history = succeed(&["timehist", file, "-wMn"]);
    let line = |line: &str| {
        let word = |word: &str| match word.rsplit_once('[') {
            Some((name, ids)) => format!("{name}[{}", ids.split(['/', ']']).next().unwrap_or("")),
            None => word.to_owned(),
        };
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = history.lines().skip(3).map(line).collect();
    lines.sort();
    (lines, stat["tasks"].take())
}

#[test]
fn a_recording_is_the_same_in_every_format() {
    let dir = TempDir::new().unwrap();
    let want = seen(RECORDING);
    for name in ["x.perf", "x.ftrace.txt", "x.pftrace"] {
        let path = dir.path().join(name);
        succeed(&["convert", RECORDING, path.to_str().unwrap()]);
        assert!(seen(path.to_str().unwrap()) == want, "{name}");
    }
}

#[test]
fn a_simulated_schedule_reads_back_as_it_was() {
    let dir = TempDir::new().unwrap();
    let scenario = dir.path().join("two.toml");
    fs::write(&scenario, TWO_CPUS).unwrap();
    let scenario = scenario.to_str().unwrap();
    let want = seen(scenario);
    assert!(want.0.iter().any(|line| line.contains("migrated:")));
    for (name, counters) in [("t.perf.txt", ""), ("t.ftrace", ""), ("t.pftrace", "task,cpu")] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        let table = succeed(&["run", scenario]);
        let mut args = vec!["run", scenario, "--trace", path];
        if !counters.is_empty() {
            args.extend(["--counters", counters]);
        }
        assert_eq!(succeed(&args), table, "writing a trace changes nothing");
        assert!(seen(path).0 == want.0, "{name}");
        if counters.is_empty() {
            // Counters are further packets; without them both commands write the same bytes.
            let again = dir.path().join(format!("again-{name}"));
            succeed(&["convert", scenario, again.to_str().unwrap()]);
            assert!(fs::read(path).unwrap() == fs::read(again).unwrap(), "{name}");
        }
    }
}

#[test]
fn counters_are_in_the_trace_by_name() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("t.pftrace");
    let args = ["convert", SCENARIO, path.to_str().unwrap(), "--time", ",0.5", "--counters"];
    succeed(&[&args[..], &["task.lag,cpu.running"]].concat());
    let bytes = fs::read(&path).unwrap();
    let has = |name: &str| bytes.windows(name.len()).any(|w| w == name.as_bytes());
    assert!(has("b-light 5 lag") && has("cpu0 running"));
    assert!(!has("b-light 5 vruntime") && !has("cpu0 load"));
}

#[test]
fn the_output_may_be_standard_output() {
    let text = succeed(&["convert", RECORDING, "-", "--to", "perf-script", "--time", "+1,+1.1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 20 && lines.iter().all(|line| line.contains(" sched:sched_")), "{}", lines.len());
}

#[test]
fn what_cannot_be_written_is_refused_and_nothing_is_left() {
    let dir = TempDir::new().unwrap();
    let refused = |args: &[&str], said: &str| {
        let output = run(args);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(said), "{complaint}");
    };
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    refused(&["convert", RECORDING, &out("x.txt")], "perf-script, ftrace or perfetto");
    refused(&["convert", RECORDING, &out("x.pftrace"), "--counters", "task"], "a recording has no counters");
    refused(&["convert", SCENARIO, &out("x.perf"), "--counters", "task"], "only perfetto traces");
    refused(&["convert", "/nonexistent", &out("x.perf")], "/nonexistent");
    refused(&["convert", RECORDING, &out("no/such/x.perf")], "no/such/x.perf");
    // A trace that breaks off in the middle is written as far as it goes, one that is none not at all.
    let broken = Path::new(&out("broken")).to_owned();
    fs::write(&broken, b"hello\n").unwrap();
    refused(&["convert", broken.to_str().unwrap(), &out("x.perf")], "broken");
    fs::remove_file(broken).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
