// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of the 4 series.
//!
//! The names without "unpatched" stand for kernels with the patch of one of the documents, whose parts are
//! features.

use crate::balance::{BalanceRules, NohzScheme};
use crate::config::{FairPolicy, TunableScaling, Tunables};
use crate::domain::DomainRules;
use crate::presets::v6::LINUX_6_1;
use crate::presets::{Preset, tunables};
use crate::units::Nanos;
use crate::variants::{
    CfsRules, GroupReweight, GroupShare, LoadRules, Reinstating, Sequence, UtilEst, Variants, WakeRules,
};

const TUNABLES: Tunables = Tunables {
    latency: Nanos(6_000_000),
    min_granularity: Nanos(750_000),
    nr_latency: 8,
    wakeup_granularity: Nanos(1_000_000),
    ..tunables(Nanos(0))
};

/// Linux 4.6.2.
pub(crate) const LINUX_4_6_UNPATCHED: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        load: LoadRules::LINUX_4_6,
        cfs: CfsRules::LINUX_4_6,
        reinstating: Reinstating::LINUX_4_6,
        domains: DomainRules::LINUX_4_6,
        balance: BalanceRules::LINUX_4_6,
        wake: WakeRules::LINUX_4_6,
        ..LINUX_4_11_UNPATCHED.variants
    },
};

/// Linux 4.6.2 with the 2016 document's bound on the weight of groups (`SMP_NICE_GROUPS`).
pub(crate) const LINUX_4_6: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        load: LoadRules { share: GroupShare::Bounded, ..LoadRules::LINUX_4_6 },
        ..LINUX_4_6_UNPATCHED.variants
    },
};

/// Linux 4.11.
pub(crate) const LINUX_4_11_UNPATCHED: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        load: LoadRules::LINUX_4_11,
        cfs: CfsRules::LINUX_4_11,
        reinstating: Reinstating::LINUX_4_11,
        domains: DomainRules::LINUX_4_11,
        balance: BalanceRules::LINUX_4_11,
        wake: WakeRules::LINUX_4_11,
        bandwidth: None,
        sequence: Sequence { regroups_quietly: true, ..Sequence::CURRENT },
        ..LINUX_6_1.variants
    },
};

/// Linux 4.11 with the 2017 document's ways to propagate load (`FUDGE`, `FUDGE2`, `prop_type`).
pub(crate) const LINUX_4_11: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants { group_reweight: GroupReweight::IfChanged, ..LINUX_4_11_UNPATCHED.variants },
};

/// Linux 4.12. Put together from its neighbours; see DIFFERENCES.md.
pub(crate) const LINUX_4_12: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants { load: LoadRules::LINUX_4_12, wake: WakeRules::LINUX_4_12, ..LINUX_4_11.variants },
};

/// Linux 4.16. Put together from its neighbours; see DIFFERENCES.md.
pub(crate) const LINUX_4_16: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants { balance: BalanceRules::LINUX_4_16, ..LINUX_4_17.variants },
};

/// Linux 4.17.
pub(crate) const LINUX_4_17: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        load: LoadRules::LINUX_4_17,
        util_est: UtilEst::OddSample,
        domains: DomainRules::LINUX_4_17,
        balance: BalanceRules::LINUX_4_17,
        wake: WakeRules::LINUX_4_17,
        ..LINUX_4_11_UNPATCHED.variants
    },
};

/// Linux 4.17 with the 2018 document's mask of CPUs that may have blocked load.
pub(crate) const LINUX_4_17_STALE: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: TUNABLES,
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        balance: BalanceRules { nohz: NohzScheme::StaleCpus, ..BalanceRules::LINUX_4_17 },
        ..LINUX_4_17.variants
    },
};
