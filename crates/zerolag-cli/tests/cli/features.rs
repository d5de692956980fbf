// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag features`.

use expect_test::expect;
use serde_json::Value;

use crate::support::{refusal, stdout};

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
}

#[test]
fn a_difference_lists_what_came_and_what_went() {
    let json: Value =
        serde_json::from_str(&stdout(&["features", "--diff", "6.1", "6.12", "--json"])).unwrap();
    assert_eq!(json["features"]["START_DEBIT"]["before"], true);
    assert_eq!(json["features"]["START_DEBIT"]["after"], Value::Null);
    assert_eq!(json["features"]["PLACE_LAG"]["after"], true);
    assert_eq!(json["features"].get("WAKEUP_PREEMPTION"), None);
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
