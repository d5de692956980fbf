// SPDX-License-Identifier: GPL-2.0-only
//! What differs between kernels in how scheduling domains are built.

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
        newidle_statistics: true,
    };

    /// Linux 6.18 (6.18.2).
    pub const LINUX_6_18: Self = Self { newidle_statistics: false, ..Self::LINUX_6_12 };
}
