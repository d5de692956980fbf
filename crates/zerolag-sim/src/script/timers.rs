// SPDX-License-Identifier: GPL-2.0-only
//! Timers that the scheduler asked for, until they expire.

use std::collections::BTreeMap;

use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::ids::{CpuId, GroupId};
use zerolag_core::units::Instant;

/// What happens when a timer expires.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    /// The CPU it interrupts: the one that set it.
    pub(super) cpu: CpuId,
    pub(super) group: GroupId,
    pub(super) timer: BandwidthTimer,
}

/// Timers in the order in which they expire; of several that expire together, the one that was set first.
#[derive(Default)]
pub(super) struct Timers {
    set: BTreeMap<(Instant, u64), Timer>,
    sequence: u64,
}

impl Timers {
    pub(super) fn add(&mut self, at: Instant, timer: Timer) {
        self.set.insert((at, self.sequence), timer);
        self.sequence += 1;
    }

    /// Takes out the first one that expires by `now`.
    pub(super) fn expired(&mut self, now: Instant) -> Option<(Instant, Timer)> {
        let first = self.set.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((at, _), timer) = first.remove_entry();
        Some((at, timer))
    }

    /// Takes out the first of these that expires by `now`.
    pub(super) fn expired_of(
        &mut self,
        now: Instant,
        group: GroupId,
        timer: BandwidthTimer,
    ) -> Option<Timer> {
        let due = self.set.range(..=(now, u64::MAX));
        let key = *due.into_iter().find(|(_, t)| t.group == group && t.timer == timer)?.0;
        self.set.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_in_order_of_time_then_of_being_set() {
        let mut timers = Timers::default();
        for (at, group) in [(20, 1), (10, 2), (20, 3), (30, 4)] {
            let timer = Timer { cpu: CpuId(0), group: GroupId(group), timer: BandwidthTimer::Slack };
            timers.add(Instant(at), timer);
        }
        let due: Vec<_> =
            std::iter::from_fn(|| timers.expired(Instant(20))).map(|(_, t)| t.group.0).collect();
        assert_eq!(due, [2, 1, 3]);
    }
}
