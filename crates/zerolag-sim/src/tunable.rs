// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's tunables by name, for files and command lines.

use zerolag_core::config::{FairPolicy, Tunables};
use zerolag_core::units::Nanos;

/// A number that an administrator can set. Names are those of the files below `/sys/kernel/debug/sched` or
/// `/proc/sys/kernel`, without `sched_` and the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunable {
    /// `base_slice`, of EEVDF.
    BaseSlice,
    /// `latency`, of CFS.
    Latency,
    /// `min_granularity`, of CFS.
    MinGranularity,
    /// `idle_min_granularity`, of CFS.
    IdleMinGranularity,
    /// `wakeup_granularity`, of CFS.
    WakeupGranularity,
    /// `child_runs_first`, of CFS: 0 or 1.
    ChildRunsFirst,
    /// `migration_cost`.
    MigrationCost,
    /// `nr_migrate`.
    NrMigrate,
    /// `cfs_bandwidth_slice`.
    BandwidthSlice,
}

/// In what a tunable is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; files give it as a duration with a unit.
    Time,
    /// Pieces.
    Count,
}

impl Tunable {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::BaseSlice,
        Self::Latency,
        Self::MinGranularity,
        Self::IdleMinGranularity,
        Self::WakeupGranularity,
        Self::ChildRunsFirst,
        Self::MigrationCost,
        Self::NrMigrate,
        Self::BandwidthSlice,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BaseSlice => "base_slice",
            Self::Latency => "latency",
            Self::MinGranularity => "min_granularity",
            Self::IdleMinGranularity => "idle_min_granularity",
            Self::WakeupGranularity => "wakeup_granularity",
            Self::ChildRunsFirst => "child_runs_first",
            Self::MigrationCost => "migration_cost",
            Self::NrMigrate => "nr_migrate",
            Self::BandwidthSlice => "cfs_bandwidth_slice",
        }
    }

    /// In what it is counted.
    pub const fn unit(self) -> Unit {
        match self {
            Self::ChildRunsFirst | Self::NrMigrate => Unit::Count,
            _ => Unit::Time,
        }
    }

    /// Whether kernels with this policy have it.
    pub fn exists_with(self, policy: FairPolicy) -> bool {
        match self {
            Self::BaseSlice => policy != FairPolicy::Cfs,
            Self::Latency
            | Self::MinGranularity
            | Self::IdleMinGranularity
            | Self::WakeupGranularity
            | Self::ChildRunsFirst => policy == FairPolicy::Cfs,
            Self::MigrationCost | Self::NrMigrate | Self::BandwidthSlice => true,
        }
    }

    /// The tunable with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Sets it, in its unit. A count that does not fit is the greatest.
    pub fn set(self, tunables: &mut Tunables, value: u64) {
        let time = match self {
            Self::BaseSlice => &mut tunables.base_slice,
            Self::Latency => &mut tunables.latency,
            Self::MinGranularity => &mut tunables.min_granularity,
            Self::IdleMinGranularity => &mut tunables.idle_min_granularity,
            Self::WakeupGranularity => &mut tunables.wakeup_granularity,
            Self::MigrationCost => &mut tunables.migration_cost,
            Self::BandwidthSlice => &mut tunables.bandwidth_slice,
            Self::ChildRunsFirst => return tunables.child_runs_first = value != 0,
            Self::NrMigrate => return tunables.nr_migrate = u32::try_from(value).unwrap_or(u32::MAX),
        };
        *time = Nanos(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::kernel::Kernel;

    #[test]
    fn every_tunable_has_a_name_and_can_be_set() {
        for tunable in Tunable::ALL {
            assert_eq!(Tunable::by_name(tunable.name()), Some(tunable));
            let before = Kernel::V6_12.config(1).unwrap().tunables;
            let mut after = before.clone();
            tunable.set(&mut after, 1);
            assert_ne!(before, after, "{}", tunable.name());
        }
        assert_eq!(Tunable::by_name("slice"), None);
    }
}
