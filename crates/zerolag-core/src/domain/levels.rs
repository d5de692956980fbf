// SPDX-License-Identifier: GPL-2.0-only
//! Which levels a machine has, and which CPUs each CPU sees at each of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::partition::DomainInput;
use super::{DomainFlags, DomainLevel};
use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, IdVec, NodeId, SpanId};

/// Sets of CPUs by content: equal sets get the same id, so that comparing ids compares sets.
#[derive(Debug, Default)]
pub(super) struct Spans {
    ids: BTreeMap<CpuSet, SpanId>,
    pub(super) sets: IdVec<SpanId, CpuSet>,
}

impl Spans {
    pub(super) fn intern(&mut self, set: CpuSet) -> SpanId {
        if let Some(&id) = self.ids.get(&set) {
            return id;
        }
        let id = self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
    }
}

/// A level of the machine, seen from each CPU of one partition.
pub(super) struct LevelMap {
    pub(super) level: DomainLevel,
    /// What the level says about itself.
    pub(super) flags: DomainFlags,
    views: IdVec<CpuId, Option<View>>,
}

/// What one CPU sees at one level.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// The CPUs of the partition.
    pub(super) span: SpanId,
    /// How many CPUs the machine has there, inside the partition or not: the kernel derives the balancing
    /// interval from that number.
    pub(super) weight: u32,
}

impl LevelMap {
    fn new(level: DomainLevel, flags: DomainFlags, cpus: usize) -> Self {
        Self { level, flags, views: (0..cpus).map(|_| None).collect() }
    }

    /// Nothing if the CPU is not in the partition.
    pub(super) fn view(&self, cpu: CpuId) -> View {
        self.views[cpu].expect("every CPU of the partition sees every level")
    }

    /// These CPUs of the partition see this set of CPUs of the machine.
    fn see(&mut self, viewers: &CpuSet, mask: &CpuSet, partition: &CpuSet, spans: &mut Spans) {
        let view = View { span: spans.intern(mask.and(partition)), weight: mask.len() as u32 };
        for cpu in viewers.iter_and(partition) {
            self.views[cpu] = Some(view);
        }
    }

    /// A level that divides the CPUs.
    fn divide<'a>(
        mut self,
        parts: impl Iterator<Item = &'a CpuSet>,
        input: &DomainInput<'_>,
        partition: &CpuSet,
        spans: &mut Spans,
    ) -> Self {
        for part in parts.filter(|part| part.intersects(partition)) {
            self.see(part, &part.and(input.online), partition, spans);
        }
        self
    }
}

/// The levels of the machine from the lowest up, for the CPUs of one partition.
pub(super) fn levels(input: &DomainInput<'_>, partition: &CpuSet, spans: &mut Spans) -> Vec<LevelMap> {
    let (topology, rules) = (input.topology, input.rules);
    let level = |level, flags| LevelMap::new(level, flags, topology.cpu_count());
    let share = DomainFlags::SHARE_LLC;
    let mut levels = Vec::new();

    let smt = level(DomainLevel::Smt, share | DomainFlags::SHARE_CPUCAPACITY);
    levels.push(smt.divide(topology.cores().iter().map(|(_, s)| s), input, partition, spans));
    if rules.cluster_level {
        let flag = if rules.cluster_flag { DomainFlags::CLUSTER } else { DomainFlags::empty() };
        let cluster = level(DomainLevel::Cluster, share | flag);
        levels.push(cluster.divide(topology.clusters().iter().map(|(_, s)| s), input, partition, spans));
    }
    let cache = level(DomainLevel::Cache, share);
    levels.push(cache.divide(topology.llcs().iter().map(|(_, s)| s), input, partition, spans));
    for above in [DomainLevel::Package, DomainLevel::Node] {
        let map = level(above, DomainFlags::empty());
        levels.push(map.divide(topology.nodes().iter().map(|(_, s)| s), input, partition, spans));
    }

    let nodes: Vec<NodeId> = input.populated_nodes().collect();
    for distance in numa_distances(input, &nodes) {
        let mut map = level(DomainLevel::Numa { distance }, DomainFlags::NUMA);
        for &from in nodes.iter().filter(|&&n| topology.nodes()[n].intersects(partition)) {
            let mut mask = CpuSet::new();
            for &to in nodes.iter().filter(|&&to| topology.distance(from, to) <= distance) {
                mask.insert_all(&topology.nodes()[to]);
            }
            mask.retain_all(input.online);
            map.see(&topology.nodes()[from], &mask, partition, spans);
        }
        levels.push(map);
    }
    levels
}

/// All distances between different nodes that have CPUs, in ascending order.
fn numa_distances(input: &DomainInput<'_>, nodes: &[NodeId]) -> Vec<u8> {
    let pairs = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b)));
    let mut distances: Vec<u8> =
        pairs.filter(|(a, b)| a != b).map(|(a, b)| input.topology.distance(a, b)).collect();
    distances.sort_unstable();
    distances.dedup();
    distances
}
