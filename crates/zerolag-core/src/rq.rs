// SPDX-License-Identifier: GPL-2.0-only
//! The run queue of one CPU: its clocks, who runs, how many want to.
//!
//! Four clocks, from the outside in:
//!
//! | clock | runs |
//! |---|---|
//! | time source | always; comes in as an argument |
//! | `clock` | is set to the time source when somebody asks for it, and stands still in between |
//! | `clock_task` | as `clock`, less time spent in interrupts (none is modelled) |
//! | `clock_pelt` | as `clock_task`, slowed down by the CPU's capacity and frequency; catches up when idle |
//!
//! Source: kernel/sched/sched.h (`struct rq`), core.c (`update_rq_clock`), pelt.h.

use crate::fair::leaf::LeafList;
use crate::ids::{QueueId, TaskId};
use crate::pelt::{DIVIDER_MIN, LOAD_AVG_MAX, SchedAvg};
use crate::realtime::RtQueue;
use crate::units::{Capacity, Instant, Nanos};

/// Utilisation sum from which a CPU counts as always busy: there was no idle time for slowed-down work to
/// move into.
const SATURATED_UTIL_SUM: u32 = (DIVIDER_MIN << 10) - LOAD_AVG_MAX;

/// The run queue of one CPU (`struct rq`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rq {
    /// The run queue's idea of now.
    pub clock: Instant,
    /// `clock` without interrupts.
    pub clock_task: Instant,
    /// `clock_task` scaled by capacity.
    pub clock_pelt: Instant,
    /// Idle time that slowed-down work would have used but for saturation.
    pub lost_idle_time: Nanos,
    /// `clock` when the idle task last ran.
    pub clock_idle: Instant,
    /// PELT clock at that moment.
    pub clock_pelt_idle: Instant,
    /// The next reschedule shall not advance `clock`: a wake-up has just done so.
    pub skip_requested: bool,
    /// That reschedule is under way.
    pub(crate) skip_active: bool,
    /// The CPU's own, root fair queue.
    pub root: QueueId,
    /// Who runs; nothing = the idle task.
    pub curr: Option<TaskId>,
    /// Somebody else should run: act on it at the next opportunity.
    pub need_resched: bool,
    /// Tasks of all classes that are queued or running.
    pub nr_running: u32,
    /// Context switches so far.
    pub nr_switches: u64,
    /// Computing power of the CPU.
    pub capacity: Capacity,
    /// Real-time tasks.
    pub(crate) rt: RtQueue,
    /// Time spent running real-time tasks.
    pub(crate) avg_rt: SchedAvg,
    /// Fair queues with load, children first.
    pub(crate) leaf: LeafList,
}

impl Rq {
    pub(crate) fn new(root: QueueId, capacity: Capacity) -> Self {
        Self {
            clock: Instant(0),
            clock_task: Instant(0),
            clock_pelt: Instant(0),
            lost_idle_time: Nanos(0),
            clock_idle: Instant(0),
            clock_pelt_idle: Instant(0),
            skip_requested: false,
            skip_active: false,
            root,
            curr: None,
            need_resched: false,
            nr_running: 0,
            nr_switches: 0,
            capacity,
            rt: RtQueue::default(),
            avg_rt: SchedAvg::default(),
            leaf: LeafList::default(),
        }
    }

    /// Brings the clocks up to `now` (`update_rq_clock()`), unless a skip is active.
    #[inline]
    pub(crate) fn update_clock(&mut self, now: Instant) {
        if self.skip_active {
            return;
        }
        let delta = now.0.wrapping_sub(self.clock.0);
        self.clock = now;
        self.clock_task.0 += delta;
        if self.curr.is_none() {
            self.sync_idle_clock();
        } else {
            // A CPU of half the power does half the work in the same time: its PELT clock runs at half speed.
            self.clock_pelt.0 += (delta * u64::from(self.capacity.0)) >> 10;
        }
    }

    /// The PELT clock that averages are updated against.
    #[inline]
    pub(crate) fn pelt_now(&self) -> Instant {
        Instant(self.clock_pelt.0.wrapping_sub(self.lost_idle_time.0))
    }

    /// The CPU goes idle. Work that was slowed down now "used" the idle time that follows, unless the CPU
    /// was busy all the time and there is none (`update_idle_rq_clock_pelt()`).
    pub(crate) fn enter_idle(&mut self, fair_util_sum: u32) {
        if fair_util_sum.wrapping_add(self.avg_rt.util_sum) >= SATURATED_UTIL_SUM {
            self.lost_idle_time.0 += self.clock_task.0.wrapping_sub(self.clock_pelt.0);
        }
        self.sync_idle_clock();
    }

    fn sync_idle_clock(&mut self) {
        self.clock_pelt = self.clock_task;
        self.clock_idle = self.clock;
        self.clock_pelt_idle = self.pelt_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    fn rq(capacity: u32) -> Rq {
        Rq::new(QueueId::from_index(0), Capacity(capacity))
    }

    #[test]
    fn a_small_cpus_pelt_clock_catches_up_when_idle() {
        let mut rq = rq(512);
        rq.curr = Some(TaskId(0));
        rq.update_clock(Instant(1_000_000));
        assert_eq!(rq.clock_pelt, Instant(500_000));
        rq.curr = None;
        rq.enter_idle(0);
        assert_eq!(rq.clock_pelt, Instant(1_000_000));
        assert_eq!(rq.lost_idle_time, Nanos(0));
    }

    #[test]
    fn a_saturated_cpu_loses_the_time_instead() {
        let mut rq = rq(512);
        rq.curr = Some(TaskId(0));
        rq.update_clock(Instant(1_000_000));
        rq.curr = None;
        rq.enter_idle(SATURATED_UTIL_SUM);
        assert_eq!(rq.lost_idle_time, Nanos(500_000));
        assert_eq!(rq.pelt_now(), Instant(500_000));
    }

    #[test]
    fn a_skip_holds_the_clock() {
        let mut rq = rq(1024);
        rq.skip_active = true;
        rq.update_clock(Instant(5));
        assert_eq!(rq.clock, Instant(0));
    }
}
