// SPDX-License-Identifier: GPL-2.0-only
//! What makes each kernel: a table of policy, tunables and variants. Its features stand in the table of
//! [`crate::features`].

use crate::config::{FairPolicy, TunableScaling, Tunables, Variants};
use crate::domain::DomainRules;
use crate::units::Nanos;
use crate::variants::{Anchor, BandwidthRules, Protection, Reweight, UtilEst, Yielding};

/// What makes a kernel, apart from its features.
pub(crate) struct Preset {
    pub(crate) policy: FairPolicy,
    /// Before scaling by the number of CPUs.
    pub(crate) tunables: Tunables,
    pub(crate) scaling: TunableScaling,
    pub(crate) variants: Variants,
}

/// Linux 6.12.117: EEVDF with delayed dequeue, custom slices and relative deadlines.
pub(crate) const LINUX_6_12: Preset = Preset {
    policy: FairPolicy::Eevdf,
    tunables: tunables(Nanos(700_000)),
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        tg_load_interval: Nanos(1_000_000),
        listed_while_reported: true,
        reports_withdrawn_offline: true,
        updates_clock_between_domains: true,
        domains: DomainRules::LINUX_6_12,
        bandwidth: Some(BandwidthRules::LINUX_6_12),
        anchor: Anchor::ZeroLag,
        protection: Protection::UntilDeadline,
        reweight: Reweight::KeepLag,
        yielding: Yielding::RestOfRequest,
        util_est: UtilEst::WithinCapacity,
    },
};

/// Linux 6.18.2: protection for the shortest slice queued, reweighting by placing again.
pub(crate) const LINUX_6_18: Preset = Preset {
    policy: FairPolicy::Eevdf,
    tunables: tunables(Nanos(700_000)),
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        tg_load_interval: Nanos(1_000_000),
        listed_while_reported: true,
        reports_withdrawn_offline: true,
        updates_clock_between_domains: true,
        domains: DomainRules::LINUX_6_12,
        bandwidth: None,
        anchor: Anchor::Minimum,
        protection: Protection::ForShortestSlice,
        reweight: Reweight::PlaceAgain,
        yielding: Yielding::RestOfRequestSameSlice,
        util_est: UtilEst::Unbounded,
    },
};

/// What EEVDF kernels agree in.
const fn tunables(base_slice: Nanos) -> Tunables {
    Tunables { base_slice, migration_cost: Nanos(500_000), nr_migrate: 32, bandwidth_slice: Nanos(5_000_000) }
}
