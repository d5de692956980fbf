// SPDX-License-Identifier: GPL-2.0-only
//! Task groups: one fair queue and one entity per CPU, and a weight that is shared out among them.

use alloc::vec::Vec;
use core::fmt;

use crate::fair::bandwidth::Bandwidth;
use crate::ids::{CpuId, EntityId, GroupId, Id, QueueId};
use crate::latency::LatencyNice;
use crate::units::Weight;

/// `cpu.shares`, 2 to 262144; 1024 is the default and equals `cpu.weight` 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shares(u64);

impl Shares {
    /// The least.
    pub const MIN: Self = Self(2);
    /// The most.
    pub const MAX: Self = Self(1 << 18);
    /// What a new group has.
    pub const DEFAULT: Self = Self(1024);

    /// The nearest value in range, as the kernel takes a write to `cpu.shares`.
    pub const fn clamped(shares: u64) -> Self {
        if shares < Self::MIN.0 {
            Self::MIN
        } else if shares > Self::MAX.0 {
            Self::MAX
        } else {
            Self(shares)
        }
    }

    /// From `cpu.weight`, 1 to 10000, or nothing outside that: `weight * 1024 / 100`, rounded to the nearest
    /// (`cpu_weight_write_u64()`).
    pub const fn from_weight(weight: u64) -> Option<Self> {
        if weight < 1 || weight > 10_000 { None } else { Some(Self::clamped((weight * 1024 + 50) / 100)) }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In the unit of load weights.
    pub const fn weight(self) -> Weight {
        Weight::from_table(self.0)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A task group (`struct task_group`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group it is in; nothing for the root group.
    pub parent: Option<GroupId>,
    /// Its weight against its siblings, over all CPUs.
    pub shares: Weight,
    /// Sum of what its queues have reported as their load average.
    pub load_avg: i64,
    /// It is idle (`cpu.idle`): it gives way to everything else.
    pub idle: bool,
    /// How much it minds waiting (`cpu.latency.nice`), in kernels that ask.
    pub latency_nice: LatencyNice,
    /// How much CPU time it may use.
    pub bandwidth: Bandwidth,
    /// The groups in it, in the order in which they were made.
    pub(crate) children: Vec<GroupId>,
    /// Its part of each CPU.
    pub(crate) per_cpu: Vec<GroupOnCpu>,
}

/// A group's queue on one CPU, and the entity that represents it in the parent's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupOnCpu {
    /// The queue.
    pub queue: QueueId,
    /// The entity; nothing for the root group.
    pub entity: Option<EntityId>,
}

impl Group {
    /// Its queue and entity on `cpu`.
    pub fn on(&self, cpu: CpuId) -> GroupOnCpu {
        self.per_cpu[cpu.index()]
    }
}

/// Why a group operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// The root group's weight cannot be set.
    IsRoot,
    /// An idle group has a fixed weight.
    IsIdle,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IsRoot => "the root group has no weight and cannot be idle",
            Self::IsIdle => "an idle group's weight is fixed",
        })
    }
}

impl core::error::Error for GroupError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_become_shares() {
        assert_eq!(Shares::from_weight(100), Some(Shares::DEFAULT));
        assert_eq!(Shares::from_weight(1).unwrap().get(), 10);
        assert_eq!(Shares::from_weight(10_000).unwrap().get(), 102_400);
        assert_eq!(Shares::from_weight(0), None);
        assert_eq!(Shares::clamped(0), Shares::MIN);
        assert_eq!(Shares::clamped(u64::MAX), Shares::MAX);
    }
}
