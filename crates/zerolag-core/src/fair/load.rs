// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking in the hierarchy: when averages are updated, how they move between queues, and how a
//! change below reaches the entities above.
//!
//! A queue's averages are the sum of its entities', blocked ones included. An entity is *attached* when it
//! has been added to that sum; `last_update_time` 0 says it is not. When an entity joins or leaves, the
//! group's entity in the parent's queue has to follow: the queue is marked `propagate`, and the change is
//! handed up at the next update.
//!
//! ```text
//!     parent queue:  avg = ... + avg(G1)        <- util, runnable copied from below, load computed
//!                              ^ propagate
//!     G1's queue:    avg = avg(T2) + avg(T3)    <- T3 attached
//! ```
//!
//! Source: kernel/sched/fair.c, `update_load_avg()` and what it calls; 6.12 where 6.1 differs.

use crate::entity::Entity;
use crate::fair::bandwidth::PeltLag;
use crate::fair::queue::CfsRq;
use crate::features::Feature;
use crate::ids::{EntityId, QueueId, TaskId};
use crate::pelt::{Sample, add_positive, floor_sum, sub_positive};
use crate::scheduler::Scheduler;
use crate::units::Instant;
use crate::variants::Propagation;

/// What an update of an entity's load is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadUpdate {
    /// Only time passed; the group's load average need not know.
    Age,
    /// Time passed; report to the group.
    AgeAndReport,
    /// The entity joins the queue.
    Join,
    /// The entity leaves for another CPU.
    Leave,
}

/// Set in `util_est` while the estimate is that of the last sleep: no update needed at the next.
pub(crate) const UTIL_UNCHANGED: u32 = 0x8000_0000;

impl Entity {
    /// Time passes; `running` = on its queue's account, `remembers` = its utilisation is estimated, and has changed
    /// now.
    #[inline]
    fn age(&mut self, now: Instant, running: bool, remembers: bool) {
        let runnable = if self.delayed {
            0
        } else if self.is_task() {
            u64::from(self.on_rq)
        } else {
            u64::from(self.runnable_weight)
        };
        let sample = Sample { load: u64::from(self.on_rq), runnable, running };
        if self.avg.update(now, sample, self.table_weight()) && remembers {
            self.avg.util_est &= !UTIL_UNCHANGED;
        }
    }

    fn attach_sums(&mut self, divider: u64) {
        let avg = &mut self.avg;
        avg.util_sum = (avg.util_avg * divider) as u32;
        avg.runnable_sum = avg.runnable_avg * divider;
        avg.load_sum = avg.load_avg * divider;
        let weight = self.weight.down();
        avg.load_sum = if weight < avg.load_sum { avg.load_sum / weight } else { 1 };
    }
}

impl CfsRq {
    /// Takes off what left while asleep; then time passes. Returns true if the averages changed.
    #[inline]
    fn age(&mut self, now: Instant) -> bool {
        let removed = self.removed.nr != 0;
        if removed {
            self.take_off_removed();
        }
        let sample = Sample {
            load: self.load.down(),
            runnable: u64::from(self.h_nr_queued - self.h_nr_delayed),
            running: self.curr.is_some(),
        };
        self.avg.update(now, sample, 1) | removed
    }

    fn take_off_removed(&mut self) {
        let gone = core::mem::take(&mut self.removed);
        let avg = &mut self.avg;
        let divider = u64::from(avg.divider());
        avg.load_avg = sub_positive(avg.load_avg, gone.load_avg);
        avg.load_sum = sub_positive(avg.load_sum, gone.load_avg * divider);
        avg.load_sum = floor_sum(avg.load_sum, avg.load_avg);
        avg.util_avg = sub_positive(avg.util_avg, gone.util_avg);
        avg.util_sum = avg.util_sum.saturating_sub((gone.util_avg * divider) as u32);
        avg.util_sum = floor_sum(u64::from(avg.util_sum), avg.util_avg) as u32;
        avg.runnable_avg = sub_positive(avg.runnable_avg, gone.runnable_avg);
        avg.runnable_sum = sub_positive(avg.runnable_sum, gone.runnable_avg * divider);
        avg.runnable_sum = floor_sum(avg.runnable_sum, avg.runnable_avg);
        // The load that left is estimated by the runnable time that left.
        self.mark_propagate(-((gone.runnable_avg * divider) as i64) >> 10);
    }

    fn mark_propagate(&mut self, runnable_sum: i64) {
        self.propagate = true;
        self.prop_runnable_sum += runnable_sum;
    }
}

impl Scheduler {
    /// The PELT clock of a queue: its CPU's, less the time for which its hierarchy was throttled.
    #[inline]
    pub(crate) fn queue_pelt_now(&self, q: QueueId) -> Instant {
        let queue = &self.queues[q];
        let now = self.cpus[queue.cpu].pelt_now();
        if self.bandwidth_used { queue.throttle.pelt_clock(now) } else { now }
    }

    /// Brings entity, queue and what came up from below to the present (`update_load_avg()`).
    #[inline]
    pub(crate) fn update_load(&mut self, q: QueueId, se: EntityId, what: LoadUpdate) {
        if !self.config.variants.pelt {
            return;
        }
        let now = self.queue_pelt_now(q);
        if self.tracks_earlier() {
            self.update_load_earlier(q, se, what, now);
        } else if !self.is_up_to_date(q, se, now) || matches!(what, LoadUpdate::Join | LoadUpdate::Leave) {
            self.advance_load(q, se, what, now);
        }
    }

    /// Neither has a whole unit of time passed, nor has anything left the queue or come up from below. One switch
    /// asks several times at the same moment.
    #[inline]
    fn is_up_to_date(&self, q: QueueId, se: EntityId, now: Instant) -> bool {
        let queue = &self.queues[q];
        let entity = &self.entities[se];
        queue.avg.is_current(now)
            && entity.avg.is_current(now)
            && queue.removed.nr == 0
            && entity.my_queue.is_none_or(|below| !self.queues[below].propagate)
    }

    fn advance_load(&mut self, q: QueueId, se: EntityId, what: LoadUpdate, now: Instant) {
        let remembers = self.config.features.has(Feature::UtilEst);
        let (queue, entity) = (&mut self.queues[q], &mut self.entities[se]);
        let attached = entity.avg.last_update_time != Instant(0);
        if attached {
            entity.age(now, queue.curr == Some(se), remembers);
        }
        let below = entity.my_queue;
        let mut decayed = queue.age(now);
        if let Some(below) = below {
            decayed |= self.propagate_entity(q, se, below);
        }
        match what {
            LoadUpdate::Join if !attached => {
                self.attach_load(q, se);
                self.report_load(q);
            }
            LoadUpdate::Leave => {
                self.detach_load(q, se);
                self.report_load(q);
            }
            LoadUpdate::Join | LoadUpdate::AgeAndReport if decayed => self.report_load(q),
            _ => {}
        }
    }

    /// Ages an entity that nobody waits for.
    pub(crate) fn age_blocked_entity(&mut self, se: EntityId, now: Instant) {
        if self.tracks_earlier() {
            self.age_blocked_earlier(se, now);
            return;
        }
        let entity = &mut self.entities[se];
        let weight = entity.table_weight();
        entity.avg.update(now, Sample::BLOCKED, weight);
    }

    /// Takes off what left while asleep, then ages the queue. Returns true if its averages changed.
    pub(crate) fn age_queue(&mut self, q: QueueId, now: Instant) -> bool {
        if self.tracks_earlier() {
            return self.age_queue_earlier(q, now);
        }
        self.queues[q].age(now)
    }

    pub(super) fn mark_propagate(&mut self, q: QueueId, runnable_sum: i64) {
        self.queues[q].mark_propagate(runnable_sum);
    }

    /// Adds an entity's load to the queue's (`enqueue_load_avg()`).
    #[inline]
    fn add_load(&mut self, q: QueueId, se: EntityId) {
        let entity = &self.entities[se];
        let avg = &mut self.queues[q].avg;
        avg.load_avg = avg.load_avg.wrapping_add(entity.avg.load_avg);
        avg.load_sum = avg.load_sum.wrapping_add(entity.table_weight().wrapping_mul(entity.avg.load_sum));
    }

    /// Takes it off (`dequeue_load_avg()`).
    #[inline]
    fn sub_load(&mut self, q: QueueId, se: EntityId) {
        let entity = &self.entities[se];
        let avg = &mut self.queues[q].avg;
        avg.load_avg = sub_positive(avg.load_avg, entity.avg.load_avg);
        avg.load_sum = sub_positive(avg.load_sum, entity.table_weight().wrapping_mul(entity.avg.load_sum));
        avg.load_sum = floor_sum(avg.load_sum, avg.load_avg);
    }

    /// Changes an entity's weight as far as load tracking is concerned: its history is rescaled with it.
    /// The change of the weight itself happens in `set`, in between.
    #[inline]
    pub(crate) fn reweight_load(&mut self, q: QueueId, se: EntityId, set: impl FnOnce(&mut Entity)) {
        if self.tracks_earlier() {
            self.reweight_load_earlier(q, se, set);
            return;
        }
        self.sub_load(q, se);
        let entity = &mut self.entities[se];
        set(entity);
        let divider = u64::from(entity.avg.divider());
        entity.avg.load_avg = entity.table_weight().wrapping_mul(entity.avg.load_sum) / divider;
        self.add_load(q, se);
    }

    /// The entity's averages become part of the queue's (`attach_entity_load_avg()`). Its time is set to
    /// the queue's, so that from now on their periods end together.
    pub(crate) fn attach_load(&mut self, q: QueueId, se: EntityId) {
        if self.tracks_earlier() {
            self.attach_load_earlier(q, se);
            return;
        }
        let queue = &self.queues[q].avg;
        let (time, contrib, divider) = (queue.last_update_time, queue.period_contrib, queue.divider());
        let entity = &mut self.entities[se];
        entity.avg.last_update_time = time;
        entity.avg.period_contrib = contrib;
        entity.attach_sums(u64::from(divider));
        self.add_load(q, se);
        let entity = &self.entities[se].avg;
        let avg = &mut self.queues[q].avg;
        avg.util_avg += entity.util_avg;
        avg.util_sum = avg.util_sum.wrapping_add(entity.util_sum);
        avg.runnable_avg += entity.runnable_avg;
        avg.runnable_sum += entity.runnable_sum;
        let load_sum = entity.load_sum as i64;
        self.mark_propagate(q, load_sum);
    }

    /// The entity's averages are no longer part of the queue's (`detach_entity_load_avg()`).
    pub(crate) fn detach_load(&mut self, q: QueueId, se: EntityId) {
        if self.tracks_earlier() {
            self.detach_load_earlier(q, se);
            return;
        }
        self.sub_load(q, se);
        let entity = &self.entities[se].avg;
        let avg = &mut self.queues[q].avg;
        avg.util_avg = sub_positive(avg.util_avg, entity.util_avg);
        avg.util_sum = avg.util_sum.saturating_sub(entity.util_sum);
        avg.util_sum = floor_sum(u64::from(avg.util_sum), avg.util_avg) as u32;
        avg.runnable_avg = sub_positive(avg.runnable_avg, entity.runnable_avg);
        avg.runnable_sum = sub_positive(avg.runnable_sum, entity.runnable_sum);
        avg.runnable_sum = floor_sum(avg.runnable_sum, avg.runnable_avg);
        let load_sum = entity.load_sum as i64;
        self.mark_propagate(q, -load_sum);
    }

    /// Adds a queue's change of load to its group's load average, unless it is small or the last report was
    /// just now (`update_tg_load_avg()`).
    #[inline]
    pub(crate) fn report_load(&mut self, q: QueueId) {
        if self.queues[q].entity.is_some() {
            self.report_group_load(q);
        }
    }

    fn report_group_load(&mut self, q: QueueId) {
        let queue = &mut self.queues[q];
        let interval = self.config.variants.tg_load_interval;
        if self.now.0.wrapping_sub(queue.last_tg_load_update.0) < interval.0 {
            return;
        }
        let delta = queue.avg.load_avg.wrapping_sub(queue.tg_load_contrib) as i64;
        if delta.unsigned_abs() > queue.tg_load_contrib / 64 {
            // What a CPU has reported is withdrawn when it goes offline; it must not come back.
            if self.config.variants.reports_withdrawn_offline && !self.active.contains(queue.cpu) {
                return;
            }
            queue.tg_load_contrib = queue.avg.load_avg;
            queue.last_tg_load_update = self.now;
            self.groups[queue.group].load_avg += delta;
        }
    }

    /// Hands up to a group's entity what changed below it (`propagate_entity_load_avg()`). Returns true if
    /// there was something.
    #[inline]
    fn propagate_entity(&mut self, q: QueueId, se: EntityId, below: QueueId) -> bool {
        let changed = core::mem::take(&mut self.queues[below].propagate);
        if changed {
            self.follow(q, se, below);
        }
        changed
    }

    fn follow(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let runnable_sum = self.queues[below].prop_runnable_sum;
        self.mark_propagate(q, runnable_sum);
        self.follow_util(q, se, below);
        self.follow_runnable(q, se, below);
        self.follow_load(q, se, below);
    }

    /// The group ran when anything in it ran: its utilisation is that of the queue below.
    pub(super) fn follow_util(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let util_avg = self.queues[below].avg.util_avg;
        let avg = &mut self.queues[q].avg;
        let entity = &mut self.entities[se].avg;
        let change = util_avg.wrapping_sub(entity.util_avg) as i64;
        if change == 0 {
            return;
        }
        let sum = (util_avg * u64::from(avg.divider())) as u32;
        let sum_change = i64::from(sum) - i64::from(entity.util_sum);
        (entity.util_avg, entity.util_sum) = (util_avg, sum);
        avg.util_avg = add_positive(avg.util_avg, change);
        avg.util_sum = add_positive_32(avg.util_sum, sum_change);
        avg.util_sum = floor_sum(u64::from(avg.util_sum), avg.util_avg) as u32;
    }

    /// As many were runnable in the group as in the queue below.
    fn follow_runnable(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let runnable_avg = self.queues[below].avg.runnable_avg;
        let avg = &mut self.queues[q].avg;
        let entity = &mut self.entities[se].avg;
        let change = runnable_avg.wrapping_sub(entity.runnable_avg) as i64;
        if change == 0 {
            return;
        }
        let sum = runnable_avg * u64::from(avg.divider());
        let sum_change = sum.wrapping_sub(entity.runnable_sum) as i64;
        (entity.runnable_avg, entity.runnable_sum) = (runnable_avg, sum);
        avg.runnable_avg = add_positive(avg.runnable_avg, change);
        avg.runnable_sum = add_positive(avg.runnable_sum, sum_change);
        avg.runnable_sum = floor_sum(avg.runnable_sum, avg.runnable_avg);
    }

    /// The group's load is its weight times the time it was runnable. That time cannot be read off the queue
    /// below, where tasks overlap, so it is bounded from both sides:
    ///
    /// * a joiner adds its runnable time, up to "always";
    /// * a leaver leaves at most the mean over what remains;
    /// * it was runnable at least when it ran.
    fn follow_load(&mut self, q: QueueId, se: EntityId, below: QueueId) {
        let change = core::mem::take(&mut self.queues[below].prop_runnable_sum);
        if change == 0 {
            return;
        }
        let below = &self.queues[below];
        let (below_weight, below_sum) = (below.load.down(), below.avg.load_sum);
        let avg = &mut self.queues[q].avg;
        let divider = u64::from(avg.divider());
        let weight = self.entities[se].table_weight();
        let entity = &mut self.entities[se].avg;
        let runnable_sum = if change >= 0 {
            (change + entity.load_sum as i64).min(divider as i64)
        } else {
            let mean = below_sum.checked_div(below_weight).unwrap_or(0);
            entity.load_sum.min(mean) as i64
        };
        let running_sum = i64::from(entity.util_sum >> 10);
        let runnable_sum = runnable_sum.max(running_sum) as u64;
        let load_sum = weight.wrapping_mul(runnable_sum);
        let load_avg = load_sum / divider;
        let avg_change = load_avg.wrapping_sub(entity.load_avg) as i64;
        if avg_change == 0 {
            return;
        }
        let sum_change = load_sum.wrapping_sub(weight.wrapping_mul(entity.load_sum)) as i64;
        (entity.load_sum, entity.load_avg) = (runnable_sum, load_avg);
        avg.load_avg = add_positive(avg.load_avg, avg_change);
        avg.load_sum = add_positive(avg.load_sum, sum_change);
        avg.load_sum = floor_sum(avg.load_sum, avg.load_avg);
    }

    /// Updates the load of every ancestor after an entity joined or left while it was not queued, and keeps
    /// the queues on the list of those with load (`propagate_entity_cfs_rq()`).
    pub(crate) fn propagate_upwards(&mut self, se: EntityId) {
        let mut q = self.entities[se].queue;
        let mut at = self.entities[se].parent;
        // Above a throttled queue nothing of this is seen until it is unthrottled.
        let lists = !self.tracks_earlier();
        while !self.is_cut_off(q) {
            if lists && !self.is_frozen(q) {
                self.add_leaf(q);
            }
            let Some(se) = at else { break };
            q = self.entities[se].queue;
            self.update_load(q, se, LoadUpdate::AgeAndReport);
            at = self.entities[se].parent;
        }
    }

    /// Puts a queue on its CPU's list of queues with load. Returns false if that is still to be done with
    /// the queue above.
    pub(crate) fn add_leaf(&mut self, q: QueueId) -> bool {
        let cpu = self.queues[q].cpu;
        self.cpus[cpu].leaf.add(&mut self.queues, q)
    }

    /// An entity that is not queued joins the load of its queue (`attach_entity_cfs_rq()`).
    pub(crate) fn attach_entity(&mut self, se: EntityId) {
        if !self.config.variants.pelt {
            return;
        }
        if self.tracks_earlier() {
            self.attach_entity_earlier(se);
            return;
        }
        let q = self.entities[se].queue;
        let now = self.queue_pelt_now(q);
        if self.entities[se].avg.last_update_time != Instant(0)
            && self.config.features.has(Feature::AttachAgeLoad)
        {
            let remembers = self.config.features.has(Feature::UtilEst);
            let running = self.queues[q].curr == Some(se);
            self.entities[se].age(now, running, remembers);
        }
        self.queues[q].age(now);
        if let Some(below) = self.entities[se].my_queue {
            self.propagate_entity(q, se, below);
        }
        self.attach_load(q, se);
        self.report_load(q);
        self.propagate_upwards(se);
    }

    /// An entity that is not queued leaves the load of its queue (`detach_entity_cfs_rq()`).
    pub(crate) fn detach_entity(&mut self, se: EntityId) {
        if !self.config.variants.pelt {
            return;
        }
        if self.tracks_earlier() {
            self.detach_entity_earlier(se);
            return;
        }
        if self.entities[se].avg.last_update_time == Instant(0) {
            return;
        }
        let q = self.entities[se].queue;
        self.update_load(q, se, LoadUpdate::Age);
        self.detach_load(q, se);
        self.report_load(q);
        self.propagate_upwards(se);
    }

    /// A sleeping entity leaves: its load is put aside for the queue to drop at its next update, since that
    /// queue may be another CPU's (`remove_entity_load_avg()`).
    pub(crate) fn remove_load(&mut self, se: EntityId) {
        let never = self.config.variants.load.propagation == Propagation::Never;
        if !self.config.variants.pelt || never && self.entities[se].avg.last_update_time == Instant(0) {
            return;
        }
        let q = self.entities[se].queue;
        let last = self.queues[q].avg.last_update_time;
        self.age_blocked_entity(se, last);
        let earlier = self.tracks_earlier();
        let avg = &self.entities[se].avg;
        let removed = &mut self.queues[q].removed;
        removed.nr += 1;
        removed.load_avg += avg.load_avg;
        removed.util_avg += avg.util_avg;
        // Before 5.7 what left is known by its runnable time instead.
        removed.runnable_avg += if earlier { avg.load_sum } else { avg.runnable_avg };
    }

    /// Ages a task that sleeps to the time of the queue it sleeps in (`sync_entity_load_avg()`).
    pub(crate) fn sync_load(&mut self, task: TaskId) {
        let se = self.tasks[task].entity;
        let last = self.queues[self.entities[se].queue].avg.last_update_time;
        self.age_blocked_entity(se, last);
    }

    /// A sleeper leaves an idle CPU, whose clocks stood still: ages it for the idle time as well
    /// (`migrate_se_pelt_lag()`).
    pub(crate) fn age_for_idle_time(&mut self, se: EntityId) {
        if !self.config.variants.pelt || !self.config.variants.load.idle_time_counts {
            return;
        }
        let entity = &self.entities[se];
        if entity.avg.is_decayed() {
            return;
        }
        let queue = &self.queues[entity.queue];
        let rq = &self.cpus[queue.cpu];
        if !rq.is_idle_task() {
            return;
        }
        let PeltLag::Known(lag) = queue.throttle.pelt_frozen_at_idle else { return };
        let last = queue.avg.last_update_time;
        let idle_since = Instant(rq.clock_pelt_idle.0.wrapping_sub(lag.0));
        let now = if idle_since < last {
            last
        } else {
            Instant(idle_since.0 + self.now.0.wrapping_sub(rq.clock_idle.0))
        };
        self.age_blocked_entity(se, now);
    }
}

/// [`add_positive`] on 32 bits: utilisation sums are that wide in the kernel, and wrap there.
fn add_positive_32(value: u32, change: i64) -> u32 {
    let sum = value.wrapping_add(change as u32);
    if change < 0 && sum > value { 0 } else { sum }
}
