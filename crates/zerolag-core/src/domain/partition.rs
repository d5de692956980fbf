// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs are balanced with which, and the (re)building of domains for them.

use alloc::vec::Vec;

use super::Domains;
use super::build::Build;
use super::rules::DomainRules;
use super::state::{DomainStates, TickTime};
use super::transplant::{Bed, root_of};
use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, IdVec, NodeId, RootId};
use crate::topology::Topology;

/// How the CPUs are divided among root domains, as exclusive cpusets do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions {
    exclusive: Vec<CpuSet>,
    isolated: CpuSet,
}

/// Why CPUs cannot be divided so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cpu {cpu} is in two partitions, {first} and {second}")]
pub struct PartitionError {
    /// The CPU.
    pub cpu: CpuId,
    /// One of the sets it is in.
    pub first: CpuSet,
    /// The other.
    pub second: CpuSet,
}

impl Partitions {
    /// Each of these sets is balanced within itself, isolated CPUs not at all; the other CPUs make up a root
    /// domain of their own.
    ///
    /// # Errors
    /// If a CPU is in two of the sets.
    pub fn new(exclusive: Vec<CpuSet>, isolated: CpuSet) -> Result<Self, PartitionError> {
        let sets = || exclusive.iter().chain([&isolated]);
        for (i, second) in sets().enumerate() {
            for first in sets().take(i) {
                if let Some(cpu) = first.first_and(second) {
                    return Err(PartitionError { cpu, first: first.clone(), second: second.clone() });
                }
            }
        }
        Ok(Self { exclusive, isolated })
    }

    /// The sets of CPUs to build domains for, given those that may run tasks.
    pub(crate) fn among(&self, active: &CpuSet) -> Vec<CpuSet> {
        let mut rest = active.and_not(&self.isolated);
        for set in &self.exclusive {
            rest.remove_all(set);
        }
        let exclusive = self.exclusive.iter().map(|set| set.and(active));
        core::iter::once(rest).chain(exclusive).filter(|set| !set.is_empty()).collect()
    }
}

/// What domains are built from.
#[derive(Clone, Copy, Debug)]
pub struct DomainInput<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// The kernel's way of building.
    pub rules: &'a DomainRules,
    /// CPUs that the kernel counts as being there: online ones, and the one just going offline.
    ///
    /// The kernel rebuilds domains before the CPU that goes is taken off the masks of its siblings, and
    /// derives intervals from these masks: until the next rebuild they are longer than need be.
    pub online: &'a CpuSet,
    /// CPUs that may run tasks (`cpu_active_mask`): online ones without the one just going offline.
    pub active: &'a CpuSet,
    /// How the active CPUs are divided.
    pub partitions: &'a Partitions,
    /// When.
    pub time: TickTime,
}

impl DomainInput<'_> {
    /// Nodes with a CPU that may run tasks; the kernel forgets a node when its last CPU goes offline.
    pub(super) fn populated_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let populated = |(id, cpus): (NodeId, &CpuSet)| cpus.intersects(self.active).then_some(id);
        self.topology.nodes().iter().filter_map(populated)
    }
}

impl Domains {
    /// Domains of a machine that is switched on: its online CPUs make up one root domain, and none has run
    /// anything yet. Also gives what each CPU has left for fair tasks (`rq->cpu_capacity`).
    pub fn boot(
        topology: &Topology,
        rules: &DomainRules,
        hz: u32,
    ) -> (Self, DomainStates, IdVec<CpuId, u32>) {
        let mut cpu_capacity = topology.cpus().map(|_| 1024).collect();
        let input = DomainInput {
            topology,
            rules,
            online: topology.online(),
            active: topology.online(),
            partitions: &Partitions::default(),
            time: TickTime::boot(hz),
        };
        let mut domains = Self::without_domains(topology.cpu_count());
        let mut states = DomainStates::default();
        let capacity = |cpu| rules.cpu_capacity(topology, topology.online(), cpu);
        domains.rebuild(&mut states, &input, capacity, &mut cpu_capacity);
        (domains, states, cpu_capacity)
    }

    /// Brings the domains in line with a change of active CPUs or partitions
    /// (`partition_sched_domains_locked()`). Partitions of the same CPUs as before keep their domains and
    /// state, the others start afresh.
    ///
    /// `free` gives what a CPU has left for fair tasks at present (`scale_rt_capacity()`); it is taken over
    /// into `cpu_capacity` (`rq->cpu_capacity`) for each CPU whose domains are built.
    pub fn rebuild(
        &mut self,
        states: &mut DomainStates,
        input: &DomainInput<'_>,
        free: impl Fn(CpuId) -> u32,
        cpu_capacity: &mut IdVec<CpuId, u32>,
    ) {
        let mut bed = Bed::new(input.topology.cpu_count());
        let forgot_nodes = self.forgot_nodes;
        for partition in input.partitions.among(input.active) {
            match root_of(self, &partition) {
                Some(kept) => bed.plant(kept, self, states),
                None => {
                    let (built, fresh) =
                        Build::partition(input, &partition, forgot_nodes, &free, cpu_capacity);
                    bed.plant(RootId(0), &built, &fresh);
                }
            }
        }
        (*self, *states) = bed.finish();
        self.forgot_nodes = forgot_nodes;
    }

    /// A CPU comes online, beside those that are; to be told before the [rebuild](Self::rebuild) for it.
    pub fn cpu_comes(&mut self, topology: &Topology, rules: &DomainRules, online: &CpuSet, cpu: CpuId) {
        let beside = topology.package(cpu).and(online);
        self.forgot_nodes |= rules.forgets_nodes && !beside.is_subset(topology.node(cpu));
    }

    /// No CPU is balanced with any other: every run queue is on the null domain.
    pub fn none(topology: &Topology) -> Self {
        Self::without_domains(topology.cpu_count())
    }
}
