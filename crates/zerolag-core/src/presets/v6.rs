// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of the 6 series, and the EEVDF series of March 2023, which is put onto one of them.

use crate::balance::BalanceRules;
use crate::config::{FairPolicy, TunableScaling, Tunables};
use crate::domain::DomainRules;
use crate::presets::{Preset, tunables};
use crate::units::Nanos;
use crate::variants::{
    Anchor, BandwidthRules, CfsRules, ClockSkip, Descent, GroupReweight, InitialUtil, LoadRules, PreemptAt,
    Protection, Reinstating, Reweight, Rounding, Search, Sequence, UtilEst, Variants, WakeRules, WakerRules,
    WakeupPick, Yielding,
};

/// Linux 6.1.192: the last long-term kernel with CFS.
pub(crate) const LINUX_6_1: Preset = Preset {
    policy: FairPolicy::Cfs,
    tunables: Tunables {
        latency: Nanos(6_000_000),
        min_granularity: Nanos(750_000),
        nr_latency: 8,
        idle_min_granularity: Nanos(750_000),
        wakeup_granularity: Nanos(1_000_000),
        ..tunables(Nanos(0))
    },
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        tg_load_interval: Nanos(0),
        listed_while_reported: false,
        reports_withdrawn_offline: false,
        domains: DomainRules::LINUX_6_1,
        updates_clock_between_domains: false,
        balance: BalanceRules::LINUX_6_1,
        util_est: UtilEst::SampleAndAverage,
        written_tunables_scale: true,
        custom_slices: false,
        group_slices: false,
        group_reweight: GroupReweight::Always,
        initial_util: InitialUtil::FineWeight,
        clock_skip: ClockSkip::UntilPicked,
        descent: Descent::WhilePicking,
        starts_who_stays: true,
        idle_loop_picks: true,
        anchor: Anchor::Minimum,
        bandwidth: Some(BandwidthRules::LINUX_6_1),
        ..LINUX_6_12.variants
    },
};

/// The end of "EEVDF using latency-nice" of March 2023, put onto 6.1.192: all that is not the policy is 6.1.
pub(crate) const EEVDF_RFC: Preset = Preset {
    policy: FairPolicy::Eevdf2023,
    tunables: tunables(Nanos(750_000)),
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        protection: Protection::Never,
        reweight: Reweight::Stay,
        yielding: Yielding::OneRequest,
        rounding: Rounding::TowardZero,
        search: Search::Literal,
        preempt_at: PreemptAt::Tick,
        latency_nice: true,
        slice_sums_exact: false,
        ..LINUX_6_1.variants
    },
};

/// Linux 6.6: the policy as it was merged; load tracking and bandwidth mostly as in 6.1. Put together from
/// what is known of 6.6, not checked against its code (DIFFERENCES.md).
pub(crate) const LINUX_6_6: Preset = Preset {
    policy: FairPolicy::Eevdf2023,
    tunables: tunables(Nanos(750_000)),
    scaling: TunableScaling::Logarithmic,
    variants: Variants {
        protection: Protection::UntilDeadline,
        reweight: Reweight::RescaleRequest,
        yielding: Yielding::OneRequest,
        rounding: Rounding::Down,
        search: Search::TwoDescents,
        preempt_at: PreemptAt::RequestEnd,
        domains: DomainRules::LINUX_6_6,
        balance: BalanceRules::LINUX_6_6,
        bandwidth: Some(BandwidthRules::LINUX_6_6),
        ..LINUX_6_1.variants
    },
};

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
        balance: BalanceRules::LINUX_6_12,
        bandwidth: Some(BandwidthRules::LINUX_6_12),
        anchor: Anchor::ZeroLag,
        protection: Protection::UntilDeadline,
        reweight: Reweight::KeepLag,
        yielding: Yielding::RestOfRequest,
        rounding: Rounding::Down,
        search: Search::Exact,
        preempt_at: PreemptAt::RequestEnd,
        wakeup_pick: WakeupPick::Looks,
        latency_nice: false,
        slice_sums_exact: true,
        util_est: UtilEst::WithinCapacity,
        written_tunables_scale: false,
        custom_slices: true,
        group_slices: true,
        pelt: true,
        group_reweight: GroupReweight::IfChangedAndPopulated,
        initial_util: InitialUtil::TableWeight,
        load: LoadRules::LINUX_6_12,
        cfs: CfsRules::LINUX_6_1,
        reinstating: Reinstating::LINUX_6_1,
        wake: WakeRules::LINUX_6_1,
        clock_skip: ClockSkip::FirstUpdate,
        sequence: Sequence::CURRENT,
        wakers: WakerRules::NONE,
        descent: Descent::FromTask,
        starts_who_stays: false,
        idle_loop_picks: false,
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
        domains: DomainRules::LINUX_6_18,
        balance: BalanceRules::LINUX_6_18,
        bandwidth: Some(BandwidthRules::LINUX_6_18),
        anchor: Anchor::Minimum,
        protection: Protection::ForShortestSlice,
        reweight: Reweight::PlaceAgain,
        yielding: Yielding::RestOfRequestSameSlice,
        rounding: Rounding::Down,
        search: Search::Exact,
        preempt_at: PreemptAt::RequestEnd,
        wakeup_pick: WakeupPick::Looks,
        latency_nice: false,
        slice_sums_exact: true,
        util_est: UtilEst::Unbounded,
        written_tunables_scale: false,
        custom_slices: true,
        group_slices: true,
        pelt: true,
        group_reweight: GroupReweight::IfChangedAndPopulated,
        initial_util: InitialUtil::TableWeight,
        load: LoadRules::LINUX_6_12,
        cfs: CfsRules::LINUX_6_1,
        reinstating: Reinstating::LINUX_6_1,
        wake: WakeRules::LINUX_6_1,
        clock_skip: ClockSkip::FirstUpdate,
        sequence: Sequence::CURRENT,
        wakers: WakerRules::NONE,
        descent: Descent::FromTask,
        starts_who_stays: false,
        idle_loop_picks: false,
    },
};
