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
    .assert_eq(&stdout(&["topology", "show", "juno-r2"]));
}

#[test]
fn nodes_have_a_table_of_distances() {
    let text = stdout(&["topology", "show", "square-16"]);
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
fn an_imported_machine_is_the_same_machine() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.toml");
    let path = file.to_str().unwrap();
    for name in ["ivb-ep", "hybrid-16", "numa8-32", "3cpu", "ncpu:5"] {
        assert_eq!(stdout(&["topology", "import", name, "-o", path]), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout(&["topology", "import", name]));
        let show = |machine| stdout(&["topology", "show", machine, "--json"]);
        assert_eq!(show(path), show(name), "{name}");
    }
}

#[test]
fn json_has_a_cpu_each_and_all_distances() {
    let json: Value = serde_json::from_str(&stdout(&["topology", "show", "ivb-ep", "--json"])).unwrap();
    assert_eq!(json["schema"], "zerolag.topology/2");
    assert_eq!(json["cpus"].as_array().unwrap().len(), 40);
    assert_eq!(
        json["cpus"][25],
        serde_json::json!({
            "id": 25, "online": true, "core": 5, "cluster": 5, "llc": 0, "node": 0, "package": 0, "capacity": 1024
        })
    );
    assert_eq!(json["distances"], serde_json::json!([[10, 21], [21, 10]]));
}

#[test]
fn domains_are_those_of_the_kernel() {
    let text = stdout(&["topology", "domains", "ivb-ep"]);
    let first: Vec<_> = text.lines().skip(1).filter_map(|l| l.strip_prefix(' ')).collect();
    let levels: Vec<_> =
        first.iter().take(9).filter_map(|l| l.split_once(" span ")).map(|(level, _)| level).collect();
    assert_eq!(levels, ["SMT", "MC", "NUMA"], "{text}");
}

#[test]
fn domains_in_json_are_those_of_the_text() {
    let json = stdout(&["topology", "domains", "juno-r2", "--kernel", "6.1", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["schema"], &json["kernel"]), (&"zerolag.domains/1".into(), &"6.1".into()));
    let text = stdout(&["topology", "domains", "juno-r2", "--kernel", "6.1"]);
    let mut told = String::new();
    for cpu in json["cpus"].as_array().unwrap() {
        for domain in cpu["domains"].as_array().unwrap() {
            let list = |key: &str| -> Vec<&Value> { domain[key].as_array().unwrap().iter().collect() };
            let word = |v: &Value| v.as_str().unwrap().to_owned();
            told += &format!(
                " {} span {} weight {} imbalance_pct {} cache_nice_tries {} interval {}..{} busy_factor {} \
                 imb_numa_nr {} {}\n  groups",
                word(&domain["level"]),
                word(&domain["span"]),
                domain["weight"],
                domain["imbalance_pct"],
                domain["cache_nice_tries"],
                domain["min_interval_ms"],
                domain["max_interval_ms"],
                domain["busy_factor"],
                domain["imb_numa_nr"],
                list("flags").iter().map(|f| word(f)).collect::<Vec<_>>().join(" "),
            );
            for group in list("groups") {
                assert_eq!(group["balance"], group["cpus"], "no groups overlap here");
                told += &format!(
                    " {}[cap {} {}..{}]",
                    word(&group["cpus"]),
                    group["capacity"],
                    group["min_capacity"],
                    group["max_capacity"]
                );
            }
            told += "\n";
        }
    }
    let shown: String = text
        .lines()
        .filter(|line| line.starts_with(' ') && !line.contains("now: "))
        .map(|line| format!("{}\n", line.replace("   groups", "  groups")))
        .collect();
    assert_eq!(told, shown);
}

#[test]
fn machines_with_a_name_are_listed() {
    let text = stdout(&["topology", "list"]);
    for name in ["2cpu", "ivb-ep", "phone-8", "server-384", "server-1024", "ncpu:N"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
}

#[test]
fn a_machine_that_is_none_is_refused() {
    assert!(refusal(&["topology", "show", "ivb"]).contains("known: 2cpu, ivb-ep"));
    assert!(refusal(&["topology", "domains", "0cpu"]).contains("1 to"));
    refusal(&["topology"]);
    refusal(&["topology", "show", "--json"]);
}

#[test]
fn a_machine_that_makes_no_sense_is_refused_with_the_place_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.toml");
    let truncated = {
        let mut tar = vec![0; 700];
        tar[..12].copy_from_slice(b"cpu/cpu0/id\0");
        tar[257..265].copy_from_slice(b"ustar\x0000");
        tar
    };
    let cases: [(&str, &[u8], &str); 6] = [
        ("empty-node.toml", b"cpus = 2\nnode_cpus = [\"0-1\", \"\"]\n", "node 1"),
        (
            "two-packages.toml",
            b"cpus = 2\npackages = [\"0-1\", \"1\"]\n",
            "cpu 1 is in package 0 and in package 1",
        ),
        ("weak.toml", b"cpus = 2\ncapacity = [{ cpus = \"1\", value = 0 }]\n", "capacity 0 of cpu 1"),
        ("other.xml", b"<html>\n</html>", "other.xml:1:1: the outermost element is 'html'"),
        ("cut.tar", &truncated, "cut.tar"),
        ("cut.xml", b"<topology>\n <object", "cut.xml:"),
    ];
    for (name, bytes, said) in cases {
        let file = dir.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let path = file.to_str().unwrap();
        let error = refusal(&["topology", "import", path, "-o", out.to_str().unwrap()]);
        assert!(error.contains(said) && error.contains(name), "{name}: {error}");
        assert!(!out.exists(), "{name}");
    }
}
