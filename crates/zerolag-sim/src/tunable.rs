// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's tunables by name, for files and command lines.

use std::ops::RangeInclusive;

use zerolag_core::config::{FairPolicy, Tunables};
use zerolag_core::kernel::Kernel;
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

    /// What it is, in one line.
    pub const fn what(self) -> &'static str {
        match self {
            Self::BaseSlice => "request length of tasks without a slice of their own",
            Self::Latency => {
                "period in which each of a few runnable tasks runs once; half of it is a sleeper's credit"
            }
            Self::MinGranularity => {
                "what a turn should last at least; with many tasks the period grows for it"
            }
            Self::IdleMinGranularity => "the same for idle entities that compete with others",
            Self::WakeupGranularity => "how far behind the running task a wakee must be to preempt it",
            Self::ChildRunsFirst => "a new task runs before its parent goes on (0 or 1)",
            Self::CompatYield => "a task that yields goes behind all others (0 or 1)",
            Self::SharesRatelimit => "how often a domain's group shares are divided anew at most",
            Self::SharesThresh => "changes of a CPU's part of the shares by no more than this are left out",
            Self::MigrationCost => "a task that ran less than this ago is cache hot",
            Self::NrMigrate => "most tasks that one balancing pass moves",
            Self::BandwidthSlice => "CPU time that a queue takes from its group's quota at a time",
        }
    }

    /// Whether its default follows the number of CPUs.
    pub const fn is_scaled(self) -> bool {
        matches!(
            self,
            Self::BaseSlice
                | Self::Latency
                | Self::MinGranularity
                | Self::WakeupGranularity
                | Self::SharesRatelimit
        )
    }

    /// In what it is counted.
    pub const fn unit(self) -> Unit {
        match self {
            Self::ChildRunsFirst | Self::CompatYield | Self::SharesThresh | Self::NrMigrate => Unit::Count,
            _ => Unit::Time,
        }
    }

    /// Whether the kernel has it, and whatever it stands for is modelled there.
    pub fn exists_in(self, kernel: Kernel) -> bool {
        let Some(config) = kernel.config(1) else { return false };
        match self {
            Self::BaseSlice => matches!(config.policy, FairPolicy::Eevdf2023 | FairPolicy::Eevdf),
            Self::Latency | Self::MinGranularity | Self::WakeupGranularity | Self::ChildRunsFirst => {
                matches!(config.policy, FairPolicy::Cfs2009 | FairPolicy::Cfs)
            }
            // Groups that are idle came with 5.15, and this with them.
            Self::IdleMinGranularity => config.unscaled.idle_min_granularity != Nanos::ZERO,
            Self::CompatYield | Self::SharesRatelimit | Self::SharesThresh => {
                config.policy == FairPolicy::Cfs2009
            }
            Self::BandwidthSlice => config.variants.bandwidth.is_some(),
            Self::MigrationCost | Self::NrMigrate => true,
        }
    }

    /// The kernels that have it, oldest first.
    pub fn kernels(self) -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(move |&kernel| self.exists_in(kernel))
    }

    /// Those that a kernel has.
    pub fn of(kernel: Kernel) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |t| t.exists_in(kernel))
    }

    /// What it can be set to, in its unit: 32 bits, as in the kernel, and not 0 where something is divided by it
    /// or somebody's turn would have no length.
    pub const fn range(self) -> RangeInclusive<u64> {
        match self {
            Self::ChildRunsFirst | Self::CompatYield => 0..=1,
            Self::WakeupGranularity | Self::MigrationCost | Self::SharesThresh | Self::SharesRatelimit => {
                0..=u32::MAX as u64
            }
            _ => 1..=u32::MAX as u64,
        }
    }

    /// The same in words.
    pub fn accepted(self) -> String {
        let range = self.range();
        match self.unit() {
            Unit::Time => format!("{} ns to {} ms", range.start(), range.end() / 1_000_000),
            Unit::Count => format!("{} to {}", range.start(), range.end()),
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

    /// Sets it, in its unit; see [`Tunable::range`]. A count that does not fit is the greatest.
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

    #[test]
    fn a_kernel_has_what_its_policy_looks_at() {
        let names = |kernel| Tunable::of(kernel).map(Tunable::name).collect::<Vec<_>>().join(" ");
        let cfs = "latency min_granularity wakeup_granularity child_runs_first migration_cost nr_migrate";
        assert_eq!(names(Kernel::V4_6), cfs);
        assert_eq!(names(Kernel::V4_17Stale), cfs);
        assert_eq!(
            names(Kernel::V6_1),
            "latency min_granularity idle_min_granularity wakeup_granularity child_runs_first migration_cost \
             nr_migrate cfs_bandwidth_slice"
        );
        let eevdf = "base_slice migration_cost nr_migrate cfs_bandwidth_slice";
        for kernel in [Kernel::EevdfRfc, Kernel::V6_6, Kernel::V6_12, Kernel::V6_18] {
            assert_eq!(names(kernel), eevdf, "{kernel}");
        }
        assert!(names(Kernel::V2_6_29).contains("compat_yield shares_ratelimit shares_thresh"));
    }
}
