// SPDX-License-Identifier: GPL-2.0-only
//! What CFS did differently as it grew.

/// When a queue's least vruntime moves on as an entity leaves that may have held it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinOnLeaving {
    /// Always (up to 4.9).
    Always,
    /// Only if the entity will come right back: the condition was the wrong way round (4.10 to 5.0).
    IfReturning,
    /// Unless the entity will come right back.
    UnlessReturning,
}

/// Rules of CFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfsRules {
    /// What a leaver does to the least vruntime.
    pub min_on_leaving: MinOnLeaving,
    /// The running entity holds the least vruntime back even if it has left the queue (up to 4.9).
    pub leaver_holds_min: bool,
    /// A joiner's vruntime becomes absolute before the running entity is charged, which may move the least
    /// vruntime on; and a task that is woken is relative even if it stays on its CPU (up to 4.6).
    pub absolute_before_charge: bool,
    /// Idle entities get less sleeper credit than others (5.15).
    pub idle_credit: bool,
    /// After a very long sleep an entity's own vruntime no longer counts (6.3, and stable updates).
    pub forgets_long_sleeps: bool,
    /// An entity that is picked is nobody's buddy any more, even if it is the one that runs (up to 5.x);
    /// later only when it begins to run.
    pub picked_is_no_buddy: bool,
    /// CPUs that run only idle-policy tasks count as idle (5.4).
    pub sched_idle_cpus: bool,
}

impl CfsRules {
    /// Linux 4.6.
    pub(crate) const LINUX_4_6: Self = Self {
        min_on_leaving: MinOnLeaving::Always,
        leaver_holds_min: true,
        absolute_before_charge: true,
        ..Self::LINUX_4_11
    };
    /// Linux 4.11.
    pub(crate) const LINUX_4_11: Self = Self {
        min_on_leaving: MinOnLeaving::IfReturning,
        idle_credit: false,
        forgets_long_sleeps: false,
        picked_is_no_buddy: true,
        sched_idle_cpus: false,
        ..Self::LINUX_6_1
    };
    /// Linux 6.1.192.
    pub(crate) const LINUX_6_1: Self = Self {
        min_on_leaving: MinOnLeaving::UnlessReturning,
        leaver_holds_min: false,
        absolute_before_charge: false,
        idle_credit: true,
        forgets_long_sleeps: true,
        picked_is_no_buddy: false,
        sched_idle_cpus: true,
    };
}
