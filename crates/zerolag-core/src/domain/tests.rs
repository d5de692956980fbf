// SPDX-License-Identifier: GPL-2.0-only
//! The properties listed in the module's description, on presets and random machines, under both kernels'
//! rules, with all CPUs and with some offline or partitioned.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::topology::{PRESETS, Topology, TopologyBuilder};
use crate::units::Jiffies;

const RULES: [&DomainRules; 2] = [&DomainRules::LINUX_6_1, &DomainRules::LINUX_6_12];

/// Domains of the machine with only some CPUs active.
fn rebuilt(topology: &Topology, rules: &DomainRules, active: &CpuSet, partitions: &Partitions) -> Domains {
    let (mut domains, mut states, mut capacity) = Domains::boot(topology, rules, 250);
    let time = TickTime::boot(250);
    let input = DomainInput { topology, rules, online: active, active, partitions, time };
    domains.rebuild(&mut states, &input, |c| topology.capacity(c).0, &mut capacity);
    domains
}

fn machine() -> impl Strategy<Value = Topology> {
    let shape = (1usize..=3, 1usize..=4, 1usize..=5, 1usize..=3, any::<bool>());
    (shape, prop::collection::vec(11u32..=40, 10), prop::collection::vec(0usize..3, 60)).prop_map(
        |((smt, per_node, nodes, llc, split), distances, sizes)| {
            let mut builder = TopologyBuilder::new();
            builder.cpus(smt * per_node * nodes).smt(smt, split).nodes(nodes).llc(llc * smt);
            let pairs = (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j)));
            for ((i, j), &d) in pairs.zip(&distances) {
                // Few different distances, so that levels have something in common.
                builder.distance(i, j, d / 10 * 10 + 5);
            }
            for (c, &size) in (0u32..).zip(sizes.iter().take(smt * per_node * nodes)) {
                builder.capacity(CpuSet::single(CpuId(c)), [1024, 1024, 446][size]);
            }
            builder.build().unwrap()
        },
    )
}

fn check(domains: &Domains, topology: &Topology) {
    for cpu in topology.cpus() {
        parents_contain_children(domains, cpu);
        for id in domains.chain(cpu) {
            let span = domains.span(id);
            assert!(span.contains(cpu) && span.len() > 1 && span.len() == domains[id].weight as usize);
            groups_cover_the_span(domains, id);
            the_local_group_comes_first(domains, id);
            balance_masks_are_in_their_groups(domains, id);
            partitions_are_separate(domains, id);
        }
    }
}

fn parents_contain_children(domains: &Domains, cpu: CpuId) {
    let chain: Vec<DomainId> = domains.chain(cpu).collect();
    for pair in chain.windows(2) {
        assert!(domains.span(pair[0]).is_subset(domains.span(pair[1])));
        assert_eq!((domains[pair[0]].parent, domains[pair[1]].child), (Some(pair[1]), Some(pair[0])));
    }
    assert!(chain.first().is_none_or(|&d| domains[d].child.is_none()));
}

fn groups_cover_the_span(domains: &Domains, id: DomainId) {
    let mut covered = CpuSet::new();
    let mut total = 0;
    for group in domains.groups(&domains[id]) {
        covered.insert_all(domains.group_span(group));
        total += domains.group(group).weight as usize;
    }
    assert_eq!(&covered, domains.span(id));
    if !domains[id].flags.contains(DomainFlags::OVERLAP) {
        assert_eq!(total, covered.len());
    }
}

fn the_local_group_comes_first(domains: &Domains, id: DomainId) {
    let sd = &domains[id];
    let local = domains.local_group(id);
    assert_eq!(domains.groups(sd).next(), Some(local));
    assert!(domains.group_span(local).contains(sd.cpu));
    match sd.child {
        Some(child) => assert_eq!(domains.group_span(local), domains.span(child)),
        None => assert_eq!(domains.group_span(local), &CpuSet::single(sd.cpu)),
    }
}

fn balance_masks_are_in_their_groups(domains: &Domains, id: DomainId) {
    for group in domains.groups(&domains[id]) {
        let mask = domains.balance_mask(group);
        assert!(!mask.is_empty() && mask.is_subset(domains.group_span(group)));
    }
}

fn partitions_are_separate(domains: &Domains, id: DomainId) {
    let root = domains.cpu(domains[id].cpu).root.expect("a CPU with domains has a root domain");
    assert!(domains.span(id).is_subset(&domains.roots()[root].span));
}

#[test]
fn properties_hold_on_presets() {
    for preset in PRESETS {
        let topology = Topology::preset(preset.name).unwrap();
        for rules in RULES {
            let (domains, _, _) = Domains::boot(&topology, rules, 250);
            assert_eq!(domains.is_empty(), topology.cpu_count() == 1);
            check(&domains, &topology);
        }
    }
}

proptest! {
    #[test]
    fn properties_hold_on_random_machines(
        topology in machine(), which in 0usize..2, offline in prop::collection::vec(0u32..60, 0..8),
        first in prop::collection::vec(0u32..60, 0..20),
    ) {
        let mut active = topology.online().clone();
        for cpu in offline.into_iter().map(CpuId) {
            active.remove(cpu);
        }
        let first: CpuSet = first.into_iter().map(CpuId).collect();
        let partitions = Partitions::new([first].into(), CpuSet::new()).unwrap();
        let domains = rebuilt(&topology, RULES[which], &active, &partitions);
        check(&domains, &topology);
        for cpu in topology.cpus() {
            prop_assert_eq!(domains.cpu(cpu).root.is_some(), active.contains(cpu));
        }
    }
}

#[test]
fn unchanged_partitions_are_kept() {
    let topology = Topology::preset("square-16").unwrap();
    let rules = &DomainRules::LINUX_6_12;
    let (mut domains, mut states, mut capacity) = Domains::boot(&topology, rules, 250);
    let all = topology.online().clone();
    let partitions = Partitions::new(["0-5".parse().unwrap()].into(), CpuSet::new()).unwrap();
    let time = TickTime { now: Jiffies(100), ..TickTime::boot(250) };
    let free = |c| topology.capacity(c).0;
    let input =
        DomainInput { topology: &topology, rules, online: &all, active: &all, partitions: &partitions, time };
    domains.rebuild(&mut states, &input, free, &mut capacity);
    check(&domains, &topology);
    for cpu in [0, 6].map(CpuId) {
        let base = domains.cpu(cpu).base.unwrap();
        states.domains[base].nr_balance_failed = 7;
    }
    let kept = domains.clone();

    // CPU 15 goes: the partition of CPUs 0 to 5 does not notice.
    let mut active = all.clone();
    active.remove(CpuId(15));
    domains.rebuild(&mut states, &DomainInput { active: &active, ..input }, free, &mut capacity);
    let failed = |cpu| states.domains[domains.cpu(CpuId(cpu)).base.unwrap()].nr_balance_failed;
    assert_eq!([failed(0), failed(6)], [7, 0]);
    for cpu in (0..6).map(CpuId) {
        let spans = |d: &Domains| d.chain(cpu).map(|id| d.span(id).clone()).collect::<Vec<_>>();
        assert_eq!(spans(&domains), spans(&kept));
    }
    assert_eq!(*domains.cpu(CpuId(15)), CpuDomains::none(CpuId(15)));
}

#[test]
fn a_rebuild_without_change_changes_nothing() {
    let topology = Topology::preset("hybrid-16").unwrap();
    let rules = &DomainRules::LINUX_6_12;
    let (mut domains, mut states, mut capacity) = Domains::boot(&topology, rules, 250);
    let before = (domains.clone(), states.clone());
    let online = topology.online();
    let time = TickTime { now: Jiffies(9), ..TickTime::boot(250) };
    let partitions = &Partitions::default();
    let input = DomainInput { topology: &topology, rules, online, active: online, partitions, time };
    domains.rebuild(&mut states, &input, |_| panic!("nothing to add up"), &mut capacity);
    assert_eq!((domains, states), before);
}

#[test]
fn isolated_cpus_have_no_domains() {
    let topology = Topology::preset("ncpu:4").unwrap();
    let partitions = Partitions::new(Vec::new(), "2,3".parse().unwrap()).unwrap();
    let domains = rebuilt(&topology, RULES[1], topology.online(), &partitions);
    assert_eq!(domains.span(domains.cpu(CpuId(0)).llc.unwrap()), &CpuSet::first_n(2));
    assert_eq!(*domains.cpu(CpuId(2)), CpuDomains::none(CpuId(2)));
    let twice = Partitions::new(["0-2".parse().unwrap()].into(), "2,3".parse().unwrap());
    assert_eq!(twice.unwrap_err().cpu, CpuId(2));
}

#[test]
fn group_capacity_is_the_sum_of_what_cpus_have_left() {
    let topology = Topology::preset("zen-32").unwrap();
    let (domains, mut states, mut capacity) = Domains::boot(&topology, RULES[1], 250);
    capacity[CpuId(1)] = 100;
    let time = TickTime { now: Jiffies(50), ..TickTime::boot(250) };
    let bottom_up: Vec<DomainId> = [1, 0].into_iter().flat_map(|c| domains.chain(CpuId(c))).collect();
    for id in bottom_up {
        states.update_group_capacity(&domains, id, time, |c| capacity[c]);
    }
    let package = domains.chain(CpuId(0)).last().unwrap();
    let sum = &states.capacities[domains.group(domains.local_group(package)).capacity];
    assert_eq!([sum.capacity, sum.min_capacity, sum.max_capacity], [7 * 1024 + 100, 100, 1024]);
    // The package is balanced every 32 ms, which are 8 ticks.
    assert_eq!(sum.next_update, Jiffies(58));
}

#[test]
fn shortcuts_lead_to_the_cache_and_the_cluster() {
    let topology = Topology::preset("cluster-24").unwrap();
    for (rules, share_id) in RULES.into_iter().zip([CpuId(0), CpuId(4)]) {
        let (domains, states, _) = Domains::boot(&topology, rules, 250);
        let cpu = domains.cpu(CpuId(6));
        assert_eq!((cpu.llc_id, cpu.llc_size, cpu.share_id), (CpuId(0), 24, share_id));
        assert_eq!(states.shared[cpu.shared.unwrap()].nr_busy_cpus, 24);
        assert_eq!(states.shared.len(), 1);
        assert_eq!(domains.cluster_active(), rules.cluster_flag);
    }
    let topology = Topology::preset("juno-r2").unwrap();
    let (domains, _, _) = Domains::boot(&topology, RULES[1], 250);
    let asym = domains.cpu(CpuId(1)).asym_cpucapacity.unwrap();
    assert_eq!(domains.span(asym), topology.online());
    assert!(domains.asym_capacity_active());
    assert_eq!(domains.roots()[RootId(0)].max_capacity, 1024);
}

/// The parameters of each level on zen-32 as 4.11 prints them, and on ivb-ep as 4.6 does.
#[test]
fn kernels_of_the_4_x_series_have_their_own_parameters() {
    type Level = (u32, u32, u32, (u8, u8), bool, u32);
    let levels = |machine: &str, rules: &DomainRules| -> Vec<Level> {
        let topology = Topology::preset(machine).unwrap();
        let (domains, states, _) = Domains::boot(&topology, rules, 250);
        let level = |id: DomainId| {
            let sd = &domains[id];
            assert_eq!((sd.busy_factor, sd.imb_numa_nr, sd.load_indexes.newidle), (32, 0, 0));
            let capacity = states.capacities[domains.group(domains.local_group(id)).capacity].capacity;
            let load = (sd.load_indexes.busy, sd.load_indexes.idle);
            let spreads = sd.flags.contains(DomainFlags::PREFER_SIBLING);
            (sd.weight, sd.imbalance_pct, sd.cache_nice_tries, load, spreads, capacity)
        };
        domains.chain(CpuId(0)).map(level).collect()
    };
    let zen = levels("zen-32", &DomainRules::LINUX_4_6);
    assert_eq!(
        zen,
        [(2, 110, 0, (0, 0), true, 589), (8, 117, 1, (2, 0), false, 1178), (32, 125, 1, (2, 1), true, 4712)]
    );
    let ivb = levels("ivb-ep", &DomainRules::LINUX_4_6);
    assert_eq!(
        ivb,
        [
            (2, 110, 0, (0, 0), true, 589),
            (20, 117, 1, (2, 0), true, 1178),
            (40, 125, 2, (3, 2), false, 11780)
        ]
    );
    assert!(levels("zen-32", &DomainRules::LINUX_4_17)[1].4);
    let juno = Topology::preset("juno-r2").unwrap();
    assert!(!Domains::boot(&juno, &DomainRules::LINUX_4_17, 250).0.asym_capacity_active());
}

/// The fourth bug of "a decade of wasted cores": packages of two nodes, CPU 5 goes and comes back.
#[test]
fn kernels_that_forget_nodes_balance_within_caches_only() {
    for (rules, preset, levels) in [
        (&DomainRules::LINUX_4_6, "opteron-64", ["SMT", "MC"].as_slice()),
        (&DomainRules::LINUX_4_11, "opteron-64", &["SMT", "MC", "NUMA", "NUMA"]),
        (&DomainRules::LINUX_4_6, "square-16", &["MC", "NUMA", "NUMA"]),
    ] {
        let topology = Topology::preset(preset).unwrap();
        let (mut domains, mut states, mut capacity) = Domains::boot(&topology, rules, 250);
        let all = topology.online();
        let mut without = all.clone();
        without.remove(CpuId(5));
        for (active, comes) in [(&without, None), (all, Some(CpuId(5)))] {
            if let Some(cpu) = comes {
                domains.cpu_comes(&topology, rules, &without, cpu);
            }
            let (partitions, time) = (&Partitions::default(), TickTime::boot(250));
            let input = DomainInput { topology: &topology, rules, online: active, active, partitions, time };
            domains.rebuild(&mut states, &input, |c| topology.capacity(c).0, &mut capacity);
        }
        for cpu in topology.cpus() {
            let names: Vec<_> = domains.chain(cpu).map(|d| rules.level_name(domains[d].level)).collect();
            assert_eq!(names, levels, "{preset}, CPU {cpu}");
        }
    }
}
