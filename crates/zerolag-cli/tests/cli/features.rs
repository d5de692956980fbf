// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag features`.

use expect_test::expect;
use serde_json::Value;

use crate::support::{refusal, run, stdout};

#[test]
fn each_feature_is_one_line() {
    let text = stdout(&["features", "--kernel", "6.12"]);
    let lag: Vec<_> = text.lines().filter(|l| l.starts_with("PLACE_LAG")).collect();
    expect![[r#"
        [
            "PLACE_LAG               on       eevdf-rfc  6.18   keep lag over sleep and migration; off: everyone joins at zero lag",
        ]
    "#]]
    .assert_debug_eq(&lag);
}

#[test]
fn json_is_keyed_by_name() {
    let json: Value = serde_json::from_str(&stdout(&["features", "--kernel", "6.1", "--json"])).unwrap();
    assert_eq!(json["schema"], "zerolag.features/1");
    assert_eq!(json["kernel"], "6.1");
    assert_eq!(json["features"]["NEXT_BUDDY"]["default"], false);
    assert_eq!(json["features"]["START_DEBIT"]["default"], true);
    assert_eq!(json["features"]["START_DEBIT"]["until"], "6.1");
    assert_eq!(json["features"].get("PLACE_LAG"), None);
    assert_eq!(json["features"]["NONTASK_CAPACITY"]["modelled"], false);
    let latency = &json["tunables"]["latency"];
    assert_eq!(latency["default"], 6_000_000);
    assert_eq!(latency["on_8_cpus"], 24_000_000);
    assert_eq!(latency["scaling"], "logarithmic, up to 8 CPUs");
    assert_eq!(json["tunables"]["idle_min_granularity"]["scaling"], "none");
    assert_eq!(json["tunables"].get("base_slice"), None);
}

/// Patched kernels stand between those that were released: they do not begin or end anything.
#[test]
fn a_feature_lasts_from_one_release_to_another() {
    let text = stdout(&["features", "--kernel", "4.17stale"]);
    let line =
        |name| text.lines().find(|l| l.starts_with(name)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(line("LB_BIAS")[1..4], ["on", "2.6.29", "4.17"]);
    assert_eq!(line("NEXT_BUDDY")[1..4], ["off", "4.6", "6.18"]);
    let text = stdout(&["features", "--kernel", "2.6.29pw"]);
    let adaptive = text.lines().find(|l| l.starts_with("ADAPTIVE_GRAN")).unwrap();
    assert!(adaptive.split_whitespace().skip(2).take(2).eq(["2.6.29pw", "2.6.29pw"]), "{adaptive}");
    let spin = text.lines().find(|l| l.starts_with("OWNER_SPIN")).unwrap();
    assert!(spin.ends_with("(without effect here)"), "{spin}");
}

#[test]
fn a_difference_lists_what_came_and_what_went() {
    let json: Value =
        serde_json::from_str(&stdout(&["features", "--diff", "6.1", "6.12", "--json"])).unwrap();
    assert_eq!(json["features"]["START_DEBIT"]["before"], true);
    assert_eq!(json["features"]["START_DEBIT"]["after"], Value::Null);
    assert_eq!(json["features"]["PLACE_LAG"]["after"], true);
    assert_eq!(json["features"].get("WAKEUP_PREEMPTION"), None);
    assert_eq!(json["tunables"]["latency"]["after"], Value::Null);
    assert_eq!(json["tunables"]["base_slice"]["after"], 700_000);
    assert_eq!(json["tunables"].get("nr_migrate"), None);
}

#[test]
fn a_kernel_does_not_differ_from_itself() {
    assert_eq!(stdout(&["features", "--diff", "6.12", "6.12"]).lines().count(), 1);
}

#[test]
fn an_unknown_kernel_is_refused_with_those_there_are() {
    let complaint = refusal(&["features", "--kernel", "6.2"]);
    assert!(complaint.contains("'6.2'") && complaint.contains("eevdf-rfc, 6.6, 6.12, 6.18"), "{complaint}");
}

/// Wherever a feature is named, one of another kernel is refused with the kernels that have it.
#[test]
fn a_feature_of_another_kernel_is_refused_with_those_that_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let hog = "kernel = \"6.6\"\nmachine = \"1cpu\"\nduration = \"1ms\"\n[[workload]]\nkind = \"hog\"\nname = \"a\"\n";
    let wrong = format!("features.DELAY_DEQUEUE = true\n{hog}");
    let hog = file("hog.toml", hog);
    let wrong = file("wrong.toml", &wrong);
    let script = file("feature.script", "feature DELAY_DEQUEUE 1\nclock 1\n");
    let said = "Linux 6.6 has no DELAY_DEQUEUE; these have: 6.12, 6.18";
    for complaint in [
        refusal(&["run", &hog, "--set", "DELAY_DEQUEUE=on"]),
        refusal(&["run", &wrong]),
        refusal(&["script", "--kernel", "6.6", &script]),
    ] {
        assert!(complaint.contains(said), "{complaint}");
    }
    assert!(run(&["run", &hog, "--set", "RUN_TO_PARITY=off"]).status.success());
}
