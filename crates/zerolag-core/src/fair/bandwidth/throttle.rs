// SPDX-License-Identifier: GPL-2.0-only
//! A queue's runtime: being charged, throttled, and set free.

use alloc::vec::Vec;

use crate::fair::bandwidth::KEPT_RUNTIME;
use crate::fair::load::LoadUpdate;
use crate::fair::queue::{CfsRq, CountChange};
use crate::fair::{Dequeue, Enqueue};
use crate::ids::{CpuId, GroupId, QueueId, TaskId};
use crate::scheduler::Scheduler;
use crate::units::{Instant, Nanos, Weight};
use crate::variants::Throttling;

/// Bandwidth as a queue sees it: what it may still use, and whether it is stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Throttle {
    /// Its group has a quota, and the CPU is online.
    pub runtime_enabled: bool,
    /// It used up what it had, and its group's entity is off the queue above.
    pub throttled: bool,
    /// It will be unthrottled by an interrupt that is under way.
    pub(crate) unthrottling: bool,
    /// Its PELT clock stands still.
    pub pelt_frozen: bool,
    /// How many of its ancestors, itself included, are throttled.
    pub throttle_count: u32,
    /// CPU time it may use before it has to ask for more; negative after an overdraft. In ns.
    pub runtime_remaining: i64,
    /// Since when it is throttled with somebody in it; 0 = it is not.
    pub throttled_clock: Instant,
    /// The CPU's PELT clock when that of the queue stopped last.
    pub pelt_frozen_at: Instant,
    /// How long its PELT clock has stood still, in all.
    pub pelt_frozen_for: Nanos,
    /// The same when it last ran empty, or was aged while empty; nothing if its clock stood still then.
    pub(crate) pelt_frozen_at_idle: PeltLag,
    /// Its tasks that have been throttled one by one, the last to come last.
    pub limbo: Vec<TaskId>,
}

/// By how much a queue's PELT clock was behind its CPU's when the queue ran empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeltLag {
    Known(Nanos),
    /// It stood still.
    Frozen,
}

impl Default for PeltLag {
    fn default() -> Self {
        Self::Known(Nanos::ZERO)
    }
}

impl Throttle {
    /// The queue's PELT clock, where the CPU's shows `now` (`cfs_rq_clock_pelt()`).
    pub(crate) fn pelt_clock(&self, now: Instant) -> Instant {
        let now = if self.pelt_frozen { self.pelt_frozen_at } else { now };
        Instant(now.0.wrapping_sub(self.pelt_frozen_for.0))
    }

    /// The queue has run empty, or is empty and has been aged: sleepers that leave it later are aged from here.
    pub(crate) fn note_idle(&mut self) {
        self.pelt_frozen_at_idle =
            if self.pelt_frozen { PeltLag::Frozen } else { PeltLag::Known(self.pelt_frozen_for) };
    }

    /// Its PELT clock stops.
    fn freeze_clock(&mut self, now: Instant) {
        (self.pelt_frozen, self.pelt_frozen_at) = (true, now);
    }

    /// Its PELT clock goes on, if it stood still.
    fn thaw_clock(&mut self, now: Instant) {
        if core::mem::take(&mut self.pelt_frozen) {
            self.pelt_frozen_for += Nanos(now.0.wrapping_sub(self.pelt_frozen_at.0));
        }
    }
}

impl CfsRq {
    /// All tasks in it, as far as they count above.
    fn counts(&self) -> CountChange {
        CountChange {
            queued: self.h_nr_queued,
            runnable: self.h_nr_runnable,
            delayed: self.h_nr_delayed,
            idle: self.idle_h_nr,
        }
    }
}

impl Scheduler {
    /// The queue is throttled as a whole: nobody above sees what happens in it.
    #[inline]
    pub(crate) fn is_cut_off(&self, q: QueueId) -> bool {
        self.bandwidth_used && self.queues[q].throttle.throttled && self.throttles_queues()
    }

    /// The queue or one above it is throttled as a whole: its tasks do not compete.
    #[inline]
    pub(crate) fn is_out_of_play(&self, q: QueueId) -> bool {
        self.in_throttled_hierarchy(q) && self.throttles_queues()
    }

    /// The queue or one above it is throttled.
    #[inline]
    pub(crate) fn in_throttled_hierarchy(&self, q: QueueId) -> bool {
        self.bandwidth_used && self.queues[q].throttle.throttle_count != 0
    }

    /// The queue's PELT clock stands still; it is not listed among those with load then.
    #[inline]
    pub(crate) fn is_frozen(&self, q: QueueId) -> bool {
        self.bandwidth_used && self.queues[q].throttle.pelt_frozen
    }

    /// Queues are throttled as a whole, not task by task.
    pub(crate) fn throttles_queues(&self) -> bool {
        self.bandwidth_rules().throttling == Throttling::Queue
    }

    /// Charges a queue for CPU time, and gets it more from the pool when it has run out
    /// (`account_cfs_rq_runtime()`).
    #[inline]
    pub(crate) fn charge_runtime(&mut self, q: QueueId, ran: Nanos) {
        if self.bandwidth_used && self.queues[q].throttle.runtime_enabled {
            self.charge_limited(q, ran);
        }
    }

    fn charge_limited(&mut self, q: QueueId, ran: Nanos) {
        let queue = &mut self.queues[q];
        queue.throttle.runtime_remaining -= ran.0 as i64;
        if queue.throttle.runtime_remaining > 0 || queue.throttle.throttled {
            return;
        }
        // It is throttled when its running entity is put aside.
        let slice = self.config.tunables.bandwidth_slice;
        if !self.assign_runtime(q, slice) && self.queues[q].curr.is_some() {
            self.resched(self.queues[q].cpu);
        }
    }

    /// Pays a queue's debt and gives it up to `target` from the pool. Returns true if it may run on.
    fn assign_runtime(&mut self, q: QueueId, target: Nanos) -> bool {
        let group = self.queues[q].group;
        let wanted = target.0.wrapping_sub(self.queues[q].throttle.runtime_remaining as u64);
        let mut amount = wanted;
        if self.groups[group].bandwidth.quota.is_some() {
            self.start_period(group);
            let pool = &mut self.groups[group].bandwidth;
            amount = wanted.min(pool.runtime.0);
            if amount > 0 {
                pool.runtime.0 -= amount;
                pool.idle = false;
            }
        }
        let throttle = &mut self.queues[q].throttle;
        throttle.runtime_remaining += amount as i64;
        throttle.runtime_remaining > 0
    }

    /// An entity has left a queue: if it was the last, what the queue will not need goes back to the pool
    /// (`return_cfs_rq_runtime()`), and the lag of its PELT clock is noted for those who leave it asleep.
    #[inline]
    pub(crate) fn settle_after_leave(&mut self, q: QueueId) {
        if self.bandwidth_used && self.queues[q].nr_queued == 0 {
            let queue = &mut self.queues[q];
            queue.throttle.note_idle();
            if queue.throttle.runtime_enabled {
                self.return_runtime(q);
            }
            // Where tasks leave one by one, the last one stops the clock.
            if self.in_throttled_hierarchy(q) && !self.throttles_queues() {
                self.freeze(q);
            }
        }
    }

    fn return_runtime(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        let slack = queue.throttle.runtime_remaining - KEPT_RUNTIME.0 as i64;
        if slack <= 0 {
            return;
        }
        queue.throttle.runtime_remaining -= slack;
        let group = queue.group;
        let pool = &mut self.groups[group].bandwidth;
        if pool.quota.is_some() {
            pool.runtime += Nanos(slack as u64);
            if pool.runtime > self.config.tunables.bandwidth_slice && !pool.throttled.is_empty() {
                self.start_slack(group);
            }
        }
    }

    /// The first entity has joined a queue: throttles it if it has nothing left (`check_enqueue_throttle()`),
    /// and lists it if its hierarchy may run.
    pub(crate) fn admit_first(&mut self, q: QueueId) {
        let throttle = &self.queues[q].throttle;
        // One with a running entity is dealt with when that is put aside.
        if self.bandwidth_used
            && throttle.runtime_enabled
            && !throttle.throttled
            && self.queues[q].curr.is_none()
        {
            self.charge_limited(q, Nanos::ZERO);
            if self.queues[q].throttle.runtime_remaining <= 0 {
                self.throttle(q);
            }
        }
        if self.is_frozen(q) && !self.throttles_queues() {
            let now = self.cpus[self.queues[q].cpu].pelt_now();
            self.queues[q].throttle.thaw_clock(now);
        }
        if !self.is_frozen(q) {
            self.add_leaf(q);
        } else if self.is_cut_off(q) {
            self.start_throttled_clock(q);
        }
    }

    /// Throttles a queue that has nothing left. Returns true if it is throttled (`check_cfs_rq_runtime()`).
    #[inline]
    pub(crate) fn throttle_if_exhausted(&mut self, q: QueueId) -> bool {
        if !self.bandwidth_used {
            return false;
        }
        let throttle = &self.queues[q].throttle;
        throttle.runtime_enabled
            && throttle.runtime_remaining <= 0
            && (throttle.throttled || self.throttle(q))
    }

    /// Throttles a queue, unless the pool has got something meanwhile. Returns true if it is throttled now
    /// (`throttle_cfs_rq()`).
    fn throttle(&mut self, q: QueueId) -> bool {
        if self.assign_runtime(q, Nanos(1)) {
            return false;
        }
        let (group, cpu) = (self.queues[q].group, self.queues[q].cpu);
        self.groups[group].bandwidth.throttled.push_back(q);
        self.throttle_hierarchy(group, cpu);
        if self.throttles_queues() {
            self.dequeue_throttled(q, cpu);
        }
        let rules = self.bandwidth_rules();
        let queue = &mut self.queues[q];
        queue.throttle.throttled = true;
        if rules.counts_empty {
            queue.throttle.throttled_clock = self.cpus[cpu].clock;
        } else if queue.nr_queued != 0 && rules.throttling == Throttling::Queue {
            self.start_throttled_clock(q);
        }
        true
    }

    /// From now on the queue counts as throttled, if it does not already.
    pub(super) fn start_throttled_clock(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        if queue.throttle.throttled_clock == Instant::ZERO {
            queue.throttle.throttled_clock = self.cpus[queue.cpu].clock;
        }
    }

    fn dequeue_throttled(&mut self, q: QueueId, cpu: CpuId) {
        let mut change = self.queues[q].counts();
        let all = change.queued;
        let mut at = self.queues[q].entity;
        let mut leaves = true;
        while let Some(se) = at {
            let above = self.entities[se].queue;
            if !self.entities[se].on_rq {
                return;
            }
            if leaves {
                // Never delayed: the tasks below do not sleep.
                let delayed = self.entities[se].delayed;
                self.dequeue_entity(
                    above,
                    se,
                    Dequeue { sleep: true, special: true, delayed, ..Dequeue::default() },
                );
            } else {
                self.update_load(above, se, LoadUpdate::Age);
                self.note_runnable(se);
            }
            if self.is_idle_entity(se) {
                change.idle = all;
            }
            change.sub_from(&mut self.queues[above]);
            leaves &= self.queues[above].load == Weight(0);
            at = self.entities[se].parent;
        }
        self.cpus[cpu].nr_running -= all;
    }

    /// Lets a queue compete again (`unthrottle_cfs_rq()`).
    pub(crate) fn unthrottle(&mut self, q: QueueId) {
        let (group, cpu) = (self.queues[q].group, self.queues[q].cpu);
        let throttle = &self.queues[q].throttle;
        if !self.throttles_queues() && throttle.runtime_enabled && throttle.runtime_remaining <= 0 {
            // Tasks that went on meanwhile have used up what it was paid.
            return;
        }
        self.update_clock(cpu);
        let clock = self.cpus[cpu].clock;
        let counts_empty = self.bandwidth_rules().counts_empty;
        let throttle = &mut self.queues[q].throttle;
        throttle.throttled = false;
        let since = throttle.throttled_clock;
        if !counts_empty {
            throttle.throttled_clock = Instant::ZERO;
        }
        let pool = &mut self.groups[group].bandwidth;
        // Where it counts from the first, a time of 0 is a time.
        if counts_empty || since != Instant::ZERO {
            pool.stat.throttled_time += clock.saturating_since(since);
        }
        pool.throttled.retain(|&other| other != q);
        self.unthrottle_hierarchy(group, cpu);
        if self.queues[q].load != Weight(0) {
            if self.throttles_queues() {
                self.enqueue_unthrottled(q, cpu);
            }
        } else if self.queues[q].on_list() {
            // Nobody to run, but load to decay: the way up from it has to be on the list too.
            let mut at = self.queues[q].entity;
            while let Some(se) = at.filter(|&se| !self.add_leaf(self.entities[se].queue)) {
                at = self.entities[se].parent;
            }
        } else {
            return;
        }
        let rq = &self.cpus[cpu];
        if rq.is_idle_task() && self.queues[rq.root].nr_queued != 0 {
            self.resched(cpu);
        }
    }

    fn enqueue_unthrottled(&mut self, q: QueueId, cpu: CpuId) {
        let mut change = self.queues[q].counts();
        let all = change.queued;
        let mut at = self.queues[q].entity;
        let mut joins = true;
        while let Some(se) = at {
            let above = self.entities[se].queue;
            if joins && self.entities[se].delayed {
                self.dequeue_entity(above, se, Dequeue { sleep: true, delayed: true, ..Dequeue::default() });
            }
            joins &= !self.entities[se].on_rq;
            if joins {
                self.enqueue_entity(above, se, Enqueue { wakeup: true, ..Enqueue::default() });
            } else {
                self.update_load(above, se, LoadUpdate::AgeAndReport);
                self.note_runnable(se);
            }
            if self.is_idle_entity(se) {
                change.idle = all;
            }
            change.add_to(&mut self.queues[above]);
            if self.is_cut_off(above) {
                return;
            }
            at = self.entities[se].parent;
        }
        self.add_running_tasks(cpu, all);
    }

    /// A group and all below it on one CPU are in one throttled hierarchy more (`tg_throttle_down()`). Their
    /// PELT clocks stop; where tasks leave one by one, only those of queues that are empty already.
    fn throttle_hierarchy(&mut self, group: GroupId, cpu: CpuId) {
        let q = self.groups[group].on(cpu).queue;
        let queue = &mut self.queues[q];
        queue.throttle.throttle_count += 1;
        if queue.throttle.throttle_count == 1 && (queue.nr_queued == 0 || self.throttles_queues()) {
            self.freeze(q);
        }
        for i in (0..self.groups[group].children.len()).rev() {
            self.throttle_hierarchy(self.groups[group].children[i], cpu);
        }
    }

    fn freeze(&mut self, q: QueueId) {
        let cpu = self.queues[q].cpu;
        let now = self.cpus[cpu].pelt_now();
        self.queues[q].throttle.freeze_clock(now);
        self.cpus[cpu].leaf.remove(&mut self.queues, q);
    }

    /// They are in one less, children first (`tg_unthrottle_up()`).
    fn unthrottle_hierarchy(&mut self, group: GroupId, cpu: CpuId) {
        for i in (0..self.groups[group].children.len()).rev() {
            self.unthrottle_hierarchy(self.groups[group].children[i], cpu);
        }
        let q = self.groups[group].on(cpu).queue;
        let now = self.cpus[cpu].pelt_now();
        let throttle = &mut self.queues[q].throttle;
        throttle.throttle_count -= 1;
        if throttle.throttle_count == 0 {
            throttle.thaw_clock(now);
            self.leave_limbo(q);
            if !self.is_fully_decayed(cpu, q) {
                self.add_leaf(q);
            }
        }
    }

    /// A new group below a throttled one begins throttled (`sync_throttle()`).
    pub(crate) fn inherit_throttle(&mut self, q: QueueId) {
        let queue = &self.queues[q];
        let Some(above) = queue.parent else { return };
        let throttle_count = self.queues[above].throttle.throttle_count;
        let now = self.cpus[queue.cpu].pelt_now();
        let throttle = &mut self.queues[q].throttle;
        throttle.throttle_count = throttle_count;
        (throttle.pelt_frozen, throttle.pelt_frozen_at) = (throttle_count != 0, now);
    }

    /// The CPU goes offline: its queues run without limit from now on, so that it can be emptied
    /// (`unthrottle_offline_cfs_rqs()`).
    pub(crate) fn lift_limits(&mut self, cpu: CpuId) {
        for group in self.groups.ids().rev() {
            let q = self.groups[group].on(cpu).queue;
            let throttle = &mut self.queues[q].throttle;
            if throttle.runtime_enabled {
                throttle.runtime_remaining = 1;
                throttle.runtime_enabled = false;
                if throttle.throttled {
                    self.unthrottle(q);
                }
            }
        }
    }

    /// The CPU comes online: its queues have limits again (`update_runtime_enabled()`).
    pub(crate) fn restore_limits(&mut self, cpu: CpuId) {
        for (_, group) in self.groups.iter() {
            let q = group.on(cpu).queue;
            self.queues[q].throttle.runtime_enabled = group.bandwidth.quota.is_some();
        }
    }
}
