// SPDX-License-Identifier: GPL-2.0-only
//! CFS bandwidth (`cpu.max`): how much CPU time a group may use in each period, on all CPUs together.
//!
//! ```text
//!                period timer
//!                     │ quota (and what was left over, up to burst)
//!                     ▼
//!   group:          pool ──── slices of 5 ms ───► queue on CPU 0: runtime, charged as its tasks run
//!                     ▲  └─── slices of 5 ms ───► queue on CPU 1
//!                     │
//!                     └────── all but 1 ms, when a queue runs empty (slack)
//! ```
//!
//! * A queue with a quota that has used up its runtime and gets none from the pool is *throttled*: its entity
//!   leaves the queue above, and with it, as in any dequeue, those ancestors that have become empty.
//! * At the end of each period the pool is filled, and throttled queues are paid, first come first served,
//!   just enough to run for a nanosecond; who is paid is *unthrottled*: its entity joins again, as if it had
//!   woken up.
//! * Slack that makes the pool worth more than a slice is paid to throttled queues after 5 ms, unless the
//!   period ends soon anyway.
//! * All queues below a throttled one, on the same CPU, belong to a *throttled hierarchy*: their PELT clocks
//!   stand still, they are off the list of queues with load, balancing leaves their tasks alone.
//! * Linux 6.18 throttles the tasks of such a hierarchy one by one instead, as they return to user mode.
//!
//! Properties, each checked by a test of that name:
//! * no group uses more than its quota, its burst and a slice for each CPU in a period;
//! * runtime is neither made nor lost between pool and queues;
//! * a hierarchy is throttled as often as it has throttled ancestors, itself included;
//! * without a quota nothing changes.
//!
//! Not modelled: a timer callback takes no time here, so it never finds itself three periods behind, upon
//! which Linux doubles period, quota and burst; and the first period of a group begins when the machine was
//! switched on, where Linux adds a random offset (6.12).
//!
//! Source: kernel/sched/fair.c, "CFS bandwidth control machinery"; core.c, `tg_set_cfs_bandwidth()`; 6.1, 6.12
//! and 6.18, whose differences are in [`BandwidthRules`](crate::variants::BandwidthRules).

mod limbo;
mod throttle;
mod timers;

use alloc::collections::VecDeque;
use core::fmt;

use crate::ids::QueueId;
use crate::units::{Instant, NSEC_PER_MSEC, NSEC_PER_SEC, Nanos};

pub(crate) use throttle::PeltLag;
pub use throttle::Throttle;

/// What a queue keeps when it returns slack, so that a short sleep costs no round trip.
const KEPT_RUNTIME: Nanos = Nanos(NSEC_PER_MSEC);
/// How long slack is gathered before it is paid out.
const SLACK_DELAY: Nanos = Nanos(5 * NSEC_PER_MSEC);
/// Slack is not paid out this short before the period ends.
const SLACK_MARGIN: Nanos = Nanos(2 * NSEC_PER_MSEC);

/// The bandwidth of a group (`struct cfs_bandwidth`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// CPU time in each period; nothing = unlimited.
    pub quota: Option<Nanos>,
    /// Length of a period.
    pub period: Nanos,
    /// How much unused quota may be kept for later.
    pub burst: Nanos,
    /// What is left in the pool.
    pub runtime: Nanos,
    /// What was in it at the start of the period.
    pub(crate) runtime_at_refill: Nanos,
    /// Nothing was taken from the pool in this period so far.
    pub idle: bool,
    /// The period timer is set.
    pub period_active: bool,
    /// When it fires, or fired last.
    pub(crate) period_ends: Instant,
    /// The slack timer is set.
    pub slack_started: bool,
    /// Throttled queues, the first to be paid first.
    pub(crate) throttled: VecDeque<QueueId>,
    /// What happened so far.
    pub stat: BandwidthStat,
}

/// Counters of a group's bandwidth, as in `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthStat {
    /// Periods that ended (`nr_periods`).
    pub nr_periods: u64,
    /// Periods at whose end somebody was throttled (`nr_throttled`).
    pub nr_throttled: u64,
    /// Time for which queues with tasks were throttled, over all CPUs (`throttled_usec`, there in µs).
    pub throttled_time: Nanos,
    /// Periods in which more than the quota was used (`nr_bursts`).
    pub nr_bursts: u64,
    /// How much more, in all (`burst_usec`, there in µs).
    pub burst_time: Nanos,
}

/// The timers of a group's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BandwidthTimer {
    /// The end of a period.
    Period,
    /// Slack is worth to be paid out.
    Slack,
}

/// Why a bandwidth was refused (`EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BandwidthError {
    /// This kernel has no CFS bandwidth.
    NotInKernel,
    /// The root group cannot be limited.
    IsRoot,
    /// The period is outside 1 ms to 1 s.
    Period,
    /// The quota is less than 1 ms, or more than 2^44 - 1 µs.
    Quota,
    /// The burst is more than the quota, or both together exceed 2^44 - 1 µs.
    Burst,
}

impl fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInKernel => "this kernel has no CFS bandwidth",
            Self::IsRoot => "the root group cannot be limited",
            Self::Period => "a period lasts 1 ms to 1 s",
            Self::Quota => "a quota is at least 1 ms and at most 2^44 - 1 µs",
            Self::Burst => "a burst is at most the quota, and both together at most 2^44 - 1 µs",
        })
    }
}

impl core::error::Error for BandwidthError {}

impl Bandwidth {
    /// The shortest period, and the smallest quota.
    pub const PERIOD_MIN: Nanos = Nanos(NSEC_PER_MSEC);
    /// The longest period.
    pub const PERIOD_MAX: Nanos = Nanos(NSEC_PER_SEC);
    /// The largest sum of quota and burst: the kernel keeps ratios of it in 64 bits, 20 of them a fraction.
    pub const RUNTIME_MAX: Nanos = Nanos(((1 << 44) - 1) * 1_000);
    /// The period of a group that was given none.
    pub const PERIOD_DEFAULT: Nanos = Nanos(100 * NSEC_PER_MSEC);

    pub(crate) const fn unlimited() -> Self {
        Self {
            quota: None,
            period: Self::PERIOD_DEFAULT,
            burst: Nanos::ZERO,
            runtime: Nanos::ZERO,
            runtime_at_refill: Nanos::ZERO,
            idle: false,
            period_active: false,
            period_ends: Instant::ZERO,
            slack_started: false,
            throttled: VecDeque::new(),
            stat: BandwidthStat {
                nr_periods: 0,
                nr_throttled: 0,
                throttled_time: Nanos::ZERO,
                nr_bursts: 0,
                burst_time: Nanos::ZERO,
            },
        }
    }

    /// Whether Linux would accept these values.
    pub fn check(quota: Option<Nanos>, period: Nanos, burst: Nanos) -> Result<(), BandwidthError> {
        if quota.is_some_and(|q| q < Self::PERIOD_MIN || q > Self::RUNTIME_MAX) {
            return Err(BandwidthError::Quota);
        }
        if period < Self::PERIOD_MIN || period > Self::PERIOD_MAX {
            return Err(BandwidthError::Period);
        }
        if quota.is_some_and(|q| burst > q || q + burst > Self::RUNTIME_MAX) {
            return Err(BandwidthError::Burst);
        }
        Ok(())
    }

    /// A period begins (`__refill_cfs_bandwidth_runtime()`).
    pub(crate) fn refill(&mut self) {
        let Some(quota) = self.quota else { return };
        self.runtime += quota;
        if self.runtime_at_refill > self.runtime {
            self.stat.burst_time += self.runtime_at_refill - self.runtime;
            self.stat.nr_bursts += 1;
        }
        self.runtime = self.runtime.min(quota + self.burst);
        self.runtime_at_refill = self.runtime;
    }

    /// Moves the end of the period behind `now`. Returns how many periods have ended (`hrtimer_forward()`).
    fn forward(&mut self, now: Instant) -> u64 {
        if now < self.period_ends {
            return 0;
        }
        let ended = 1 + (now - self.period_ends).0 / self.period.0;
        self.period_ends += Nanos(ended * self.period.0);
        ended
    }

    /// The period ends within this time, or has ended and the timer is not set.
    fn ends_within(&self, now: Instant, span: Nanos) -> bool {
        self.period_ends < now + span
    }
}
