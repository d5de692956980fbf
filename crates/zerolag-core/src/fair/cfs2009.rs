// SPDX-License-Identifier: GPL-2.0-only
//! CFS as it was in early 2009, and what the patch "prefer wakers" made of it.
//!
//! The idea is that of [`super::cfs`]; what differs is how much of it was decided by rules of thumb:
//!
//! | | 2009 | later |
//! |---|---|---|
//! | vruntime | absolute, always; shifted when a task changes CPU | relative to `min` between queues |
//! | sleepers | may be a whole period behind, in their own time or in everybody's | half a period |
//! | buddies | each wake-up makes the wakee `next` and the running one `last` | in a crowd, or if it preempts |
//! | preemption | at any level of the hierarchy | where both are siblings |
//! | yield | loses the favours, keeps the place | is skipped once |
//! | turn | begins anew at each pick | goes on if the same is picked |
//! | arithmetic | rounds to nearest twice | drops bits |
//!
//! The wake-up granularity is a constant, scaled by somebody's weight. The patch lets it shrink for tasks that
//! wake others often, so that the work they hand out is there sooner:
//!
//! ```text
//!     expected = 2 * (mean run between wake-ups) * (entities in the queue)
//!     granularity = min(max(expected - ran so far, 0), the constant)
//! ```
//!
//! Source: kernel/sched_fair.c and kernel/sched.c of 2.6.29; the patches "sched: introduce avg_wakeup" and
//! "sched: prefer wakers" of January 2009.

use core::cmp::Ordering;

use crate::entity::Entity;
use crate::fair::queue::CfsRq;
use crate::fair::timeline::Entities;
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::nice::{LoadWeight, Policy};
use crate::scheduler::{Arrival, Scheduler};
use crate::units::{Nanos, VDelta, VTime, Weight};
use crate::variants::AsymGran;

/// `2^32 / weight`, nearly: so that it fits in 32 bits for a weight of 1, and is never 0.
const fn rounded_inverse(weight: u64) -> u64 {
    1 + ((1 << 32) - weight / 2) / (weight + 1)
}

/// `span * weight / w`, where `inverse` is about `2^32 / w` (`calc_delta_mine()`). A product beyond 32 bits
/// loses half of the shift before it is multiplied, so that nothing overflows; each shift rounds to nearest.
const fn scale_rounded(span: u64, weight: u64, inverse: u64) -> u64 {
    const fn shift(value: u64, bits: u32) -> u64 {
        value.wrapping_add(1 << (bits - 1)) >> bits
    }
    let product = span.wrapping_mul(weight);
    let scaled = if product > 1 << 32 {
        shift(shift(product, 16).wrapping_mul(inverse), 16)
    } else {
        shift(product.wrapping_mul(inverse), 32)
    };
    if scaled > i64::MAX as u64 { i64::MAX as u64 } else { scaled }
}

impl Entity {
    /// Virtual time in which this entity receives `wall` of service, rounded as in 2009
    /// (`calc_delta_fair()`).
    pub(super) fn rounded_span(&self, wall: Nanos) -> u64 {
        if self.weight == Weight::NICE_0 {
            return wall.0;
        }
        let inverse = match self.inverse {
            0 => rounded_inverse(self.table_weight()),
            known => u64::from(known),
        };
        scale_rounded(wall.0, 1024, inverse)
    }
}

impl CfsRq {
    /// Moves `min` forward. The running entity counts even if it has just left (`update_min_vruntime()`).
    pub(super) fn advance_min_vruntime_2009(&mut self, entities: &Entities) {
        let curr = self.curr.map(|c| entities[c].vruntime);
        let first = self.timeline.first().map(|f| entities[f].vruntime);
        let least = match (curr, first) {
            (Some(c), Some(f)) => c.min(f),
            (Some(v), None) | (None, Some(v)) => v,
            (None, None) => return,
        };
        self.anchor = self.anchor.max(least);
    }
}

/// `vruntime` is numerically less. The kernel forgot the wrap-around in two places, and so it is here.
const fn naively_before(a: VTime, b: VTime) -> bool {
    a.0 < b.0
}

impl Scheduler {
    /// How long a turn the entity is due, in wall time (`sched_slice()`). One that is not queued is counted in
    /// at each level.
    pub(super) fn cfs2009_slice(&self, q: QueueId, se: EntityId) -> Nanos {
        let nr = self.queues[q].nr_queued + u32::from(!self.entities[se].on_rq);
        let mut slice = self.config.tunables.period(nr).0;
        let mut at = Some(se);
        while let Some(id) = at {
            let entity = &self.entities[id];
            let mut load = self.queues[entity.queue].load;
            if !entity.on_rq {
                load.0 += entity.weight.0;
            }
            slice = scale_rounded(slice, entity.table_weight(), rounded_inverse(load.down()));
            at = entity.parent;
        }
        Nanos(slice)
    }

    /// Places a new task, one turn after `min`; or one that has come into another group, be it asleep or not.
    fn place_newcomer(&mut self, q: QueueId, se: EntityId) {
        let mut vruntime = self.queues[q].anchor;
        if self.config.features.has(Feature::StartDebit) {
            let turn = self.cfs2009_slice(q, se);
            vruntime += VDelta(self.entities[se].rounded_span(turn) as i64);
        }
        self.entities[se].vruntime = vruntime;
    }

    /// An entity joins. Only one that wakes up is placed: up to one period behind `min`, but never back.
    pub(super) fn cfs2009_place(&mut self, q: QueueId, se: EntityId, flags: Enqueue) {
        if !flags.wakeup {
            return;
        }
        let mut vruntime = self.queues[q].anchor;
        let features = self.config.features;
        if features.has(Feature::NewFairSleepers) {
            let latency = self.config.tunables.latency;
            let entity = &self.entities[se];
            // In its own time: a heavy sleeper gets less, a light one more.
            let own_time = features.has(Feature::NormalizedSleeper) && !entity.idle_policy;
            let credit = if own_time { entity.rounded_span(latency) } else { latency.0 };
            vruntime -= VDelta(credit as i64);
        }
        let entity = &mut self.entities[se];
        entity.vruntime = entity.vruntime.max(vruntime);
    }

    /// A new task starts, by order of somebody on `this_cpu` (`task_new_fair()`). If that is where it starts
    /// it may change places with whoever runs there in its group.
    pub(super) fn cfs2009_start(&mut self, this_cpu: CpuId, se: EntityId) {
        let q = self.entities[se].queue;
        self.update_curr(q);
        self.place_newcomer(q, se);
        let cpu = self.queues[q].cpu;
        let Some(curr) = self.queues[q].curr.filter(|_| this_cpu == cpu) else { return };
        if !self.config.tunables.child_runs_first {
            return;
        }
        let (parent, child) = (self.entities[curr].vruntime, self.entities[se].vruntime);
        if naively_before(parent, child) {
            self.entities[curr].vruntime = child;
            self.entities[se].vruntime = parent;
            self.resched(cpu);
        }
    }

    /// A task has come into another group (`moved_group_fair()`).
    pub(super) fn cfs2009_regrouped(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        self.update_curr(q);
        self.place_newcomer(q, se);
    }

    /// A task goes to another CPU: it keeps its distance to `min` (`set_task_cpu()`).
    pub(super) fn cfs2009_migrate(&mut self, se: EntityId, to: QueueId) {
        let from = self.queues[self.entities[se].queue].anchor;
        let shift = from.since(self.queues[to].anchor);
        self.entities[se].vruntime -= shift;
    }

    /// The entity that should run (`pick_next_entity()`): the next or the last buddy if it is not too far ahead
    /// of the leftmost, else that. Nobody runs at this level, and somebody waits.
    pub(super) fn cfs2009_pick(&self, q: QueueId) -> EntityId {
        let queue = &self.queues[q];
        let leftmost = queue.timeline.first().expect("somebody waits in a non-empty queue");
        let is_fair = |&buddy: &EntityId| self.lead_2009(buddy, leftmost) != Ordering::Greater;
        queue.next.filter(is_fair).or_else(|| queue.last.filter(is_fair)).unwrap_or(leftmost)
    }

    /// Whoever is picked has used up the favour.
    pub(super) fn cfs2009_picked(&mut self, q: QueueId, se: EntityId) {
        let queue = &mut self.queues[q];
        for buddy in [&mut queue.last, &mut queue.next] {
            if *buddy == Some(se) {
                *buddy = None;
            }
        }
    }

    /// The entity and all its ancestors are no longer anybody's buddies.
    pub(super) fn clear_buddies_2009(&mut self, se: EntityId) {
        let mut at = Some(se);
        while let Some(se) = at {
            self.cfs2009_picked(self.entities[se].queue, se);
            at = self.entities[se].parent;
        }
    }

    /// The tick finds `curr` running at one level (`check_preempt_tick()`). It has to go after its turn.
    pub(super) fn cfs2009_tick(&mut self, q: QueueId, curr: EntityId) {
        if self.queues[q].nr_queued <= 1 && self.config.features.has(Feature::WakeupPreempt) {
            return;
        }
        let turn = self.cfs2009_slice(q, curr);
        let entity = &self.entities[curr];
        if entity.sum_exec.saturating_sub(entity.prev_sum_exec) > turn {
            self.resched(self.queues[q].cpu);
            self.clear_buddies_2009(curr);
        }
    }

    /// The running task gives way (`yield_task_fair()`): it loses the favours. With `compat_yield`, or if it is
    /// of batch policy, it goes behind all others; otherwise it stays where it is.
    pub(super) fn cfs2009_yield(&mut self, cpu: CpuId, task: TaskId) {
        let se = self.tasks[task].entity;
        let q = self.entities[se].queue;
        if self.queues[q].nr_queued == 1 {
            return;
        }
        self.clear_buddies_2009(se);
        if !self.config.tunables.compat_yield && self.tasks[task].policy != Policy::Batch {
            self.update_clock(cpu);
            self.update_curr(q);
            return;
        }
        let Some(last) = self.queues[q].timeline.last(&self.entities) else { return };
        let rightmost = self.entities[last].vruntime;
        if !naively_before(rightmost, self.entities[se].vruntime) {
            self.entities[se].vruntime = rightmost + VDelta(1);
        }
    }

    /// Changes an entity's weight. A queued one leaves and comes back (`__set_se_shares()`).
    pub(super) fn cfs2009_reweight(&mut self, q: QueueId, se: EntityId, load: LoadWeight) {
        let queued = self.entities[se].on_rq;
        if queued {
            self.dequeue_entity(q, se, Dequeue::default());
        }
        let entity = &mut self.entities[se];
        (entity.weight, entity.inverse) = (load.weight, load.inverse);
        if queued {
            self.enqueue_entity(q, se, Enqueue::default());
        }
    }

    /// Whether `ahead` is ahead of `se` by more than the wake-up granularity (`Greater`), by less (`Equal`), or
    /// not at all (`Less`) (`wakeup_preempt_entity()`).
    fn lead_2009(&self, ahead: EntityId, se: EntityId) -> Ordering {
        let lead = self.entities[ahead].vruntime.since(self.entities[se].vruntime).0;
        if lead <= 0 {
            Ordering::Less
        } else if lead > self.granularity_2009(ahead, se) as i64 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// How far behind `runner` a wakee has to be to preempt it, in virtual time (`wakeup_gran()`).
    fn granularity_2009(&self, runner: EntityId, wakee: EntityId) -> u64 {
        let features = self.config.features;
        let mut granularity = self.config.tunables.wakeup_granularity;
        let (runner, wakee) = (&self.entities[runner], &self.entities[wakee]);
        if features.has(Feature::AdaptiveGran) && self.queues[runner.queue].curr.is_some() {
            granularity = self.adaptive_granularity(runner, wakee);
        }
        match (features.has(Feature::AsymGran), self.config.variants.wakers.asym_gran) {
            (true, AsymGran::HeavyRunner) if runner.weight <= Weight::NICE_0 => granularity.0,
            (true, AsymGran::Wakee) => wakee.rounded_span(granularity),
            _ => runner.rounded_span(granularity),
        }
    }

    /// The granularity for a wakee that is expected to wake others soon (`adaptive_gran()`). A group wakes
    /// nobody by itself, so that its mean is 0.
    fn adaptive_granularity(&self, runner: &Entity, wakee: &Entity) -> Nanos {
        let ran = runner.sum_exec.0.wrapping_sub(runner.prev_sum_exec.0);
        let mean = wakee.task().map_or(0, |t| self.tasks[t].wakes.avg_wakeup.0);
        let nr = u64::from(self.queues[wakee.queue].nr_queued);
        let expected = mean.wrapping_mul(2).wrapping_mul(nr);
        let left = expected.saturating_sub(ran) as i64;
        Nanos(left.min(self.config.tunables.wakeup_granularity.0 as i64) as u64)
    }

    /// A task became runnable where `curr` runs (`check_preempt_wakeup()`).
    pub(super) fn cfs2009_check_preempt(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        arrival: Arrival,
    ) {
        let features = self.config.features;
        let (mut se, mut wakee_se) = (self.tasks[curr].entity, self.tasks[wakee].entity);
        self.update_curr(self.entities[se].queue);
        if curr == wakee {
            return;
        }
        if features.has(Feature::LastBuddy) && self.entities[se].on_rq {
            self.set_buddy_2009(se, |queue| &mut queue.last);
        }
        self.set_buddy_2009(wakee_se, |queue| &mut queue.next);
        if self.cpus[cpu].need_resched || self.tasks[wakee].policy != Policy::Normal {
            return;
        }
        if self.tasks[curr].policy == Policy::Idle {
            return self.resched(cpu);
        }
        if !features.has(Feature::WakeupPreempt) {
            return;
        }
        if features.has(Feature::WakeupOverlap) && (arrival.is_sync() || self.overlap_little(curr, wakee)) {
            return self.resched(cpu);
        }
        self.find_siblings(&mut se, &mut wakee_se);
        loop {
            if self.lead_2009(se, wakee_se) == Ordering::Greater {
                return self.resched(cpu);
            }
            match (self.entities[se].parent, self.entities[wakee_se].parent) {
                (Some(a), Some(b)) => (se, wakee_se) = (a, b),
                _ => return,
            }
        }
    }

    /// Both sleep soon after they have woken somebody.
    fn overlap_little(&self, a: TaskId, b: TaskId) -> bool {
        let little = |t: TaskId| self.tasks[t].wakes.avg_overlap < self.config.tunables.migration_cost;
        little(a) && little(b)
    }

    /// The entity, and all its ancestors, become buddies of one kind. Tasks of idle policy never do.
    fn set_buddy_2009(&mut self, se: EntityId, kind: impl Fn(&mut CfsRq) -> &mut Option<EntityId>) {
        if self.entities[se].idle_policy {
            return;
        }
        let mut at = Some(se);
        while let Some(se) = at {
            *kind(&mut self.queues[self.entities[se].queue]) = Some(se);
            at = self.entities[se].parent;
        }
    }
}

#[cfg(test)]
mod tests;
