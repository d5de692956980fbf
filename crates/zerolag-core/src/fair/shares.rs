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

use crate::fair::Enqueue;
use crate::fair::load::LoadUpdate;
use crate::group::Shares;
use crate::ids::{EntityId, QueueId};
use crate::nice::LoadWeight;
use crate::scheduler::Scheduler;
use crate::units::{VTime, Weight};
use crate::variants::{GroupReweight, Reweight};

impl Scheduler {
    /// Recomputes the weight of a group's entity, unless nobody is in the group, or nobody there may run.
    #[inline]
    pub(crate) fn update_group_weight(&mut self, se: EntityId) {
        let Some(below) = self.entities[se].my_queue else { return };
        let rule = self.config.variants.group_reweight;
        let if_changed = rule == GroupReweight::IfChangedAndPopulated;
        if rule == GroupReweight::ByDomain
            || (if_changed && self.queues[below].load == Weight(0))
            || self.is_out_of_play(below)
        {
            return;
        }
        let weight = self.group_weight(below);
        if !if_changed || self.entities[se].weight != weight {
            let q = self.entities[se].queue;
            self.reweight(q, se, LoadWeight { weight, inverse: 0 });
        }
    }

    /// A group's shares changed: its load and weight are brought up to date.
    pub(crate) fn refresh_group_entity(&mut self, se: EntityId) {
        let q = self.entities[se].queue;
        self.update_load(q, se, LoadUpdate::AgeAndReport);
        self.update_group_weight(se);
    }

    /// The part of the group's shares that is due to one of its queues. The lower bound is in the fine unit
    /// on purpose: on many CPUs a part may be a small fraction of one share.
    fn group_weight(&self, below: QueueId) -> Weight {
        let queue = &self.queues[below];
        let group = &self.groups[queue.group];
        let shares = group.shares.0 as i64;
        let load = queue.load.down().max(queue.avg.load_avg) as i64;
        let total = group.load_avg - queue.tg_load_contrib as i64 + load;
        let mut weight = shares.wrapping_mul(load);
        if total != 0 {
            weight = weight.wrapping_div(total);
        }
        Weight(weight.clamp(Shares::MIN.get() as i64, shares) as u64)
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
