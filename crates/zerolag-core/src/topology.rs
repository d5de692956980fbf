// SPDX-License-Identifier: GPL-2.0-only
//! The machine: which CPUs share what, how far its memory nodes are apart, how strong each CPU is.
//!
//! ```text
//! package ─ node ─┐
//!                 llc ─ cluster ─ core ─ cpu      each level is a partition of the CPUs
//! ```
//!
//! | level | what its CPUs share | Linux's name for it |
//! |---|---|---|
//! | core | pipelines: hardware threads (SMT) | `cpu_smt_mask()` |
//! | cluster | a cache below the last level, or its tags | `cpu_clustergroup_mask()` |
//! | llc | the last-level cache | `cpu_coregroup_mask()` |
//! | node | a memory controller | `cpu_cpu_mask()` |
//! | package | a socket; scheduling ignores it, people do not | `topology_physical_package_id` |
//!
//! A [`Topology`] does not change once it is built; which CPUs are online at the moment is kept elsewhere.
//! Properties, held by [`TopologyBuilder::build`]:
//!
//! 1. every CPU is in exactly one core, cluster, LLC, node and package;
//! 2. core ⊆ cluster ⊆ LLC ⊆ node, and LLC ⊆ package (a package may have several nodes, or a node several
//!    packages);
//! 3. the distance of a node to itself is 10, to another 11 to 254; capacities are 1 to 1024.
//!
//! Cores, clusters, LLCs and packages are numbered by their first CPU; nodes as they were given.

mod builder;
mod error;
mod presets;
mod words;

use alloc::vec::Vec;

pub use builder::TopologyBuilder;
pub use error::{Level, TopologyError};
pub use presets::{PRESETS, Preset};

use crate::cpu_set::CpuSet;
use crate::ids::{ClusterId, CoreId, CpuId, IdVec, LlcId, NodeId, PackageId};
use crate::units::Capacity;

/// The distance of a node to itself (`LOCAL_DISTANCE`).
pub const DISTANCE_LOCAL: u8 = 10;
/// The distance between nodes where nothing else is said (`REMOTE_DISTANCE`).
pub const DISTANCE_REMOTE: u8 = 20;

/// The greatest number of memory nodes a machine may have.
pub const NODES_MAX: usize = 1024;

/// Where a CPU is and how strong it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// The core whose hardware thread it is.
    pub core: CoreId,
    /// The cluster; a core of its own where the machine has none.
    pub cluster: ClusterId,
    /// The last-level cache.
    pub llc: LlcId,
    /// The memory node.
    pub node: NodeId,
    /// The socket.
    pub package: PackageId,
    /// Computing power (`arch_scale_cpu_capacity()`).
    pub capacity: Capacity,
}

/// A machine. See the [module](self) for what holds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    places: IdVec<CpuId, CpuPlace>,
    cores: IdVec<CoreId, CpuSet>,
    clusters: IdVec<ClusterId, CpuSet>,
    llcs: IdVec<LlcId, CpuSet>,
    nodes: IdVec<NodeId, CpuSet>,
    packages: IdVec<PackageId, CpuSet>,
    /// Row by row; `nodes * nodes` values.
    distances: Vec<u8>,
    online: CpuSet,
}

impl Topology {
    /// The machine with this name: one of [`PRESETS`], or `ncpu:N` (also `Ncpu`) for N equal CPUs that share
    /// everything.
    ///
    /// # Errors
    /// [`TopologyError::UnknownMachine`] if there is no such name, or the number of CPUs is out of range.
    pub fn preset(name: &str) -> Result<Self, TopologyError> {
        let mut builder = TopologyBuilder::new();
        builder.preset(name)?;
        builder.build()
    }

    /// Number of CPUs, offline ones included; they are numbered from 0 without gaps.
    pub const fn cpu_count(&self) -> usize {
        self.places.len()
    }

    /// All CPUs in ascending order.
    pub fn cpus(&self) -> impl DoubleEndedIterator<Item = CpuId> + ExactSizeIterator + use<> {
        self.places.ids()
    }

    /// The CPUs that are online when the machine is switched on.
    pub const fn online(&self) -> &CpuSet {
        &self.online
    }

    /// Where the CPU is.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> &CpuPlace {
        &self.places[cpu]
    }

    /// The CPU's computing power.
    #[inline]
    pub fn capacity(&self, cpu: CpuId) -> Capacity {
        self.places[cpu].capacity
    }

    /// The memory node of the CPU (`cpu_to_node()`).
    #[inline]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        self.places[cpu].node
    }

    /// The hardware threads of the CPU's core, itself included.
    #[inline]
    pub fn core(&self, cpu: CpuId) -> &CpuSet {
        &self.cores[self.places[cpu].core]
    }

    /// The CPUs of the CPU's cluster.
    #[inline]
    pub fn cluster(&self, cpu: CpuId) -> &CpuSet {
        &self.clusters[self.places[cpu].cluster]
    }

    /// The CPUs that share the CPU's last-level cache.
    #[inline]
    pub fn llc(&self, cpu: CpuId) -> &CpuSet {
        &self.llcs[self.places[cpu].llc]
    }

    /// The CPUs of the CPU's memory node.
    #[inline]
    pub fn node(&self, cpu: CpuId) -> &CpuSet {
        &self.nodes[self.places[cpu].node]
    }

    /// The CPUs of the CPU's package.
    #[inline]
    pub fn package(&self, cpu: CpuId) -> &CpuSet {
        &self.packages[self.places[cpu].package]
    }

    /// All cores with their CPUs.
    pub const fn cores(&self) -> &IdVec<CoreId, CpuSet> {
        &self.cores
    }

    /// All clusters with their CPUs.
    pub const fn clusters(&self) -> &IdVec<ClusterId, CpuSet> {
        &self.clusters
    }

    /// All last-level caches with their CPUs.
    pub const fn llcs(&self) -> &IdVec<LlcId, CpuSet> {
        &self.llcs
    }

    /// All memory nodes with their CPUs.
    pub const fn nodes(&self) -> &IdVec<NodeId, CpuSet> {
        &self.nodes
    }

    /// All packages with their CPUs.
    pub const fn packages(&self) -> &IdVec<PackageId, CpuSet> {
        &self.packages
    }

    /// How far the memory of node `to` is from the CPUs of node `from` (`node_distance()`): 10 is near.
    pub fn distance(&self, from: NodeId, to: NodeId) -> u8 {
        self.distances[from.0 as usize * self.nodes.len() + to.0 as usize]
    }

    /// True if some core has several hardware threads among `cpus` (`sched_smt_present` if those are the
    /// CPUs that are online).
    pub fn has_smt(&self, cpus: &CpuSet) -> bool {
        self.cores.iter().any(|(_, core)| core.len_and(cpus) > 1)
    }

    /// True if the CPUs are not all equally strong.
    pub fn is_asymmetric(&self) -> bool {
        self.places.iter().any(|(_, place)| place.capacity != self.places[CpuId(0)].capacity)
    }
}

#[cfg(test)]
mod tests;
