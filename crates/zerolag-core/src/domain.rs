// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling domains: within which CPUs, in which order, and how eagerly load is balanced.
//!
//! Every CPU has a chain of domains, from its hardware threads up to the whole machine. A domain's *groups* are
//! the domains of the level below (single CPUs at the lowest); balancing evens out load between the groups of
//! one domain, then goes up a level.
//!
//! ```text
//! 2 nodes of 2 cores of 2 threads, from CPU 2       groups, the local one first
//!   NUMA  0 1 2 3 4 5 6 7                             {0-3} {4-7}
//!   MC    0 1 2 3                                     {2,3} {0,1}
//!   SMT       2 3                                     {2} {3}
//! ```
//!
//! Nodes that are not all equally far from each other give a level for each distance. There the groups
//! *overlap*: a group is the next lower domain as seen from some CPU in it, and only the CPUs that see it so,
//! its *balance mask*, may balance on its behalf.
//!
//! What is built ([`Domains`]) does not change until CPUs go on- or offline or are partitioned anew
//! ([`Domains::rebuild`]); what does change lies apart ([`DomainStates`]), so that one can be read while the
//! other is written.
//!
//! Properties, each with a test of its name in `tests`:
//!
//! 1. *parents contain children*: a domain's span contains that of its child;
//! 2. *groups cover the span*: each CPU of the span is in a group; in exactly one, if groups do not overlap;
//! 3. *the local group comes first*: it contains the domain's CPU, and is the span of the child if there is one;
//! 4. *balance masks are in their groups* and are not empty;
//! 5. *partitions are separate*: no span contains CPUs of two root domains;
//! 6. *unchanged partitions are kept* by a rebuild, with their state.
//!
//! Source: kernel/sched/topology.c of Linux 6.1.192 and 6.12.117 (`build_sched_domains()` and what it calls,
//! `partition_sched_domains_locked()`), `update_group_capacity()` of fair.c.

mod attach;
mod build;
mod flags;
mod groups;
mod levels;
mod partition;
mod rules;
mod show;
mod state;
mod transplant;

use alloc::vec::Vec;
use core::ops::Index;

pub use flags::DomainFlags;
pub use partition::{DomainInput, PartitionError, Partitions};
pub use rules::{DomainRules, LoadIndexes};
pub use show::ShowDomains;
pub use state::{DomainState, DomainStates, GroupCapacity, SharedState, TickTime};

use crate::cpu_set::CpuSet;
use crate::ids::{CapacityId, CpuId, DomainId, Id, IdVec, RootId, SchedGroupId, SharedId, SpanId};

/// What the CPUs of a domain have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DomainLevel {
    /// The core (`SMT`).
    Smt,
    /// The cluster (`CLS`).
    Cluster,
    /// The last-level cache (`MC`).
    Cache,
    /// Everything up to the node (`PKG`, before `DIE`).
    Package,
    /// The node (`NODE`); adds nothing to the level below on any machine that makes sense.
    Node,
    /// Nodes up to this distance (`NUMA`).
    Numa {
        /// The greatest distance.
        distance: u8,
    },
}

/// One CPU's domain of one level (`sched_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Whose.
    pub cpu: CpuId,
    /// What the CPUs have in common.
    pub level: DomainLevel,
    /// How many levels were built below, those that add nothing included (`sd->level`).
    pub depth: u32,
    /// The CPUs among which it balances; see [`Domains::span`].
    pub span: SpanId,
    /// How many they are.
    pub weight: u32,
    /// What it is for.
    pub flags: DomainFlags,
    /// The next bigger domain.
    pub parent: Option<DomainId>,
    /// The next smaller domain.
    pub child: Option<DomainId>,
    /// Shortest time between balancings, in milliseconds.
    pub min_interval_ms: u32,
    /// Longest time between balancings, in milliseconds.
    pub max_interval_ms: u32,
    /// The interval is so many times longer on a busy CPU.
    pub busy_factor: u32,
    /// How much busier a group must be than the local one, in percent.
    pub imbalance_pct: u32,
    /// So many failed balancings before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// So many running tasks may stay on a node although another is idle.
    pub imb_numa_nr: u32,
    /// How load is averaged, before 5.3.
    pub load_indexes: LoadIndexes,
    /// What the CPUs of the last-level cache share, if this is its domain.
    pub shared: Option<SharedId>,
    ring: Ring,
}

/// A domain's groups: a piece of `Domains::rings`, entered at `first` and read round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ring {
    start: u32,
    len: u32,
    first: u32,
}

/// A group of a domain (`sched_group`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// Its CPUs; see [`Domains::group_span`].
    pub span: SpanId,
    /// How many they are (`group_weight`).
    pub weight: u32,
    /// In how many cores they are.
    pub cores: u32,
    /// Flags of the domain it stands for; empty for a single CPU.
    pub flags: DomainFlags,
    /// Its computing power.
    pub capacity: CapacityId,
    /// Those who may balance for it; see [`Domains::balance_mask`].
    pub balance: SpanId,
}

/// Shortcuts into the domains of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuDomains {
    /// The lowest domain (`rq->sd`); none on a CPU that is alone or offline.
    pub base: Option<DomainId>,
    /// The largest domain that shares a cache (`sd_llc`).
    pub llc: Option<DomainId>,
    /// How many CPUs that has, 1 without.
    pub llc_size: u32,
    /// Its first CPU, the CPU itself without: equal for CPUs that share the cache.
    pub llc_id: CpuId,
    /// The same for the cluster where there is one, else for the cache (`sd_share_id`).
    pub share_id: CpuId,
    /// What the CPUs of the cache share (`sd_llc_shared`).
    pub shared: Option<SharedId>,
    /// The smallest domain across nodes (`sd_numa`).
    pub numa: Option<DomainId>,
    /// The largest domain that packs tasks (`sd_asym_packing`).
    pub asym_packing: Option<DomainId>,
    /// The smallest domain with all capacities (`sd_asym_cpucapacity`).
    pub asym_cpucapacity: Option<DomainId>,
    /// Whom it is balanced with; none on a CPU that is offline or isolated.
    pub root: Option<RootId>,
}

impl CpuDomains {
    /// Those of a CPU without domains.
    const fn none(cpu: CpuId) -> Self {
        Self {
            base: None,
            llc: None,
            llc_size: 1,
            llc_id: cpu,
            share_id: cpu,
            shared: None,
            numa: None,
            asym_packing: None,
            asym_cpucapacity: None,
            root: None,
        }
    }
}

/// CPUs that are balanced among each other and with nobody else (`root_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDomain {
    /// The CPUs.
    pub span: CpuSet,
    /// They have different capacities.
    pub asymmetric: bool,
    /// Some of them have a cluster (`sched_cluster_active` if any root domain has).
    pub clusters: bool,
    /// The greatest capacity of a CPU (`max_cpu_capacity`).
    pub max_capacity: u32,
}

/// The scheduling domains of all CPUs. See the [module](self) for what holds of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    domains: IdVec<DomainId, Domain>,
    groups: IdVec<SchedGroupId, SchedGroup>,
    /// Groups in the order in which they are linked.
    rings: Vec<SchedGroupId>,
    spans: IdVec<SpanId, CpuSet>,
    cpus: IdVec<CpuId, CpuDomains>,
    roots: IdVec<RootId, RootDomain>,
    /// No level above the last-level cache is known any more; see [`DomainRules::forgets_nodes`].
    forgot_nodes: bool,
}

impl Domains {
    /// The CPU's shortcuts.
    #[inline]
    pub fn cpu(&self, cpu: CpuId) -> &CpuDomains {
        &self.cpus[cpu]
    }

    /// Number of domains of all CPUs together.
    pub const fn len(&self) -> usize {
        self.domains.len()
    }

    /// True if no CPU has domains.
    pub const fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// The CPU's domains, from the lowest up (`for_each_domain()`).
    pub fn chain(&self, cpu: CpuId) -> impl Iterator<Item = DomainId> + '_ {
        core::iter::successors(self.cpus[cpu].base, |&d| self.domains[d].parent)
    }

    /// The CPUs of a domain.
    #[inline]
    pub fn span(&self, domain: DomainId) -> &CpuSet {
        &self.spans[self.domains[domain].span]
    }

    /// The groups of a domain, as its CPU sees them: the local one first.
    pub fn groups(&self, domain: &Domain) -> impl Iterator<Item = SchedGroupId> + '_ {
        let Ring { start, len, first } = domain.ring;
        let ring = &self.rings[start as usize..(start + len) as usize];
        let (before, from) = ring.split_at(first as usize);
        from.iter().chain(before).copied()
    }

    /// How many groups a domain has.
    pub const fn group_count(&self, domain: &Domain) -> usize {
        domain.ring.len as usize
    }

    /// The group that the domain's CPU is in (`sd->groups`).
    #[inline]
    pub fn local_group(&self, domain: DomainId) -> SchedGroupId {
        let ring = self.domains[domain].ring;
        self.rings[(ring.start + ring.first) as usize]
    }

    /// A group.
    #[inline]
    pub fn group(&self, group: SchedGroupId) -> &SchedGroup {
        &self.groups[group]
    }

    /// The CPUs of a group.
    #[inline]
    pub fn group_span(&self, group: SchedGroupId) -> &CpuSet {
        &self.spans[self.groups[group].span]
    }

    /// The CPUs that may balance on behalf of a group (`group_balance_mask()`).
    #[inline]
    pub fn balance_mask(&self, group: SchedGroupId) -> &CpuSet {
        &self.spans[self.groups[group].balance]
    }

    /// The CPU that balances for a group if none of it is idle (`group_balance_cpu()`).
    pub fn balance_cpu(&self, group: SchedGroupId) -> CpuId {
        self.balance_mask(group).first().expect("a balance mask is not empty")
    }

    /// The root domains, by first mention.
    pub const fn roots(&self) -> &IdVec<RootId, RootDomain> {
        &self.roots
    }

    /// True if some root domain has CPUs of different capacities (`sched_asym_cpucap_active()`).
    pub fn asym_capacity_active(&self) -> bool {
        self.roots.iter().any(|(_, root)| root.asymmetric)
    }

    /// True if some CPU has a cluster (`sched_cluster_active`).
    pub fn cluster_active(&self) -> bool {
        self.roots.iter().any(|(_, root)| root.clusters)
    }

    /// The largest domain of the CPU with the flag, if every smaller one has it too
    /// (`highest_flag_domain()`).
    pub fn highest(&self, cpu: CpuId, flag: DomainFlags) -> Option<DomainId> {
        self.chain(cpu).take_while(|&d| self.domains[d].flags.contains(flag)).last()
    }

    /// The smallest domain of the CPU with the flag (`lowest_flag_domain()`).
    pub fn lowest(&self, cpu: CpuId, flag: DomainFlags) -> Option<DomainId> {
        self.chain(cpu).find(|&d| self.domains[d].flags.contains(flag))
    }

    /// No domains for any of so many CPUs.
    fn without_domains(cpus: usize) -> Self {
        Self { cpus: (0..cpus).map(|c| CpuDomains::none(CpuId::from_index(c))).collect(), ..Self::default() }
    }
}

impl Index<DomainId> for Domains {
    type Output = Domain;
    #[inline]
    fn index(&self, domain: DomainId) -> &Domain {
        &self.domains[domain]
    }
}

#[cfg(test)]
mod tests;
