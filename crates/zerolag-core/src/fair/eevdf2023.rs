// SPDX-License-Identifier: GPL-2.0-only
//! EEVDF as it was posted in March 2023 and merged into 6.6: the timeline is ordered by vruntime.
//!
//! Virtual time, lag and requests are those of [`super::eevdf`]. What differs:
//!
//! | | March 2023 | 6.6 |
//! |---|---|---|
//! | request length | from latency nice | the base slice |
//! | a joiner | [`PLACE_FUDGE`, `PLACE_BONUS`](#placement) | by its lag |
//! | the running one gives way | at a tick, if it would not be picked | when its request is served |
//! | V is rounded | toward zero | down |
//! | weight changes while queued | vruntime and deadline stay | the rest of the request is rescaled |
//!
//! In both, a new task is placed twice: with half a request when it is made, and with a whole one when it is
//! queued for the first time, so that `PLACE_DEADLINE_INITIAL` has no effect but on what can be seen in
//! between.
//!
//! # The pick
//!
//! In order of vruntime, the eligible are a prefix: each step to the right from an eligible node leaves behind
//! a subtree in which everybody is eligible. The least deadline of each subtree is known, so the best of the
//! eligible is found in one descent along the edge of the prefix, and a second one in the best subtree left
//! behind.
//!
//! ```text
//!               v=7 d=27 │17         V = 8: 4 and 7 are eligible, 13 is not
//!              /             \
//!      v=4 d=17 │17      v=13 d=15 │15       the least deadline of all, 15, is out of reach
//! ```
//!
//! The series makes one descent only, and goes right at 7, since the least deadline lies there: it answers 7
//! where 4 is due earlier. [`Search`] says which of the three is meant.
//!
//! # Placement
//!
//! `PLACE_FUDGE`: a joiner whose request is shorter than those in the timeline on average would wait too long
//! for a debt from the time of longer requests. It forgets one request of it, and all its credit.
//! `PLACE_BONUS`: a wakee is put half a slice to the left, as a sleeper was by CFS, but not left of where it
//! fell asleep. Its deadline is not moved.
//!
//! Properties, each checked by a test of that name:
//! * the exact search finds the earliest deadline of the eligible;
//! * the search of 6.6 finds it too;
//! * the literal search errs only when a less urgent eligible one is found.
//!
//! Sources: "sched: EEVDF using latency-nice", 28 March 2023; kernel/sched/fair.c of 6.6.

use crate::fair::Enqueue;
use crate::fair::queue::CfsRq;
use crate::fair::timeline::{ByVruntimeWithDeadline, Entities};
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::nice::LoadWeight;
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta, VTime};
use crate::variants::{PreemptAt, Protection, Reweight, Search};

impl CfsRq {
    /// Puts an entity into the timeline and the sums.
    #[inline]
    pub(crate) fn insert_by_vruntime(&mut self, entities: &mut Entities, se: EntityId) {
        self.add_slice(&entities[se]);
        self.insert::<ByVruntimeWithDeadline>(entities, se);
    }

    /// Takes an entity out of the timeline and the sums.
    #[inline]
    pub(crate) fn remove_by_vruntime(&mut self, entities: &mut Entities, se: EntityId) {
        self.sub_slice(&entities[se]);
        self.remove::<ByVruntimeWithDeadline>(entities, se);
    }

    fn add_slice(&mut self, entity: &crate::entity::Entity) {
        let part = entity.slice.0.wrapping_mul(entity.table_weight());
        self.slice_weight_sum = self.slice_weight_sum.wrapping_add(part);
    }

    fn sub_slice(&mut self, entity: &crate::entity::Entity) {
        let part = entity.slice.0.wrapping_mul(entity.table_weight());
        self.slice_weight_sum = self.slice_weight_sum.wrapping_sub(part);
    }

    /// True if a slice is shorter than the weighted mean of those that wait.
    fn is_short(&self, slice: Nanos) -> bool {
        self.slice_weight_sum > slice.0.wrapping_mul(self.weight_sum)
    }

    /// The entity that should run, or nothing if the queue is empty (`pick_eevdf()`). The running one goes on
    /// if `guard` protects it.
    pub(crate) fn pick_by_vruntime(
        &self,
        entities: &Entities,
        search: Search,
        guard: Option<Protection>,
    ) -> Option<EntityId> {
        let curr = self.competing_curr(entities).filter(|&c| self.is_eligible(entities, c));
        if let Some(rule) = guard
            && let Some(c) = curr.filter(|&c| entities[c].is_protected(rule))
        {
            return Some(c);
        }
        let best = match search {
            Search::Literal => self.best_literally(entities),
            Search::Exact => self.best_eligible(entities),
            Search::TwoDescents => {
                return self.best_in_two_descents(entities, curr).or(self.timeline.first());
            }
        };
        let best = match (best, curr) {
            (Some(b), Some(c)) if entities[c].deadline.before(entities[b].deadline) => Some(c),
            (Some(b), _) => Some(b),
            (None, c) => c,
        };
        best.or(self.timeline.first())
    }

    /// The search of the series, which may leave the best behind.
    fn best_literally(&self, entities: &Entities) -> Option<EntityId> {
        let mean = self.mean(entities);
        let mut best: Option<EntityId> = None;
        let mut at = self.timeline.root();
        while let Some(id) = at {
            let node = &entities[id];
            if !self.is_eligible_at(mean, node.vruntime) {
                at = node.node.left();
                continue;
            }
            if best.is_none_or(|b| node.deadline.before(entities[b].deadline)) {
                best = Some(id);
                if node.deadline == node.subtree_min {
                    break;
                }
            }
            let left = node.node.left();
            let least_is_left = left.is_some_and(|l| entities[l].subtree_min == node.subtree_min);
            at = if least_is_left { left } else { node.node.right() };
        }
        best
    }

    /// The earliest deadline of the eligible; of several, the leftmost.
    fn best_eligible(&self, entities: &Entities) -> Option<EntityId> {
        let mean = self.mean(entities);
        /// What is best so far: one node, or somebody in a subtree.
        #[derive(Clone, Copy)]
        enum Best {
            Node(EntityId),
            Below(EntityId),
        }
        let mut best: Option<(VTime, Best)> = None;
        let improves = |best: &Option<(VTime, Best)>, d: VTime| best.is_none_or(|(b, _)| d.before(b));
        let mut at = self.timeline.root();
        while let Some(id) = at {
            let node = &entities[id];
            if !self.is_eligible_at(mean, node.vruntime) {
                at = node.node.left();
                continue;
            }
            if let Some(left) = node.node.left()
                && improves(&best, entities[left].subtree_min)
            {
                best = Some((entities[left].subtree_min, Best::Below(left)));
            }
            if improves(&best, node.deadline) {
                best = Some((node.deadline, Best::Node(id)));
            }
            at = node.node.right();
        }
        match best?.1 {
            Best::Node(id) => Some(id),
            Best::Below(top) => Some(leftmost_least(entities, top)),
        }
    }

    /// The search of 6.6. Among equal deadlines it prefers the subtree left behind, then the running entity.
    fn best_in_two_descents(&self, entities: &Entities, curr: Option<EntityId>) -> Option<EntityId> {
        let mean = self.mean(entities);
        let mut best = curr;
        let mut best_left: Option<EntityId> = None;
        let mut at = self.timeline.root();
        while let Some(id) = at {
            let node = &entities[id];
            if !self.is_eligible_at(mean, node.vruntime) {
                at = node.node.left();
                continue;
            }
            if best.is_none_or(|b| node.deadline.before(entities[b].deadline)) {
                best = Some(id);
            }
            if let Some(left) = node.node.left() {
                let least = entities[left].subtree_min;
                if best_left.is_none_or(|b| least.before(entities[b].subtree_min)) {
                    best_left = Some(left);
                }
                if least == node.subtree_min {
                    break;
                }
            }
            if node.deadline == node.subtree_min {
                break;
            }
            at = node.node.right();
        }
        match (best_left, best) {
            (Some(left), Some(b)) if !entities[b].deadline.before(entities[left].subtree_min) => {
                Some(first_least(entities, left))
            }
            (_, best) => best,
        }
    }
}

/// The leftmost of those below `top` with the least deadline.
fn leftmost_least(entities: &Entities, top: EntityId) -> EntityId {
    let mut at = top;
    loop {
        let node = &entities[at];
        let least = node.subtree_min;
        at = match node.node.left().filter(|&l| entities[l].subtree_min == least) {
            Some(left) => left,
            None if node.deadline == least => return at,
            None => node.node.right().expect("the least deadline is somewhere below"),
        };
    }
}

/// One of those below `top` with the least deadline: a node before those left of it.
fn first_least(entities: &Entities, top: EntityId) -> EntityId {
    let mut at = top;
    loop {
        let node = &entities[at];
        let least = node.subtree_min;
        if node.deadline == least {
            return at;
        }
        let left = node.node.left().filter(|&l| entities[l].subtree_min == least);
        at = left.or(node.node.right()).expect("the least deadline is somewhere below");
    }
}

impl Scheduler {
    /// The entity that should run at one level. The queue is not empty.
    pub(crate) fn eevdf2023_pick(&self, q: QueueId) -> EntityId {
        let queue = &self.queues[q];
        if self.config.features.has(Feature::NextBuddy)
            && let Some(buddy) = queue.next
            && queue.is_eligible(&self.entities, buddy)
        {
            return buddy;
        }
        self.most_urgent(q).expect("somebody competes in a non-empty queue")
    }

    /// After `curr` was charged. Returns true if somebody else should get a turn.
    pub(crate) fn eevdf2023_charged(&mut self, q: QueueId, curr: EntityId) -> bool {
        let expired = self.queues[q].renew_request(&mut self.entities, &self.config, curr);
        match self.config.variants.preempt_at {
            PreemptAt::Tick => false,
            PreemptAt::RequestEnd => expired && self.queues[q].nr_queued > 1,
        }
    }

    /// A tick finds the entity running at its level.
    pub(crate) fn eevdf2023_tick(&mut self, q: QueueId, curr: EntityId) {
        let at_tick = self.config.variants.preempt_at == PreemptAt::Tick;
        if at_tick && self.queues[q].nr_queued > 1 && self.most_urgent(q) != Some(curr) {
            self.resched(self.queues[q].cpu);
            self.clear_buddies(q, curr);
        }
    }

    /// True if the wakee would be picked now.
    pub(crate) fn eevdf2023_preempts(&self, q: QueueId, wakee: EntityId) -> bool {
        self.most_urgent(q) == Some(wakee)
    }

    /// A task is made: it is placed as if it joined the queue of its group, where its parent runs.
    pub(crate) fn eevdf2023_fork(&mut self, q: QueueId, se: EntityId) {
        self.update_clock(self.queues[q].cpu);
        self.update_curr(q);
        self.eevdf2023_place(q, se, Enqueue { initial: true, ..Enqueue::default() });
    }

    /// Places an entity that joins the queue (`place_entity()`).
    pub(crate) fn eevdf2023_place(&mut self, q: QueueId, se: EntityId, flags: Enqueue) {
        let now = self.settle_virtual_time(q);
        let features = self.config.features;
        let queue = &self.queues[q];
        let competing = queue.competing_weight(&self.entities);
        let entity = &mut self.entities[se];
        entity.refresh_slice(&self.config);
        let mut request = entity.virtual_span(entity.slice) as i64;
        let mut lag = 0;
        if features.has(Feature::PlaceLag) && queue.nr_queued != 0 {
            lag = entity.vlag.0;
            if features.has(Feature::PlaceFudge) && queue.is_short(entity.slice) {
                lag = fudge(lag, request);
            }
            lag = super::eevdf::inflate_lag(VDelta(lag), competing, entity.table_weight());
        }
        let asleep_at = entity.vruntime;
        let place = now - VDelta(lag);
        entity.vruntime = place;
        if features.has(Feature::PlaceBonus) && flags.wakeup && !flags.migrated && asleep_at.before(place) {
            entity.vruntime = asleep_at.max(place - VDelta(entity.slice.0 as i64 / 2));
        }
        if features.has(Feature::PlaceDeadlineInitial) && flags.initial {
            request /= 2;
        }
        entity.deadline = place + VDelta(request);
    }

    /// Changes an entity's weight. One that waits stays where it is in the timeline.
    pub(crate) fn eevdf2023_reweight(&mut self, q: QueueId, se: EntityId, load: LoadWeight) {
        let old = self.entities[se].weight;
        let is_curr = self.queues[q].curr == Some(se);
        let queued = self.entities[se].on_rq;
        if queued {
            if is_curr {
                self.update_curr(q);
            } else {
                self.queues[q].sub_slice(&self.entities[se]);
                self.queues[q].sub_from_mean(&self.entities[se]);
            }
            self.queues[q].load.0 -= old.0;
        }
        let entity = &mut self.entities[se];
        if !queued {
            entity.rescale_lag(load.weight);
        } else if self.config.variants.reweight != Reweight::Stay {
            entity.rescale_rest(load.weight);
            if !is_curr {
                self.queues[q].timeline.refresh::<ByVruntimeWithDeadline>(&mut self.entities, se);
            }
        }
        self.reweight_load(q, se, |entity| (entity.weight, entity.inverse) = (load.weight, load.inverse));
        if queued {
            self.queues[q].load.0 += load.weight.0;
            if !is_curr {
                self.queues[q].add_slice(&self.entities[se]);
                self.queues[q].add_to_mean(&self.entities[se]);
            }
        }
    }

    #[inline]
    pub(crate) fn validate_if_asked(&self, q: QueueId) {
        if self.config.features.has(Feature::ValidateQueue) {
            super::audit::validate(self, q);
        }
    }

    /// The length of an entity's requests changes while it may be queued. Its deadline stays. The series
    /// forgets that the old length is part of a sum; see [`crate::variants::Variants::slice_sums_exact`].
    pub(crate) fn set_slice_in_place(&mut self, se: EntityId, slice: Nanos) {
        let q = self.entities[se].queue;
        let waits = self.entities[se].on_rq && self.queues[q].curr != Some(se);
        let exact = waits && self.config.variants.slice_sums_exact;
        if exact {
            self.queues[q].sub_slice(&self.entities[se]);
        }
        self.entities[se].slice = slice;
        if exact {
            self.queues[q].add_slice(&self.entities[se]);
        }
    }
}

/// The lag to place with, of somebody whose requests are shorter than most.
const fn fudge(lag: i64, request: i64) -> i64 {
    let forgiven = lag + request;
    if forgiven < 0 { forgiven } else { 0 }
}

#[cfg(test)]
mod tests;
