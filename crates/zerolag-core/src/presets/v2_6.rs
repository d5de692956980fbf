// SPDX-License-Identifier: GPL-2.0-only
//! Linux 2.6.29 of March 2009, and the patches "prefer wakers" of January 2009 on top of it.

use crate::balance::BalanceRules;
use crate::config::{FairPolicy, TunableScaling, Tunables};
use crate::domain::DomainRules;
use crate::presets::v6::LINUX_6_1;
use crate::presets::{Preset, tunables};
use crate::units::Nanos;
use crate::variants::{ClockSkip, GroupReweight, Sequence, Variants, WakerRules};

/// Linux 2.6.29.
pub(crate) const LINUX_2_6_29: Preset = Preset {
    policy: FairPolicy::Cfs2009,
    tunables: Tunables {
        latency: Nanos(20_000_000),
        min_granularity: Nanos(4_000_000),
        nr_latency: 5,
        wakeup_granularity: Nanos(5_000_000),
        child_runs_first: true,
        shares_ratelimit: Nanos(250_000),
        shares_thresh: 4,
        ..tunables(Nanos(0))
    },
    scaling: TunableScaling::LogarithmicUnlimited,
    variants: Variants {
        pelt: false,
        group_reweight: GroupReweight::ByDomain,
        clock_skip: ClockSkip::Never,
        sequence: Sequence::LINUX_2_6_29,
        wakers: WakerRules::LINUX_2_6_29,
        bandwidth: None,
        domains: DomainRules::LINUX_2_6_29,
        balance: BalanceRules::LINUX_2_6_29,
        ..LINUX_6_1.variants
    },
};

/// The same with both patches of "prefer wakers -v2".
pub(crate) const LINUX_2_6_29_PW: Preset = Preset {
    variants: Variants { wakers: WakerRules::PREFER_WAKERS, ..LINUX_2_6_29.variants },
    ..LINUX_2_6_29
};
