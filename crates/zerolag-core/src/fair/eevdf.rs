// SPDX-License-Identifier: GPL-2.0-only
//! Earliest Eligible Virtual Deadline First, as in Linux 6.12.
//!
//! # Virtual time
//!
//! Lag is what an entity is owed: `lag_i = w_i (V - v_i)`, where `V` is the virtual time of a perfectly fair
//! machine. Nobody is owed anything in sum, hence
//!
//! ```text
//!     sum w_i (V - v_i) = 0     =>     V = sum w_i v_i / W            the weighted mean of vruntimes
//! ```
//!
//! Vruntimes are large and wrap, so they are counted from an anchor `a` close by:
//!
//! ```text
//!     V = a + K / W       with  K = sum w_i (v_i - a),   W = sum w_i
//! ```
//!
//! The queue keeps `K` and `W` over the timeline; the running entity, which is outside, is added on the fly.
//! The division rounds down, so that an entity placed exactly at `V` is eligible.
//!
//! # Eligibility
//!
//! An entity is eligible if it is owed something: `V >= v_i`. Multiplied out there is no division and no
//! rounding: `K >= (v_i - a) W`.
//!
//! # The pick
//!
//! Among the eligible, the earliest deadline: the timeline is ordered by deadline, and the least vruntime of
//! each subtree says whether anybody in it is eligible, so the leftmost eligible node is found in O(log n).
//!
//! Properties, each checked by a test of that name:
//! * an entity placed at V is eligible;
//! * placement keeps lag: V computed after the insertion is `lag` away from where the entity was put;
//! * the pick is eligible and no eligible one has an earlier deadline;
//! * adding a constant to all vruntimes, deadlines and the anchor changes no decision.
//!
//! Sources: Stoica and Abdel-Wahab, TR-95-22; kernel/sched/fair.c of 6.12.117.

use crate::fair::queue::CfsRq;
use crate::fair::timeline::{ByDeadline, Entities};
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta, VTime, Weight};

/// `K` and `W` of the module's documentation, the running entity included.
#[derive(Clone, Copy, Debug)]
struct Mean {
    key_weight: i64,
    weight: i64,
}

impl CfsRq {
    /// The running entity, if it competes.
    #[inline]
    pub(crate) fn competing_curr(&self, entities: &Entities) -> Option<EntityId> {
        self.curr.filter(|&c| entities[c].on_rq)
    }

    #[inline]
    fn key(&self, vruntime: VTime) -> i64 {
        vruntime.since(self.anchor).0
    }

    #[inline]
    fn mean(&self, entities: &Entities) -> Mean {
        let mut mean = Mean { key_weight: self.key_weight_sum, weight: self.weight_sum as i64 };
        if let Some(curr) = self.competing_curr(entities) {
            let curr = &entities[curr];
            let weight = curr.table_weight() as i64;
            mean.key_weight = mean.key_weight.wrapping_add(self.key(curr.vruntime).wrapping_mul(weight));
            mean.weight += weight;
        }
        mean
    }

    /// Virtual time: the vruntime of an entity that is owed nothing (`avg_vruntime()`, without its side
    /// effect on the anchor).
    #[inline]
    pub fn virtual_time(&self, entities: &crate::ids::IdVec<EntityId, crate::entity::Entity>) -> VTime {
        self.anchor + VDelta(self.virtual_time_key(entities))
    }

    #[inline]
    fn virtual_time_key(&self, entities: &Entities) -> i64 {
        if self.weight_sum == 0 {
            // Alone, the running entity is the mean.
            return self.competing_curr(entities).map_or(0, |c| self.key(entities[c].vruntime));
        }
        let mean = self.mean(entities);
        mean.key_weight.div_euclid(mean.weight)
    }

    /// Virtual time, which also becomes the new anchor: keys stay small. The kernel does this at each
    /// placement, each time lag is taken, and at the end of each request.
    #[inline]
    pub(crate) fn advance_virtual_time(&mut self, entities: &Entities) -> VTime {
        let key = self.virtual_time_key(entities);
        self.move_anchor(key);
        self.anchor
    }

    #[inline]
    fn is_eligible_at(&self, mean: Mean, vruntime: VTime) -> bool {
        mean.key_weight >= self.key(vruntime).wrapping_mul(mean.weight)
    }

    /// True if the entity is owed service, or exactly even (`entity_eligible()`).
    #[inline]
    pub fn is_eligible(
        &self,
        entities: &crate::ids::IdVec<EntityId, crate::entity::Entity>,
        se: EntityId,
    ) -> bool {
        self.is_eligible_at(self.mean(entities), entities[se].vruntime)
    }

    /// The shortest slice of all that compete, or the longest possible if nobody does.
    #[inline]
    pub(crate) fn shortest_slice(&self, entities: &Entities) -> Nanos {
        let curr = self.competing_curr(entities).map_or(Nanos(u64::MAX), |c| entities[c].slice);
        let waiting = self.timeline.root().map_or(Nanos(u64::MAX), |r| entities[r].subtree_slice);
        curr.min(waiting)
    }

    /// Puts an entity into the timeline and its weight into the sums.
    #[inline]
    pub(crate) fn insert(&mut self, entities: &mut Entities, se: EntityId) {
        let weight = entities[se].table_weight();
        let key = self.key(entities[se].vruntime);
        self.key_weight_sum = self.key_weight_sum.wrapping_add(key.wrapping_mul(weight as i64));
        self.weight_sum += weight;
        self.timeline.insert::<ByDeadline>(entities, se);
    }

    /// Takes an entity out of the timeline and the sums.
    #[inline]
    pub(crate) fn remove(&mut self, entities: &mut Entities, se: EntityId) {
        self.timeline.remove::<ByDeadline>(entities, se);
        let weight = entities[se].table_weight();
        let key = self.key(entities[se].vruntime);
        self.key_weight_sum = self.key_weight_sum.wrapping_sub(key.wrapping_mul(weight as i64));
        self.weight_sum -= weight;
    }

    /// The entity that should run, or nothing if the queue is empty (`pick_eevdf()`).
    #[inline]
    pub(crate) fn pick_eevdf(&self, entities: &Entities, run_to_parity: bool) -> Option<EntityId> {
        let first = self.timeline.first();
        let curr = self.competing_curr(entities);
        if self.nr_queued == 1 {
            return curr.or(first);
        }
        let mean = self.mean(entities);
        let curr = curr.filter(|&c| self.is_eligible_at(mean, entities[c].vruntime));
        if run_to_parity && let Some(c) = curr.filter(|&c| entities[c].is_protected()) {
            return Some(c);
        }
        let best = match first {
            Some(f) if self.is_eligible_at(mean, entities[f].vruntime) => Some(f),
            _ => self.first_eligible(entities, mean),
        };
        match (best, curr) {
            (Some(b), Some(c)) if entities[c].deadline.before(entities[b].deadline) => Some(c),
            (Some(b), _) => Some(b),
            (None, c) => c,
        }
    }

    /// The leftmost eligible entity of the timeline. Earlier deadlines lie to the left, so a left subtree
    /// with anybody eligible in it wins over the node, and the node over the right subtree.
    fn first_eligible(&self, entities: &Entities, mean: Mean) -> Option<EntityId> {
        let mut at = self.timeline.root();
        while let Some(id) = at {
            let node = &entities[id];
            if let Some(left) = node.node.left
                && self.is_eligible_at(mean, entities[left].subtree_min)
            {
                at = Some(left);
            } else if self.is_eligible_at(mean, node.vruntime) {
                return Some(id);
            } else {
                at = node.node.right;
            }
        }
        None
    }
}

impl crate::entity::Entity {
    /// From now on it may finish its request: the mark is its deadline, and a new deadline ends it.
    #[inline]
    pub(crate) fn protect_slice(&mut self) {
        self.vlag = VDelta(self.deadline.0 as i64);
    }

    /// True if it may finish its request.
    #[inline]
    pub(crate) fn is_protected(&self) -> bool {
        self.vlag.0 == self.deadline.0 as i64
    }

    /// It may no longer.
    pub(crate) fn end_protection(&mut self) {
        if self.is_protected() {
            self.vlag = VDelta(self.deadline.0.wrapping_add(1) as i64);
        }
    }

    /// Lag against `now`, limited to what a steady system can produce, two requests but at least a tick:
    /// joins, leaves and weight changes of others may have moved virtual time arbitrarily
    /// (`entity_lag()`).
    pub(crate) fn lag_at(&mut self, now: VTime, tick: Nanos) -> VDelta {
        let limit = self.virtual_span(Nanos(self.slice.0.wrapping_mul(2)).max(tick)) as i64;
        VDelta(now.since(self.vruntime).0.clamp(-limit, limit))
    }
}

impl Scheduler {
    /// Notes the entity's lag before it leaves.
    pub(crate) fn take_lag(&mut self, q: QueueId, se: EntityId) {
        let tick = self.config.tick();
        let now = self.queues[q].advance_virtual_time(&self.entities);
        let entity = &mut self.entities[se];
        entity.vlag = entity.lag_at(now, tick);
    }

    /// After `curr` was charged: a request that is used up is followed by the next one. Returns true if
    /// somebody else should get a turn.
    #[inline]
    pub(crate) fn eevdf_charged(&mut self, q: QueueId, curr: EntityId) -> bool {
        let expired = self.renew_request(q, curr);
        if self.queues[q].nr_queued == 1 {
            return false;
        }
        expired || self.lost_protection_and_lag(q, curr)
    }

    /// `d = v + slice / w`, counted from where it is now, if the deadline has been reached
    /// (`update_deadline()`).
    #[inline]
    pub(crate) fn renew_request(&mut self, q: QueueId, se: EntityId) -> bool {
        let entity = &mut self.entities[se];
        if entity.vruntime.before(entity.deadline) {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = self.config.tunables.base_slice;
        }
        entity.deadline = entity.vruntime + VDelta(entity.virtual_span(entity.slice) as i64);
        self.queues[q].advance_virtual_time(&self.entities);
        true
    }

    /// A wakee with a shorter slice ended the protection, and now the lag is gone too.
    fn lost_protection_and_lag(&self, q: QueueId, curr: EntityId) -> bool {
        self.config.features.has(Feature::PreemptShort)
            && !self.entities[curr].is_protected()
            && !self.queues[q].is_eligible(&self.entities, curr)
    }

    /// Places an entity that joins the queue (`place_entity()`).
    ///
    /// Joining moves virtual time: with `W` competing so far, an entity put at `V - l` leaves
    /// `V' = V - w l / (W + w)`, so its lag would shrink to `l W / (W + w)`. To come out with lag `vl` it is
    /// put at
    ///
    /// ```text
    ///     l = vl (W + w) / W
    /// ```
    pub(crate) fn eevdf_place(&mut self, q: QueueId, se: EntityId, initial: bool) {
        let now = self.queues[q].advance_virtual_time(&self.entities);
        let features = self.config.features;
        let queue = &self.queues[q];
        let mut competing = queue.weight_sum;
        if let Some(curr) = queue.competing_curr(&self.entities) {
            competing += self.entities[curr].table_weight();
        }
        let alone = queue.nr_queued == 0;
        let entity = &mut self.entities[se];
        if !entity.custom_slice {
            entity.slice = self.config.tunables.base_slice;
        }
        let mut request = entity.virtual_span(entity.slice);
        let mut lag = 0;
        if features.has(Feature::PlaceLag) && !alone {
            lag = inflate_lag(entity.vlag, competing, entity.table_weight());
        }
        entity.vruntime = now - VDelta(lag);
        if features.has(Feature::PlaceRelDeadline) && entity.rel_deadline {
            entity.deadline.0 = entity.deadline.0.wrapping_add(entity.vruntime.0);
            entity.rel_deadline = false;
            return;
        }
        if features.has(Feature::PlaceDeadlineInitial) && initial {
            request /= 2;
        }
        entity.deadline = entity.vruntime + VDelta(request as i64);
    }

    /// The weight of a queued entity changes from `entity.weight` to `weight`, at virtual time `now`: its
    /// lag and the rest of its request, both as CPU time, stay what they were. (The entity is out of the
    /// timeline, and its weight is still the old one.)
    ///
    /// Reweighting does not move V: require `(V - v) w = (V' - v') w'` and `V'` to be the new mean
    /// `(V W - v w + v' w') / (W - w + w')`; inserting the first into the second leaves `V' = V`. So
    ///
    /// ```text
    ///     v' = V - (V - v) w / w'          d' = V + (d - V) w / w'
    /// ```
    pub(crate) fn eevdf_reweight(&mut self, se: EntityId, now: VTime, weight: Weight) {
        let tick = self.config.tick();
        let entity = &mut self.entities[se];
        let rescale =
            |span: i64| span.wrapping_mul(entity.weight.0 as i64).wrapping_div(weight.0.max(1) as i64);
        let rest = rescale(entity.deadline.since(now).0);
        if entity.vruntime != now {
            let lag = entity.lag_at(now, tick).0;
            let lag = lag.wrapping_mul(entity.weight.0 as i64).wrapping_div(weight.0.max(1) as i64);
            entity.vruntime = now - VDelta(lag);
        }
        entity.deadline = now + VDelta(rest);
    }
}

/// The lag to place with, so that `lag` is left once virtual time has moved. Truncates toward zero.
const fn inflate_lag(lag: VDelta, competing: u64, weight: u64) -> i64 {
    let divisor = if competing == 0 { 1 } else { competing as i64 };
    lag.0.wrapping_mul((competing + weight) as i64).wrapping_div(divisor)
}
