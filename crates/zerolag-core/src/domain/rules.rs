// SPDX-License-Identifier: GPL-2.0-only
//! What differs between kernels in how scheduling domains are built.

use alloc::format;
use alloc::string::String;

use super::{DomainFlags, DomainLevel};
use crate::cpu_set::CpuSet;
use crate::ids::CpuId;
use crate::topology::Topology;

/// How a kernel builds scheduling domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainRules {
    /// What the level above the last-level cache is called: `DIE`, since 6.6 `PKG`.
    pub package_name: &'static str,
    /// What the flag of domains that share a last-level cache is called: `SD_SHARE_PKG_RESOURCES`, since 6.9
    /// `SD_SHARE_LLC`.
    pub llc_flag_name: &'static str,
    /// There is a level for clusters (5.16, `CONFIG_SCHED_CLUSTER`).
    pub cluster_level: bool,
    /// Domains of that level say so in their flags, and wake-ups look into the cluster first (6.7).
    pub cluster_flag: bool,
    /// When a level that adds nothing is taken out, the level above has its local group take over the flags of
    /// the level that is now below it (6.8); before, the group keeps the flags of the one that is gone.
    pub group_flags_follow: bool,
    /// How many times longer a busy CPU waits between balancing than an idle one.
    pub busy_factor: u32,
    /// How much busier than the local group a group must be, in percent, outside the last-level cache.
    pub imbalance_pct: u32,
    /// Beyond this distance between nodes (`node_reclaim_distance`) tasks are not spread on fork and exec,
    /// nor pulled towards the waker.
    pub reclaim_distance: u8,
    /// CPUs of different capacities are noticed (5.x); before, no default level says so.
    pub asymmetry: bool,
    /// Tasks are spread over the cores of a last-level cache (4.16); before, only over threads and over the
    /// parts of a package.
    pub spread_within_cache: bool,
    /// Groups that overlap are looked for from the first CPU of the span, whoever's domain it is, and whoever has a
    /// domain of the level may balance for any of them (up to 4.11); later from the domain's own CPU, and only those
    /// may who see the group the same way.
    pub overlaps_from_first: bool,
    /// A CPU that comes back to a package of several nodes makes the kernel forget the levels above the last-level
    /// cache, so that nothing is balanced between nodes from then on: `set_cpu_sibling_map()` of x86 replaces all levels
    /// by those within a node, to which the ones between nodes were added once, at boot (3.19 to 4.9).
    pub forgets_nodes: bool,
    /// Some imbalance between nodes is allowed (5.18); before, none.
    pub numa_imbalance: bool,
    /// The computing power of a core with several threads, which they share equally (`smt_gain`, before 5.x).
    /// Later every thread counts as a whole CPU.
    pub smt_gain: Option<u32>,
    /// Balancing looks at load averaged over several ticks (`busy_idx` and so on, before 5.3).
    pub load_indexes: bool,
    /// Intervals, limits and flags are constants of each level (up to 3.x), whatever its size.
    pub fixed_levels: bool,
    /// Domains count how often newly-idle balancing succeeds (stable updates of 6.1 and 6.12).
    pub newidle_statistics: bool,
}

impl DomainRules {
    /// Linux 6.1 (6.1.192).
    pub const LINUX_6_1: Self = Self {
        package_name: "DIE",
        llc_flag_name: "SD_SHARE_PKG_RESOURCES",
        cluster_flag: false,
        group_flags_follow: false,
        ..Self::LINUX_6_12
    };

    /// Linux 6.6.
    pub const LINUX_6_6: Self = Self { package_name: "PKG", ..Self::LINUX_6_1 };

    /// Linux 6.12 (6.12.117).
    pub const LINUX_6_12: Self = Self {
        package_name: "PKG",
        llc_flag_name: "SD_SHARE_LLC",
        cluster_level: true,
        cluster_flag: true,
        group_flags_follow: true,
        busy_factor: 16,
        imbalance_pct: 117,
        reclaim_distance: 30,
        asymmetry: true,
        spread_within_cache: true,
        overlaps_from_first: false,
        forgets_nodes: false,
        numa_imbalance: true,
        smt_gain: None,
        load_indexes: false,
        fixed_levels: false,
        newidle_statistics: true,
    };

    /// Linux 6.18 (6.18.2).
    pub const LINUX_6_18: Self = Self { newidle_statistics: false, ..Self::LINUX_6_12 };

    /// Linux 4.17.
    pub const LINUX_4_17: Self = Self {
        cluster_level: false,
        busy_factor: 32,
        imbalance_pct: 125,
        asymmetry: false,
        numa_imbalance: false,
        smt_gain: Some(1178),
        load_indexes: true,
        newidle_statistics: false,
        ..Self::LINUX_6_1
    };

    /// Linux 4.11.
    pub const LINUX_4_11: Self =
        Self { spread_within_cache: false, overlaps_from_first: true, ..Self::LINUX_4_17 };

    /// Linux 4.6.
    pub const LINUX_4_6: Self = Self { forgets_nodes: true, ..Self::LINUX_4_11 };

    /// Linux 2.6.29 for x86. It calls the levels SIBLING, MC, CPU and NODE; one across all nodes, ALLNODES, is
    /// taken for another NODE.
    pub const LINUX_2_6_29: Self = Self { package_name: "CPU", fixed_levels: true, ..Self::LINUX_4_11 };

    /// The kernel's name of a level.
    pub const fn level_name(&self, level: DomainLevel) -> &'static str {
        match level {
            DomainLevel::Smt => "SMT",
            DomainLevel::Cluster => "CLS",
            DomainLevel::Cache => "MC",
            DomainLevel::Package => self.package_name,
            DomainLevel::Node => "NODE",
            DomainLevel::Numa { .. } => "NUMA",
        }
    }

    /// The kernel's name of one flag.
    pub fn flag_name(&self, flag: DomainFlags) -> String {
        match flag.iter_names().next() {
            Some((_, DomainFlags::SHARE_LLC)) => self.llc_flag_name.into(),
            Some((name, _)) => format!("SD_{name}"),
            None => String::new(),
        }
    }

    /// What a CPU computes when it does nothing else (`arch_scale_cpu_capacity()`).
    pub fn cpu_capacity(&self, topology: &Topology, online: &CpuSet, cpu: CpuId) -> u32 {
        match (self.smt_gain, topology.core(cpu).len_and(online)) {
            (Some(gain), threads @ 2..) => gain / threads as u32,
            _ => topology.capacity(cpu).0,
        }
    }
}

/// Over how many ticks load is averaged when balancing a domain: 0 is not at all, n is over about 2^n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadIndexes {
    /// By a busy CPU.
    pub busy: u8,
    /// By an idle CPU.
    pub idle: u8,
    /// By a CPU about to become idle.
    pub newidle: u8,
    /// When a task wakes up (2.6.29).
    pub wake: u8,
    /// When it is new or replaces its program (2.6.29).
    pub forkexec: u8,
}
