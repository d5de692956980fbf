// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduling domain is for, as a set of flags (`SD_*`, include/linux/sched/sd_flags.h).

bitflags::bitflags! {
    /// Properties of a scheduling domain; the names are the kernel's without `SD_`, the order is that in which
    /// the kernel lists them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DomainFlags: u32 {
        /// Balance when a CPU is about to become idle.
        const BALANCE_NEWIDLE = 1 << 0;
        /// Balance on exec.
        const BALANCE_EXEC = 1 << 1;
        /// Balance on fork.
        const BALANCE_FORK = 1 << 2;
        /// Balance on wake-up.
        const BALANCE_WAKE = 1 << 3;
        /// Consider waking a task on the waking CPU.
        const WAKE_AFFINE = 1 << 4;
        /// CPUs have different capacities.
        const ASYM_CPUCAPACITY = 1 << 5;
        /// All capacities that the root domain has are in the span.
        const ASYM_CPUCAPACITY_FULL = 1 << 6;
        /// CPUs share their capacity: hardware threads of a core.
        const SHARE_CPUCAPACITY = 1 << 7;
        /// CPUs share a cluster.
        const CLUSTER = 1 << 8;
        /// CPUs share the last-level cache (6.1: `SHARE_PKG_RESOURCES`).
        const SHARE_LLC = 1 << 9;
        /// Only one CPU of the machine balances such domains at a time.
        const SERIALIZE = 1 << 10;
        /// Place busy tasks on the first CPUs of the domain.
        const ASYM_PACKING = 1 << 11;
        /// Prefer to place tasks in a sibling domain.
        const PREFER_SIBLING = 1 << 12;
        /// The groups overlap.
        const OVERLAP = 1 << 13;
        /// Balancing across memory nodes.
        const NUMA = 1 << 14;
        /// Balance on wake-up, passively (up to 2.6.31).
        const WAKE_BALANCE = 1 << 15;
    }
}

impl DomainFlags {
    /// Flags that mean nothing in a domain of a single group (`SDF_NEEDS_GROUPS`).
    pub const NEEDS_GROUPS: Self = Self::all().difference(Self::WAKE_AFFINE);
}
