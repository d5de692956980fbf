// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `perf sched latency` and `perf sched timehist`, in perf's own layout, so that the schedule
//! of a simulator and that of a machine can be compared by eye, by script or by `diff`.
//!
//! The figures follow perf's definitions (`builtin-sched.c`, perf 6.1), which differ in detail from those of
//! [`crate::metrics`]: the history counts from `sched_waking` where that is recorded and the latency from
//! `sched_wakeup`, and time spent preempted is a delay in the latency and a wait in the history.

use std::fmt;

use zerolag_core::units::{Instant, NSEC_PER_MSEC, NSEC_PER_SEC, Nanos};

pub mod latency;
mod selection;
pub mod timehist;

pub use latency::{Latency, Perf};
pub use selection::Selection;
pub use timehist::{Columns, Timehist};

/// Nanoseconds in a microsecond.
const NSEC_PER_USEC: u64 = 1_000;

/// A point in time as perf writes it: seconds with six decimals, cut off.
struct Seconds(Instant);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instant(ns) = self.0;
        let text = format!("{}.{:06}", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / NSEC_PER_USEC);
        f.pad(&text)
    }
}

/// A span as perf writes it: milliseconds, right-aligned to the given width, and three decimals, cut off.
struct Millis(Nanos);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nanos(ns) = self.0;
        let width = f.width().unwrap_or(0);
        write!(f, "{:width$}.{:03}", ns / NSEC_PER_MSEC, ns % NSEC_PER_MSEC / NSEC_PER_USEC)
    }
}
