// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag explain`.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support;

/// Groups of different weight, with a task that wakes up beside a hog of its own group.
const GROUPS: &str = include_str!("../../../../scenarios/groups.toml");

/// The light task's group has little weight.
const IN_GROUPS: &str = r#"
    machine = "1cpu"
    duration = "1s"
    [cgroup."/heavy"]
    "cpu.weight" = 800
    [cgroup."/small"]
    "cpu.weight" = 100
    [[workload]]
    kind = "hog"
    name = "big"
    count = 2
    cgroup = "/heavy"
    [[workload]]
    kind = "hog"
    name = "little"
    cgroup = "/small"
"#;

fn explain(scenario: &str, args: &[&str]) -> Output {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.toml");
    fs::write(&path, scenario).unwrap();
    support::run(&[&["explain", path.to_str().unwrap()], args].concat())
}

#[track_caller]
fn text(scenario: &str, args: &[&str]) -> String {
    let output = explain(scenario, args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn waits(scenario: &str, args: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(&text(scenario, &[args, &["--json"]].concat())).unwrap();
    assert_eq!(json["schema"], "zerolag.explain/1");
    json["waits"].as_array().unwrap().clone()
}

#[test]
fn who_ran_is_told_and_adds_up_to_the_wait() {
    let waits = waits(GROUPS, &["--task", "b-light", "--worst", "3"]);
    assert_eq!(waits.len(), 3);
    for wait in waits {
        let ran = wait["ran"].as_array().unwrap();
        let sum: u64 =
            ran.iter().map(|r| r["to_ns"].as_u64().unwrap() - r["from_ns"].as_u64().unwrap()).sum();
        assert_eq!(sum as f64 / 1e6, wait["waited_ms"].as_f64().unwrap());
        assert!(ran.iter().all(|r| r["task"] != "b-light"), "{ran:?}");
    }
}

#[test]
fn what_would_have_helped_does_help_when_it_is_done() {
    let ask = |scenario: &str| waits(scenario, &["--task", "b-light", "--at", "1.5s"]).remove(0);
    let wait = ask(GROUPS);
    assert_eq!(wait["from_ns"], 1_500_000_000);
    let tried = wait["tried"].as_array().unwrap();
    let waited = |what: &str| {
        let found = tried.iter().find(|t| t["change"].as_str().unwrap().starts_with(what));
        found.unwrap_or_else(|| panic!("{what} in {tried:?}"))["waited_ms"].as_f64().unwrap()
    };
    let order: Vec<f64> = tried.iter().map(|t| t["waited_ms"].as_f64().unwrap()).collect();
    assert!(order.is_sorted() && order[0] < wait["waited_ms"].as_f64().unwrap(), "{order:?}");
    // The same changes, made by the scenario at the same time.
    for (what, change) in [
        ("four times the weight for /b ", "cgroup.\"/b\" = { \"cpu.shares\" = 4096 }"),
        ("HRTICK on", "features = { HRTICK = true }"),
        ("nice -5 for b-light", "task = [{ match = \"b-light\", nice = -5 }]"),
    ] {
        let changed = ask(&format!("{GROUPS}\n[[at]]\ntime = \"1499999999ns\"\n{change}\n"));
        assert_eq!(changed["from_ns"], wait["from_ns"], "{what}");
        assert_eq!(changed["waited_ms"].as_f64().unwrap(), waited(what), "{what}");
    }
}

#[test]
fn who_never_ran_before_is_explained_too() {
    let wait = &waits(GROUPS, &["--task", "ay-0", "--at", "0s"])[0];
    assert_eq!((&wait["begin"], &wait["from_ns"]), (&"new".into(), &0.into()));
    assert!(wait["tried"].as_array().unwrap().iter().any(|t| t["change"] == "HRTICK on"));
}

#[test]
fn a_wait_is_explained_where_the_groups_compete() {
    let wait = &waits(IN_GROUPS, &["--task", "little", "--at", "0.5s"])[0];
    let levels = wait["ran"][0]["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 1);
    let level = &levels[0];
    assert_eq!((&level["group"], &level["waiting"]["name"]), (&"/".into(), &"/small".into()));
    assert_eq!(level["running"]["name"], "/heavy");
    let helped = |what: &str| {
        let tried = wait["tried"].as_array().unwrap();
        tried.iter().any(|t| t["change"].as_str().unwrap().contains(what))
    };
    assert!(helped("four times the weight for /small") && helped("nice -5 for little"));
}

#[test]
fn the_text_has_sentences_and_a_drawing() {
    let text = text(GROUPS, &["--task", "b-light", "--worst", "2"]);
    for part in [
        "b-light waited ",
        "cpu0 |",
        "Who ran meanwhile:",
        " ran for ",
        "It may run on cpu0 only",
        "instead of",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("Who ran meanwhile:").count(), 2);
}

#[test]
fn the_same_question_has_the_same_answer_under_cfs() {
    let args = ["--kernel", "6.1", "--task", "little", "--worst", "1"];
    let (first, second) = (text(IN_GROUPS, &args), text(IN_GROUPS, &args));
    assert_eq!(first, second);
    assert!(first.contains("little waited") && !first.contains("deadline"), "{first}");
}

#[test]
fn questions_without_an_answer_are_refused() {
    let refused = |args: &[&str], said: &str| {
        let output = explain(GROUPS, args);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(said), "{complaint}");
    };
    refused(&["--task", "lihgt"], "there are ax, ay, ay-0, ay-1, b, b-light");
    refused(&["--task", "b-light", "--at", "30s"], "does not wait");
    refused(&["--at", "3s"], "--task");
}

/// Two hogs of nice 0 and 5 on one CPU.
const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../zerolag-trace/tests/data/perf_sched/hogs_nice_0_and_5.perf.txt.gz"
);

#[test]
fn a_recording_shows_who_ran_and_claims_no_more() {
    let output = support::run(&["explain", RECORDING, "--task", "hogB", "--worst", "2"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("hogB (pid") && said.contains("nice 5"), "{said}");
    assert!(said.contains(": hogA (pid") && said.contains("Who ran meanwhile:"), "{said}");
    for word in ["lag", "deadline", "eligible", "It would have run"] {
        let claims = said.lines().filter(|line| line.contains(word)).collect::<Vec<_>>();
        assert!(claims.iter().all(|line| line.starts_with("A recording shows")), "{claims:?}");
    }
    let output = support::run(&["explain", RECORDING, "--task", "hogB", "--worst", "2", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "zerolag.explain-recording/1");
    let waits = json["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 2);
    for wait in waits {
        let ran: u64 = wait["ran"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["to_ns"].as_u64().unwrap() - r["from_ns"].as_u64().unwrap())
            .sum();
        let len = wait["to_ns"].as_u64().unwrap() - wait["from_ns"].as_u64().unwrap();
        assert_eq!(ran, len, "{wait:#}");
        assert_eq!(wait["ran"][0]["task"]["comm"], "hogA");
    }
}

#[test]
fn a_time_in_a_recording_counts_from_its_first_event_with_a_plus() {
    let at = |at: &str| {
        let output = support::run(&["explain", RECORDING, "--task", "hogA", "--at", at, "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["waits"][0]["from_ns"].as_u64().unwrap()
    };
    let first = at("+0ms");
    assert!(at("+1500ms") >= first + 400_000_000, "{first} {}", at("+1500ms"));
    assert_eq!(at(&format!("{}ns", first + 1)), first);
    let none = support::run(&["explain", RECORDING, "--task", "nobody"]);
    assert_eq!(none.status.code(), Some(2));
}
