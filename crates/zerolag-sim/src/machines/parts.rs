// SPDX-License-Identifier: GPL-2.0-only
//! From what each CPU says of its neighbours to a machine, by the rules listed in the parent module.

use std::collections::{BTreeMap, BTreeSet};

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::CpuId;
use zerolag_core::topology::{Level, Topology, TopologyBuilder, TopologyError};

/// What a source says about a machine.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The number of CPUs, whether they are online or not.
    pub(super) cpus: usize,
    pub(super) online: CpuSet,
    /// With whom each online CPU shares what, as far as the source says.
    pub(super) neighbours: BTreeMap<CpuId, Neighbours>,
    /// Memory nodes with CPUs, in order of their numbers; none if the source knows of none.
    pub(super) nodes: Vec<CpuSet>,
    /// Distances between different nodes of `nodes`: from, to, how far.
    pub(super) distances: Vec<(usize, usize, u32)>,
    pub(super) capacities: BTreeMap<CpuId, u32>,
}

/// With whom a CPU shares what.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    pub(super) core: Option<CpuSet>,
    pub(super) cluster: Option<CpuSet>,
    pub(super) llc: Option<CpuSet>,
    pub(super) package: Option<CpuSet>,
}

impl Parts {
    pub(super) fn machine(mut self) -> Result<Topology, TopologyError> {
        if self.nodes.is_empty() {
            self.nodes.push(self.online.clone());
        }
        let mut sets: BTreeMap<Level, BTreeSet<CpuSet>> = BTreeMap::new();
        let mut found = |level, set: &CpuSet| {
            sets.entry(level).or_default().insert(set.clone());
        };
        for cpu in self.online.iter() {
            let places = self.places(cpu);
            if places.core.len() > 1 {
                found(Level::Core, &places.core);
            }
            if places.cluster != places.core {
                found(Level::Cluster, &places.cluster);
            }
            found(Level::Llc, &places.llc);
            found(Level::Package, &places.package);
        }
        let offline = CpuSet::first_n(self.cpus).and_not(&self.online);
        for cpu in offline.iter() {
            found(Level::Llc, &CpuSet::single(cpu));
        }
        let mut builder = TopologyBuilder::new();
        builder.cpus(self.cpus).offline(&offline);
        for (level, sets) in sets {
            for (i, mut set) in sets.into_iter().enumerate() {
                if level == Level::Package && i == 0 {
                    set.insert_all(&offline);
                }
                builder.set(level, set);
            }
        }
        self.add_nodes(&offline, &mut builder);
        for (&cpu, &capacity) in &self.capacities {
            builder.capacity(CpuSet::single(cpu), capacity);
        }
        builder.build()
    }

    fn add_nodes(&self, offline: &CpuSet, builder: &mut TopologyBuilder) {
        let mut homeless = offline.clone();
        for node in &self.nodes {
            homeless.remove_all(node);
        }
        for (i, node) in self.nodes.iter().enumerate() {
            builder.set(Level::Node, if i == 0 { node.or(&homeless) } else { node.clone() });
        }
        for &(from, to, distance) in &self.distances {
            builder.distance_one_way(from, to, distance);
        }
    }

    /// Where an online CPU is.
    fn places(&self, cpu: CpuId) -> Places {
        let none = Neighbours::default();
        let said = self.neighbours.get(&cpu).unwrap_or(&none);
        // A CPU that the source leaves out of its own neighbourhood is in it nevertheless.
        let online = |set: &Option<CpuSet>, otherwise: &CpuSet| {
            let mut set = set.as_ref().unwrap_or(otherwise).and(&self.online);
            set.insert(cpu);
            set
        };
        let alone = CpuSet::single(cpu);
        let node = self.nodes.iter().find(|node| node.contains(cpu)).unwrap_or(&self.online);
        let core = online(&said.core, &alone);
        let package = online(&said.package, &self.online);
        let mut llc = online(&said.llc, &package).and(node);
        let mut cluster = online(&said.cluster, &core).and(node);
        if llc.is_subset(&cluster) {
            llc = cluster.clone();
        }
        if !core.is_subset(&cluster) || !cluster.is_subset(&llc) {
            cluster = core.clone();
        }
        Places { core, cluster, llc, package }
    }
}

struct Places {
    core: CpuSet,
    cluster: CpuSet,
    llc: CpuSet,
    package: CpuSet,
}
