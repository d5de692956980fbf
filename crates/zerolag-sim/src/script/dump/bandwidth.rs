// SPDX-License-Identifier: GPL-2.0-only
//! The state lines of CFS bandwidth.

use zerolag_core::fair::bandwidth::{Bandwidth, Throttle};
use zerolag_core::ids::CpuId;

use super::Line;

/// `B`: a group's bandwidth.
pub(super) fn group_line(number: u64, b: &Bandwidth, line: &mut Line) {
    line.word("B ").number(number);
    match b.quota {
        Some(quota) => line.field("quota", quota.0),
        None => line.field("quota", -1),
    };
    line.field("period", b.period.0).field("rt", b.runtime.0).field("burst", b.burst.0);
    line.flag("idle", b.idle).flag("pa", b.period_active).flag("ss", b.slack_started);
    line.field("np", b.stat.nr_periods).field("nt", b.stat.nr_throttled);
    line.field("ttime", b.stat.throttled_time.0).end();
}

/// `W`: what a queue may use, and whether it is throttled, `per_task` = its tasks one by one.
pub(super) fn queue_line(cpu: CpuId, number: u64, t: &Throttle, per_task: bool, line: &mut Line) {
    line.word("W ").number(cpu.0).word(" ").number(number);
    line.flag("re", t.runtime_enabled).field("rr", t.runtime_remaining);
    line.flag("thr", t.throttled).field("tc", t.throttle_count).field("tclk", t.throttled_clock.0);
    line.field("tcp", t.pelt_frozen_at.0).field("tcpt", t.pelt_frozen_for.0);
    if per_task {
        line.flag("pct", t.pelt_frozen).field("limbo", t.limbo.len());
    }
    line.end();
}
