// SPDX-License-Identifier: GPL-2.0-only
//! The weight of a group on each CPU, and what a change of weight does to an entity.
//!
//! A group's shares are divided among its queues in proportion to their load. The exact division would need
//! every queue's load at once; instead each uses its own load of now and the others' as last reported:
//!
//! ```text
//!                        load of this queue
//!     weight = shares * ---------------------------------------------------      load = max(weight, average)
//!                        sum of all reports - its own report + load of now
//! ```
//!
//! Source: kernel/sched/fair.c, `calc_group_shares()`, `update_cfs_group()`, `reweight_entity()`, 6.12 and 6.18.

use crate::entity::inverse_of_table;
use crate::fair::Enqueue;
use crate::fair::load::LoadUpdate;
use crate::features::Feature;
use crate::group::Shares;
use crate::ids::{EntityId, QueueId};
use crate::nice::{LoadWeight, Nice};
use crate::scheduler::Scheduler;
use crate::units::{VTime, Weight};
use crate::variants::{GroupReweight, GroupShare, Propagation, Reweight};

/// With `SMP_NICE_GROUPS` a group counts as no heavier than this: the weight of nice -10.
const BOUND: i64 = Nice::MINUS_10.table_weight() as i64;

impl Scheduler {
    /// Recomputes the weight of a group's entity, unless nobody is in the group, or nobody there may run.
    #[inline]
    pub(crate) fn update_group_weight(&mut self, se: EntityId) {
        if let Some(below) = self.entities[se].my_queue {
            self.take_share(se, below);
        }
    }

    fn take_share(&mut self, se: EntityId, below: QueueId) {
        let when = self.config.variants.group_reweight;
        let populated = self.queues[below].load != Weight(0);
        if when == GroupReweight::ByDomain
            || when == GroupReweight::IfChangedAndPopulated && !populated
            || self.is_out_of_play(below)
        {
            return;
        }
        let rules = self.config.variants.load;
        let weight = self.group_weight(below);
        let whole = rules.share == GroupShare::Bounded && !self.config.features.has(Feature::SmpNiceGroups);
        if (when == GroupReweight::Always && !whole) || self.entities[se].weight != weight {
            let q = self.entities[se].queue;
            // Weights that count as none cannot be told from the fine weight later.
            let inverse = if rules.small_weights_vanish { inverse_of_table(rules.table(weight)) } else { 0 };
            self.reweight(q, se, LoadWeight { weight, inverse });
        }
    }

    /// Something changed in queue `q`, of which `se` is part: a group's weight is to follow. That is the
    /// group that `se` stands for, or, in early kernels, the one that the queue belongs to.
    #[inline]
    pub(crate) fn reweigh(&mut self, q: QueueId, se: EntityId) {
        if !self.config.variants.load.weighed_from_below {
            self.update_group_weight(se);
        } else if let Some(above) = self.queues[q].entity {
            self.update_group_weight(above);
        }
    }

    /// A group's shares changed: its load and weight are brought up to date.
    pub(crate) fn refresh_group_entity(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        if self.config.variants.load.propagation != Propagation::Never {
            self.update_load(q, se, LoadUpdate::AgeAndReport);
        }
        self.update_group_weight(se);
    }

    /// The part of the group's shares that is due to one of its queues. The lower bound is in the fine unit
    /// on purpose: on many CPUs a part may be a small fraction of one share.
    #[inline]
    fn group_weight(&self, below: QueueId) -> Weight {
        let rules = self.config.variants.load;
        let queue = &self.queues[below];
        let weight = rules.table(queue.load);
        match rules.share {
            GroupShare::Greater => self.part_of_shares(below, weight.max(queue.avg.load_avg) as i64),
            GroupShare::Bounded if !self.config.features.has(Feature::SmpNiceGroups) => {
                self.groups[queue.group].shares
            }
            GroupShare::Weight | GroupShare::Bounded => self.part_of_shares(below, weight as i64),
        }
    }

    /// The part of the group's shares that is due to one of its queues that counts with this load.
    #[inline]
    pub(super) fn part_of_shares(&self, below: QueueId, load: i64) -> Weight {
        let rules = self.config.variants.load;
        let queue = &self.queues[below];
        let group = &self.groups[queue.group];
        let mut total = group.load_avg - queue.tg_load_contrib as i64 + load;
        let shares = if rules.coarse_weights { group.shares.down() } else { group.shares.0 } as i64;
        let mut least = Shares::MIN.get() as i64;
        if rules.share == GroupShare::Bounded {
            total = total.min(BOUND);
            if shares > Shares::DEFAULT.get() as i64 {
                least = Shares::DEFAULT.get() as i64;
            }
        }
        let mut part = shares.wrapping_mul(load);
        if total != 0 {
            part = part.wrapping_div(total);
        }
        // Not `clamp`: the least may be more than all there is.
        let part = part.max(least).min(shares) as u64;
        if rules.coarse_weights { Weight::from_table(part) } else { Weight(part) }
    }

    /// Changes an entity's weight under EEVDF. Where a queued one stands afterwards is a [`Reweight`]; the lag of
    /// one that is off the queue, which is CPU time per weight, is rescaled.
    pub(super) fn eevdf_reweight_entity(&mut self, q: QueueId, se: EntityId, load: LoadWeight) {
        let old = self.entities[se].weight;
        let is_curr = self.queues[q].curr == Some(se);
        let queued = self.entities[se].on_rq;
        let rule = self.config.variants.reweight;
        if queued {
            self.update_curr(q);
            let now = self.settle_virtual_time(q);
            if !is_curr {
                self.take_from_timeline(q, se);
            }
            self.queues[q].load.0 -= old.0;
            match rule {
                Reweight::KeepLag => self.eevdf_reweight(se, now, load.weight),
                Reweight::PlaceAgain => self.lift(q, se, now),
                Reweight::RescaleRequest => self.entities[se].rescale_rest(load.weight),
                Reweight::Stay => {}
            }
        }
        if !queued || rule == Reweight::PlaceAgain {
            self.entities[se].rescale_lag(load.weight);
        }
        if rule == Reweight::PlaceAgain {
            self.entities[se].rescale_request(load.weight);
        }
        self.reweight_load(q, se, |entity| {
            entity.weight = load.weight;
            entity.inverse = load.inverse;
        });
        if queued {
            if rule == Reweight::PlaceAgain {
                self.place(q, se, Enqueue::default());
                self.queues[q].nr_queued += 1;
            }
            self.queues[q].load.0 += load.weight.0;
            if !is_curr {
                self.put_in_timeline(q, se);
            }
            self.advance_anchor(q);
        }
    }

    /// The entity leaves as if for good: it takes its lag and the rest of its request along, and is not
    /// counted among those that compete until it is placed again.
    fn lift(&mut self, q: QueueId, se: EntityId, now: VTime) {
        let tick = self.config.tick();
        let entity = &mut self.entities[se];
        entity.vlag = entity.lag_at(now, tick);
        entity.make_deadline_relative();
        self.queues[q].nr_queued -= 1;
    }
}
