// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's tunables by name, for files and command lines.

use zerolag_core::config::Tunables;
use zerolag_core::units::Nanos;

/// A number that an administrator can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunable {
    /// `base_slice`.
    BaseSlice,
    /// `migration_cost`.
    MigrationCost,
    /// `nr_migrate`.
    NrMigrate,
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
    pub const ALL: [Self; 3] = [Self::BaseSlice, Self::MigrationCost, Self::NrMigrate];

    /// Its name: that of the file below `/sys/kernel/debug/sched`, without the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BaseSlice => "base_slice",
            Self::MigrationCost => "migration_cost",
            Self::NrMigrate => "nr_migrate",
        }
    }

    /// In what it is counted.
    pub const fn unit(self) -> Unit {
        match self {
            Self::BaseSlice | Self::MigrationCost => Unit::Time,
            Self::NrMigrate => Unit::Count,
        }
    }

    /// The tunable with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Sets it, in its unit. A count that does not fit is the greatest.
    pub fn set(self, tunables: &mut Tunables, value: u64) {
        match self {
            Self::BaseSlice => tunables.base_slice = Nanos(value),
            Self::MigrationCost => tunables.migration_cost = Nanos(value),
            Self::NrMigrate => tunables.nr_migrate = u32::try_from(value).unwrap_or(u32::MAX),
        }
    }
}
