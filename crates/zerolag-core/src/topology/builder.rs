// SPDX-License-Identifier: GPL-2.0-only
//! From a description to a machine that makes sense.
//!
//! A description is a regular shape (so many CPUs, threads, nodes), of which irregular machines override parts
//! with sets of CPUs. Everything is checked in one place, [`TopologyBuilder::build`], so that the order in
//! which things are said does not matter.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::error::{Level, TopologyError};
use super::{CpuPlace, DISTANCE_LOCAL, DISTANCE_REMOTE, NODES_MAX, Topology};
use crate::cpu_set::{CPUS_MAX, CpuSet};
use crate::ids::{ClusterId, CoreId, CpuId, Id, IdVec, LlcId, NodeId, PackageId};
use crate::units::Capacity;

/// The greatest number of hardware threads that a core may have.
const THREADS_MAX: usize = 8;

/// Describes a machine; see [`Topology`] for what the parts mean. The default is one CPU.
#[derive(Clone, Debug)]
pub struct TopologyBuilder {
    cpus: usize,
    nodes: usize,
    smt: usize,
    /// The first threads of all cores are numbered first, then the second threads, as on Intel's machines.
    split: bool,
    /// Cores per cluster.
    cluster: usize,
    /// CPUs per last-level cache; 0 is as many as the node has.
    llc: usize,
    sets: Vec<(Level, CpuSet)>,
    distances: Vec<Distance>,
    capacities: Vec<(CpuSet, u32)>,
    offline: CpuSet,
}

#[derive(Clone, Debug)]
enum Distance {
    OneWay { from: usize, to: usize, distance: u32 },
    Hierarchy([u32; 3]),
}

impl Default for TopologyBuilder {
    fn default() -> Self {
        Self {
            cpus: 1,
            nodes: 1,
            smt: 1,
            split: false,
            cluster: 1,
            llc: 0,
            sets: Vec::new(),
            distances: Vec::new(),
            capacities: Vec::new(),
            offline: CpuSet::new(),
        }
    }
}

impl TopologyBuilder {
    /// One CPU, until more is said.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of CPUs, offline ones included.
    pub const fn cpus(&mut self, count: usize) -> &mut Self {
        self.cpus = count;
        self
    }

    /// Divides the cores evenly among so many nodes, in order; the last takes what is left over.
    pub const fn nodes(&mut self, count: usize) -> &mut Self {
        self.nodes = count;
        self
    }

    /// Threads per core: adjacent CPU numbers or, if `split`, `c`, `c + cores`, `c + 2 * cores` and so on.
    pub const fn smt(&mut self, threads: usize, split: bool) -> &mut Self {
        self.smt = threads;
        self.split = split;
        self
    }

    /// So many cores make a cluster.
    pub const fn cluster(&mut self, cores: usize) -> &mut Self {
        self.cluster = cores;
        self
    }

    /// So many CPUs share a last-level cache (0: all of a node).
    pub const fn llc(&mut self, cpus: usize) -> &mut Self {
        self.llc = cpus;
        self
    }

    /// One core, cluster, and so on made of exactly these CPUs. CPUs in none of the given cores and clusters
    /// stay where the regular shape puts them; nodes, caches and packages, if any is given, must have all CPUs.
    /// Nodes are numbered in the order they are given.
    pub fn set(&mut self, level: Level, cpus: CpuSet) -> &mut Self {
        self.sets.push((level, cpus));
        self
    }

    /// The distance between two nodes, the same both ways.
    pub fn distance(&mut self, a: usize, b: usize, distance: u32) -> &mut Self {
        self.distance_one_way(a, b, distance).distance_one_way(b, a, distance)
    }

    /// The distance from the CPUs of one node to the memory of another.
    pub fn distance_one_way(&mut self, from: usize, to: usize, distance: u32) -> &mut Self {
        self.distances.push(Distance::OneWay { from, to, distance });
        self
    }

    /// Distances of nodes numbered as the leaves of a binary tree: the first between neighbours, the second
    /// within a group of four, the third beyond.
    pub fn hierarchy(&mut self, distances: [u32; 3]) -> &mut Self {
        self.distances.push(Distance::Hierarchy(distances));
        self
    }

    /// The computing power of these CPUs; 1024 where nothing is said.
    pub fn capacity(&mut self, cpus: CpuSet, capacity: u32) -> &mut Self {
        self.capacities.push((cpus, capacity));
        self
    }

    /// CPUs that are offline when the machine is switched on.
    pub fn offline(&mut self, cpus: &CpuSet) -> &mut Self {
        self.offline.insert_all(cpus);
        self
    }

    /// The machine.
    ///
    /// # Errors
    /// Whatever keeps the description from being one of a machine.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.check_numbers()?;
        let node = self.node_numbers()?;
        let keys = Keys {
            core: self.core_numbers()?,
            cluster: self.cluster_numbers(&node)?,
            llc: self.llc_numbers(&node)?,
            package: match self.members(Level::Package)? {
                Some(given) => self.all(Level::Package, &given)?,
                None => node.clone(),
            },
            node,
        };
        keys.check_nesting()?;
        let (core_of, cores) = number::<CoreId>(&keys.core);
        let (cluster_of, clusters) = number::<ClusterId>(&keys.cluster);
        let (llc_of, llcs) = number::<LlcId>(&keys.llc);
        let (package_of, packages) = number::<PackageId>(&keys.package);
        let mut nodes: IdVec<NodeId, CpuSet> = (0..self.node_count()).map(|_| CpuSet::new()).collect();
        let capacities = self.cpu_capacities()?;
        let mut places = IdVec::new();
        for (c, &n) in keys.node.iter().enumerate() {
            let node = NodeId::from_index(n);
            let cpu = places.push(CpuPlace {
                core: core_of[c],
                cluster: cluster_of[c],
                llc: llc_of[c],
                node,
                package: package_of[c],
                capacity: capacities[c],
            });
            nodes[node].insert(cpu);
        }
        if let Some((empty, _)) = nodes.iter().find(|(_, cpus)| cpus.is_empty()) {
            return Err(TopologyError::Empty { level: Level::Node, index: empty.index() });
        }
        let distances = self.node_distances()?;
        let online = self.online_cpus()?;
        Ok(Topology { places, cores, clusters, llcs, nodes, packages, distances, online })
    }

    fn check_numbers(&self) -> Result<(), TopologyError> {
        if !(1..=CPUS_MAX).contains(&self.cpus) {
            return Err(TopologyError::CpuCount { found: self.cpus });
        }
        if !(1..=THREADS_MAX).contains(&self.smt) {
            return Err(TopologyError::Threads { found: self.smt, max: THREADS_MAX });
        }
        if !self.cpus.is_multiple_of(self.smt) {
            return Err(TopologyError::PartialCore { cpus: self.cpus, smt: self.smt });
        }
        if !self.llc.is_multiple_of(self.smt) {
            return Err(TopologyError::PartialLlc { llc: self.llc, smt: self.smt });
        }
        let (nodes, max) = (self.node_count(), self.core_count().min(NODES_MAX));
        if !(1..=max).contains(&nodes) {
            return Err(TopologyError::NodeCount { nodes, max });
        }
        Ok(())
    }

    const fn core_count(&self) -> usize {
        self.cpus / self.smt
    }

    fn node_count(&self) -> usize {
        match self.sets.iter().filter(|(level, _)| *level == Level::Node).count() {
            0 => self.nodes,
            given => given,
        }
    }

    /// The regular shape's number of the core of CPU `c`.
    const fn regular_core(&self, c: usize) -> usize {
        if self.split { c % self.core_count() } else { c / self.smt }
    }

    fn core_numbers(&self) -> Result<Vec<usize>, TopologyError> {
        let given = self.members(Level::Core)?.unwrap_or_else(|| vec![None; self.cpus]);
        Ok((0..self.cpus).map(|c| given[c].map_or(self.regular_core(c), |i| CPUS_MAX + i)).collect())
    }

    fn node_numbers(&self) -> Result<Vec<usize>, TopologyError> {
        if let Some(given) = self.members(Level::Node)? {
            return self.all(Level::Node, &given);
        }
        let per_node = self.core_count() / self.nodes;
        Ok((0..self.cpus).map(|c| (self.regular_core(c) / per_node).min(self.nodes - 1)).collect())
    }

    /// The number of each CPU's core within its node. Given nodes have no order of their own: there it is the
    /// number within the machine.
    fn cores_within_nodes(&self, node: &[usize]) -> impl Iterator<Item = usize> {
        let given = self.sets.iter().any(|(level, _)| *level == Level::Node);
        let per_node = if given { 0 } else { self.core_count() / self.nodes };
        node.iter().enumerate().map(move |(c, node)| self.regular_core(c) - node * per_node)
    }

    /// A number for each run of so many cores within a node.
    fn runs(&self, node: &[usize], cores: usize) -> Vec<usize> {
        self.cores_within_nodes(node).zip(node).map(|(core, node)| node * CPUS_MAX + core / cores).collect()
    }

    fn cluster_numbers(&self, node: &[usize]) -> Result<Vec<usize>, TopologyError> {
        let regular = if self.cluster > 1 { self.runs(node, self.cluster) } else { self.core_numbers()? };
        let Some(given) = self.members(Level::Cluster)? else { return Ok(regular) };
        let beyond = CPUS_MAX * (CPUS_MAX + 1);
        Ok((0..self.cpus).map(|c| given[c].map_or(regular[c], |i| beyond + i)).collect())
    }

    fn llc_numbers(&self, node: &[usize]) -> Result<Vec<usize>, TopologyError> {
        if let Some(given) = self.members(Level::Llc)? {
            return self.all(Level::Llc, &given);
        }
        Ok(self.runs(node, if self.llc == 0 { self.core_count() } else { self.llc / self.smt }))
    }

    /// For each CPU the given set of this level that it is in; nothing at all if none was given.
    fn members(&self, level: Level) -> Result<Option<Vec<Option<usize>>>, TopologyError> {
        let mut of = vec![None; self.cpus];
        let mut any = false;
        for (index, (_, cpus)) in self.sets.iter().filter(|(l, _)| *l == level).enumerate() {
            any = true;
            if cpus.is_empty() {
                return Err(TopologyError::Empty { level, index });
            }
            for cpu in cpus.iter() {
                self.check_cpu("a set of cpus", cpu)?;
                match of[cpu.index()] {
                    None => of[cpu.index()] = Some(index),
                    Some(first) => return Err(TopologyError::InTwo { level, cpu, first, second: index }),
                }
            }
        }
        Ok(any.then_some(of))
    }

    fn all(&self, level: Level, given: &[Option<usize>]) -> Result<Vec<usize>, TopologyError> {
        let left_out = |c| TopologyError::LeftOut { level, cpu: CpuId::from_index(c) };
        given.iter().enumerate().map(|(c, i)| i.ok_or_else(|| left_out(c))).collect()
    }

    fn check_cpu(&self, what: &'static str, cpu: CpuId) -> Result<(), TopologyError> {
        if cpu.index() < self.cpus {
            return Ok(());
        }
        Err(TopologyError::NoSuchCpu { what, cpu, last: CpuId::from_index(self.cpus - 1) })
    }

    fn cpu_capacities(&self) -> Result<Vec<Capacity>, TopologyError> {
        let mut capacities = vec![Capacity::FULL; self.cpus];
        for (cpus, capacity) in &self.capacities {
            for cpu in cpus.iter() {
                self.check_cpu("a capacity", cpu)?;
                if !(1..=Capacity::FULL.0).contains(capacity) {
                    return Err(TopologyError::Capacity { cpu, found: *capacity });
                }
                capacities[cpu.index()] = Capacity(*capacity);
            }
        }
        Ok(capacities)
    }

    fn node_distances(&self) -> Result<Vec<u8>, TopologyError> {
        let n = self.node_count();
        let default = |i, j| if i == j { DISTANCE_LOCAL } else { DISTANCE_REMOTE };
        let mut table: Vec<u8> = (0..n * n).map(|k| default(k / n, k % n)).collect();
        let mut put = |from: usize, to: usize, distance: u32| {
            if from.max(to) >= n {
                return Err(TopologyError::NoSuchNode { node: from.max(to), last: n - 1 });
            }
            let valid = if from == to { 10..=10 } else { 11..=254 };
            if !valid.contains(&distance) {
                return Err(TopologyError::Distance { from, to, found: distance });
            }
            table[from * n + to] = distance as u8;
            Ok(())
        };
        for distance in &self.distances {
            match *distance {
                Distance::OneWay { from, to, distance } => put(from, to, distance)?,
                Distance::Hierarchy([neighbour, four, beyond]) => {
                    for (i, j) in (0..n * n).map(|k| (k / n, k % n)).filter(|(i, j)| i != j) {
                        put(
                            i,
                            j,
                            if i ^ j >= 4 {
                                beyond
                            } else if i ^ j >= 2 {
                                four
                            } else {
                                neighbour
                            },
                        )?;
                    }
                }
            }
        }
        Ok(table)
    }

    fn online_cpus(&self) -> Result<CpuSet, TopologyError> {
        for cpu in self.offline.iter() {
            self.check_cpu("the list of offline cpus", cpu)?;
        }
        let online = CpuSet::first_n(self.cpus).and_not(&self.offline);
        if online.is_empty() { Err(TopologyError::AllOffline) } else { Ok(online) }
    }
}

/// For each CPU a number of its core, and so on; equal numbers are the same core.
struct Keys {
    core: Vec<usize>,
    cluster: Vec<usize>,
    llc: Vec<usize>,
    node: Vec<usize>,
    package: Vec<usize>,
}

impl Keys {
    fn check_nesting(&self) -> Result<(), TopologyError> {
        let pairs = [
            (Level::Core, &self.core, Level::Cluster, &self.cluster),
            (Level::Cluster, &self.cluster, Level::Llc, &self.llc),
            (Level::Llc, &self.llc, Level::Node, &self.node),
            (Level::Llc, &self.llc, Level::Package, &self.package),
        ];
        for (inner, inner_of, outer, outer_of) in pairs {
            let mut first = BTreeMap::new();
            for (c, key) in inner_of.iter().enumerate() {
                let a = *first.entry(key).or_insert(c);
                if outer_of[a] != outer_of[c] {
                    let (a, b) = (CpuId::from_index(a), CpuId::from_index(c));
                    return Err(TopologyError::NotNested { inner, outer, a, b });
                }
            }
        }
        Ok(())
    }
}

/// Numbers what the keys stand for by their first CPU: the id of each CPU, and the CPUs of each id.
fn number<I: Id>(keys: &[usize]) -> (Vec<I>, IdVec<I, CpuSet>) {
    let mut ids = BTreeMap::new();
    let mut sets: IdVec<I, CpuSet> = IdVec::new();
    let mut of = Vec::new();
    for (c, &key) in keys.iter().enumerate() {
        let id = *ids.entry(key).or_insert_with(|| sets.push(CpuSet::new()));
        sets[id].insert(CpuId::from_index(c));
        of.push(id);
    }
    (of, sets)
}
