// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking in the hierarchy before 5.7: what differs from [`super::load`].
//!
//! Beside the load of everybody who is or was there, a queue keeps that of those who are queued. An entity's
//! load is part of the second while it is queued; it is what CPUs are compared by.
//!
//! ```text
//!   load of a queue (load_avg)             T1  T2  T3 (asleep)
//!   of those queued (runnable_load_avg)    T1  T2
//! ```
//!
//! Up to 4.14 an entity's load sum is weighted, and its past keeps the weight it had. How a group's entity
//! follows what happens below it is a [`Propagation`].
//!
//! Source: kernel/sched/fair.c, `update_load_avg()`, `update_tg_cfs_util()`, `update_tg_cfs_load()`,
//! `enqueue_entity_load_avg()` and their neighbours, 4.6, 4.11 and 4.17; the 2017 document's patch.

use crate::entity::Entity;
use crate::fair::load::LoadUpdate;
use crate::features::Feature;
use crate::group::Shares;
use crate::ids::{EntityId, QueueId};
use crate::pelt::{LOAD_AVG_MAX, Sample, Scale, add_positive, sub_positive};
use crate::scheduler::Scheduler;
use crate::units::{Capacity, Instant, Weight};
use crate::variants::{FudgeUnits, LoadRules, LoadTracking, Propagation, ShareLoad};

/// The limit of a sum.
const MAX: u64 = LOAD_AVG_MAX as u64;

impl Scheduler {
    /// Load is tracked as it was before 5.7.
    #[inline]
    pub(super) fn tracks_earlier(&self) -> bool {
        self.config.variants.load.tracking != LoadTracking::RunnableTime
    }

    /// Sums are weighted as they accumulate.
    #[inline]
    fn weighs_sums(&self) -> bool {
        matches!(
            self.config.variants.load.tracking,
            LoadTracking::WeightedInSteps { .. } | LoadTracking::Weighted
        )
    }

    /// The capacity by which use is scaled.
    fn use_scale(&self, q: QueueId) -> Capacity {
        self.cpus[self.queues[q].cpu].use_scale
    }

    pub(super) fn update_load_earlier(&mut self, q: QueueId, se: EntityId, what: LoadUpdate, now: Instant) {
        let attached = self.entities[se].avg.last_update_time != Instant(0);
        let never = self.config.variants.load.propagation == Propagation::Never;
        if attached || never && what != LoadUpdate::Join {
            self.age_entity_earlier(q, se, now);
        }
        let decayed = self.age_queue_earlier(q, now) | self.propagate_earlier(q, se);
        let joins = what == LoadUpdate::Join && !attached;
        if joins && never {
            // One report covers both.
            self.attach_load_earlier(q, se);
            self.report_load(q);
            return;
        }
        // Where sums are weighted, the time before and the joiner are reported one after the other.
        if decayed && what != LoadUpdate::Age && (!joins || self.weighs_sums()) {
            self.report_load(q);
        }
        if joins {
            self.attach_load_earlier(q, se);
            self.report_load(q);
        }
    }

    /// Ages an entity of a queue.
    fn age_entity_earlier(&mut self, q: QueueId, se: EntityId, now: Instant) {
        let rules = self.config.variants.load;
        let running = self.queues[q].curr == Some(se);
        let capacity = self.use_scale(q);
        let weighs = self.weighs_sums();
        let entity = &mut self.entities[se];
        let queued = u64::from(entity.on_rq);
        let weight = rules.table(entity.weight);
        let (sample, scale) = if weighs {
            (Sample { load: queued * weight, runnable: 0, running }, Scale::NONE)
        } else {
            let scale = Scale { load: weight, runnable: entity.runnable_weight_in_table(rules) };
            (Sample { load: queued, runnable: queued, running }, scale)
        };
        let ended = entity.avg.update_earlier(rules.tracking, now, sample, scale, capacity);
        if ended && self.config.features.has(Feature::UtilEst) {
            self.entities[se].avg.util_est &= !super::util_est::ODD_UNCHANGED;
        }
    }

    /// Ages an entity that nobody waits for.
    pub(super) fn age_blocked_earlier(&mut self, se: EntityId, now: Instant) {
        let rules = self.config.variants.load;
        let capacity = self.use_scale(self.entities[se].queue);
        let weighs = self.weighs_sums();
        let entity = &mut self.entities[se];
        let scale = if weighs {
            Scale::NONE
        } else {
            let load = rules.table(entity.weight);
            Scale { load, runnable: entity.runnable_weight_in_table(rules) }
        };
        entity.avg.update_earlier(rules.tracking, now, Sample::BLOCKED, scale, capacity);
    }

    /// Takes off what left, then ages the queue. Returns true if its load average changed.
    pub(super) fn age_queue_earlier(&mut self, q: QueueId, now: Instant) -> bool {
        let rules = self.config.variants.load;
        let capacity = self.use_scale(q);
        let removed = self.take_off_removed(q);
        let queue = &mut self.queues[q];
        let load = rules.table(queue.load);
        let runnable = if rules.tracking == LoadTracking::RunnableWeight {
            rules.table(queue.runnable_weight)
        } else {
            load
        };
        let sample = Sample { load, runnable, running: queue.curr.is_some() };
        queue.avg.update_earlier(rules.tracking, now, sample, Scale::NONE, capacity) | removed
    }

    /// Takes off the load of those that left while asleep, or on the way to another CPU. Returns true if
    /// there was some.
    fn take_off_removed(&mut self, q: QueueId) -> bool {
        let rules = self.config.variants.load;
        let queue = &mut self.queues[q];
        if queue.removed.nr == 0 {
            return false;
        }
        let gone = core::mem::take(&mut queue.removed);
        let divider = queue.avg.earlier_divider(rules.tracking);
        let avg = &mut queue.avg;
        avg.load_avg = sub_positive(avg.load_avg, gone.load_avg);
        avg.load_sum = sub_positive(avg.load_sum, gone.load_avg.wrapping_mul(divider));
        avg.util_avg = sub_positive(avg.util_avg, gone.util_avg);
        avg.util_sum = avg.util_sum.saturating_sub((gone.util_avg.wrapping_mul(divider)) as u32);
        match rules.propagation {
            Propagation::Never => gone.load_avg != 0,
            Propagation::ByShare => {
                if gone.load_avg != 0 || gone.util_avg != 0 {
                    queue.propagate = true;
                }
                gone.load_avg != 0
            }
            Propagation::ByTime => {
                self.mark_propagate(q, (gone.runnable_avg as i64).wrapping_neg());
                true
            }
        }
    }

    pub(super) fn attach_load_earlier(&mut self, q: QueueId, se: EntityId) {
        let weighs = self.weighs_sums();
        let rules = self.config.variants.load;
        let avg = &self.queues[q].avg;
        let (time, contrib) = (avg.last_update_time, avg.period_contrib);
        let divider = avg.earlier_divider(rules.tracking);
        let entity = &mut self.entities[se];
        entity.avg.last_update_time = time;
        if !weighs {
            let weight = rules.table(entity.weight);
            let avg = &mut entity.avg;
            avg.period_contrib = contrib;
            avg.util_sum = (avg.util_avg * divider) as u32;
            avg.load_sum = (avg.load_avg * divider).checked_div(weight).unwrap_or(divider);
            avg.runnable_sum = avg.load_sum;
        }
        self.add_load_earlier(q, se);
        let entity = &self.entities[se].avg;
        let avg = &mut self.queues[q].avg;
        avg.util_avg += entity.util_avg;
        avg.util_sum = avg.util_sum.wrapping_add(entity.util_sum);
        let load_sum = entity.load_sum as i64;
        self.note_change_below(q, load_sum);
    }

    pub(super) fn detach_load_earlier(&mut self, q: QueueId, se: EntityId) {
        self.sub_load_earlier(q, se);
        let entity = &self.entities[se].avg;
        let avg = &mut self.queues[q].avg;
        avg.util_avg = sub_positive(avg.util_avg, entity.util_avg);
        avg.util_sum = avg.util_sum.saturating_sub(entity.util_sum);
        let load_sum = entity.load_sum as i64;
        self.note_change_below(q, -load_sum);
    }

    /// The group's entity has to follow.
    fn note_change_below(&mut self, q: QueueId, runnable_sum: i64) {
        match self.config.variants.load.propagation {
            Propagation::Never => {}
            Propagation::ByShare => self.queues[q].propagate = true,
            Propagation::ByTime => self.mark_propagate(q, runnable_sum),
        }
    }

    /// An entity's load sum, weighted.
    fn weighted_sum(&self, se: EntityId) -> u64 {
        let entity = &self.entities[se];
        if self.weighs_sums() {
            entity.avg.load_sum
        } else {
            self.config.variants.load.table(entity.weight).wrapping_mul(entity.avg.load_sum)
        }
    }

    /// Its load sum as one of those queued, weighted.
    fn weighted_runnable(&self, se: EntityId) -> (u64, u64) {
        let entity = &self.entities[se];
        if self.weighs_sums() {
            (entity.avg.load_avg, entity.avg.load_sum)
        } else {
            let weight = entity.runnable_weight_in_table(self.config.variants.load);
            (entity.avg.runnable_avg, weight.wrapping_mul(entity.avg.runnable_sum))
        }
    }

    fn add_load_earlier(&mut self, q: QueueId, se: EntityId) {
        let sum = self.weighted_sum(se);
        let load = self.entities[se].avg.load_avg;
        let avg = &mut self.queues[q].avg;
        avg.load_avg = avg.load_avg.wrapping_add(load);
        avg.load_sum = avg.load_sum.wrapping_add(sum);
    }

    fn sub_load_earlier(&mut self, q: QueueId, se: EntityId) {
        let sum = self.weighted_sum(se);
        let load = self.entities[se].avg.load_avg;
        let avg = &mut self.queues[q].avg;
        avg.load_avg = sub_positive(avg.load_avg, load);
        avg.load_sum = sub_positive(avg.load_sum, sum);
    }

    /// The entity's load counts among those queued from now on (`enqueue_entity_load_avg()`).
    #[inline]
    pub(super) fn add_runnable_load(&mut self, q: QueueId, se: EntityId) {
        if !self.tracks_earlier() {
            return;
        }
        let (load, sum) = self.weighted_runnable(se);
        let weight = u64::from(self.entities[se].runnable_weight);
        let queue = &mut self.queues[q];
        queue.avg.runnable_avg = queue.avg.runnable_avg.wrapping_add(load);
        queue.avg.runnable_sum = queue.avg.runnable_sum.wrapping_add(sum);
        queue.runnable_weight.0 += weight;
    }

    /// It no longer does (`dequeue_entity_load_avg()`).
    #[inline]
    pub(super) fn sub_runnable_load(&mut self, q: QueueId, se: EntityId) {
        if !self.tracks_earlier() {
            return;
        }
        let (load, sum) = self.weighted_runnable(se);
        let weight = u64::from(self.entities[se].runnable_weight);
        let queue = &mut self.queues[q];
        queue.avg.runnable_avg = sub_positive(queue.avg.runnable_avg, load);
        queue.avg.runnable_sum = sub_positive(queue.avg.runnable_sum, sum);
        queue.runnable_weight.0 -= weight;
    }

    /// Changes an entity's weight in `set`, as far as load is concerned. Where sums are weighted the past
    /// keeps its weight, unless `FUDGE2` rescales it.
    pub(super) fn reweight_load_earlier(&mut self, q: QueueId, se: EntityId, set: impl FnOnce(&mut Entity)) {
        let rules = self.config.variants.load;
        let queued = self.entities[se].on_rq;
        if !self.weighs_sums() {
            if queued {
                self.sub_runnable_load(q, se);
            }
            self.sub_load_earlier(q, se);
            set(&mut self.entities[se]);
            let runnable = self.runnable_weight(se);
            let entity = &mut self.entities[se];
            entity.runnable_weight = runnable.0 as u32;
            let divider = u64::from(entity.avg.divider());
            entity.avg.load_avg = rules.table(entity.weight).wrapping_mul(entity.avg.load_sum) / divider;
            entity.avg.runnable_avg =
                entity.runnable_weight_in_table(rules).wrapping_mul(entity.avg.runnable_sum) / divider;
            self.add_load_earlier(q, se);
            if queued {
                self.add_runnable_load(q, se);
            }
            return;
        }
        let is_group = self.entities[se].my_queue.is_some();
        if !is_group || !self.config.features.has(Feature::Fudge2) {
            set(&mut self.entities[se]);
            return;
        }
        self.sub_load_earlier(q, se);
        if queued {
            self.sub_runnable_load(q, se);
        }
        let entity = &mut self.entities[se];
        let old = rules.table(entity.weight).max(1);
        set(entity);
        let new = rules.table(entity.weight).max(1);
        entity.avg.load_avg = entity.avg.load_avg.wrapping_mul(new) / old;
        entity.avg.load_sum = entity.avg.load_sum.wrapping_mul(new) / old;
        self.add_load_earlier(q, se);
        if queued {
            self.add_runnable_load(q, se);
        }
    }

    /// The weight of an entity's load as one of those queued: a group's is the part of its weight that its
    /// queued load is of all its load (`calc_group_runnable()`).
    fn runnable_weight(&self, se: EntityId) -> Weight {
        let entity = &self.entities[se];
        let Some(below) = entity.my_queue else { return entity.weight };
        let rules = self.config.variants.load;
        let queue = &self.queues[below];
        let all = queue.avg.load_avg.max(rules.table(queue.load));
        let queued = queue.avg.runnable_avg.max(rules.table(queue.runnable_weight));
        let product = queued.wrapping_mul(entity.weight.0);
        let part = product.checked_div(all).unwrap_or(product);
        Weight(part.max(Shares::MIN.get()).min(entity.weight.0))
    }

    /// Hands up to a group's entity what changed below it. Returns true if there was something.
    fn propagate_earlier(&mut self, q: QueueId, se: EntityId) -> bool {
        let Some(below) = self.entities[se].my_queue else { return false };
        let how = self.config.variants.load.propagation;
        if how == Propagation::Never || !self.queues[below].propagate {
            return false;
        }
        self.queues[below].propagate = false;
        if how == Propagation::ByTime {
            let runnable_sum = self.queues[below].prop_runnable_sum;
            self.mark_propagate(q, runnable_sum);
        } else {
            self.queues[q].propagate = true;
        }
        self.follow_util_earlier(q, se, below);
        if how == Propagation::ByTime {
            self.follow_time(q, se, below);
        } else {
            self.follow_share(q, se, below);
        }
        true
    }

    /// The group ran when anything in it ran.
    fn follow_util_earlier(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let util_avg = self.queues[below].avg.util_avg;
        let entity = &mut self.entities[se].avg;
        let change = util_avg.wrapping_sub(entity.util_avg) as i64;
        if change == 0 {
            return;
        }
        (entity.util_avg, entity.util_sum) = (util_avg, (util_avg * MAX) as u32);
        let avg = &mut self.queues[q].avg;
        avg.util_avg = add_positive(avg.util_avg, change);
        avg.util_sum = (avg.util_avg * MAX) as u32;
    }

    /// The group's load is that of the queue below, or its part of the shares where that is less; with
    /// `FUDGE`, always that part.
    fn follow_share(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let load = if self.config.features.has(Feature::Fudge) {
            self.fudged_share(below)
        } else {
            let queue = &self.queues[below];
            let group = &self.groups[queue.group];
            let mut load = queue.avg.load_avg as i64;
            if load != 0 {
                let total = group.load_avg + 1 - queue.tg_load_contrib as i64 + load;
                let shares = self.config.variants.load.table(group.shares) as i64;
                if total > shares {
                    load = load * shares / total;
                }
            }
            load as u64
        };
        let entity = &mut self.entities[se];
        let change = load.wrapping_sub(entity.avg.load_avg) as i64;
        if change == 0 {
            return;
        }
        (entity.avg.load_avg, entity.avg.load_sum) = (load, load.wrapping_mul(MAX));
        let queued = entity.on_rq;
        let avg = &mut self.queues[q].avg;
        avg.load_avg = add_positive(avg.load_avg, change);
        avg.load_sum = avg.load_avg.wrapping_mul(MAX);
        if queued {
            avg.runnable_avg = add_positive(avg.runnable_avg, change);
            avg.runnable_sum = avg.runnable_avg.wrapping_mul(MAX);
        }
    }

    /// `FUDGE`: the part of the group's shares that the queue's load, in one of three senses, comes to.
    fn fudged_share(&self, below: QueueId) -> u64 {
        let rules = self.config.variants.load;
        let queue = &self.queues[below];
        let load = match rules.propagated {
            ShareLoad::Runnable => queue.avg.runnable_avg,
            ShareLoad::Average => queue.avg.load_avg,
            ShareLoad::Weight => rules.table(queue.load),
        };
        let part = self.part_of_shares(below, load as i64);
        match rules.fudge_units {
            FudgeUnits::Literal => part.0,
            FudgeUnits::Scaled => rules.table(part),
        }
    }

    /// The group's load is its weight times the time it was runnable, which is bounded as in
    /// [`super::load`].
    fn follow_time(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let change = core::mem::take(&mut self.queues[below].prop_runnable_sum);
        if change == 0 {
            return;
        }
        let rules = self.config.variants.load;
        let capacity = u64::from(self.use_scale(q).0);
        let below = &self.queues[below];
        let (below_weight, below_sum) = (rules.table(below.load), below.avg.load_sum);
        let entity = &mut self.entities[se];
        let weight = rules.table(entity.weight);
        let runnable_weight = entity.runnable_weight_in_table(rules);
        let runnable_sum = if change >= 0 {
            (change + entity.avg.load_sum as i64).min(MAX as i64)
        } else {
            let mean = below_sum.checked_div(below_weight).unwrap_or(0);
            entity.avg.load_sum.min(mean) as i64
        };
        let running_sum = (u64::from(entity.avg.util_sum) / capacity) as i64;
        let runnable_sum = runnable_sum.max(running_sum) as u64;
        let load_sum = weight.wrapping_mul(runnable_sum);
        let load_avg = load_sum / MAX;
        let sum_change = load_sum.wrapping_sub(weight.wrapping_mul(entity.avg.load_sum)) as i64;
        let avg_change = load_avg.wrapping_sub(entity.avg.load_avg) as i64;
        (entity.avg.load_sum, entity.avg.load_avg) = (runnable_sum, load_avg);

        let queued_sum = runnable_weight.wrapping_mul(runnable_sum);
        let queued_avg = queued_sum / MAX;
        // Measured against the weight, not the runnable weight, in the kernel too.
        let queued_sum_change = queued_sum.wrapping_sub(weight.wrapping_mul(entity.avg.runnable_sum)) as i64;
        let queued_avg_change = queued_avg.wrapping_sub(entity.avg.runnable_avg) as i64;
        (entity.avg.runnable_sum, entity.avg.runnable_avg) = (runnable_sum, queued_avg);
        let queued = entity.on_rq;
        let avg = &mut self.queues[q].avg;
        avg.load_avg = add_positive(avg.load_avg, avg_change);
        avg.load_sum = add_positive(avg.load_sum, sum_change);
        if queued {
            avg.runnable_avg = add_positive(avg.runnable_avg, queued_avg_change);
            avg.runnable_sum = add_positive(avg.runnable_sum, queued_sum_change);
        }
    }

    /// An entity that is not queued joins the load of its queue.
    pub(super) fn attach_entity_earlier(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        let ages = self.config.features.has(Feature::AttachAgeLoad);
        if self.config.variants.load.propagation == Propagation::Never {
            if ages && self.entities[se].avg.last_update_time != Instant(0) {
                let last = self.queues[q].avg.last_update_time;
                self.age_blocked_earlier(se, last);
            }
            self.attach_load_earlier(q, se);
            return;
        }
        let now = self.queue_pelt_now(q);
        if ages && self.entities[se].avg.last_update_time != Instant(0) {
            self.age_entity_earlier(q, se, now);
        }
        self.age_queue_earlier(q, now);
        self.propagate_earlier(q, se);
        self.attach_load_earlier(q, se);
        self.report_load(q);
        self.propagate_upwards(se);
    }

    /// It leaves the load of its queue.
    pub(super) fn detach_entity_earlier(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        if self.config.variants.load.propagation == Propagation::Never {
            let last = self.queues[q].avg.last_update_time;
            self.age_entity_earlier(q, se, last);
            self.detach_load_earlier(q, se);
            return;
        }
        let now = self.queue_pelt_now(q);
        self.update_load_earlier(q, se, LoadUpdate::Age, now);
        self.detach_load_earlier(q, se);
        self.report_load(q);
        self.propagate_upwards(se);
    }
}

impl Entity {
    /// The runnable weight in table units.
    const fn runnable_weight_in_table(&self, rules: LoadRules) -> u64 {
        rules.table(Weight(self.runnable_weight as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::driver::{CPU, Driver};
    use crate::ids::GroupId;
    use crate::kernel::Kernel;

    /// A group on a CPU under Linux 4.11 with the 2017 document's patch: its queue above, entity, and queue.
    fn grouped() -> (Driver, QueueId, EntityId, QueueId) {
        let mut driver = Driver::new(Kernel::V4_11);
        let group = driver.s.add_group(driver.now, GroupId::ROOT);
        let place = driver.s.group_on(group, CPU);
        let above = driver.s.cpus[CPU].root;
        (driver, above, place.entity.unwrap(), place.queue)
    }

    /// `FUDGE2`: an emptied group's load is gone at once; of its sum ten bits are lost, so that the average comes
    /// back with the next period.
    #[test]
    fn load_history_follows_the_weight() {
        let (mut driver, above, se, _) = grouped();
        for (before, steps) in [
            ((500, 23_883_345), &[(2, (0, 23_323)), (1 << 20, (0, 23_882_752))][..]),
            ((1000, 1000 * MAX), &[(1 << 19, (500, 23_871_000))][..]),
        ] {
            let s = &mut driver.s;
            let entity = &mut s.entities[se];
            entity.weight = Weight::NICE_0;
            (entity.avg.load_avg, entity.avg.load_sum) = before;
            for &(weight, after) in steps {
                s.reweight_load_earlier(above, se, |entity| entity.weight = Weight(weight));
                let avg = &s.entities[se].avg;
                assert_eq!((avg.load_avg, avg.load_sum), after, "{before:?}, {weight}");
            }
        }
        assert_eq!(23_882_752 / MAX, 500);
    }

    /// `FUDGE` hands up the part of the shares in the fine unit of weights, 1024 times what it is added to.
    #[test]
    fn a_propagated_share_is_in_the_unit_of_weights() {
        for (fudge, units, expected) in [
            (true, FudgeUnits::Literal, 524_288),
            (true, FudgeUnits::Scaled, 512),
            (false, FudgeUnits::Literal, 511),
        ] {
            let (mut driver, above, se, below) = grouped();
            let s = &mut driver.s;
            s.config.variants.load.fudge_units = units;
            s.config.features.set(Feature::Fudge, fudge);
            // As much load here as elsewhere, which is all that has been reported.
            let group = s.queues[below].group;
            s.groups[group].load_avg = 1024;
            (s.queues[below].avg.load_avg, s.queues[below].tg_load_contrib) = (1024, 0);
            s.follow_share(above, se, below);
            assert_eq!(s.entities[se].avg.load_avg, expected, "FUDGE {fudge}, {units:?}");
        }
    }
}
