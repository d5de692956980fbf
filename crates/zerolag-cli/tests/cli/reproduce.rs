// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag reproduce`.

use std::time::Duration;

use serde_json::Value;

use crate::support::{kill, kills, refusal, run, stdout};

#[test]
fn every_row_has_a_verdict_and_what_cannot_be_run_a_reason() {
    let text = stdout(&["reproduce", "nohz-stats", "--repeat", "2", "--json", "--jobs", "1"]);
    assert_eq!(text, stdout(&["reproduce", "nohz-stats", "--repeat", "2", "--json", "--jobs", "3"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "zerolag.reproduce/1");
    let experiment = &report["experiments"][0];
    assert_eq!((&experiment["name"], &experiment["seeds"]), (&"nohz-stats".into(), &2.into()));
    let rows = experiment["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 26);
    for row in rows {
        let simulated = !row["simulated"].is_null();
        match row["verdict"].as_str().unwrap() {
            "reproduced" | "not reproduced" => assert!(simulated && row["band"].is_array(), "{row}"),
            "not simulable" => assert!(!simulated && row["reason"].is_string(), "{row}"),
            other => panic!("{other}"),
        }
    }
    assert!(!experiment["cannot_show"].as_array().unwrap().is_empty());
}

#[test]
fn tables_come_with_what_they_cannot_show() {
    let text = stdout(&["reproduce", "nohz-stats", "--repeat", "1"]);
    for said in
        ["WHAT", "PUBLISHED", "SIMULATED", "BAND", "VERDICT", "Calibration:", "cannot show:", "of a Juno"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let markdown = stdout(&["reproduce", "nohz-stats", "--repeat", "1", "--markdown"]);
    assert!(markdown.contains("\n## nohz-stats\n") && markdown.contains("| not simulable |"), "{markdown}");
}

#[test]
fn experiments_have_names() {
    let complaint = refusal(&["reproduce", "wasted"]);
    assert!(complaint.contains("wasted-cores"), "{complaint}");
}

#[test]
fn killed_at_any_time_nothing_is_lost_or_done_twice() {
    let dir = tempfile::tempdir().unwrap();
    let with = |store: &str| {
        let store = dir.path().join(store).to_str().unwrap().to_owned();
        let head = ["reproduce", "nohz-stats", "--repeat", "2", "--json", "--resume", "--store"];
        head.into_iter().map(str::to_owned).chain([store]).collect::<Vec<String>>()
    };
    let report = |store: &str| {
        let args = with(store);
        let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let last = kill(kills(), Duration::from_millis(400), |store| with(&format!("k{store}")));
    assert_eq!(report(&format!("k{last}")), report("undisturbed"));
}
