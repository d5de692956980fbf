// SPDX-License-Identifier: GPL-2.0-only
//! Virtual time: what everybody is measured against.
//!
//! # The mean
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
//! The division rounds down, so that an entity placed exactly at `V` is eligible. (The series of March 2023
//! rounds toward zero, and has not that property.)
//!
//! # Eligibility
//!
//! An entity is eligible if it is owed something: `V >= v_i`. Multiplied out there is no division and no
//! rounding: `K >= (v_i - a) W`.
//!
//! # The anchor
//!
//! Moving it by `s` changes `K` by `-s W` and `V` not at all. Where it stands is a [`crate::variants::Anchor`].
//!
//! Source: kernel/sched/fair.c, `avg_vruntime()`, `entity_eligible()`, `update_min_vruntime()`, 6.12 and 6.18.

use crate::entity::Entity;
use crate::fair::queue::CfsRq;
use crate::fair::timeline::{Entities, Order};
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta, VTime};
use crate::variants::{Anchor, Rounding, Variants};

/// `K` and `W` of the module's documentation, the running entity included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
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
    pub(crate) fn mean(&self, entities: &Entities) -> Mean {
        let mut mean = Mean { key_weight: self.key_weight_sum, weight: self.weight_sum as i64 };
        if let Some(curr) = self.competing_curr(entities) {
            let curr = &entities[curr];
            let weight = curr.table_weight() as i64;
            mean.key_weight = mean.key_weight.wrapping_add(self.key(curr.vruntime).wrapping_mul(weight));
            mean.weight += weight;
        }
        mean
    }

    /// Weight of all that compete, in table units.
    #[inline]
    pub(crate) fn competing_weight(&self, entities: &Entities) -> u64 {
        let curr = self.competing_curr(entities).map_or(0, |c| entities[c].table_weight());
        self.weight_sum + curr
    }

    #[inline]
    fn virtual_time_key(&self, entities: &Entities, rounding: Rounding) -> i64 {
        if self.weight_sum == 0 {
            // Alone, the running entity is the mean.
            return self.competing_curr(entities).map_or(0, |c| self.key(entities[c].vruntime));
        }
        let mean = self.mean(entities);
        match rounding {
            Rounding::Down => mean.key_weight.div_euclid(mean.weight),
            Rounding::TowardZero => mean.key_weight / mean.weight,
        }
    }

    #[inline]
    pub(crate) fn is_eligible_at(&self, mean: Mean, vruntime: VTime) -> bool {
        mean.key_weight >= self.key(vruntime).wrapping_mul(mean.weight)
    }

    /// True if the entity is owed service, or exactly even (`entity_eligible()`).
    #[inline]
    pub(crate) fn is_eligible(&self, entities: &Entities, se: EntityId) -> bool {
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
    pub(crate) fn insert<O: Order>(&mut self, entities: &mut Entities, se: EntityId) {
        self.add_to_mean(&entities[se]);
        self.timeline.insert::<O>(entities, se);
        debug_assert!(self.sums_are_plausible());
    }

    /// Adds a waiting entity to the sums (`avg_vruntime_add()`).
    #[inline]
    pub(crate) fn add_to_mean(&mut self, entity: &Entity) {
        let weight = entity.table_weight();
        let key = self.key(entity.vruntime);
        self.key_weight_sum = self.key_weight_sum.wrapping_add(key.wrapping_mul(weight as i64));
        self.weight_sum += weight;
    }

    /// Takes it off again (`avg_vruntime_sub()`).
    #[inline]
    pub(crate) fn sub_from_mean(&mut self, entity: &Entity) {
        let weight = entity.table_weight();
        let key = self.key(entity.vruntime);
        self.key_weight_sum = self.key_weight_sum.wrapping_sub(key.wrapping_mul(weight as i64));
        self.weight_sum -= weight;
    }

    /// Takes an entity out of the timeline and the sums.
    #[inline]
    pub(crate) fn remove<O: Order>(&mut self, entities: &mut Entities, se: EntityId) {
        self.timeline.remove::<O>(entities, se);
        self.sub_from_mean(&entities[se]);
        debug_assert!(self.sums_are_plausible());
    }

    /// The cheap part of the audit: nobody waits if and only if the sums say so.
    fn sums_are_plausible(&self) -> bool {
        let empty = self.timeline.is_empty();
        empty == (self.weight_sum == 0) && (!empty || self.key_weight_sum == 0)
    }

    /// Virtual time of the queue, which also becomes its anchor if that is the rule: keys stay small. Asked at
    /// each placement, each time lag is taken, and at the end of each request.
    #[inline]
    pub(crate) fn settle_virtual_time(&mut self, entities: &Entities, variants: &Variants) -> VTime {
        let key = self.virtual_time_key(entities, variants.rounding);
        match variants.anchor {
            Anchor::ZeroLag => {
                self.move_anchor(key);
                self.anchor
            }
            Anchor::Minimum => self.anchor + VDelta(key),
        }
    }

    /// Moves the anchor forwards to the least vruntime of the running entity and of those that wait.
    fn follow_least(&mut self, entities: &Entities, waiting: Option<VTime>) {
        let curr = self.competing_curr(entities).map(|c| entities[c].vruntime);
        let least = match (curr, waiting) {
            (Some(c), Some(w)) => c.min(w),
            (Some(v), None) | (None, Some(v)) => v,
            (None, None) => return,
        };
        let shift = self.key(least);
        if shift > 0 {
            self.move_anchor(shift);
        }
    }

    /// Every key becomes smaller by `shift`.
    #[inline]
    pub(crate) fn move_anchor(&mut self, shift: i64) {
        let correction = (self.weight_sum as i64).wrapping_mul(shift);
        self.key_weight_sum = self.key_weight_sum.wrapping_sub(correction);
        self.anchor += VDelta(shift);
    }
}

impl Scheduler {
    /// Virtual time of a queue: the vruntime of an entity that is owed nothing (`avg_vruntime()`, without its
    /// side effect on the anchor).
    pub fn virtual_time(&self, q: QueueId) -> VTime {
        let queue = &self.queues[q];
        queue.anchor + VDelta(queue.virtual_time_key(&self.entities, self.config.variants.rounding))
    }

    /// True if a queued entity is owed service, or exactly even.
    pub fn is_eligible(&self, se: EntityId) -> bool {
        self.queues[self.entities[se].queue].is_eligible(&self.entities, se)
    }

    /// [`CfsRq::settle_virtual_time`].
    #[inline]
    pub(crate) fn settle_virtual_time(&mut self, q: QueueId) -> VTime {
        self.queues[q].settle_virtual_time(&self.entities, &self.config.variants)
    }

    /// Vruntimes changed: the anchor follows the least of them, if that is the rule, but never backwards, so
    /// that nobody gains by leaving and coming back.
    #[inline]
    pub(crate) fn advance_anchor(&mut self, q: QueueId) {
        match self.config.variants.anchor {
            Anchor::ZeroLag => {}
            Anchor::Minimum if self.config.features.has(Feature::MinimalVa) => {
                let queue = &mut self.queues[q];
                let shift = queue.virtual_time_key(&self.entities, self.config.variants.rounding);
                queue.move_anchor(shift);
            }
            Anchor::Minimum => {
                let waiting = self.least_waiting(q);
                self.queues[q].follow_least(&self.entities, waiting);
            }
        }
    }
}
