// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag latency`, `timehist` and `stat`, on recordings and on simulated schedules.

use std::fs::{self, File};
use std::process::Output;

use serde_json::Value;

use crate::support::{run, zerolag};

/// A file among the tests of zerolag-trace.
macro_rules! data {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../zerolag-trace/tests/data/", $name)
    };
}

/// Two hogs of nice 0 and 5 on one CPU, recorded, and what perf says of it.
const RECORDING: &str = data!("perf_sched/hogs_nice_0_and_5.perf.txt.gz");
const PERF_DATA: &str = data!("perf_sched/hogs_nice_0_and_5.perf.data.gz");
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/groups.toml");

#[track_caller]
fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&text(&run(args))).unwrap()
}

#[track_caller]
fn check(got: &str, want: &str) {
    for (number, (got, want)) in (1..).zip(got.lines().zip(want.lines())) {
        assert_eq!(got, want, "line {number}");
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn the_tables_are_those_of_perf() {
    let perf = |name| fs::read_to_string(name).unwrap();
    check(&text(&run(&["latency", RECORDING, "--perf", "6.1"])), &perf(data!("perf_sched/latency.txt")));
    check(
        &text(&run(&["latency", RECORDING, "--perf", "6.1", "-p"])),
        &perf(data!("perf_sched/latency-p.txt")),
    );
    check(&text(&run(&["timehist", RECORDING, "-s"])), &perf(data!("perf_sched/summary.txt")));
}

#[test]
fn a_pipe_is_read_as_a_file_is() {
    for file in [RECORDING, PERF_DATA] {
        let piped = zerolag(&["timehist", "-"]).stdin(File::open(file).unwrap()).output().unwrap();
        check(&text(&piped), &text(&run(&["timehist", file])));
    }
}

#[test]
fn what_a_recording_lacks_is_said_on_standard_error() {
    let output = run(&["stat", RECORDING]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("at the beginning") && said.contains("at the end"), "{said}");
    let loss = &json(&["stat", RECORDING, "--json"])["loss"];
    assert!(loss["events"].as_u64().unwrap() > 1000 && loss["lost"] == 0, "{loss}");
}

#[test]
fn json_has_what_the_tables_have() {
    let latency = json(&["latency", RECORDING, "--json", "-p", "--sort", "runtime"]);
    assert_eq!(latency["schema"], "zerolag.latency/1");
    let runtimes: Vec<f64> =
        latency["rows"].as_array().unwrap().iter().map(|r| r["runtime_ms"].as_f64().unwrap()).collect();
    assert!(runtimes.len() > 3 && runtimes.is_sorted_by(|a, b| a >= b), "{runtimes:?}");

    let timehist = json(&["timehist", RECORDING, "--json", "--comm", "hogA,hogB"]);
    assert_eq!(timehist["schema"], "zerolag.timehist/1");
    let rows = timehist["rows"].as_array().unwrap();
    assert!(rows.len() > 300 && rows.iter().all(|r| r["task"]["comm"].as_str().unwrap().starts_with("hog")));
    let counted: u64 = timehist["summary"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["sched_in"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, rows.len() as u64);

    let stat = json(&["stat", RECORDING, "--json", "--comm", "hogA"]);
    assert_eq!((&stat["schema"], stat["tasks"].as_array().unwrap().len()), (&"zerolag.stat/1".into(), 1));
    let wait = &stat["waits"][0];
    assert_eq!(
        (&wait["task"]["comm"], &wait["meanwhile"][0]["task"]["comm"]),
        (&"hogA".into(), &"hogB".into())
    );
}

#[test]
fn times_cut_a_schedule_into_parts_that_add_up() {
    let busy = |time: &str| {
        let stat = json(&["stat", SCENARIO, "--json", "--time", time]);
        let of = |key: &str| stat["cpus"][0][key].as_f64().unwrap();
        (of("busy_ms"), of("switches"))
    };
    let (whole, first, second) = (busy(","), busy(",2.0005"), busy("2000.500001ms,"));
    assert!((first.0 + second.0 - whole.0).abs() < 0.001, "{first:?} {second:?} {whole:?}");
    assert_eq!(first.1 + second.1, whole.1);
    // In the history too, what crosses the border is cut at it.
    let run = |time: &str| {
        let history = json(&["timehist", SCENARIO, "--json", "-s", "--time", time]);
        let tasks = history["summary"]["tasks"].as_array().unwrap().clone();
        tasks.iter().map(|t| t["run_ms"].as_f64().unwrap()).sum::<f64>()
    };
    assert!((run(",2.0005") + run("2.0005,") - run(",")).abs() < 0.001);
}

#[test]
fn a_workload_is_run_and_its_schedule_shown() {
    let history = text(&run(&["timehist", SCENARIO, "--kernel", "6.1", "-w"]));
    assert!(history.lines().count() > 1000 && history.contains("awakened: b-light[5]"));
    let table = text(&run(&["latency", SCENARIO]));
    assert!(table.contains("  b-light:5 ") && table.contains("  TOTAL:"), "{table}");
    let stat = json(&["stat", SCENARIO, "--json"]);
    let groups: Vec<_> = stat["groups"].as_array().unwrap().iter().map(|g| g["group"].clone()).collect();
    assert_eq!(groups, ["/", "/a", "/a/x", "/a/y", "/b"]);
    let direct = json(&["run", SCENARIO, "--json"]);
    for (task, same) in stat["tasks"].as_array().unwrap().iter().zip(direct["tasks"].as_array().unwrap()) {
        assert_eq!((&task["cpu_ms"], &task["wakeup_us"]), (&same["cpu_ms"], &same["wakeup_us"]));
    }
}

#[test]
fn sorting_puts_the_largest_first() {
    let waits = |sort: &str| -> Vec<f64> {
        let stat = json(&["stat", SCENARIO, "--json", "--sort", sort]);
        stat["tasks"].as_array().unwrap().iter().map(|t| t["wait_ms"].as_f64().unwrap()).collect()
    };
    let sorted = waits("wait");
    assert!(sorted.is_sorted_by(|a, b| a >= b) && waits("name") != sorted, "{sorted:?}");
}

#[test]
fn what_is_neither_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    for bytes in [&b""[..], b"hello\nworld\n", b"\x7fELF\0\0\0\0"] {
        fs::write(&path, bytes).unwrap();
        for command in ["latency", "timehist", "stat"] {
            let output = run(&[command, path.to_str().unwrap()]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(said.contains(path.to_str().unwrap()), "{said}");
        }
    }
    for part in [["--time", "1"], ["--time", "x,"], ["--cpu", "3-1"]] {
        assert_eq!(run(&["stat", RECORDING, part[0], part[1]]).status.code(), Some(2), "{part:?}");
    }
}

/// What is known beside the recording of two hogs: their groups, and that they share one CPU.
const CONTEXT: &str = r#"
cpus = 2
[cgroup."/web"]
"cpu.shares" = 2048
[cgroup."/web/slow"]
"cpu.shares" = 512
[[task]]
match = "hogA"
cgroup = "/web"
cpus = "1"
[[task]]
match = "hogB"
cgroup = "/web/slow"
cpus = "1"
nice = 5
"#;

fn with_context(command: &str, file: &str, args: &[&str]) -> Output {
    let dir = tempfile::TempDir::new().unwrap();
    let context = dir.path().join("context.toml");
    fs::write(&context, CONTEXT).unwrap();
    run(&[&[command, file, "--context", context.to_str().unwrap()], args].concat())
}

#[test]
fn a_context_gives_recordings_their_groups() {
    let parse = |output: Output| -> Value { serde_json::from_str(&text(&output)).unwrap() };
    let stat = parse(with_context("stat", RECORDING, &["--json"]));
    let group = |path: &str| stat["groups"].as_array().unwrap().iter().find(|g| g["group"] == path).unwrap();
    let task = |comm: &str| stat["tasks"].as_array().unwrap().iter().find(|t| t["comm"] == comm).unwrap();
    assert_eq!((&task("hogA")["group"], &task("hogB")["group"]), (&"/web".into(), &"/web/slow".into()));
    let ms = |of: &Value| of["cpu_ms"].as_f64().unwrap();
    assert_eq!(ms(group("/web/slow")), ms(task("hogB")));
    // CPU time is the larger of two sums, by switches and by charges: of both tasks together it may be less.
    let (of_both, sum) = (ms(group("/web")), ms(task("hogA")) + ms(task("hogB")));
    assert!(of_both <= sum && of_both > 0.99 * sum, "{of_both} {sum}");
    assert_eq!(group("/")["tasks"], stat["tasks"].as_array().unwrap().len());

    let latency = parse(with_context("latency", RECORDING, &["--json"]));
    let groups: Vec<_> = latency["groups"].as_array().unwrap().iter().map(|g| &g["group"]).collect();
    assert!(groups.contains(&&"/web".into()) && groups.contains(&&"/web/slow".into()), "{groups:?}");
    let table = text(&with_context("latency", RECORDING, &["--perf", "6.1"]));
    let alone = text(&run(&["latency", RECORDING, "--perf", "6.1"]));
    assert!(table.starts_with(&alone) && table[alone.len()..].contains("  /web/slow:"), "{table}");

    let summary = text(&with_context("timehist", RECORDING, &["-s"]));
    let row = summary.lines().find(|line| line.starts_with("/web ")).expect(&summary);
    assert_eq!(row.split_whitespace().nth(1), Some("2"), "{row}");
}

#[test]
fn cpus_that_a_waiting_task_may_not_use_are_not_lost() {
    let lost = |output: &Output| {
        let json: Value = serde_json::from_str(&text(output)).unwrap();
        json["idle_while_overloaded_ms"].as_f64().unwrap()
    };
    let (unknown, known) =
        (run(&["stat", RECORDING, "--json"]), with_context("stat", RECORDING, &["--json"]));
    // Both hogs are bound to CPU 1, CPU 0 is mostly idle.
    assert!(lost(&unknown) > 10.0 * lost(&known), "{} {}", lost(&unknown), lost(&known));
}

#[test]
fn a_workload_needs_no_context() {
    for command in ["stat", "latency", "timehist", "explain"] {
        let output = with_context(command, SCENARIO, &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("workload"), "{command}");
    }
}
