// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: whom it runs, how fast, and until when the kernel keeps it busy.

use zerolag_core::ids::TaskId;
use zerolag_core::scheduler::StopWork;
use zerolag_core::units::{Capacity, Instant, Nanos};

use super::timers::Timers;

/// Speed in 1024ths of a CPU of full capacity and nominal speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate(u64);

impl Rate {
    /// A CPU of this capacity that runs at so many thousandths of its nominal speed. Never zero.
    pub(super) fn new(capacity: Capacity, speed_permille: u32) -> Self {
        Self((u64::from(capacity.0) * u64::from(speed_permille) / 1000).max(1))
    }

    /// The same at a frequency of so many 1024ths of the greatest. Never zero.
    const fn at(self, scale: Capacity) -> Self {
        let rate = self.0 * scale.0 as u64 / 1024;
        Self(if rate == 0 { 1 } else { rate })
    }

    /// Wall time that so much work takes, rounded up: when it has passed the work is done.
    #[inline]
    pub(super) fn time_for(self, work: Nanos) -> Nanos {
        match self.0 {
            1024 => work,
            rate => Nanos(
                u64::try_from((u128::from(work.0) << 10).div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
            ),
        }
    }

    /// Work done in so much wall time, rounded down.
    #[inline]
    pub(super) fn work_in(self, time: Nanos) -> Nanos {
        match self.0 {
            1024 => time,
            rate => Nanos(((u128::from(time.0) * u128::from(rate)) >> 10) as u64),
        }
    }
}

/// A CPU as the machine sees it; the scheduler has its own view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    /// Whom it runs; nothing = it is idle. Follows the scheduler's idea of it.
    pub(super) running: Option<TaskId>,
    /// The kernel has the CPU until then (switching, waking, interrupts): until then nobody works and nobody
    /// is switched.
    pub(super) free_at: Instant,
    /// The running task's work was last counted up to here.
    pub(super) working_since: Instant,
    /// Speed at the greatest frequency.
    nominal: Rate,
    /// Speed.
    pub(super) rate: Rate,
    /// It is in an idle state, so that the next interrupt has to wait for it to leave that.
    pub(super) asleep: bool,
    /// When it has left its idle state.
    pub(super) awake_at: Instant,
    /// Its tick has not been stopped.
    pub(super) has_tick: bool,
    /// Somebody asked it to balance for idle CPUs; the interrupt is on its way.
    pub(super) kicked: bool,
    /// Queues here are to be unthrottled; the interrupt is on its way.
    pub(super) unthrottles: bool,
    /// Its task has to be throttled when it returns to user mode.
    pub(super) throttle_work: bool,
    /// A softirq is to be done before anything else.
    pub(super) softirq: bool,
    /// What the stopper is to do.
    pub(super) stops: Vec<StopWork>,
    /// Ticks come at this offset from the multiples of the period.
    pub(super) tick_offset: Nanos,
    /// Timers.
    pub(super) timers: Timers,
}

impl Cpu {
    pub(super) fn new(rate: Rate, tick_offset: Nanos) -> Self {
        Self {
            running: None,
            free_at: Instant::ZERO,
            working_since: Instant::ZERO,
            nominal: rate,
            rate,
            asleep: true,
            awake_at: Instant::ZERO,
            has_tick: false,
            kicked: false,
            unthrottles: false,
            throttle_work: false,
            softirq: false,
            stops: Vec::new(),
            tick_offset,
            timers: Timers::default(),
        }
    }

    /// It has this frequency, in 1024ths of the greatest, from now on.
    pub(super) fn set_scale(&mut self, scale: Capacity) {
        self.rate = self.nominal.at(scale);
    }

    /// The first tick after `now`.
    pub(super) fn next_tick(&self, now: Instant, period: Nanos) -> Instant {
        let passed = now.saturating_since(Instant(self.tick_offset.0));
        if now < Instant(self.tick_offset.0) {
            return Instant(self.tick_offset.0);
        }
        Instant(self.tick_offset.0 + (passed.0 / period.0 + 1) * period.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// No work is lost, and none is done in no time.
        #[test]
        fn work_is_done_when_its_time_has_passed(work in 0..10_000_000_000u64, capacity in 1..1025u32,
                                                  speed in 100..2000u32) {
            let rate = Rate::new(Capacity(capacity), speed);
            let time = rate.time_for(Nanos(work));
            prop_assert!(rate.work_in(time) >= Nanos(work));
            if work > 0 {
                prop_assert!(rate.work_in(time - Nanos(1)) < Nanos(work));
            }
        }
    }

    #[test]
    fn a_cpu_of_half_the_capacity_takes_twice_as_long() {
        let rate = Rate::new(Capacity(512), 1000);
        assert_eq!(rate.time_for(Nanos(5)), Nanos(10));
        assert_eq!(Rate::new(Capacity(1024), 500).time_for(Nanos(5)), Nanos(10));
    }

    #[test]
    fn ticks_come_at_multiples_of_the_period_and_never_now() {
        let cpu = Cpu::new(Rate(1024), Nanos(3));
        let next = |now| cpu.next_tick(Instant(now), Nanos(10)).0;
        assert_eq!([next(0), next(3), next(4), next(12), next(13)], [3, 13, 13, 13, 23]);
        let aligned = Cpu::new(Rate(1024), Nanos(0));
        assert_eq!(aligned.next_tick(Instant(0), Nanos(10)), Instant(10));
    }
}
