// SPDX-License-Identifier: GPL-2.0-only
//! The fair class's operations on tasks: each walks the hierarchy of groups.
//!
//! A task that joins brings its ancestors with it as far as they are not queued yet; above that, only loads,
//! weights and counts change. Leaving is the mirror image.
//!
//! Source: kernel/sched/fair.c, `enqueue_task_fair()`, `dequeue_entities()`, `pick_task_fair()`,
//! `pick_next_task_fair()`, `task_tick_fair()`, `yield_task_fair()`, 6.12.

use crate::fair::load::LoadUpdate;
use crate::fair::queue::CountChange;
use crate::fair::timeline::ByDeadline;
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::nice::Policy;
use crate::scheduler::{Effect, Scheduler};
use crate::task::OnRq;
use crate::units::{Instant, Nanos, VDelta};
use crate::variants::{Descent, UtilEst};

/// How far up a dequeue got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// Nowhere: the task stays until its lag is paid back.
    Delayed,
    /// A throttled queue, above which it does not count anyway.
    Throttled,
    /// The root.
    Root,
}

impl Scheduler {
    /// A task joins its CPU's fair queues.
    pub(crate) fn fair_enqueue(&mut self, task: TaskId, flags: Enqueue) {
        let t = &self.tasks[task];
        let (cpu, se) = (t.cpu, t.entity);
        let moving = t.on_rq == OnRq::Migrating || flags.restore;
        let idle = u32::from(t.policy == Policy::Idle);
        if self.enters_limbo(cpu, task) {
            return;
        }
        let delayed = self.entities[se].delayed;
        if !(delayed && moving) {
            self.util_est_enqueue(cpu, se);
        }
        if flags.delayed {
            self.requeue_delayed(se);
            return;
        }
        let still_delayed = u32::from(!flags.wakeup && delayed);
        let mut change = CountChange { queued: 1, runnable: 1 - still_delayed, delayed: still_delayed, idle };

        let mut flags = flags;
        let mut slice_below = None;
        let mut at = Some(se);
        while let Some(se) = at {
            if self.entities[se].on_rq {
                if self.entities[se].delayed {
                    self.requeue_delayed(se);
                }
                break;
            }
            let entity = &mut self.entities[se];
            let (q, parent) = (entity.queue, entity.parent);
            if let Some(slice) = slice_below {
                (entity.slice, entity.custom_slice) = (slice, true);
            }
            self.enqueue_entity(q, se, flags);
            slice_below = self.group_slice(q);
            let queue = &mut self.queues[q];
            change.add_to(queue);
            if queue.idle {
                change.idle = 1;
            }
            // Nobody above notices what happens in a throttled queue.
            if self.is_cut_off(q) {
                self.hrtick_update(cpu);
                return;
            }
            // The ancestors wake up, whatever brought the task.
            flags = Enqueue { wakeup: true, ..Enqueue::default() };
            at = parent;
        }
        while let Some(se) = at {
            let (q, parent) = self.refresh_ancestor(se, &mut slice_below);
            let queue = &mut self.queues[q];
            change.add_to(queue);
            if queue.idle {
                change.idle = 1;
            }
            if self.is_cut_off(q) {
                self.hrtick_update(cpu);
                return;
            }
            at = parent;
        }
        self.add_running(cpu);
        self.hrtick_update(cpu);
    }

    /// Something joined or left below an ancestor that stays queued. `slice` is that with which the group below
    /// competes, and becomes that of the one above. Returns the ancestor's queue and its own parent.
    fn refresh_ancestor(&mut self, se: EntityId, slice: &mut Option<Nanos>) -> (QueueId, Option<EntityId>) {
        let entity = &self.entities[se];
        let (q, parent) = (entity.queue, entity.parent);
        self.update_load(q, se, LoadUpdate::AgeAndReport);
        self.note_runnable(se);
        self.reweigh(q, se);
        if self.config.variants.group_slices {
            let queue = &mut self.queues[q];
            self.entities[se].slice = slice.unwrap_or(Nanos(0));
            if queue.curr != Some(se) {
                queue.timeline.refresh::<ByDeadline>(&mut self.entities, se);
            }
            *slice = Some(queue.shortest_slice(&self.entities));
        }
        (q, parent)
    }

    /// The slice with which the group of queue `q` competes, if not with that of everybody else.
    #[inline]
    fn group_slice(&self, q: QueueId) -> Option<Nanos> {
        self.config.variants.group_slices.then(|| self.queues[q].shortest_slice(&self.entities))
    }

    /// A task leaves its CPU's fair queues. Returns false if its dequeue is delayed: it sleeps, but competes
    /// on until its lag is paid back.
    pub(crate) fn fair_dequeue(&mut self, task: TaskId, flags: Dequeue) -> bool {
        let t = &self.tasks[task];
        let (cpu, se) = (t.cpu, t.entity);
        let moving = t.on_rq == OnRq::Migrating || flags.save;
        if self.is_taken_from_limbo(task, flags) {
            return true;
        }
        let odd = self.config.variants.util_est == UtilEst::OddSample;
        let stays = self.entities[se].delayed && moving;
        if !(odd || stays) {
            self.util_est_dequeue(cpu, se);
        }
        // Whether the estimate sees the time up to now, or up to the last update before.
        let late = odd || self.config.variants.util_est == UtilEst::SampleAndAverage;
        if flags.sleep && !late {
            self.util_est_update(cpu, se);
        }
        if !self.dequeue_hierarchy(cpu, se, flags) {
            return false;
        }
        if odd {
            self.util_est_dequeue(cpu, se);
        }
        if flags.sleep && late {
            self.util_est_update(cpu, se);
        }
        self.hrtick_update(cpu);
        true
    }

    /// An entity leaves, and with it those ancestors that become empty. Returns false if it is a task whose
    /// dequeue is delayed.
    fn dequeue_hierarchy(&mut self, cpu: CpuId, se: EntityId, flags: Dequeue) -> bool {
        let was_sched_idle = self.is_sched_idle(cpu);
        let task = self.entities[se].task();
        // A group that completes a delayed dequeue has nobody in it: no counts change.
        let queued = u32::from(task.is_some());
        let mut change = CountChange { queued, runnable: queued, delayed: 0, idle: 0 };
        if let Some(task) = task {
            change.idle = u32::from(self.tasks[task].policy == Policy::Idle);
            change.delayed = u32::from(!flags.sleep && !flags.delayed && self.entities[se].delayed);
            change.runnable -= change.delayed;
        }
        match self.dequeue_upwards(se, flags, &mut change) {
            Reached::Delayed => return false,
            Reached::Throttled => {}
            Reached::Root => {
                self.cpus[cpu].nr_running -= change.queued;
                if !was_sched_idle && self.is_sched_idle(cpu) {
                    // Only idle-policy tasks are left: there may be better ones elsewhere.
                    self.cpus[cpu].balance.next_balance = self.jiffies();
                }
            }
        }
        if let Some(task) = task.filter(|_| flags.delayed) {
            self.hrtick_update(cpu);
            self.tasks[task].on_rq = OnRq::No;
        }
        true
    }

    fn dequeue_upwards(&mut self, se: EntityId, flags: Dequeue, change: &mut CountChange) -> Reached {
        let (sleeps, goes_to_limbo) = (flags.sleep, flags.throttle);
        let mut flags = flags;
        let mut slice_below = None;
        let mut at = Some(se);
        while let Some(se) = at {
            let entity = &self.entities[se];
            let (q, parent) = (entity.queue, entity.parent);
            if !self.dequeue_entity(q, se, flags) {
                if self.entities[se].is_task() {
                    return Reached::Delayed;
                }
                slice_below = self.group_slice(q);
                break;
            }
            let queue = &mut self.queues[q];
            change.sub_from(queue);
            if queue.idle {
                change.idle = change.queued;
            }
            let empty = queue.load.0 == 0;
            if self.is_cut_off(q) {
                return Reached::Throttled;
            }
            if goes_to_limbo {
                self.note_throttled_task(q);
            }
            at = parent;
            if !empty {
                slice_below = self.group_slice(q);
                if let Some(parent) = at.filter(|_| sleeps && !self.is_out_of_play(q)) {
                    self.group_goes_on(parent);
                }
                break;
            }
            flags = Dequeue { sleep: true, delayed: false, special: false, ..flags };
        }
        while let Some(se) = at {
            let (q, parent) = self.refresh_ancestor(se, &mut slice_below);
            let queue = &mut self.queues[q];
            change.sub_from(queue);
            if queue.idle {
                change.idle = change.queued;
            }
            if self.is_cut_off(q) {
                return Reached::Throttled;
            }
            if goes_to_limbo {
                self.note_throttled_task(q);
            }
            at = parent;
        }
        Reached::Root
    }

    /// The dequeue of a delayed entity is completed: it has been paid back, or it is needed elsewhere.
    pub(crate) fn finish_delayed(&mut self, cpu: CpuId, se: EntityId) {
        self.dequeue_hierarchy(cpu, se, Dequeue { sleep: true, delayed: true, ..Dequeue::default() });
    }

    /// The task that should run, if there is any (`pick_task_fair()`).
    pub(crate) fn fair_pick(&mut self, cpu: CpuId) -> Option<TaskId> {
        let root = self.cpus[cpu].root;
        'again: loop {
            if self.queues[root].nr_queued == 0 {
                return None;
            }
            let now = self.cpus[cpu].clock_task;
            let mut q = root;
            let mut throttled = false;
            loop {
                if let Some(curr) = self.queues[q].curr
                    && self.entities[curr].on_rq
                {
                    self.charge_until(q, curr, now);
                }
                if self.throttle_at_pick(cpu, q) {
                    if self.throttles_queues() {
                        continue 'again;
                    }
                    throttled = true;
                }
                let se = self.pick_entity(q);
                self.picked(q, se);
                if self.config.variants.cfs.picked_is_no_buddy {
                    self.clear_buddies(q, se);
                }
                let entity = &self.entities[se];
                if entity.delayed {
                    self.finish_delayed(cpu, se);
                    debug_assert!(
                        !self.config.features.has(Feature::DelayZero) || self.entities[se].vlag == VDelta(0),
                        "I16: eligible, it has no debt left, and credit is forfeited"
                    );
                    continue 'again;
                }
                match entity.my_queue {
                    Some(below) => q = below,
                    None => {
                        let task = entity.task();
                        if throttled && let Some(task) = task {
                            self.set_throttle_work(cpu, task);
                        }
                        return task;
                    }
                }
            }
        }
    }

    /// Throttles a queue that has nothing left before somebody is picked from it. Returns true if it is
    /// throttled now; if that is as a whole, the pick has to begin anew. A kernel that picks and descends at once then puts the
    /// running task aside first, and after that looks no further.
    #[inline]
    fn throttle_at_pick(&mut self, cpu: CpuId, q: QueueId) -> bool {
        let at_once = self.config.variants.descent == Descent::WhilePicking;
        if at_once && self.queues[q].curr.is_none() || !self.throttle_if_exhausted(q) {
            return false;
        }
        if at_once
            && self.queues[self.cpus[cpu].root].nr_queued != 0
            && let Some(prev) = self.cpus[cpu].curr
        {
            self.fair_put_prev(prev);
        }
        true
    }

    /// The running task has been put aside already.
    pub(crate) fn is_put_aside(&self, cpu: CpuId) -> bool {
        self.queues[self.cpus[cpu].root].curr.is_none()
    }

    /// `next` takes over from `prev`; both are fair. Only the levels at which they differ are touched.
    pub(crate) fn fair_switch(&mut self, prev: TaskId, next: TaskId) {
        let mut from = self.tasks[prev].entity;
        let mut to = self.tasks[next].entity;
        while self.entities[from].queue != self.entities[to].queue {
            let (from_depth, to_depth) = (self.entities[from].depth, self.entities[to].depth);
            if to_depth <= from_depth {
                self.put_prev_entity(self.entities[from].queue, from);
                from = self.entities[from].parent.expect("different queues have a common ancestor");
            }
            if to_depth >= from_depth {
                self.set_next_entity(self.entities[to].queue, to);
                to = self.entities[to].parent.expect("different queues have a common ancestor");
            }
        }
        let q = self.entities[from].queue;
        self.put_prev_entity(q, from);
        self.set_next_entity(q, to);
    }

    /// A fair task stops running.
    pub(crate) fn fair_put_prev(&mut self, task: TaskId) {
        let mut at = Some(self.tasks[task].entity);
        while let Some(se) = at {
            self.put_prev_entity(self.entities[se].queue, se);
            at = self.entities[se].parent;
        }
    }

    /// A fair task becomes the running one.
    pub(crate) fn fair_set_next(&mut self, task: TaskId) {
        let mut at = Some(self.tasks[task].entity);
        while let Some(se) = at {
            let q = self.entities[se].queue;
            self.set_next_entity(q, se);
            // It may have come to a queue that has nothing left.
            self.charge_runtime(q, Nanos::ZERO);
            at = self.entities[se].parent;
        }
    }

    /// The same, beginning at the root.
    pub(crate) fn fair_set_next_from_root(&mut self, se: EntityId) {
        if let Some(parent) = self.entities[se].parent {
            self.fair_set_next_from_root(parent);
        }
        self.set_next_entity(self.entities[se].queue, se);
    }

    /// The timer interrupt, or a precise one at the end of a slice, hits a fair task.
    pub(crate) fn fair_tick(&mut self, task: TaskId, precise: bool) {
        let cpu = self.tasks[task].cpu;
        let mut at = Some(self.tasks[task].entity);
        while let Some(se) = at {
            let entity = &self.entities[se];
            let q = entity.queue;
            at = entity.parent;
            self.update_curr(q);
            self.update_load(q, se, LoadUpdate::AgeAndReport);
            self.reweigh(q, se);
            if precise {
                self.resched(cpu);
            } else if !self.precise_timer_decides(cpu) {
                self.tick_entity(q, se);
            }
        }
    }

    /// The end of the turn is left to the precise timer, if one is set.
    fn precise_timer_decides(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].hrtick_set && !self.config.features.has(Feature::DoubleTick)
    }

    /// Sets the precise timer to the end of the running task's turn, if that is asked for and anybody else
    /// wants to run (`hrtick_start_fair()`).
    pub(crate) fn hrtick_update(&mut self, cpu: CpuId) {
        if !self.config.features.has(Feature::Hrtick) {
            return;
        }
        let rq = &self.cpus[cpu];
        let Some(task) = rq.curr.filter(|&t| self.tasks[t].policy.is_fair()) else { return };
        if self.queues[rq.root].h_nr_queued <= 1 {
            return;
        }
        let se = self.tasks[task].entity;
        let entity = &self.entities[se];
        let turn = self.turn(se);
        let ran = entity.sum_exec.saturating_sub(entity.prev_sum_exec);
        if ran > turn {
            self.resched(cpu);
            return;
        }
        // Shorter timers cost more than they are worth (`hrtick_start()`).
        let left = (turn - ran).max(Nanos(10_000));
        self.set_hrtick(cpu, Some(self.now + left));
    }

    /// Sets or clears the precise timer.
    pub(crate) fn set_hrtick(&mut self, cpu: CpuId, at: Option<Instant>) {
        self.cpus[cpu].hrtick_set = at.is_some();
        self.push(Effect::Hrtick { cpu, at });
    }
}
