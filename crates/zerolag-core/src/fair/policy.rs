// SPDX-License-Identifier: GPL-2.0-only
//! Everything that the policies do differently, side by side. The policy is matched here and nowhere else.
//!
//! | when | [CFS](super::cfs) | [EEVDF](super::eevdf) |
//! |---|---|---|
//! | an entity joins a queue | relative to the least vruntime | at its lag |
//! | it leaves | takes its distance to the least vruntime along | takes its lag along |
//! | it waits | in order of vruntime | in order of deadline |
//! | the running one was charged | the least vruntime moves on | its request may be served |
//! | one is picked | the leftmost, with regard to buddies | the earliest deadline of the eligible |
//! | somebody woke up | preempts if far enough behind | preempts if it would be picked |
//! | a tick comes | the turn may be over | |
//! | its weight changes | it stays where it is | its lag stays what it is |
//! | a task yields | others go first | it gives up the rest of its request |
//!
//! CFS of [2009](super::cfs2009) does most of it in the same way as CFS, in another.

use crate::config::FairPolicy;
use crate::entity::Entity;
use crate::fair::timeline::{ByDeadline, ByVruntime};
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::nice::LoadWeight;
use crate::scheduler::{Arrival, Scheduler};
use crate::units::{Nanos, VTime};
use crate::variants::Protection;

impl Entity {
    /// Virtual time in which this entity receives `wall` of service.
    #[inline]
    pub(super) fn service(&mut self, policy: FairPolicy, wall: Nanos) -> u64 {
        match policy {
            FairPolicy::Cfs2009 => self.rounded_span(wall),
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.virtual_span(wall),
        }
    }
}

impl Scheduler {
    /// Decides where in virtual time a joining entity stands, and by when it should be served.
    pub(super) fn place(&mut self, q: QueueId, se: EntityId, flags: Enqueue) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_place(q, se, flags),
            FairPolicy::Cfs2009 => self.cfs2009_place(q, se, flags),
            // The first place of a new task was given when it was made; this one is like any other.
            FairPolicy::Eevdf2023 => self.eevdf2023_place(q, se, Enqueue { initial: false, ..flags }),
            FairPolicy::Eevdf => self.eevdf_place(q, se, flags.initial),
        }
    }

    /// Whether a running entity that comes back is placed before it is charged for the time since. Under
    /// EEVDF it is, as it is not yet part of the mean; under CFS its vruntime must be absolute by then, which
    /// that of one that wakes up is.
    pub(super) fn places_before_charge(&self, flags: Enqueue) -> bool {
        match self.config.policy {
            FairPolicy::Cfs => !flags.wakeup,
            FairPolicy::Cfs2009 => false,
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => true,
        }
    }

    /// Decides what an entity that is about to leave takes along.
    pub(super) fn before_leaving(&mut self, q: QueueId, se: EntityId, flags: Dequeue) {
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => {}
            FairPolicy::Eevdf2023 => self.take_lag(q, se),
            FairPolicy::Eevdf => {
                self.take_lag(q, se);
                if !flags.sleep && self.config.features.has(Feature::PlaceRelDeadline) {
                    // It will come back in the middle of its request.
                    self.entities[se].make_deadline_relative();
                }
            }
        }
    }

    /// The same, where it depends on those who stay.
    pub(super) fn after_leaving(&mut self, q: QueueId, se: EntityId, flags: Dequeue) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_left(q, se, flags),
            FairPolicy::Cfs2009 => self.queues[q].advance_min_vruntime_2009(&self.entities),
            _ if !flags.save || flags.moves => self.advance_anchor(q),
            _ => {}
        }
    }

    /// The entity waits from now on.
    #[inline]
    pub(crate) fn put_in_timeline(&mut self, q: QueueId, se: EntityId) {
        let queue = &mut self.queues[q];
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => {
                queue.timeline.insert::<ByVruntime>(&mut self.entities, se);
            }
            FairPolicy::Eevdf2023 => {
                queue.insert_by_vruntime(&mut self.entities, se);
                self.validate_if_asked(q);
            }
            FairPolicy::Eevdf => queue.insert::<ByDeadline>(&mut self.entities, se),
        }
    }

    /// The entity no longer waits.
    #[inline]
    pub(super) fn take_from_timeline(&mut self, q: QueueId, se: EntityId) {
        let queue = &mut self.queues[q];
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => {
                queue.timeline.remove::<ByVruntime>(&mut self.entities, se);
            }
            FairPolicy::Eevdf2023 => {
                queue.remove_by_vruntime(&mut self.entities, se);
                self.validate_if_asked(q);
            }
            FairPolicy::Eevdf => queue.remove::<ByDeadline>(&mut self.entities, se),
        }
    }

    /// The least vruntime of those that wait.
    #[inline]
    pub(super) fn least_waiting(&self, q: QueueId) -> Option<VTime> {
        let timeline = &self.queues[q].timeline;
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 | FairPolicy::Eevdf2023 => {
                timeline.first().map(|f| self.entities[f].vruntime)
            }
            FairPolicy::Eevdf => timeline.root().map(|r| self.entities[r].subtree_min),
        }
    }

    /// The entity begins to run.
    #[inline]
    pub(super) fn begin_turn(&mut self, q: QueueId, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => {}
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.protect(q, se),
        }
    }

    /// The running entity was charged. Returns true if somebody else should get a turn.
    #[inline]
    pub(super) fn charged(&mut self, q: QueueId, curr: EntityId) -> bool {
        match self.config.policy {
            FairPolicy::Cfs => {
                let leaver_holds = self.config.variants.cfs.leaver_holds_min;
                self.queues[q].advance_min_vruntime(&self.entities, leaver_holds);
                false
            }
            FairPolicy::Cfs2009 => {
                self.queues[q].advance_min_vruntime_2009(&self.entities);
                false
            }
            FairPolicy::Eevdf2023 => {
                let give_way = self.eevdf2023_charged(q, curr);
                self.advance_anchor(q);
                give_way
            }
            FairPolicy::Eevdf => {
                let give_way = self.queues[q].eevdf_charged(&mut self.entities, &self.config, curr);
                self.advance_anchor(q);
                give_way
            }
        }
    }

    /// The entity that should run at one level. The queue is not empty.
    #[inline]
    pub(super) fn pick_entity(&self, q: QueueId) -> EntityId {
        let queue = &self.queues[q];
        match self.config.policy {
            FairPolicy::Cfs => queue.pick_cfs(&self.entities, self.config.tunables.wakeup_granularity),
            FairPolicy::Cfs2009 => self.cfs2009_pick(q),
            FairPolicy::Eevdf2023 => self.eevdf2023_pick(q),
            FairPolicy::Eevdf => {
                let pick = self.pick_with_buddy(q, self.protection_at_pick());
                pick.expect("somebody in a non-empty queue is eligible")
            }
        }
    }

    /// EEVDF: who would run at one level with this protection, the next buddy included if `PICK_BUDDY` is on.
    #[inline]
    pub(super) fn pick_with_buddy(&self, q: QueueId, guard: Option<Protection>) -> Option<EntityId> {
        let queue = &self.queues[q];
        let buddy = queue.next.filter(|_| self.config.features.has(Feature::PickBuddy));
        queue.pick_buddy_or_eevdf(&self.entities, buddy, guard)
    }

    /// EEVDF: the entity that would run if everybody were asked now, buddies aside.
    pub(super) fn most_urgent(&self, q: QueueId) -> Option<EntityId> {
        let guard = self.protection_at_pick();
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => None,
            FairPolicy::Eevdf2023 => {
                let search = self.config.variants.search;
                self.queues[q].pick_by_vruntime(&self.entities, search, guard)
            }
            FairPolicy::Eevdf => self.queues[q].pick_eevdf(&self.entities, guard),
        }
    }

    /// `wakee` became runnable on `cpu`, where the fair task `curr` runs.
    pub(crate) fn fair_check_preempt(&mut self, cpu: CpuId, curr: TaskId, wakee: TaskId, arrival: Arrival) {
        if self.config.policy == FairPolicy::Cfs2009 {
            return self.cfs2009_check_preempt(cpu, curr, wakee, arrival);
        }
        let fork = arrival == Arrival::New;
        let wakee_queue = self.entities[self.tasks[wakee].entity].queue;
        if curr == wakee || self.is_out_of_play(wakee_queue) || self.tasks[wakee].throttled {
            return;
        }
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => self.cfs_check_preempt(cpu, curr, wakee, fork),
            FairPolicy::Eevdf2023 => self.eevdf2023_check_preempt(cpu, curr, wakee, fork),
            FairPolicy::Eevdf => self.eevdf_check_preempt(cpu, curr, wakee, fork),
        }
    }

    /// A tick found the entity running at its level. Under EEVDF the end of the request has been acted on
    /// when it was charged.
    pub(super) fn tick_entity(&mut self, q: QueueId, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_tick(q, se),
            FairPolicy::Cfs2009 => self.cfs2009_tick(q, se),
            FairPolicy::Eevdf2023 => self.eevdf2023_tick(q, se),
            FairPolicy::Eevdf => {}
        }
    }

    /// How long the entity may run at a time.
    pub(super) fn turn(&self, se: EntityId) -> Nanos {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_slice(self.entities[se].queue, se),
            FairPolicy::Cfs2009 => self.cfs2009_slice(self.entities[se].queue, se),
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.entities[se].slice,
        }
    }

    /// Changes an entity's weight.
    pub(crate) fn reweight(&mut self, q: QueueId, se: EntityId, load: LoadWeight) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_reweight(q, se, load),
            FairPolicy::Cfs2009 => self.cfs2009_reweight(q, se, load),
            FairPolicy::Eevdf2023 => self.eevdf2023_reweight(q, se, load),
            FairPolicy::Eevdf => self.eevdf_reweight_entity(q, se, load),
        }
    }

    /// The running task gives way (`yield_task_fair()`).
    pub(crate) fn fair_yield(&mut self, cpu: CpuId, task: TaskId) {
        if self.config.policy == FairPolicy::Cfs2009 {
            return self.cfs2009_yield(cpu, task);
        }
        if self.cpus[cpu].nr_running == 1 {
            return;
        }
        let se = self.tasks[task].entity;
        let q = self.entities[se].queue;
        self.clear_buddies(q, se);
        match self.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => self.cfs_yield(cpu, task),
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {
                self.update_clock(cpu);
                self.update_curr(q);
                self.cpus[cpu].skip_requested = true;
                self.eevdf_yield(q, se);
            }
        }
    }

    /// A task is new: the child of whoever runs in the same group on the same CPU.
    pub(crate) fn fair_fork(&mut self, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_fork(self.entities[se].queue, se),
            FairPolicy::Cfs2009 => {}
            FairPolicy::Eevdf2023 => self.eevdf2023_fork(self.entities[se].queue, se),
            FairPolicy::Eevdf => {}
        }
    }

    /// A new task is woken for the first time, by somebody on `this_cpu`; it will be queued at once.
    pub(crate) fn fair_start(&mut self, this_cpu: CpuId, task: TaskId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => self.cfs2009_start(this_cpu, self.tasks[task].entity),
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
    }

    /// A task goes to another CPU; while it sleeps, if it is woken there.
    pub(crate) fn fair_migrate(&mut self, task: TaskId, to: CpuId) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_migrate(task),
            FairPolicy::Cfs2009 => {
                let queue = self.groups[self.tasks[task].group].on(to).queue;
                self.cfs2009_migrate(self.tasks[task].entity, queue);
            }
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
    }

    /// A task, which may sleep, is no longer part of its queue: it changes group or class.
    pub(crate) fn fair_detach(&mut self, task: TaskId) {
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_detach(task),
            FairPolicy::Cfs2009 | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
        self.detach_entity(self.tasks[task].entity);
    }

    /// It becomes part of its queue.
    pub(crate) fn fair_attach(&mut self, task: TaskId) {
        self.attach_entity(self.tasks[task].entity);
        match self.config.policy {
            FairPolicy::Cfs => self.cfs_attach(task),
            FairPolicy::Cfs2009 | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
    }

    /// A task that is not queued has come into another group.
    pub(crate) fn fair_regrouped(&mut self, task: TaskId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => self.cfs2009_regrouped(self.tasks[task].entity),
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
    }

    /// The entity has been picked, and will run.
    #[inline]
    pub(super) fn picked(&mut self, q: QueueId, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => self.cfs2009_picked(q, se),
            // Becoming the running one takes the favour, whether by a pick or not.
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {}
        }
    }

    /// The entity becomes the running one: it is a buddy no longer.
    #[inline]
    pub(super) fn favour_used(&mut self, q: QueueId, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => {}
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.clear_buddies(q, se),
        }
    }

    /// The entity leaves: it is a buddy no longer.
    #[inline]
    pub(super) fn favour_lost(&mut self, q: QueueId, se: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => self.clear_buddies_2009(se),
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.clear_buddies(q, se),
        }
    }

    /// A task went to sleep, and its group goes on without it.
    pub(super) fn group_goes_on(&mut self, group: EntityId) {
        match self.config.policy {
            FairPolicy::Cfs2009 => {}
            // Its data are warm.
            FairPolicy::Cfs | FairPolicy::Eevdf2023 | FairPolicy::Eevdf => self.set_next_buddy(group),
        }
    }
}
