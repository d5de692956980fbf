// SPDX-License-Identifier: GPL-2.0-only
//! The TOML form.

use super::{check, refusal};

#[test]
fn a_regular_machine_takes_a_few_lines() {
    check(
        "m.toml",
        b"cpus = 16\nsmt = 2\nsmt_split = true\nnodes = 2\nllc = 4\ndistances = [[10, 21], [22, 10]]\n\
          capacity = [{ cpus = \"0,8\", value = 446 }]\noffline = \"3\"\n",
        "cores 0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15
         clusters 0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15
         llcs 0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15
         nodes 0-3,8-11 4-7,12-15
         packages 0-3,8-11 4-7,12-15
         capacity 446 1024 1024 1024 1024 1024 1024 1024 446 1024 1024 1024 1024 1024 1024 1024
         online 0-2,4-15
         distance 10 21
         distance 22 10",
    );
}

#[test]
fn a_preset_can_be_the_base() {
    check(
        "m.toml",
        b"base = \"juno-r2\"\npackages = [\"0,3-5\", \"1,2\"]\nclusters = [\"1-2\"]\n",
        "cores 0 1 2 3 4 5
         clusters 0 1-2 3 4 5
         llcs 0,3-5 1-2
         nodes 0-5
         packages 0,3-5 1-2
         capacity 446 1024 1024 446 446 446
         online 0-5
         distance 10",
    );
}

#[test]
fn faults_are_named_with_their_place() {
    let cases = [
        ("cpus = 4\nsmtt = 2\n", "m.toml:2:1: unknown field `smtt`, expected one of `base`, `cpus`, `smt`, "),
        ("cpus = \"4\"\n", "m.toml:1:8: invalid type: string \"4\", expected usize"),
        (
            "cpus = 4\nllcs = [\"0-1\",\n \"3-2\"]\n",
            "m.toml:3:2: the list of cpus is '3-2' (accepted: numbers",
        ),
        ("cpus = 4\nbase = \"x\"", "m.toml:2:8: no machine 'x'; known: 2cpu, "),
        ("smt = 2", "m.toml: no 'cpus' in it, and no 'base'"),
        (
            "cpus = 4\nnodes = 2\ndistances = [[10, 20], [20]]\n",
            "m.toml:3:24: row 1 of the distances is '1 long' ",
        ),
        (
            "cpus = 4\ndistances = [[10, 20], [20, 10]]\n",
            "m.toml:2:24: a distance names node 1, but the machine has ",
        ),
        ("cpus = 4\nllcs = [\"0-2\"]\n", "m.toml:2:9: cpu 3 is in no last-level cache"),
        ("cpus = 4\npackages = [\"0-2\", \"2-3\"]\n", "m.toml:2:20: cpu 2 is in package 0 and in package 1"),
        (
            "cpus = 4\ncapacity = [{ cpus = \"0\", value = 0 }]\n",
            "m.toml:2:22: capacity 0 of cpu 0 (accepted: 1 to 1024)",
        ),
        ("cpus = 0\n", "m.toml:1:8: a machine of 0 cpus"),
        ("cpus = 4\nnode_cpus = [\"0-3\", \"\"]\n", "m.toml:2:21: node 1 has no cpus"),
        ("cpus = 4\nsmt = 2\ncores = [\"0-1\", \"2-4\"]\n", "m.toml:3:17: a set of cpus names cpu 4"),
        (
            "cpus = 4\nllcs = [\"0-3\"]\npackages = [\"0-1\", \"2-3\"]\n",
            "m.toml:2:9: cpus 0 and 2 share a last-level cache but not a package",
        ),
        (
            "cpus = 4\nnodes = 2\ndistances = [[10, 20], [20, 9]]\n",
            "m.toml:3:24: distance 9 from node 1 to node 1",
        ),
        ("cpus = 2\noffline = \"0-1\"\n", "m.toml:2:11: no cpu is online"),
        ("cpus = [", "m.toml:1:9: "),
    ];
    for (text, message) in cases {
        let error = refusal("m.toml", text.as_bytes());
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
}
