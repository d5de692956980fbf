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
    /// `compat_yield`, of CFS of 2009: 0 or 1.
    CompatYield,
    /// `shares_ratelimit`, of CFS of 2009.
    SharesRatelimit,
    /// `shares_thresh`, of CFS of 2009.
    SharesThresh,
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
    pub const ALL: [Self; 12] = [
        Self::BaseSlice,
        Self::Latency,
        Self::MinGranularity,
        Self::IdleMinGranularity,
        Self::WakeupGranularity,
        Self::ChildRunsFirst,
        Self::CompatYield,
        Self::SharesRatelimit,
        Self::SharesThresh,
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
            Self::CompatYield => "compat_yield",
            Self::SharesRatelimit => "shares_ratelimit",
            Self::SharesThresh => "shares_thresh",
            Self::MigrationCost => "migration_cost",
            Self::NrMigrate => "nr_migrate",
            Self::BandwidthSlice => "cfs_bandwidth_slice",
        }
    }

    /// In what it is counted.
    pub const fn unit(self) -> Unit {
        match self {
            Self::ChildRunsFirst | Self::CompatYield | Self::SharesThresh | Self::NrMigrate => Unit::Count,
            _ => Unit::Time,
        }
    }

    /// Whether kernels with this policy have it.
    pub fn exists_with(self, policy: FairPolicy) -> bool {
        match self {
            Self::BaseSlice => matches!(policy, FairPolicy::Eevdf2023 | FairPolicy::Eevdf),
            Self::Latency | Self::MinGranularity | Self::WakeupGranularity | Self::ChildRunsFirst => {
                matches!(policy, FairPolicy::Cfs2009 | FairPolicy::Cfs)
            }
            Self::IdleMinGranularity => policy == FairPolicy::Cfs,
            Self::CompatYield | Self::SharesRatelimit | Self::SharesThresh => policy == FairPolicy::Cfs2009,
            Self::BandwidthSlice => policy != FairPolicy::Cfs2009,
            Self::MigrationCost | Self::NrMigrate => true,
        }
    }

    /// The tunable with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The tunable of which this is the name of the file below `/proc/sys/kernel`, where times end with `_ns`.
    pub(crate) fn by_sysctl(name: &str) -> Option<Self> {
        match name.strip_suffix("_ns") {
            Some(time) => Self::by_name(time).filter(|t| t.unit() == Unit::Time),
            None => Self::by_name(name).filter(|t| t.unit() == Unit::Count),
        }
    }

    /// That name.
    pub(crate) fn sysctl_name(self) -> String {
        match self.unit() {
            Unit::Time => format!("{}_ns", self.name()),
            Unit::Count => self.name().to_owned(),
        }
    }

    /// What it is set to, in its unit.
    pub fn get(self, tunables: &Tunables) -> u64 {
        match self {
            Self::BaseSlice => tunables.base_slice.0,
            Self::Latency => tunables.latency.0,
            Self::MinGranularity => tunables.min_granularity.0,
            Self::IdleMinGranularity => tunables.idle_min_granularity.0,
            Self::WakeupGranularity => tunables.wakeup_granularity.0,
            Self::ChildRunsFirst => u64::from(tunables.child_runs_first),
            Self::CompatYield => u64::from(tunables.compat_yield),
            Self::SharesRatelimit => tunables.shares_ratelimit.0,
            Self::SharesThresh => tunables.shares_thresh,
            Self::MigrationCost => tunables.migration_cost.0,
            Self::NrMigrate => u64::from(tunables.nr_migrate),
            Self::BandwidthSlice => tunables.bandwidth_slice.0,
        }
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
            Self::SharesRatelimit => &mut tunables.shares_ratelimit,
            Self::SharesThresh => return tunables.shares_thresh = value,
            Self::CompatYield => return tunables.compat_yield = value != 0,
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
            assert_eq!(tunable.get(&after), 1, "{}", tunable.name());
        }
        assert_eq!(Tunable::by_name("slice"), None);
    }
}
