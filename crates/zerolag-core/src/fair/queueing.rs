// SPDX-License-Identifier: GPL-2.0-only
//! One level of the hierarchy: an entity joins or leaves a queue, becomes the running one or stops being it.
//!
//! Source: kernel/sched/fair.c, `enqueue_entity()`, `dequeue_entity()`, `set_next_entity()`,
//! `put_prev_entity()`, 6.12.

use crate::fair::load::LoadUpdate;
use crate::fair::queue::CfsRq;
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::task::OnRq;
use crate::units::{Instant, VDelta};
use crate::variants::{LoadOnMove, LoadTracking, Propagation};

/// Why something is enqueued (`ENQUEUE_*`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Enqueue {
    /// It woke up.
    pub(crate) wakeup: bool,
    /// It is new.
    pub(crate) initial: bool,
    /// It comes from another CPU.
    pub(crate) migrated: bool,
    /// It woke up while its dequeue was delayed.
    pub(crate) delayed: bool,
    /// It was taken out for a change and comes back.
    pub(crate) restore: bool,
    /// CFS: it woke up, and its vruntime is relative.
    pub(crate) relative: bool,
    /// CFS: its vruntime has been made absolute already.
    pub(crate) absolute: bool,
}

/// Why something is dequeued (`DEQUEUE_*`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dequeue {
    /// It goes to sleep.
    pub(crate) sleep: bool,
    /// Its delayed dequeue is completed.
    pub(crate) delayed: bool,
    /// It must not be delayed: the task ends.
    pub(crate) special: bool,
    /// The task is throttled, and goes to limbo.
    pub(crate) throttle: bool,
    /// It will come back after a change.
    pub(crate) save: bool,
    /// That change may put it elsewhere; without, the queue keeps its anchor until it is back.
    pub(crate) moves: bool,
}

impl Scheduler {
    /// An idle entity gives way to all others.
    #[inline]
    pub(crate) fn is_idle_entity(&self, se: EntityId) -> bool {
        let entity = &self.entities[se];
        entity.my_queue.map_or(entity.idle_policy, |below| self.queues[below].idle)
    }

    /// The group's averages count how many are runnable in it, as of now.
    #[inline]
    pub(crate) fn note_runnable(&mut self, se: EntityId) {
        let entity = &mut self.entities[se];
        if let Some(below) = entity.my_queue
            && self.config.variants.load.tracking == LoadTracking::RunnableTime
        {
            let below = &self.queues[below];
            entity.runnable_weight = below.h_nr_queued - below.h_nr_delayed;
        }
    }

    #[inline]
    fn add_to_counts(&mut self, q: QueueId, se: EntityId) {
        let idle = self.is_idle_entity(se);
        let entity = &self.entities[se];
        let weight = entity.weight;
        if let Some(task) = entity.task().filter(|_| self.has_domains) {
            let cpu = self.queues[q].cpu;
            if self.config.variants.balance.by_weight {
                self.queues[q].tasks.push_front(&mut self.tasks, task);
                self.queues[q].share.task_weight += weight.down();
            } else {
                self.cpus[cpu].cfs_tasks.push_front(&mut self.tasks, task);
            }
        }
        let queue = &mut self.queues[q];
        queue.load.0 += weight.0;
        queue.nr_queued += 1;
        queue.idle_nr += u32::from(idle);
    }

    #[inline]
    fn sub_from_counts(&mut self, q: QueueId, se: EntityId) {
        let idle = self.is_idle_entity(se);
        let entity = &self.entities[se];
        let weight = entity.weight;
        if let Some(task) = entity.task().filter(|_| self.has_domains) {
            let cpu = self.queues[q].cpu;
            if self.config.variants.balance.by_weight {
                self.queues[q].tasks.remove(&mut self.tasks, task);
                self.queues[q].share.task_weight -= weight.down();
            } else {
                self.cpus[cpu].cfs_tasks.remove(&mut self.tasks, task);
            }
        }
        let queue = &mut self.queues[q];
        queue.load.0 -= weight.0;
        queue.nr_queued -= 1;
        queue.idle_nr -= u32::from(idle);
    }

    /// An entity joins a queue.
    pub(crate) fn enqueue_entity(&mut self, q: QueueId, se: EntityId, flags: Enqueue) {
        let mut flags = flags;
        self.make_absolute_early(q, se, &mut flags);
        let is_curr = self.queues[q].curr == Some(se);
        let before_charge = is_curr && self.places_before_charge(flags);
        if before_charge {
            self.place(q, se, flags);
        }
        self.update_curr(q);
        // Load first: the weight of a group depends on it, and the place depends on the weight.
        self.update_load(q, se, LoadUpdate::Join);
        self.note_runnable(se);
        let rules = self.config.variants.load;
        if rules.propagation != Propagation::ByTime {
            self.add_runnable_load(q, se);
        }
        if !rules.weighed_from_below {
            self.update_group_weight(se);
        }
        if rules.propagation == Propagation::ByTime {
            self.add_runnable_load(q, se);
        }
        if !before_charge {
            self.place(q, se, flags);
        }
        self.add_to_counts(q, se);
        if rules.weighed_from_below {
            self.reweigh(q, se);
        }
        if flags.migrated && self.config.variants.sequence.moved_is_cold {
            self.entities[se].exec_start = Instant(0);
        }
        if !is_curr {
            self.put_in_timeline(q, se);
        }
        self.entities[se].on_rq = true;
        if self.queues[q].nr_queued == 1 {
            self.admit_first(q);
        }
    }

    /// An entity leaves a queue. Returns false if it has to stay until its lag is paid back.
    pub(crate) fn dequeue_entity(&mut self, q: QueueId, se: EntityId, flags: Dequeue) -> bool {
        self.update_curr(q);
        self.favour_lost(q, se);
        if flags.delayed {
            debug_assert!(self.entities[se].delayed);
        } else if flags.sleep
            && !flags.special
            && !flags.throttle
            && self.config.features.has(Feature::DelayDequeue)
            && !self.queues[q].is_eligible(&self.entities, se)
        {
            self.update_load(q, se, LoadUpdate::Age);
            self.set_delayed(se);
            return false;
        }
        let migrating = self.config.variants.load.on_move == LoadOnMove::DetachedWithin
            && self.entities[se].task().is_some_and(|t| self.tasks[t].on_rq == OnRq::Migrating);
        self.update_load(q, se, if migrating { LoadUpdate::Leave } else { LoadUpdate::AgeAndReport });
        self.note_runnable(se);
        self.sub_runnable_load(q, se);
        self.before_leaving(q, se, flags);
        if self.queues[q].curr != Some(se) {
            self.take_from_timeline(q, se);
        }
        self.entities[se].on_rq = false;
        self.sub_from_counts(q, se);
        self.settle_after_leave(q);
        self.reweigh(q, se);
        self.after_leaving(q, se, flags);
        if flags.delayed {
            self.clear_delayed(se);
            let entity = &mut self.entities[se];
            if self.config.features.has(Feature::DelayZero) && entity.vlag > VDelta(0) {
                entity.vlag = VDelta(0);
            }
        }
        true
    }

    /// A sleeper stays until its lag is paid back. Only tasks are counted; a group that has become empty may
    /// be delayed too.
    fn set_delayed(&mut self, se: EntityId) {
        self.entities[se].delayed = true;
        if self.entities[se].is_task() {
            self.for_each_counting_queue(se, |queue| {
                queue.h_nr_runnable -= 1;
                queue.h_nr_delayed += 1;
            });
        }
    }

    fn clear_delayed(&mut self, se: EntityId) {
        let entity = &mut self.entities[se];
        entity.delayed = false;
        if entity.is_task() {
            self.for_each_counting_queue(se, |queue| {
                queue.h_nr_runnable += 1;
                queue.h_nr_delayed -= 1;
            });
        }
    }

    /// Changes the queues in which a task counts: its own and those above, up to a throttled one.
    fn for_each_counting_queue(&mut self, se: EntityId, mut change: impl FnMut(&mut CfsRq)) {
        let mut at = Some(se);
        while let Some(se) = at {
            let entity = &self.entities[se];
            change(&mut self.queues[entity.queue]);
            at = entity.parent.filter(|_| !self.is_cut_off(entity.queue));
        }
    }

    /// A delayed entity is wanted again before it has left (`requeue_delayed_entity()`). If it has been paid
    /// back by now it is placed afresh, with no lag; else it goes on where it is.
    pub(crate) fn requeue_delayed(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        debug_assert!(self.entities[se].delayed && self.entities[se].on_rq);
        if self.config.features.has(Feature::DelayZero) {
            self.take_lag(q, se);
            if self.entities[se].vlag > VDelta(0) {
                let is_curr = self.queues[q].curr == Some(se);
                self.queues[q].nr_queued -= 1;
                if !is_curr {
                    self.take_from_timeline(q, se);
                }
                self.entities[se].vlag = VDelta(0);
                self.place(q, se, Enqueue::default());
                if !is_curr {
                    self.put_in_timeline(q, se);
                }
                self.queues[q].nr_queued += 1;
            }
        }
        self.update_load(q, se, LoadUpdate::Age);
        self.clear_delayed(se);
    }

    /// An entity becomes the running one at its level.
    pub(crate) fn set_next_entity(&mut self, q: QueueId, se: EntityId) {
        if !self.config.variants.cfs.picked_is_no_buddy {
            self.favour_used(q, se);
        }
        if self.entities[se].on_rq {
            self.take_from_timeline(q, se);
            self.update_load(q, se, LoadUpdate::AgeAndReport);
            self.begin_turn(q, se);
        }
        let queue = &mut self.queues[q];
        let entity = &mut self.entities[se];
        entity.exec_start = self.cpus[queue.cpu].clock_task;
        entity.prev_sum_exec = entity.sum_exec;
        queue.curr = Some(se);
    }

    /// The running entity of a level stops running; it waits on if it still competes.
    pub(crate) fn put_prev_entity(&mut self, q: QueueId, se: EntityId) {
        if self.entities[se].on_rq {
            self.update_curr(q);
        }
        self.throttle_if_exhausted(q);
        if self.entities[se].on_rq {
            self.put_in_timeline(q, se);
            self.update_load(q, se, LoadUpdate::Age);
        }
        self.queues[q].curr = None;
    }

    /// The entity is no longer anybody's buddy, nor are its ancestors on its account.
    #[inline]
    pub(crate) fn clear_buddies(&mut self, q: QueueId, se: EntityId) {
        let queue = &self.queues[q];
        let is_buddy = [queue.next, queue.last, queue.skip].map(|buddy| buddy == Some(se));
        if is_buddy != [false; 3] {
            self.clear_kinds(se, is_buddy);
        }
    }

    fn clear_kinds(&mut self, se: EntityId, [next, last, skip]: [bool; 3]) {
        if next {
            self.clear_buddy(se, |queue| &mut queue.next);
        }
        if last {
            self.clear_buddy(se, |queue| &mut queue.last);
        }
        if skip {
            self.clear_buddy(se, |queue| &mut queue.skip);
        }
    }

    fn clear_buddy(&mut self, se: EntityId, kind: impl Fn(&mut CfsRq) -> &mut Option<EntityId>) {
        let mut at = Some(se);
        while let Some(se) = at {
            let buddy = kind(&mut self.queues[self.entities[se].queue]);
            if *buddy != Some(se) {
                break;
            }
            *buddy = None;
            at = self.entities[se].parent;
        }
    }

    /// The entity, and its ancestors, should run next if they may. Idle ones never.
    pub(crate) fn set_next_buddy(&mut self, se: EntityId) {
        let mut at = Some(se);
        while let Some(se) = at {
            if !self.entities[se].on_rq || self.is_idle_entity(se) {
                return;
            }
            let q = self.entities[se].queue;
            self.queues[q].next = Some(se);
            at = self.entities[se].parent;
        }
    }

    /// The entity, and its ancestors, were preempted and should go on soon. Idle ones never.
    pub(crate) fn set_last_buddy(&mut self, se: EntityId) {
        let mut at = Some(se);
        while let Some(se) = at {
            if !self.entities[se].on_rq || self.is_idle_entity(se) {
                return;
            }
            let q = self.entities[se].queue;
            self.queues[q].last = Some(se);
            at = self.entities[se].parent;
        }
    }

    /// The entity, and its ancestors, should let others go first.
    pub(crate) fn set_skip_buddy(&mut self, se: EntityId) {
        let mut at = Some(se);
        while let Some(se) = at {
            let q = self.entities[se].queue;
            self.queues[q].skip = Some(se);
            at = self.entities[se].parent;
        }
    }
}
