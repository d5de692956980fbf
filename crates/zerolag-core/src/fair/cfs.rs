// SPDX-License-Identifier: GPL-2.0-only
//! The Completely Fair Scheduler, as in Linux 6.1.
//!
//! Each entity's vruntime is the CPU time it had, divided by its weight. Whoever has least runs next; so all
//! stay close together, and each gets CPU time in proportion to its weight.
//!
//! ```text
//!   vruntime:      min                                        the running one moves to the right
//!                   │  L        T2            curr ──►
//!   ────────────────┼──┴────────┴──────────────┴────────►
//!                   │           ╰─ gran(T2) ─╯
//!        never goes back: where joiners are placed
//! ```
//!
//! A queue's least vruntime `min` only moves forwards, and joiners are placed by it. So a sleeper comes back
//! a little behind the others at most, however long it slept, and a newcomer one slice ahead of them.
//!
//! Vruntimes of different queues have nothing to do with each other. An entity that leaves a queue without
//! going to sleep takes along its distance to that queue's `min`, and adds the next one's when it joins. A
//! sleeper keeps the vruntime itself: it may come back to the same queue.
//!
//! How long a turn is follows from the period in which everybody runs once:
//!
//! ```text
//!     period(n) = latency, or n * min_granularity if that is longer
//!     slice = period * w/W at each level of the hierarchy
//! ```
//!
//! Properties, each checked by a test of that name:
//! * the least vruntime never goes back;
//! * a joiner is never placed before the sleeper credit;
//! * turns of equal competitors add up to the period;
//! * adding a constant to all vruntimes changes no decision.
//!
//! Source: kernel/sched/fair.c of 6.1.192.

use core::cmp::Ordering;

use crate::config::Tunables;
use crate::entity::{Entity, inverse_of_table, scale_by_weights};
use crate::fair::queue::CfsRq;
use crate::fair::timeline::{Entities, successor};
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::nice::{LoadWeight, Policy};
use crate::scheduler::Scheduler;
use crate::task::{OnRq, TaskState};
use crate::units::{Nanos, VDelta, VTime};
use crate::variants::MinOnLeaving;

/// A sleep so long that vruntimes may have wrapped meanwhile: `min` advances at most 1024 times as fast as
/// time, and differences are good up to 2^63.
const LONG_SLEEP: Nanos = Nanos((1 << 63) / 1024);

impl Tunables {
    /// The period in which each of `nr` tasks runs once (`__sched_period()`).
    pub(super) fn period(&self, nr: u32) -> Nanos {
        if nr > self.nr_latency {
            Nanos(self.min_granularity.0.saturating_mul(u64::from(nr)))
        } else {
            self.latency
        }
    }
}

impl CfsRq {
    /// Moves `min` forward to the least vruntime of those that compete (`update_min_vruntime()`).
    /// `leaver_holds` = the running entity counts even if it has left.
    #[inline]
    pub(crate) fn advance_min_vruntime(&mut self, entities: &Entities, leaver_holds: bool) {
        let curr = if leaver_holds { self.curr } else { self.competing_curr(entities) };
        let curr = curr.map(|c| entities[c].vruntime);
        let first = self.timeline.first().map(|f| entities[f].vruntime);
        let least = match (curr, first) {
            (Some(c), Some(f)) => c.min(f),
            (Some(v), None) | (None, Some(v)) => v,
            (None, None) => return,
        };
        self.anchor = self.anchor.max(least);
    }

    /// True if everybody who competes is idle (`sched_idle_cfs_rq()`).
    const fn all_idle(&self) -> bool {
        self.nr_queued != 0 && self.nr_queued == self.idle_nr
    }

    /// The entity that should run (`pick_next_entity()`): the leftmost, unless it yielded or somebody else
    /// may go first who is not more than the wake-up granularity ahead of it. The queue is not empty.
    pub(crate) fn pick_cfs(&self, entities: &Entities, granularity: Nanos) -> EntityId {
        let curr = self.competing_curr(entities);
        let comes_first = |a: EntityId, b: EntityId| entities[a].vruntime.before(entities[b].vruntime);
        let first_waiting = self.timeline.first();
        let leftmost = match (first_waiting, curr) {
            (Some(f), Some(c)) if comes_first(c, f) => c,
            (Some(f), _) => f,
            (None, c) => c.expect("somebody competes in a non-empty queue"),
        };
        let is_fair =
            |id: EntityId| lead(&entities[id], &entities[leftmost], granularity) != Ordering::Greater;
        if let Some(next) = self.next.filter(|&n| is_fair(n)) {
            return next;
        }
        if let Some(last) = self.last.filter(|&l| is_fair(l)) {
            return last;
        }
        if self.skip == Some(leftmost) {
            let second = if curr == Some(leftmost) {
                first_waiting
            } else {
                match (successor(entities, leftmost), curr) {
                    (Some(s), Some(c)) if comes_first(c, s) => Some(c),
                    (s, c) => s.or(c),
                }
            };
            if let Some(second) = second.filter(|&s| is_fair(s)) {
                return second;
            }
        }
        leftmost
    }
}

/// Whether `ahead` is ahead of `se`, by more than the wake-up granularity (`Greater`), by less (`Equal`), or
/// not at all (`Less`). The granularity counts in the time of `se`: the light have to be further behind
/// (`wakeup_preempt_entity()`).
pub(crate) fn lead(ahead: &Entity, se: &Entity, granularity: Nanos) -> Ordering {
    let lead = ahead.vruntime.since(se.vruntime).0;
    if lead <= 0 {
        Ordering::Less
    } else if lead > se.virtual_span_of(granularity) as i64 {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// The vruntime given to a joiner whose own is `vruntime`, if the queue's least is `min`
/// (`place_entity()`). It is never moved back, so that sleeping often gains nothing.
const fn placed(vruntime: VTime, min: VTime, debit: VDelta, credit: VDelta) -> VTime {
    vruntime.max(VTime(min.0.wrapping_add(debit.0 as u64).wrapping_sub(credit.0 as u64)))
}

impl Scheduler {
    /// How long a turn the entity is due, in wall time (`sched_slice()`). One that is not queued is counted
    /// in at each level.
    pub(crate) fn cfs_slice(&self, q: QueueId, se: EntityId) -> Nanos {
        let (features, tunables) = (self.config.features, &self.config.tunables);
        let rules = self.config.variants.load;
        let queue = &self.queues[q];
        let nr = if features.has(Feature::AltPeriod) {
            self.queues[self.cpus[queue.cpu].root].h_nr_queued
        } else {
            queue.nr_queued
        };
        let mut slice = tunables.period(nr + u32::from(!self.entities[se].on_rq)).0;
        let mut at = Some(se);
        while let Some(id) = at {
            let entity = &self.entities[id];
            let mut load = self.queues[entity.queue].load;
            if !entity.on_rq {
                load.0 += entity.weight.0;
            }
            slice = scale_by_weights(slice, rules.table(entity.weight), inverse_of_table(rules.table(load)));
            at = entity.parent;
        }
        if features.has(Feature::BaseSlice) {
            let least = if self.is_idle_entity(se) && !queue.all_idle() {
                tunables.idle_min_granularity
            } else {
                tunables.min_granularity
            };
            slice = slice.max(least.0);
        }
        Nanos(slice)
    }

    /// How far behind `min` a waking entity may stand.
    fn sleeper_credit(&self, se: EntityId) -> VDelta {
        let tunables = &self.config.tunables;
        let idle = self.config.variants.cfs.idle_credit && self.is_idle_entity(se);
        let credit = if idle { tunables.min_granularity } else { tunables.latency };
        let halve = self.config.features.has(Feature::GentleFairSleepers);
        VDelta((credit.0 >> u32::from(halve)) as i64)
    }

    fn slept_long(&self, q: QueueId, se: EntityId) -> bool {
        let last_ran = self.entities[se].exec_start;
        let now = self.cpus[self.queues[q].cpu].clock_task;
        self.config.variants.cfs.forgets_long_sleeps
            && last_ran.0 != 0
            && now.saturating_since(last_ran) > LONG_SLEEP
    }

    fn place_sleeper(&mut self, q: QueueId, se: EntityId) {
        let (min, credit) = (self.queues[q].anchor, self.sleeper_credit(se));
        let vruntime = if self.slept_long(q, se) { min - credit } else { self.entities[se].vruntime };
        self.entities[se].vruntime = placed(vruntime, min, VDelta(0), credit);
    }

    /// An entity joins: if it did not sleep, or slept elsewhere, its vruntime is relative and becomes
    /// absolute; if it wakes up it gets the sleeper credit (`enqueue_entity()`).
    pub(crate) fn cfs_place(&mut self, q: QueueId, se: EntityId, flags: Enqueue) {
        if (!flags.wakeup || flags.relative) && !flags.absolute {
            let min = self.queues[q].anchor;
            self.entities[se].vruntime += VDelta(min.0 as i64);
        }
        if flags.wakeup {
            self.place_sleeper(q, se);
        }
    }

    /// An entity has left (`dequeue_entity()`): its vruntime becomes relative, unless it sleeps. Then `min`
    /// moves on, as it may have been what held it back; but not if it only is to be changed and comes right
    /// back, which would cost it what the others gained.
    pub(crate) fn cfs_left(&mut self, q: QueueId, se: EntityId, flags: Dequeue) {
        if !flags.sleep {
            self.make_relative(q, se);
        }
        let rules = self.config.variants.cfs;
        let returns = flags.save && !flags.moves;
        let moves_on = match rules.min_on_leaving {
            MinOnLeaving::Always => true,
            MinOnLeaving::IfReturning => returns,
            MinOnLeaving::UnlessReturning => !returns,
        };
        if moves_on {
            self.queues[q].advance_min_vruntime(&self.entities, rules.leaver_holds_min);
        }
    }

    /// Kernels that make vruntimes absolute before the running entity is charged do so now.
    pub(crate) fn make_absolute_early(&mut self, q: QueueId, se: EntityId, flags: &mut Enqueue) {
        if self.config.variants.cfs.absolute_before_charge && (!flags.wakeup || flags.relative) {
            let min = self.queues[q].anchor;
            self.entities[se].vruntime += VDelta(min.0 as i64);
            flags.absolute = true;
        }
    }

    pub(crate) fn make_relative(&mut self, q: QueueId, se: EntityId) {
        let min = self.queues[q].anchor;
        self.entities[se].vruntime -= VDelta(min.0 as i64);
    }

    /// Places a new task, one turn ahead of `min`: the current period is promised to others already
    /// (`task_fork_fair()`). Whoever runs in the same group counts as its parent.
    pub(crate) fn cfs_fork(&mut self, q: QueueId, se: EntityId) {
        let cpu = self.queues[q].cpu;
        self.update_clock(cpu);
        let parent = self.queues[q].curr;
        if let Some(parent) = parent {
            self.update_curr(q);
            self.entities[se].vruntime = self.entities[parent].vruntime;
        }
        let debit = if self.config.features.has(Feature::StartDebit) {
            let slice = self.cfs_slice(q, se);
            self.entities[se].virtual_span(slice)
        } else {
            0
        };
        let min = self.queues[q].anchor;
        let vruntime = placed(self.entities[se].vruntime, min, VDelta(debit as i64), VDelta(0));
        self.entities[se].vruntime = vruntime;
        if let Some(parent) = parent.filter(|_| self.config.tunables.child_runs_first) {
            let ahead = self.entities[parent].vruntime;
            if ahead.before(vruntime) {
                self.entities[parent].vruntime = vruntime;
                self.entities[se].vruntime = ahead;
                self.resched(cpu);
            }
        }
        self.make_relative(q, se);
    }

    /// Whether a task's vruntime is relative (`vruntime_normalized()`). It is for one that is queued and just
    /// taken out, for one under way to another CPU, and taken to be for one that never ran.
    fn has_relative_vruntime(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let entity = &self.entities[t.entity];
        t.on_rq != OnRq::No
            || entity.sum_exec == Nanos::ZERO
            || ((entity.avg.last_update_time.0 == 0 || self.config.variants.cfs.absolute_before_charge)
                && self.wake_lists[t.cpu].contains(&task))
    }

    /// A fair task is about to leave its queue for another group's, or the class. A sleeper's vruntime
    /// becomes relative after it was given the usual credit: else the time asleep would be worth more
    /// elsewhere.
    pub(crate) fn cfs_detach(&mut self, task: TaskId) {
        if self.has_relative_vruntime(task) {
            return;
        }
        let se = self.tasks[task].entity;
        let q = self.entities[se].queue;
        self.place_sleeper(q, se);
        self.make_relative(q, se);
    }

    /// The counterpart of [`Scheduler::cfs_detach`].
    pub(crate) fn cfs_attach(&mut self, task: TaskId) {
        if !self.has_relative_vruntime(task) {
            let se = self.tasks[task].entity;
            let min = self.queues[self.entities[se].queue].anchor;
            self.entities[se].vruntime += VDelta(min.0 as i64);
        }
    }

    /// A sleeper is woken on another CPU.
    pub(crate) fn cfs_migrate(&mut self, task: TaskId) {
        if matches!(self.tasks[task].state, TaskState::Sleeping | TaskState::Uninterruptible)
            && self.tasks[task].on_rq == OnRq::No
            && !self.config.variants.cfs.absolute_before_charge
        {
            let se = self.tasks[task].entity;
            self.make_relative(self.entities[se].queue, se);
        }
    }

    /// The tick finds `curr` running at one level, with others waiting (`check_preempt_tick()`). It has to
    /// go after its turn; or, after the shortest turn, if it has got that far ahead of the first.
    pub(crate) fn cfs_tick(&mut self, q: QueueId, curr: EntityId) {
        let cpu = self.queues[q].cpu;
        if self.queues[q].nr_queued <= 1 {
            return;
        }
        let turn = self.cfs_slice(q, curr);
        let entity = &self.entities[curr];
        let ran = Nanos(entity.sum_exec.0.wrapping_sub(entity.prev_sum_exec.0));
        if ran > turn {
            self.resched(cpu);
            // It had its turn: no favours.
            self.clear_buddies(q, curr);
            return;
        }
        if ran < self.config.tunables.min_granularity {
            return;
        }
        let Some(first) = self.queues[q].timeline.first() else { return };
        let lead = entity.vruntime.since(self.entities[first].vruntime).0;
        if lead > turn.0 as i64 {
            self.resched(cpu);
        }
    }

    /// The running task lets others go first who are not too far ahead.
    pub(crate) fn cfs_yield(&mut self, cpu: CpuId, task: TaskId) {
        let t = &self.tasks[task];
        let (se, batch) = (t.entity, t.policy == Policy::Batch);
        if !batch {
            self.update_clock(cpu);
            self.update_curr(self.entities[se].queue);
            self.cpus[cpu].skip_requested = true;
        }
        self.set_skip_buddy(se);
    }

    /// Changes an entity's weight. Where it stands does not change: the past was paid for at the old rate
    /// (`reweight_entity()`).
    pub(crate) fn cfs_reweight(&mut self, q: QueueId, se: EntityId, load: LoadWeight) {
        let queued = self.entities[se].on_rq;
        let old = self.entities[se].weight;
        if queued {
            if self.queues[q].curr == Some(se) {
                self.update_curr(q);
            }
            self.queues[q].load.0 -= old.0;
        }
        self.reweight_load(q, se, |entity| (entity.weight, entity.inverse) = (load.weight, load.inverse));
        if queued {
            self.queues[q].load.0 += load.weight.0;
        }
    }
}

#[cfg(test)]
mod tests;
