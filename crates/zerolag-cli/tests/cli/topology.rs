// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag topology`.

use expect_test::expect;
use serde_json::Value;

use crate::support::{refusal, stdout};

#[test]
fn a_machine_is_shown_core_by_core() {
    expect![[r#"
        CPUs: 6, cores: 6, clusters: 6, last-level caches: 2, nodes: 1, packages: 1

        PACKAGE  NODE  LLC  CLUSTER  CORE  CPUS  CAPACITY
        0        0     0    0        0     0     446
        0        0     1    1        1     1     1024
        0        0     1    2        2     2     1024
        0        0     0    3        3     3     446
        0        0     0    4        4     4     446
        0        0     0    5        5     5     446
    "#]]
    .assert_eq(&stdout(&["topology", "juno-r2"]));
}

#[test]
fn nodes_have_a_table_of_distances() {
    let text = stdout(&["topology", "square-16"]);
    expect![[r#"
        NODE  TO 0  TO 1  TO 2  TO 3
        0     10    20    30    20
        1     20    10    20    30
        2     30    20    10    20
        3     20    30    20    10
    "#]]
    .assert_eq(text.rsplit("\n\n").next().unwrap());
}

#[test]
fn what_is_written_as_toml_is_the_same_machine() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for name in ["ivb-ep", "hybrid-16", "numa8-32", "3cpu"] {
        let toml = stdout(&["topology", name, "--toml"]);
        std::fs::write(file.path(), toml).unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(stdout(&["topology", path, "--json"]), stdout(&["topology", name, "--json"]), "{name}");
    }
}

#[test]
fn json_has_a_cpu_each_and_all_distances() {
    let json: Value = serde_json::from_str(&stdout(&["topology", "ivb-ep", "--json"])).unwrap();
    assert_eq!(json["schema"], "zerolag.topology/1");
    assert_eq!(json["cpus"].as_array().unwrap().len(), 40);
    assert_eq!(json["cpus"][25]["core"], json["cpus"][5]["core"]);
    assert_eq!(json["distances"], serde_json::json!([[10, 21], [21, 10]]));
}

#[test]
fn domains_are_those_of_the_kernel() {
    let text = stdout(&["topology", "ivb-ep", "--domains"]);
    let first: Vec<_> = text.lines().skip(1).filter_map(|l| l.strip_prefix(' ')).collect();
    let levels: Vec<_> =
        first.iter().take(9).filter_map(|l| l.split_once(" span ")).map(|(level, _)| level).collect();
    assert_eq!(levels, ["SMT", "MC", "NUMA"], "{text}");
}

#[test]
fn a_machine_that_is_none_is_refused() {
    assert!(refusal(&["topology", "ivb"]).contains("known: 2cpu, ivb-ep"));
    assert!(refusal(&["topology", "0cpu"]).contains("1 to"));
    refusal(&["topology", "--json"]);
}
