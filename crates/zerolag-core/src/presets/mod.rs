// SPDX-License-Identifier: GPL-2.0-only
//! What makes each kernel: a table of policy, tunables and variants. Its features stand in the table of
//! [`crate::features`].

mod v2_6;
mod v4;
mod v6;

pub(crate) use v2_6::{LINUX_2_6_29, LINUX_2_6_29_PW};
pub(crate) use v4::{
    LINUX_4_6, LINUX_4_6_UNPATCHED, LINUX_4_11, LINUX_4_11_UNPATCHED, LINUX_4_12, LINUX_4_16, LINUX_4_17,
    LINUX_4_17_STALE,
};
pub(crate) use v6::{EEVDF_RFC, LINUX_6_1, LINUX_6_6, LINUX_6_12, LINUX_6_18};

use crate::config::{FairPolicy, TunableScaling, Tunables};
use crate::units::Nanos;
use crate::variants::Variants;

/// What makes a kernel, apart from its features.
pub(crate) struct Preset {
    pub(crate) policy: FairPolicy,
    /// Before scaling by the number of CPUs.
    pub(crate) tunables: Tunables,
    pub(crate) scaling: TunableScaling,
    pub(crate) variants: Variants,
}

/// What all kernels agree in. Times that a policy does not have are 0.
const fn tunables(base_slice: Nanos) -> Tunables {
    Tunables {
        base_slice,
        latency: Nanos(0),
        min_granularity: Nanos(0),
        nr_latency: 0,
        idle_min_granularity: Nanos(0),
        wakeup_granularity: Nanos(0),
        child_runs_first: false,
        compat_yield: false,
        shares_ratelimit: Nanos(0),
        shares_thresh: 0,
        migration_cost: Nanos(500_000),
        nr_migrate: 32,
        bandwidth_slice: Nanos(5_000_000),
    }
}
