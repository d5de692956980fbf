// SPDX-License-Identifier: GPL-2.0-only
//! Earliest Eligible Virtual Deadline First, as since Linux 6.8: the timeline is ordered by deadline.
//!
//! Each entity asks for service in requests: a slice `r` of CPU time, to be had by the virtual deadline
//! `d = v + r / w`. Virtual time and eligibility are explained in [`super::virtual_time`].
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

use crate::config::Config;
use crate::entity::Entity;
use crate::fair::queue::CfsRq;
use crate::fair::timeline::Entities;
use crate::fair::virtual_time::Mean;
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta, VTime, Weight};
use crate::variants::{Protection, Reweight, Yielding};

impl CfsRq {
    /// The entity that should run, or nothing if the queue is empty (`pick_eevdf()`). The running one goes on
    /// if `guard` protects it.
    #[inline]
    pub(crate) fn pick_eevdf(&self, entities: &Entities, guard: Option<Protection>) -> Option<EntityId> {
        self.pick_buddy_or_eevdf(entities, None, guard)
    }

    /// The same, but for a buddy that is eligible.
    #[inline]
    pub(crate) fn pick_buddy_or_eevdf(
        &self,
        entities: &Entities,
        buddy: Option<EntityId>,
        guard: Option<Protection>,
    ) -> Option<EntityId> {
        let first = self.timeline.first();
        let curr = self.competing_curr(entities);
        // A buddy is queued: alone, it is this one.
        if self.nr_queued == 1 {
            return curr.or(first);
        }
        let mean = self.mean(entities);
        if let Some(buddy) = buddy.filter(|&b| self.is_eligible_at(mean, entities[b].vruntime)) {
            return Some(buddy);
        }
        let curr = curr.filter(|&c| self.is_eligible_at(mean, entities[c].vruntime));
        if let Some(rule) = guard
            && let Some(c) = curr.filter(|&c| entities[c].is_protected(rule))
        {
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
            if let Some(left) = node.node.left()
                && self.is_eligible_at(mean, entities[left].subtree_min)
            {
                at = Some(left);
            } else if self.is_eligible_at(mean, node.vruntime) {
                return Some(id);
            } else {
                at = node.node.right();
            }
        }
        None
    }
}

impl CfsRq {
    /// After `curr` was charged: a request that is used up is followed by the next one. Returns true if
    /// somebody else should get a turn.
    #[inline]
    pub(crate) fn eevdf_charged(&mut self, entities: &mut Entities, config: &Config, curr: EntityId) -> bool {
        let expired = self.renew_request(entities, config, curr);
        if self.nr_queued == 1 {
            return false;
        }
        expired || self.is_exposed(entities, config, curr)
    }

    /// `d = v + slice / w`, counted from where it is now, if the deadline has been reached
    /// (`update_deadline()`). Returns true if it has.
    #[inline]
    pub(crate) fn renew_request(&mut self, entities: &mut Entities, config: &Config, se: EntityId) -> bool {
        let entity = &entities[se];
        let served = !entity.vruntime.before(entity.deadline);
        if served {
            self.begin_request(entities, config, se);
        }
        served
    }

    fn begin_request(&mut self, entities: &mut Entities, config: &Config, se: EntityId) {
        let entity = &mut entities[se];
        entity.refresh_slice(config);
        entity.deadline = entity.vruntime + VDelta(entity.virtual_span(entity.slice) as i64);
        self.settle_virtual_time(entities, &config.variants);
    }

    /// Nothing protects the running entity any more, in the middle of its request.
    #[inline]
    fn is_exposed(&self, entities: &Entities, config: &Config, curr: EntityId) -> bool {
        let rule = config.variants.protection;
        if entities[curr].is_protected(rule) {
            return false;
        }
        match rule {
            // A wakee with a shorter slice ended the protection, and now the lag is gone too.
            Protection::UntilDeadline => {
                config.features.has(Feature::PreemptShort) && !self.is_eligible(entities, curr)
            }
            Protection::ForShortestSlice => true,
            Protection::Never => false,
        }
    }

    /// Notes the entity's lag before it leaves.
    #[inline]
    pub(crate) fn take_lag(&mut self, entities: &mut Entities, config: &Config, se: EntityId) {
        let now = self.settle_virtual_time(entities, &config.variants);
        let entity = &mut entities[se];
        entity.vlag = entity.lag_at(now, config.tick());
    }
}

impl Entity {
    /// Without a slice of its own, an entity uses the base slice, as it is now.
    #[inline]
    pub(crate) fn refresh_slice(&mut self, config: &Config) {
        if !(self.custom_slice || config.variants.latency_nice) {
            self.slice = config.tunables.base_slice;
        }
    }

    /// Lag against `now`, limited to what a steady system can produce, two requests but at least a tick:
    /// joins, leaves and weight changes of others may have moved virtual time arbitrarily
    /// (`entity_lag()`).
    pub(crate) fn lag_at(&mut self, now: VTime, tick: Nanos) -> VDelta {
        let limit = self.virtual_span(Nanos(self.slice.0.wrapping_mul(2)).max(tick)) as i64;
        VDelta(now.since(self.vruntime).0.clamp(-limit, limit))
    }

    /// From now on the deadline is what is left of the request.
    pub(crate) fn make_deadline_relative(&mut self) {
        self.deadline = VTime(self.deadline.since(self.vruntime).0 as u64);
        self.rel_deadline = true;
    }

    /// A virtual span, as it is if the weight becomes `weight`: the same CPU time. Truncates toward zero.
    fn rescaled(&self, span: i64, weight: Weight) -> i64 {
        span.wrapping_mul(self.weight.0 as i64).wrapping_div(weight.0.max(1) as i64)
    }

    /// The lag it left with, before its weight changes to `weight`.
    pub(crate) fn rescale_lag(&mut self, weight: Weight) {
        self.vlag = VDelta(self.rescaled(self.vlag.0, weight));
    }

    /// The rest of the request it is in, before its weight changes to `weight`.
    pub(crate) fn rescale_rest(&mut self, weight: Weight) {
        let rest = self.rescaled(self.deadline.since(self.vruntime).0, weight);
        self.deadline = self.vruntime + VDelta(rest);
    }

    /// The rest of the request it left with, if any, before its weight changes to `weight`.
    pub(crate) fn rescale_request(&mut self, weight: Weight) {
        if self.rel_deadline {
            self.deadline = VTime(self.rescaled(self.deadline.0 as i64, weight) as u64);
        }
    }
}

impl Scheduler {
    /// Notes the entity's lag before it leaves.
    pub(crate) fn take_lag(&mut self, q: QueueId, se: EntityId) {
        self.queues[q].take_lag(&mut self.entities, &self.config, se);
    }

    /// The running entity yields (`yield_task_fair()`).
    pub(crate) fn eevdf_yield(&mut self, q: QueueId, se: EntityId) {
        let rule = self.config.variants.yielding;
        let forfeits = rule != Yielding::OneRequest;
        if forfeits && !self.queues[q].is_eligible(&self.entities, se) {
            return;
        }
        let entity = &mut self.entities[se];
        if forfeits {
            entity.vruntime = entity.deadline;
        }
        match rule {
            Yielding::RestOfRequest => {
                self.queues[q].renew_request(&mut self.entities, &self.config, se);
            }
            Yielding::RestOfRequestSameSlice | Yielding::OneRequest => {
                let request = entity.virtual_span(entity.slice);
                entity.deadline += VDelta(request as i64);
            }
        }
        if forfeits {
            self.advance_anchor(q);
        }
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
        let (queue, entities, config) = (&mut self.queues[q], &mut self.entities, &self.config);
        let now = queue.settle_virtual_time(entities, &config.variants);
        let features = config.features;
        // Reweighting by placing again depends on it, whatever the feature says.
        let keeps_request =
            features.has(Feature::PlaceRelDeadline) || config.variants.reweight == Reweight::PlaceAgain;
        let competing = queue.competing_weight(entities);
        let entity = &mut entities[se];
        entity.refresh_slice(config);
        let mut lag = 0;
        if features.has(Feature::PlaceLag) && queue.nr_queued != 0 {
            lag = inflate_lag(entity.vlag, competing, entity.table_weight());
        }
        entity.vruntime = now - VDelta(lag);
        if entity.rel_deadline && keeps_request {
            entity.deadline.0 = entity.deadline.0.wrapping_add(entity.vruntime.0);
            entity.rel_deadline = false;
            return;
        }
        let mut request = entity.virtual_span(entity.slice);
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
        let rest = entity.rescaled(entity.deadline.since(now).0, weight);
        if entity.vruntime != now {
            let lag = entity.lag_at(now, tick).0;
            let lag = entity.rescaled(lag, weight);
            entity.vruntime = now - VDelta(lag);
        }
        entity.deadline = now + VDelta(rest);
    }
}

/// The lag to place with, so that `lag` is left once virtual time has moved. Truncates toward zero.
pub(crate) const fn inflate_lag(lag: VDelta, competing: u64, weight: u64) -> i64 {
    let divisor = if competing == 0 { 1 } else { competing as i64 };
    lag.0.wrapping_mul((competing + weight) as i64).wrapping_div(divisor)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
