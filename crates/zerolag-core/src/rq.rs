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

use alloc::vec::Vec;

use crate::balance::counts::Decaying;
use crate::balance::{History, Tausworthe};
use crate::config::Config;
use crate::cpu_set::CpuSet;
use crate::fair::leaf::LeafList;
use crate::fair::tasks::TaskList;
use crate::ids::{CpuId, QueueId, TaskId};
use crate::pelt::{DIVIDER_MIN, LOAD_AVG_MAX, SchedAvg};
use crate::realtime::RtQueue;
use crate::task::Waker;
use crate::units::{Capacity, Instant, Jiffies, Nanos};
use crate::variants::ClockSkip;

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
    /// The precise timer for the end of the running task's turn is set.
    pub(crate) hrtick_set: bool,
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
    /// Speed of its PELT clock at the greatest frequency.
    pub(crate) pelt_speed: Capacity,
    /// Its frequency in 1024ths of the greatest (`arch_scale_freq_capacity()`).
    pub(crate) frequency: Capacity,
    /// What running counts as in utilisation, where that is not in the clock.
    pub(crate) use_scale: Capacity,
    /// Threads of its core that are online, itself included.
    pub(crate) siblings: CpuSet,
    /// The stopper runs: a task above all others that does what needs the CPU to stand still. `curr` is
    /// nothing meanwhile.
    pub(crate) stopping: bool,
    /// The stopper has been woken, and is counted among those that run, but does not run yet.
    pub(crate) stopper_queued: bool,
    /// The idle task was to give way when it last ran, and still is.
    pub(crate) idle_gives_way: bool,
    /// It is going offline: whoever is picked is pushed to another CPU.
    pub(crate) pushing: bool,
    /// Whom the idle task wakes, from interrupts.
    pub(crate) idle_waker: Waker,
    /// Where the search for an allowed CPU begins next (`distribute_cpu_mask_prev`).
    pub(crate) distribute_from: CpuId,
    /// Load balancing.
    pub balance: RqBalance,
    /// Queued fair tasks, most recently used first.
    pub(crate) cfs_tasks: TaskList,
    /// Real-time tasks.
    pub(crate) rt: RtQueue,
    /// Throttled queues that have got runtime, until an interrupt takes them up.
    pub(crate) unthrottle_list: Vec<QueueId>,
    /// Time spent running real-time tasks.
    pub(crate) avg_rt: SchedAvg,
    /// Fair queues with load, children first.
    pub(crate) leaf: LeafList,
}

/// What load balancing keeps of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RqBalance {
    /// Its power less what higher classes take (`cpu_capacity`), 1 to 1024.
    pub cpu_capacity: u32,
    /// When the next domain is due.
    pub next_balance: Jiffies,
    /// How long it is idle on average.
    pub avg_idle: Nanos,
    /// The longest that newly-idle balancing may take.
    pub max_idle_balance_cost: Nanos,
    /// Since when it is idle; 0 = it is not, or has never run dry.
    pub idle_stamp: Instant,
    /// What is left, halved each tick, of the idle time that is expected of it (`wake_avg_idle`, for `SIS_PROP`).
    pub(crate) idle_to_spend: Nanos,
    /// When that was last halved.
    pub(crate) idle_halved: Instant,
    /// Load of the running task if it is too big for this CPU.
    pub misfit_task_load: u64,
    /// A task is being pushed off it by the stopper.
    pub active_balance: bool,
    /// Where to.
    pub(crate) push_cpu: CpuId,
    /// It was idle at its last tick.
    pub(crate) idle_at_tick: bool,
    /// What idle balancing it has been asked for (`nohz_flags`).
    pub nohz_flags: NohzFlags,
    /// What it is to do of that in the next softirq.
    pub(crate) nohz_pending: NohzFlags,
    /// It is in the mask of CPUs with a stopped tick.
    pub(crate) nohz_tick_stopped: bool,
    /// It may have load that decays.
    pub(crate) has_blocked_load: bool,
    /// When that was last aged.
    pub(crate) last_blocked_update: Jiffies,
    /// What it had when it went idle, until that is gone.
    pub(crate) decaying: Option<Decaying>,
    /// It was idle without a tick since its last busy tick (`in_nohz_recently`).
    pub(crate) idle_lately: bool,
    /// Its weight at the last tick, and averages over about 2, 4, 8 and 16 ticks.
    pub weight_history: [u64; 5],
    /// What a task of it weighed on average when that was last asked for.
    pub mean_weight: u64,
    /// Which newly-idle balancing is skipped.
    pub(crate) chance: Tausworthe,
    /// Its load over spans of ticks, in kernels that keep that.
    pub history: History,
}

bitflags::bitflags! {
    /// Reasons to balance on behalf of idle CPUs (`NOHZ_*`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct NohzFlags: u32 {
        /// Balance (`NOHZ_BALANCE_KICK`).
        const BALANCE = 1;
        /// Age blocked load (`NOHZ_STATS_KICK`).
        const STATS = 2;
        /// Age blocked load on entering idle (`NOHZ_NEWILB_KICK`).
        const NEW_ILB = 4;
        /// Recompute when balancing is next due (`NOHZ_NEXT_KICK`).
        const NEXT = 8;
        /// Those that are sent to another CPU.
        const KICK = 1 | 2 | 8;
    }
}

impl RqBalance {
    /// The CPU is in the mask of those whose tick is stopped.
    pub const fn is_tick_stopped(&self) -> bool {
        self.nohz_tick_stopped
    }

    /// The CPU may have load that decays.
    pub const fn has_blocked_load(&self) -> bool {
        self.has_blocked_load
    }

    /// When that was last aged.
    pub const fn last_blocked_update(&self) -> Jiffies {
        self.last_blocked_update
    }

    /// The CPU was idle at its last tick, or when it was asked to balance for others.
    pub const fn was_idle_at_tick(&self) -> bool {
        self.idle_at_tick
    }

    fn new(migration_cost: Nanos, seed: [u32; 4]) -> Self {
        Self {
            cpu_capacity: 1024,
            next_balance: Jiffies(0),
            avg_idle: Nanos(2 * migration_cost.0),
            max_idle_balance_cost: migration_cost,
            idle_stamp: Instant(0),
            idle_to_spend: Nanos(2 * migration_cost.0),
            idle_halved: Instant(0),
            misfit_task_load: 0,
            active_balance: false,
            push_cpu: CpuId(0),
            idle_at_tick: false,
            nohz_flags: NohzFlags::empty(),
            nohz_pending: NohzFlags::empty(),
            nohz_tick_stopped: false,
            has_blocked_load: false,
            last_blocked_update: Jiffies(0),
            decaying: None,
            idle_lately: false,
            weight_history: [0; 5],
            mean_weight: 0,
            chance: Tausworthe::new(seed),
            history: History::default(),
        }
    }

    /// A wake-up ends the CPU's idle time: takes its length into the average, an eighth of the difference at
    /// a time, up to twice what balancing may cost. `clock` = the CPU's; `floors` = rounded down, not toward zero.
    pub(crate) fn idle_ends(&mut self, now: Instant, clock: Instant, floors: bool) {
        if self.idle_stamp == Instant(0) {
            return;
        }
        let idle = clock.0.wrapping_sub(self.idle_stamp.0);
        let difference = idle.wrapping_sub(self.avg_idle.0) as i64;
        let average =
            self.avg_idle.0.wrapping_add((if floors { difference >> 3 } else { difference / 8 }) as u64);
        self.avg_idle = Nanos(average.min(2 * self.max_idle_balance_cost.0));
        (self.idle_to_spend, self.idle_halved) = (Nanos(self.avg_idle.0 / 2), now);
        self.idle_stamp = Instant(0);
    }
}

impl Rq {
    pub(crate) fn new(root: QueueId, capacity: Capacity, config: &Config) -> Self {
        Self {
            clock: Instant(0),
            clock_task: Instant(0),
            clock_pelt: Instant(0),
            lost_idle_time: Nanos(0),
            clock_idle: Instant(0),
            clock_pelt_idle: Instant(0),
            skip_requested: false,
            hrtick_set: false,
            skip_active: false,
            root,
            curr: None,
            need_resched: false,
            nr_running: 0,
            nr_switches: 0,
            capacity,
            pelt_speed: if config.variants.load.invariant_clock { capacity } else { Capacity::FULL },
            frequency: Capacity::FULL,
            use_scale: capacity,
            siblings: CpuSet::new(),
            stopping: false,
            stopper_queued: false,
            idle_gives_way: false,
            pushing: false,
            idle_waker: Waker::default(),
            distribute_from: CpuId(0),
            balance: RqBalance::new(config.tunables.migration_cost, config.newidle_seed),
            cfs_tasks: TaskList::default(),
            rt: RtQueue::default(),
            unthrottle_list: Vec::new(),
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
        if self.is_idle_task() {
            self.sync_idle_clock();
        } else {
            // A CPU of half the power, or frequency, does half the work in the same time: its PELT clock runs at
            // half speed.
            let at_full_frequency = (delta * u64::from(self.pelt_speed.0)) >> 10;
            self.clock_pelt.0 += (at_full_frequency * u64::from(self.frequency.0)) >> 10;
        }
    }

    /// The idle task runs.
    #[inline]
    pub const fn is_idle_task(&self) -> bool {
        self.curr.is_none() && !self.stopping
    }

    /// A reschedule begins: the clocks move on, unless a wake-up has just moved them.
    #[inline]
    pub(crate) fn begin_switch(&mut self, now: Instant, skip: ClockSkip) {
        self.skip_active = core::mem::take(&mut self.skip_requested) && skip != ClockSkip::Never;
        self.update_clock(now);
        self.skip_active &= skip == ClockSkip::UntilPicked;
    }

    /// The next task is chosen.
    #[inline]
    pub(crate) fn end_pick(&mut self, skip: ClockSkip) {
        if skip == ClockSkip::UntilPicked {
            (self.skip_active, self.skip_requested) = (false, false);
        }
    }

    /// What is left of its power for fair tasks, at least 1 (`scale_rt_capacity()`).
    pub(crate) fn free_capacity(&self) -> u32 {
        let used = self.avg_rt.util_avg.min(u64::from(self.capacity.0)) as u32;
        (self.capacity.0 - used).max(1)
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
    use crate::kernel::Kernel;

    fn rq(capacity: u32) -> Rq {
        Rq::new(QueueId::from_index(0), Capacity(capacity), &Kernel::V6_12.config(1).unwrap())
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
    fn capacity_and_frequency_slow_the_pelt_clock_down_one_after_the_other() {
        let mut rq = rq(446);
        rq.curr = Some(TaskId(0));
        rq.frequency = Capacity(512);
        rq.update_clock(Instant(1_001));
        assert_eq!(rq.clock_pelt, Instant(((1_001 * 446) / 1024) / 2));
    }

    #[test]
    fn a_skip_holds_the_clock() {
        let mut rq = rq(1024);
        rq.skip_active = true;
        rq.update_clock(Instant(5));
        assert_eq!(rq.clock, Instant(0));
    }
}
