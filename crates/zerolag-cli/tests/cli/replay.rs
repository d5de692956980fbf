// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag replay`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support;

/// Recordings that the readers' tests use as well; their README says how they were made.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zerolag-trace/tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

const GROUPS: &str = r#"
kernel = "6.18"
cpus = 2
hz = 250
[cgroup."/gA"]
"cpu.shares" = 1024
[cgroup."/gB"]
"cpu.shares" = 2048
[[task]]
match = "a0"
cgroup = "/gA"
cpus = "1"
[[task]]
match = "b0"
cgroup = "/gB"
cpus = "1"
"#;

fn write(dir: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Replays a recording with this context.
fn replay(trace: &str, context: &str, args: &[&str]) -> Output {
    let dir = TempDir::new().unwrap();
    let context = write(&dir, "context.toml", context);
    support::run(&[&["replay", trace, "--context", context.to_str().unwrap()], args].concat())
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn task<'j>(json: &'j Value, comm: &str) -> &'j Value {
    json["tasks"].as_array().unwrap().iter().find(|t| t["comm"] == comm).unwrap()
}

#[test]
fn groups_of_one_to_two_come_out_as_measured() {
    let json = json(&replay(&data("measured/groups_1_to_2.perf.txt.gz"), GROUPS, &["--json"]));
    assert_eq!((&json["schema"], &json["kernel"]), (&"zerolag.replay/2".into(), &"6.18".into()));
    for (comm, group, about) in [("a0", "/gA", 1.0 / 3.0), ("b0", "/gB", 2.0 / 3.0)] {
        let task = task(&json, comm);
        assert_eq!(task["group"], group);
        let share = |side: &str| task[side]["share"].as_f64().unwrap();
        assert!((share("measured") - about).abs() < 0.02, "{task:#}");
        assert!((share("simulated") - share("measured")).abs() < 0.01, "{task:#}");
        let switches = |side: &str| task[side]["switches"].as_f64().unwrap();
        assert!((switches("simulated") / switches("measured") - 1.0).abs() < 0.1, "{task:#}");
    }
}

#[test]
fn the_outcome_is_the_schedulers_and_not_the_recordings() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let equal = GROUPS.replace("2048", "1024");
    let json = json(&replay(&trace, &equal, &["--json"]));
    let share = |comm| task(&json, comm)["simulated"]["share"].as_f64().unwrap();
    assert!((share("a0") - share("b0")).abs() < 0.02, "{} {}", share("a0"), share("b0"));
}

#[test]
fn every_format_is_replayed() {
    for name in [
        "hogs.perf.txt",
        "hogs.ftrace.txt",
        "hogs.report.txt",
        "hogs.report-R.txt",
        "hogs.report-l.txt",
        "hogs.v6.dat.gz",
        "hogs.v7.dat.gz",
        "hogs.v7-zstd.dat.gz",
        "perf_sched/hogs_nice_0_and_5.perf.data.gz",
    ] {
        let json = json(&support::run(&["replay", &data(name), "--json"]));
        let share = |side: &str| -> f64 {
            json["tasks"].as_array().unwrap().iter().map(|t| t[side]["share"].as_f64().unwrap()).sum()
        };
        assert!(share("measured") > 0.5, "{name}: {}", share("measured"));
        assert!(
            (share("measured") - share("simulated")).abs() < 0.25,
            "{name}: {} {}",
            share("measured"),
            share("simulated")
        );
    }
}

#[test]
fn a_task_has_two_lines() {
    let output = replay(&data("measured/groups_1_to_2.perf.txt.gz"), GROUPS, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<_>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[2][..5], ["TASK", "PID", "GROUP", "SHARE", "SWITCHES"]);
    // Who had most comes first.
    assert_eq!((lines[3][0], lines[3][2], lines[3][3]), ("b0", "/gB", "measured"));
    assert_eq!(lines[4][0], "simulated");
}

#[test]
fn the_command_line_takes_precedence_over_the_context() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let args = ["--json", "--kernel", "6.1", "--machine", "1cpu", "--duration", "500ms", "--set", "hz=1000"];
    let json = json(&replay(&trace, GROUPS, &args));
    assert_eq!((&json["kernel"], &json["cpu_count"]), (&"6.1".into(), &1.into()));
    assert!((499.0..=500.0).contains(&json["duration_ms"].as_f64().unwrap()));
}

#[test]
fn the_same_command_twice_prints_the_same() {
    let trace = data("measured/schbench_beside_hogs.perf.txt.gz");
    assert_eq!(replay(&trace, GROUPS, &[]).stdout, replay(&trace, GROUPS, &[]).stdout);
}

#[test]
fn bad_input_is_refused() {
    let dir = TempDir::new().unwrap();
    let good = data("hogs.perf.txt");
    let file = |name: &str, bytes: &[u8]| write(&dir, name, bytes).to_str().unwrap().to_owned();
    assert!(support::refusal(&["replay", "no/such/file"]).contains("no/such/file"));
    assert!(support::refusal(&["replay", &file("empty", b"")]).contains("empty"));
    assert!(support::refusal(&["replay", &file("noise", &[0x80, 0, 0xff, 7].repeat(100))]).contains("noise"));
    assert!(support::refusal(&["replay", &good, "--duration", "0s"]).contains("a replay of no time"));
    assert!(support::refusal(&["replay", &good, "--set", "NO_SUCH=1"]).contains("NO_SUCH"));
    let context = file("c.toml", b"cpus = 2\n[[task]]\nmatch = \"a\"\nnise = 5\n");
    let said = support::refusal(&["replay", &good, "--context", &context]);
    assert!(
        said.contains("c.toml:4:1: unknown key 'nise'") && said.contains("did you mean 'nice'?"),
        "{said}"
    );
    let one =
        "    swapper     0 [000] 1.000010: sched:sched_waking: comm=hog pid=7 prio=120 target_cpu=000\n";
    assert!(support::refusal(&["replay", &file("one", one.as_bytes())]).contains("nothing to replay"));
}

#[test]
fn damaged_recordings_are_replayed_as_far_as_they_go() {
    let dir = TempDir::new().unwrap();
    let good = fs::read_to_string(data("hogs.perf.txt")).unwrap();
    let mut reversed: Vec<&str> = good.lines().collect();
    reversed.reverse();
    let mut half_binary = good.as_bytes()[..good.len() / 2].to_vec();
    half_binary.extend((0..4000u32).map(|i| (i * 37 % 256) as u8));
    let leap = good.replacen("] 1267", "] 99991267", 1).replacen(" [001] ", " [4000] ", 2);
    for (name, bytes, said) in [
        ("truncated", good.as_bytes()[..good.len() * 2 / 3].to_vec(), ""),
        ("reversed", reversed.join("\n").into_bytes(), ""),
        ("half-binary", half_binary, "not understood"),
        ("leap", leap.into_bytes(), ""),
    ] {
        let path = write(&dir, name, bytes);
        let output = support::run(&["replay", path.to_str().unwrap()]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {stderr}");
        assert!(stderr.contains(said), "{name}: {stderr}");
    }
}

#[test]
fn changes_stand_beside_what_was_recorded() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let args = [
        "--weight", "/gA=200", "--kernel", "6.1,6.12", "--nice", "b0=5", "--slice", "a*=0.5ms", "--cpus", "1",
    ];
    let json = json(&replay(&trace, GROUPS, &[&args[..], &["--json"]].concat()));
    let changes = ["6.1", "6.12", "1 cpus", "weight /gA=200", "nice b0=5", "slice a*=500us"];
    assert_eq!(json["what_if"], Value::from(changes.to_vec()));
    let (a0, b0) = (task(&json, "a0"), task(&json, "b0"));
    let share = |task: &Value, n: usize| task["what_if"][n]["share"].as_f64().unwrap();
    // Weight 200 is as much as the other group's shares of 2048.
    assert!((share(a0, 3) - share(b0, 3)).abs() < 0.02, "{a0:#} {b0:#}");
    // Within its group the other is alone, however nice.
    assert!((share(b0, 4) - 2.0 / 3.0).abs() < 0.02, "{b0:#}");
    assert!(json["verdict"]["share_points"].as_f64().unwrap().abs() < 1.0);
    let text = String::from_utf8(replay(&trace, GROUPS, &args).stdout).unwrap();
    let columns = text.lines().nth(3).unwrap();
    for column in ["MEASURED", "AS RECORDED", "6.1", "weight /gA=200"] {
        assert!(columns.contains(column), "{columns}");
    }
    assert!(
        text.lines().last().unwrap().starts_with("As recorded, the replay is off by at most 0."),
        "{text}"
    );
}

#[test]
fn settings_change_the_replay_as_a_whole() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let json = json(&replay(&trace, GROUPS, &["--json", "--set", "base_slice=20ms"]));
    let task = task(&json, "a0");
    let switches = |side: &str| task[side]["switches"].as_u64().unwrap();
    assert!(2 * switches("simulated") < switches("as_recorded"), "{task:#}");
}

#[test]
fn changes_of_what_is_not_there_are_refused() {
    let trace = data("hogs.perf.txt");
    for (args, said) in [
        (["--weight", "/x=5"], "groups that the context has: none"),
        (["--weight", "/x"], "expected GROUP=N"),
        (["--weight", "/x=0"], "from 1 to 10000"),
        (["--nice", "hog=99"], "-20 to 19"),
        (["--slice", "hog=3"], "the unit is missing"),
        (["--slice", "hog=0ms"], "not 0"),
        (["--cpus", "0"], "--cpus"),
    ] {
        let refusal = support::refusal(&["replay", &trace, args[0], args[1]]);
        assert!(refusal.contains(said), "{args:?}: {refusal}");
    }
}

#[test]
fn what_the_capture_script_writes_is_a_context() {
    let dir = TempDir::new().unwrap();
    let script = write(&dir, "capture.sh", support::stdout(&["capture", "--script"]));
    let context = dir.path().join("here.toml");
    let done = std::process::Command::new("sh").arg(&script).arg(&context).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.starts_with("wrote ") && said.lines().count() == 1, "{said}");
    let args = ["replay", &data("hogs.perf.txt"), "--context", context.to_str().unwrap(), "--json"];
    json(&support::run(&args));
}

#[test]
fn a_cost_that_is_set_takes_the_place_of_the_measured_one() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let json = json(&replay(&trace, GROUPS, &["--json", "--set", "wakeup=150us"]));
    let wakeups = |side: &str| -> Vec<f64> {
        let tasks = json["tasks"].as_array().unwrap().iter();
        tasks.filter_map(|task| task[side]["wakeup_us"]["p50"].as_f64()).collect()
    };
    let long = |side| wakeups(side).iter().filter(|&&us| us >= 150.0).count();
    assert!(
        long("simulated") > long("as_recorded"),
        "{:?} {:?}",
        wakeups("simulated"),
        wakeups("as_recorded")
    );
}

#[test]
fn kernels_go_without_what_they_do_not_have() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let both = replay(&trace, GROUPS, &["--kernel", "6.1,6.12", "--set", "base_slice=20ms", "--json"]);
    let said = String::from_utf8(both.stderr.clone()).unwrap();
    assert!(said.contains("without base_slice=20ms: Linux 6.1 has no tunable base_slice"), "{said}");
    assert!(!said.contains("Linux 6.12 has no"), "{said}");
    assert_eq!(json(&both)["what_if"].as_array().unwrap().len(), 2);
    // One that is alone has to have it.
    let alone = replay(&trace, GROUPS, &["--kernel", "6.1", "--set", "base_slice=20ms"]);
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn repetitions_show_what_is_chance() {
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let json = json(&replay(&trace, GROUPS, &["--json", "--repeat", "5"]));
    let task = task(&json, "b0");
    let repeated = task["simulated"]["repeated"].as_array().unwrap();
    let mut shares: Vec<f64> = repeated.iter().map(|again| again["share"].as_f64().unwrap()).collect();
    assert_eq!(shares.len(), 5);
    for figure in ["share", "switches", "preempted", "wakeup_us"] {
        assert_eq!(repeated[0][figure], task["simulated"][figure]);
    }
    shares.sort_by(f64::total_cmp);
    // One CPU: ticks decide nothing that matters.
    assert!(shares[4] - shares[0] < 0.02, "{shares:?}");
    let all = json["tasks"].as_array().unwrap().len() as u64;
    assert!(json["verdict"]["within_repetitions"].as_u64().unwrap() <= all);

    let text = String::from_utf8(replay(&trace, GROUPS, &["--repeat", "5"]).stdout).unwrap();
    let at = text.find("Share of one CPU in 5 replays").expect(&text);
    let row: Vec<&str> = text[at..].lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!((row[0], &row[2..5]), ("b0", &["/gB", "as", "recorded"][..]));
    assert_eq!(row.len(), 9, "{row:?}");
}

#[test]
fn a_replay_can_be_written_and_read_again() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("again.perf");
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    let replayed = json(&replay(&trace, GROUPS, &["--json", "--trace", out.to_str().unwrap()]));
    let written = json(&support::run(&["stat", out.to_str().unwrap(), "--json"]));
    for comm in ["a0", "b0"] {
        let of_replay = task(&replayed, comm);
        let of_file = task(&written, comm);
        assert_eq!(of_file["pid"], of_replay["pid"], "the recording's pids");
        let ms =
            of_replay["simulated"]["share"].as_f64().unwrap() * replayed["duration_ms"].as_f64().unwrap();
        let found = of_file["cpu_ms"].as_f64().unwrap();
        assert!((ms - found).abs() < 5.0, "{comm}: {ms} {found}");
    }
    // At the recording's times.
    let measured = json(&support::run(&["stat", &trace, "--json"]));
    let first = |json: &Value| json["first_ns"].as_u64().unwrap();
    assert!(first(&written).abs_diff(first(&measured)) < 10_000_000);
}

#[test]
fn what_the_scheduler_was_asked_to_do_is_written_down() {
    let dir = TempDir::new().unwrap();
    let script = dir.path().join("replay.script");
    let script = script.to_str().unwrap();
    let trace = data("measured/groups_1_to_2.perf.txt.gz");
    // The language has no real-time tasks.
    let groups = format!("{GROUPS}[[task]]\nmatch = \"migration*\"\npolicy = \"normal\"\n");
    let with = replay(&trace, &groups, &["--kernel", "6.12", "--repeat", "2", "--events", script]);
    let without = replay(&trace, &groups, &["--kernel", "6.12", "--repeat", "2"]);
    assert_eq!(with.status.code(), Some(0), "{}", String::from_utf8_lossy(&with.stderr));
    assert_eq!(with.stdout, without.stdout);

    let text = fs::read_to_string(script).unwrap();
    assert!(text.starts_with("# --kernel 6.12\ncpus 2\n"), "{}", &text[..100]);
    assert!(text.contains("\nshares 1 1024\n") && text.contains("\nshares 2 2048\n"), "{}", &text[..400]);
    let again = support::run(&["script", script, "--kernel", "6.12", "--quiet"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));

    let refused = replay(&trace, &GROUPS.replace("250", "1000"), &["--events", script]);
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{complaint}");
    assert!(
        complaint.contains("event scripts can change features and tunables, but not how often ticks come")
    );
    assert_eq!(fs::read_to_string(script).unwrap(), text);
}
