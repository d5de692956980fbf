// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run`.

use std::fs;
use std::process::Output;

use expect_test::expect;
use serde_json::Value;
use tempfile::TempDir;

use crate::support;

/// Two hogs, one of them nice, and a task that runs 1 ms of every 10.
const MIX: &str = r#"{
    "global": { "duration": 2 },
    "tasks": {
        "hog": { "loop": -1, "cpus": [0], "run": 1000000 },
        "nice": { "loop": -1, "cpus": [0], "priority": 5, "run": 1000000 },
        "light": { "loop": -1, "cpus": [0], "run": 1000, "timer": { "ref": "t", "period": 10000 } }
    }
}"#;

/// Runs a workload file with this text.
fn run(text: &str, args: &[&str]) -> Output {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("w.json");
    fs::write(&path, text).unwrap();
    support::run(&[&["run", path.to_str().unwrap()], args].concat())
}

#[track_caller]
fn json(text: &str, args: &[&str]) -> Value {
    let output = run(text, &[&["--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refusal(text: &str, args: &[&str]) -> String {
    let output = run(text, args);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), b"".as_slice()));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn each_task_gets_a_line() {
    let output = run(MIX, &["--machine", "1cpu"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let columns: Vec<_> = text.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(columns[..6], ["TASK", "GROUP", "CPU_MS", "SHARE", "VOLUNTARY", "PREEMPTED"]);
    let names: Vec<_> = text.lines().skip(3).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["hog-0", "nice-1", "light-2"]);
}

#[test]
fn shares_follow_weights() {
    let json = json(MIX, &["--machine", "1cpu"]);
    let share = |n: usize| json["tasks"][n]["share"].as_f64().unwrap();
    // Nice 0 to nice 5 is 1024 to 335, of what the light task leaves.
    assert!((share(2) - 0.1).abs() < 0.001, "{}", share(2));
    assert!((share(0) / share(1) - 1024.0 / 335.0).abs() < 0.1, "{} {}", share(0), share(1));
    assert!((share(0) + share(1) + share(2) - 1.0).abs() < 0.001);
}

#[test]
fn json_says_what_ran_and_how_it_ended() {
    let json = json(MIX, &["--seed", "7", "--kernel", "6.12"]);
    assert_eq!(json["schema"], "zerolag.run/1");
    assert_eq!((&json["kernel"], &json["machine"]), (&"6.12".into(), &"2cpu".into()));
    assert_eq!((&json["seed"], &json["cpu_count"]), (&7.into(), &2.into()));
    assert_eq!((&json["end"], &json["duration_ms"]), (&"duration".into(), &2000.0.into()));
    assert_eq!(json["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(json["groups"][0]["tasks"], 3);
}

/// Runs a scenario file with this text.
fn scenario(text: &str, args: &[&str]) -> Output {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.toml");
    fs::write(&path, text).unwrap();
    support::run(&[&["run", path.to_str().unwrap()], args].concat())
}

const HOGS: &str = r#"
    machine = "1cpu"
    duration = "1s"
    [cgroup."/a/b"]
    "cpu.weight" = 300
    [cgroup."/c"]
    "cpu.weight" = 100
    [[workload]]
    kind = "hog"
    name = "in"
    count = 2
    cgroup = "/a/b"
    [[workload]]
    kind = "hog"
    name = "out"
    cgroup = "/c"
"#;

#[test]
fn a_scenario_is_known_by_its_content() {
    let output = scenario(HOGS, &["--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = json["tasks"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["in-0", "in-1", "out"]);
    assert_eq!(json["machine"], Value::Null);
}

#[test]
fn a_groups_figures_include_those_below() {
    let output = scenario(HOGS, &["--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let groups: Vec<_> = json["groups"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = groups.iter().map(|g| g["group"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/", "/a", "/a/b", "/c"]);
    let share = |n: usize| groups[n]["share"].as_f64().unwrap();
    assert_eq!(share(1), share(2));
    assert!((share(0) - 1.0).abs() < 1e-6 && (share(1) + share(3) - share(0)).abs() < 1e-6);
    // Both groups' parents have the default weight.
    assert!((share(1) - 0.5).abs() < 0.02, "{}", share(1));
}

#[test]
fn the_command_line_takes_precedence_over_the_file() {
    let args = ["--json", "--machine", "2cpu", "--duration", "500ms", "--seed", "9"];
    let json: Value = serde_json::from_slice(&scenario(HOGS, &args).stdout).unwrap();
    assert_eq!((&json["machine"], &json["cpu_count"]), (&"2cpu".into(), &2.into()));
    assert_eq!((&json["duration_ms"], &json["seed"]), (&500.0.into(), &9.into()));
}

#[test]
fn a_mistake_in_a_scenario_is_named_with_its_place() {
    let output =
        scenario("machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nkind = \"hgo\"\nname = \"a\"\n", &[]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("s.toml:4:") && complaint.contains("did you mean 'hog'"), "{complaint}");
}

#[test]
fn the_examples_run() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.is_file()) {
        let output = support::run(&["run", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{path:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_run_ends_when_all_tasks_have() {
    let json = json(r#"{ "tasks": { "a": { "loop": 1, "run": 5000 } } }"#, &[]);
    assert_eq!((&json["end"], &json["duration_ms"]), (&"finished".into(), &5.0.into()));
}

#[test]
fn a_setting_changes_the_outcome() {
    let hogs = r#"{ "tasks": { "hog": { "instance": 2, "cpus": [0], "run": 1000000 } } }"#;
    let switches = |args: &[&str]| json(hogs, args)["tasks"][0]["preempted"].as_u64().unwrap();
    let (short, long) = (switches(&["--set", "base_slice=1ms"]), switches(&["--set", "base_slice=20ms"]));
    assert!(short > 2 * long, "{short} {long}");
}

#[test]
fn the_same_command_twice_prints_the_same() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("w.json");
    fs::write(&path, MIX).unwrap();
    let command = ["run", path.to_str().unwrap(), "--set", "costs=x86-server"];
    assert_eq!(support::run(&command).stdout, support::run(&command).stdout);
}

#[test]
fn a_deadlock_is_a_failed_run_that_says_who_waits_for_whom() {
    let output = run(
        r#"{ "tasks": {
            "a": { "lock": "first", "run": 1000, "lock2": "second" },
            "b": { "lock": "second", "run": 1000, "lock2": "first" }
        } }"#,
        &[],
    );
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    let told: String =
        complaint.lines().filter(|l| !l.starts_with("simulated")).map(|l| l.to_owned() + "\n").collect();
    expect![[r#"
        zerolag: deadlock: nothing will ever happen again
          a-0 has waited since 0.001000000 for mutex second, which b-1 has
          b-1 has waited since 0.001000000 for mutex first, which a-0 has
    "#]]
    .assert_eq(&told);
}

#[test]
fn out_has_the_report_and_rt_apps_logs() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("new/results");
    run(MIX, &["--out", out.to_str().unwrap()]);
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["rt-app-hog-0.log", "rt-app-light-2.log", "rt-app-nice-1.log", "run.json"]);
    let log = fs::read_to_string(out.join("rt-app-light-2.log")).unwrap();
    assert!(log.starts_with("#idx "), "{log}");
    let json: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(json["schema"], "zerolag.run/1");
}

#[test]
fn bad_input_is_refused_with_its_place() {
    assert!(refusal("", &[]).contains("w.json:1:1: "));
    assert!(refusal(r#"{ "tasks": { "a": { "runn": 1 } "#, &[]).contains("w.json:1:"));
    assert!(refusal(r#"{ "tasks": { "a": { "rnu": 1 } } }"#, &[]).contains("did you mean 'run'?"));
    assert!(refusal(r#"{ "tasks": { "a": { "priority": 99, "run": 1 } } }"#, &[]).contains("99"));
    assert!(refusal(r#"{ "tasks": { "a": { "cpus": [5], "run": 1 } } }"#, &[]).contains('5'));
    assert!(
        refusal(r#"{ "tasks": { "a": { "loop": -1, "yield": "" } } }"#, &[]).contains("never takes time")
    );
    assert!(refusal(MIX, &["--duration", "0s"]).contains("--duration"));
    assert!(refusal(MIX, &["--duration", "5"]).contains("unit"));
    assert!(refusal(MIX, &["--set", "NO_SUCH=1"]).contains("NO_SUCH"));
    assert!(refusal(MIX, &["--machine", "0cpu"]).contains("0cpu"));
}

#[test]
fn unknown_keys_pass_only_when_asked_for() {
    let text = r#"{ "tasks": { "a": { "loop": 1, "run": 1000, "colour": "red" } } }"#;
    assert!(refusal(text, &[]).contains("colour"));
    assert_eq!(json(text, &["--rtapp-compat"])["end"], "finished");
}

const MODEL: &str = r#"
machine = "2cpu"

[cgroup."/service"]
"cpu.weight" = 300

[[workload]]
kind = "hog"
name = "hog"
count = 2

[[workload]]
model = "schbench"
options = "--classic -m 1 -t 2 -s 5000 -c 2000 -r 2"
cgroup = "/service"
nice = -5
"#;

#[test]
fn a_model_runs_among_other_workloads_and_its_figures_are_shown() {
    let output = scenario(MODEL, &["--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Nothing but the model says how long.
    assert_eq!((&json["duration_ms"], &json["end"]), (&2000.0.into(), &"duration".into()));
    assert_eq!(json["tasks"].as_array().unwrap().len(), 2 + 1 + 1 + 2);
    assert_eq!(json["tasks"][2]["group"], "/service");
    let model = &json["models"][0];
    assert_eq!((&model["name"], &model["model"]), (&"schbench".into(), &"schbench".into()));
    assert_eq!(model["metrics"][0]["name"], "latency p50");
    let text = String::from_utf8(scenario(MODEL, &[]).stdout).unwrap();
    let printed =
        text.split("\nschbench: schbench --classic -m 1 -t 2 -s 5000 -c 2000 -r 2\n").nth(1).unwrap();
    assert_eq!(printed, model["text"].as_str().unwrap());
    assert!(printed.starts_with("Latency percentiles (usec)\n"));
}

#[test]
fn a_model_is_judged_by_its_own_time() {
    let longer = MODEL.replace("machine", "duration = \"4s\"\nmachine");
    let models = |text: &str| {
        let json: Value = serde_json::from_slice(&scenario(text, &["--json"]).stdout).unwrap();
        (json["models"].clone(), json["duration_ms"].clone())
    };
    assert_eq!(models(&longer).0, models(MODEL).0);
    assert_eq!(models(&longer).1, 4000.0);
}

#[test]
fn mistakes_about_models_are_named_with_their_place() {
    for (from, to, said) in [
        (
            "\"schbench\"",
            "\"shbench\"",
            "s.toml:13:9: 'model' is 'shbench' (did you mean 'schbench'?); accepted: ",
        ),
        ("-c 2000", "-x", "s.toml:14:11: schbench has no option -x; accepted: "),
        ("nice", "nicety", "unknown key 'nicety' in workload 2"),
        ("nice = -5", "name = \"hog\"", "'name' is 'hog'; accepted: a name that no other workload has"),
        ("model =", "kind = \"hog\"\nmodel =", "unknown key 'kind' in workload 2"),
    ] {
        let output = scenario(&MODEL.replace(from, to), &[]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{to}: {complaint}");
        assert!(complaint.contains(said), "{to}: {complaint}");
    }
}

#[test]
fn a_dump_shows_the_kernels_files_at_its_time() {
    let dumped = json(MIX, &["--dump", "50ms", "--dump", "20ms:hog-*"]);
    let dumps = dumped["dumps"].as_array().unwrap();
    let task = dumps[0]["text"].as_str().unwrap();
    assert_eq!((&dumps[0]["time_ms"], &dumps[0]["task"]), (&20.0.into(), &"hog-0".into()));
    assert!(task.starts_with("hog-0 (1, #threads: 1)\n-----"), "{task}");
    let queues = dumps[1]["text"].as_str().unwrap();
    assert_eq!((&dumps[1]["time_ms"], &dumps[1]["task"]), (&50.0.into(), &Value::Null));
    assert!(queues.contains("\ncfs_rq[0]:/\n") && queues.contains("hog-0     1 "), "{queues}");
    // Looking changes nothing.
    let plain = json(MIX, &[]);
    assert_eq!((&dumped["tasks"], &dumped["events"]), (&plain["tasks"], &plain["events"]));

    assert!(refusal(MIX, &["--dump", "20"]).contains("unit"));
    assert!(refusal(MIX, &["--dump", "1h"]).contains("--dump"));
    assert!(refusal(MIX, &["--dump", "20ms:hug"]).contains("no task is called 'hug'"));
    assert!(refusal(MIX, &["--dump", "20ms:"]).contains("TIME:TASK"));
}

#[test]
fn a_scenario_ends_when_its_models_are_over() {
    let text = MODEL
        .replace("\"schbench\"", "\"hackbench\"")
        .replace("--classic -m 1 -t 2 -s 5000 -c 2000 -r 2", "-g 1 -l 5");
    let json: Value = serde_json::from_slice(&scenario(&text, &["--json"]).stdout).unwrap();
    assert_eq!(json["end"], "models");
    let time_ms = json["models"][0]["metrics"][0]["value"].as_f64().unwrap() * 1e3;
    assert!(time_ms > 0.0 && time_ms < json["duration_ms"].as_f64().unwrap());
    // The hogs beside it are still there.
    assert_eq!(json["tasks"][0]["name"], "hog-0");
}

#[test]
fn watching_needs_a_terminal() {
    assert!(refusal(MIX, &["--watch"]).contains("terminal"));
    assert!(refusal(MIX, &["--watch", "--json"]).contains("--json"));
}
