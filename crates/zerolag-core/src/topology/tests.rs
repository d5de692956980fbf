// SPDX-License-Identifier: GPL-2.0-only
//! The properties listed in the module's description, and a refusal for each kind of nonsense.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A machine from words separated by semicolons.
fn machine(words: &str) -> Result<Topology, TopologyError> {
    let mut builder = TopologyBuilder::new();
    for line in words.split(';') {
        assert!(builder.line(line)?, "not a machine word: {line}");
    }
    builder.build()
}

/// The sets of one level, in the order of their ids.
fn sets<I: crate::ids::Id>(level: &IdVec<I, CpuSet>) -> String {
    level.iter().map(|(_, set)| set.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_machine_of_one_word_is_flat() {
    let m = machine("cpus 3").unwrap();
    assert_eq!(sets(m.cores()), "0 1 2");
    assert_eq!(sets(m.clusters()), "0 1 2");
    assert_eq!([sets(m.llcs()), sets(m.nodes()), sets(m.packages())], ["0-2", "0-2", "0-2"]);
    assert!(!m.has_smt(m.online()) && !m.is_asymmetric());
}

#[test]
fn threads_are_adjacent_or_split() {
    assert_eq!(sets(machine("cpus 6; smt 2").unwrap().cores()), "0-1 2-3 4-5");
    assert_eq!(sets(machine("cpus 6; smt 2 split").unwrap().cores()), "0,3 1,4 2,5");
}

#[test]
fn the_last_node_takes_the_cores_left_over() {
    let m = machine("cpus 14; smt 2 split; nodes 2").unwrap();
    assert_eq!(sets(m.nodes()), "0-2,7-9 3-6,10-13");
}

#[test]
fn caches_and_clusters_are_runs_within_a_node() {
    let m = machine("cpus 20; nodes 2; smt 2; llc 4; cluster 2").unwrap();
    assert_eq!(sets(m.llcs()), "0-3 4-7 8-9 10-13 14-17 18-19");
    assert_eq!(sets(m.clusters()), sets(m.llcs()));
}

#[test]
fn irregular_machines_are_made_of_sets() {
    let m = machine("cpus 6; coreset 0,5; llcset 0,1,5; llcset 2-4; nodeset 2-4; nodeset 0,1,5").unwrap();
    assert_eq!(sets(m.cores()), "0,5 1 2 3 4");
    assert_eq!(sets(m.llcs()), "0-1,5 2-4");
    assert_eq!(sets(m.nodes()), "2-4 0-1,5");
    assert_eq!(m.node_of(CpuId(0)), NodeId(1));
    assert!(m.has_smt(m.online()));
    assert!(!m.has_smt(&"0-4".parse().unwrap()), "a core with one thread online is none with SMT");
}

#[test]
fn later_distances_override_earlier_ones() {
    let m = machine("cpus 8; nodes 8; hierarchy 12 20 32; distance 0 7 40").unwrap();
    let d = |i, j| m.distance(NodeId(i), NodeId(j));
    assert_eq!([d(0, 0), d(0, 1), d(0, 2), d(1, 3), d(0, 4), d(0, 7), d(7, 0)], [10, 12, 20, 20, 32, 40, 40]);
}

#[test]
fn every_preset_is_a_machine() {
    let sizes = [2, 40, 6, 192, 32, 24, 16, 32, 64, 16, 8, 384, 1024];
    let found: Vec<usize> = PRESETS.iter().map(|p| Topology::preset(p.name).unwrap().cpu_count()).collect();
    assert_eq!(found, sizes);
    assert_eq!(Topology::preset("ncpu:7").unwrap(), Topology::preset("7cpu").unwrap());
    assert_eq!(Topology::preset("2cpu").unwrap(), Topology::preset("ncpu:2").unwrap());
}

#[test]
fn nonsense_is_refused_with_the_place_of_the_fault() {
    let cases = [
        ("cpus 0", "a machine of 0 cpus (accepted: 1 to 8192)"),
        ("cpus 9000", "a machine of 9000 cpus (accepted: 1 to 8192)"),
        ("cpus 5; smt 2", "5 cpus do not make whole cores of 2 threads"),
        ("cpus 99; smt 9", "a core of 9 threads (accepted: 1 to 8)"),
        ("cpus 8; smt 2; llc 3", "a last-level cache of 3 cpus does not hold whole cores of 2 threads"),
        ("cpus 4; nodes 5", "5 nodes (accepted: 1 to one for each core, which is 4 here)"),
        ("cpus 4; nodes 0", "0 nodes (accepted: 1 to one for each core, which is 4 here)"),
        ("cpus 4; nodeset 0-2", "cpu 3 is in no node"),
        ("cpus 4; nodeset 0-2; nodeset 2,3", "cpu 2 is in node 0 and in node 1"),
        ("cpus 4; packageset 0-2; packageset 2,3", "cpu 2 is in package 0 and in package 1"),
        ("cpus 4; llcset 0-9", "a set of cpus names cpu 4, but the machine has cpus 0 to 3"),
        ("cpus 4; nodes 2; llcset 0-3", "cpus 0 and 2 share a last-level cache but not a node"),
        (
            "cpus 4; coreset 1,2; llcset 0,1; llcset 2,3",
            "cpus 1 and 2 share a cluster but not a last-level cache",
        ),
        ("cpus 4; coreset 0,1; clusterset 1,2", "cpus 0 and 1 share a core but not a cluster"),
        ("cpus 4; packageset 0,1; packageset 2,3", "cpus 0 and 2 share a last-level cache but not a package"),
        ("cpus 4; capacity 1 0", "capacity 0 of cpu 1 (accepted: 1 to 1024)"),
        ("cpus 4; capacity 1 1025", "capacity 1025 of cpu 1 (accepted: 1 to 1024)"),
        ("cpus 4; capacity 4 512", "a capacity names cpu 4, but the machine has cpus 0 to 3"),
        ("cpus 4; distance 0 1 20", "a distance names node 1, but the machine has nodes 0 to 0"),
        (
            "cpus 4; nodes 2; distance 0 1 10",
            "distance 10 from node 0 to node 1 (accepted: 10 to itself, 11 to 254 to another)",
        ),
        ("cpus x", "'cpus' with 'x'; accepted: cpus N"),
        ("smt 2 spilt", "'smt' with '2 spilt'; accepted: smt K [split]"),
        ("capacity 3-1 5", "'capacity' with '3-1 5'; accepted: capacity LIST V"),
        ("distance 0 1", "'distance' with '0 1'; accepted: distance I J D"),
    ];
    for (words, message) in cases {
        assert_eq!(machine(words).unwrap_err().to_string(), message, "{words}");
    }
    let unknown = machine("machine ivb-pe").unwrap_err().to_string();
    assert!(unknown.starts_with("no machine 'ivb-pe'; known: 2cpu, ivb-ep, juno-r2, "), "{unknown}");
    let offline = TopologyBuilder::new().offline(&CpuSet::first_n(1)).build();
    assert_eq!(offline, Err(TopologyError::AllOffline));
    let empty = TopologyBuilder::new().set(Level::Node, CpuSet::new()).build();
    assert_eq!(empty, Err(TopologyError::Empty { level: Level::Node, index: 0 }));
}

#[test]
fn other_words_are_left_to_others() {
    assert_eq!(TopologyBuilder::new().word(&["task", "1"]), Ok(false));
    assert_eq!(TopologyBuilder::new().word(&[]), Ok(false));
}

proptest! {
    /// Properties 1 to 3 for whatever the builder accepts.
    #[test]
    fn accepted_machines_nest(
        threads in 1usize..4, cores in 1usize..40, nodes in 1usize..9, llc in 0usize..12, cluster in 0usize..6,
        split: bool, set in prop::collection::btree_set(0u32..40, 0..4),
    ) {
        let mut builder = TopologyBuilder::new();
        builder.cpus(threads * cores).smt(threads, split).nodes(nodes).llc(llc * threads).cluster(cluster);
        if !set.is_empty() {
            builder.set(Level::Core, set.into_iter().map(CpuId).collect());
        }
        let Ok(m) = builder.build() else { return Ok(()) };
        for level in [
            m.cores().iter().map(|(_, s)| s).collect::<Vec<_>>(),
            m.clusters().iter().map(|(_, s)| s).collect(),
            m.llcs().iter().map(|(_, s)| s).collect(),
            m.nodes().iter().map(|(_, s)| s).collect(),
            m.packages().iter().map(|(_, s)| s).collect(),
        ] {
            prop_assert_eq!(level.iter().map(|s| s.len()).sum::<usize>(), m.cpu_count());
            prop_assert!(level.iter().all(|s| !s.is_empty()));
        }
        for cpu in m.cpus() {
            prop_assert!(m.core(cpu).contains(cpu) && m.core(cpu).is_subset(m.cluster(cpu)));
            prop_assert!(m.cluster(cpu).is_subset(m.llc(cpu)) && m.llc(cpu).is_subset(m.node(cpu)));
            prop_assert!(m.llc(cpu).is_subset(m.package(cpu)));
        }
    }
}
