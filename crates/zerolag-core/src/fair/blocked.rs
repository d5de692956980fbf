// SPDX-License-Identifier: GPL-2.0-only
//! Load of tasks that sleep, and the load of a task as seen from the top of the hierarchy.
//!
//! A queue keeps the load of its sleepers, and nothing happens on its own that would let it decay. So before
//! loads are compared, all queues of a CPU that have load are aged, children before parents; queues with
//! nothing left leave the list.
//!
//! The *hierarchical* load of a queue is the part of its CPU's load that it stands for:
//!
//! ```text
//!     h_load(root) = load(root)
//!     h_load(q)    = h_load(parent) * load(q's entity) / load(parent)
//!     h_load(task) = h_load(q)      * load(task)       / load(q)
//! ```
//!
//! It is computed once a tick along the path that is asked for.
//!
//! Source: kernel/sched/fair.c, `update_blocked_averages()` (6.12: `sched_balance_...`),
//! `update_cfs_rq_h_load()`, `task_h_load()`; same in 6.1 and 6.12.

use crate::fair::load::LoadUpdate;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::pelt::Sample;
use crate::scheduler::Scheduler;
use crate::units::Weight;
use crate::variants::BlockedEntities;

impl Scheduler {
    /// Ages everything on a CPU that has load.
    pub(crate) fn update_blocked_averages(&mut self, cpu: CpuId) {
        let jiffies = self.jiffies();
        self.cpus[cpu].balance.last_blocked_update = jiffies;
        self.update_clock(cpu);
        let rt_blocked = !self.tracks_earlier() && self.age_realtime(cpu);
        let fair_blocked = self.age_fair(cpu);
        if !rt_blocked && !fair_blocked {
            self.cpus[cpu].balance.has_blocked_load = false;
        }
        self.watch_decay(cpu);
    }

    /// Ages the CPU's real-time utilisation. Returns true if there is any left.
    fn age_realtime(&mut self, cpu: CpuId) -> bool {
        let runs = u64::from(self.runs_realtime(cpu));
        let rq = &mut self.cpus[cpu];
        let sample = Sample { load: runs, runnable: runs, running: runs != 0 };
        let now = rq.pelt_now();
        rq.avg_rt.update(now, sample, 1);
        rq.avg_rt.util_avg != 0
    }

    /// Ages the CPU's queues. Returns true if any of them has load left.
    fn age_fair(&mut self, cpu: CpuId) -> bool {
        let mut blocked = false;
        let mut at = self.cpus[cpu].leaf.first();
        while let Some(q) = at {
            at = self.queues[q].leaf_next();
            let now = self.queue_pelt_now(q);
            if self.age_queue(q, now) {
                self.report_load(q);
                if self.queues[q].nr_queued == 0 {
                    self.queues[q].throttle.note_idle();
                }
            }
            let rules = self.config.variants.load;
            let reports = rules.blocked_entities == BlockedEntities::IfAny;
            let what = if reports { LoadUpdate::AgeAndReport } else { LoadUpdate::Age };
            let hands_up = |&se: &EntityId| match rules.blocked_entities {
                BlockedEntities::None => false,
                BlockedEntities::All => true,
                BlockedEntities::IfAnyQuietly | BlockedEntities::IfAny => !self.nothing_to_hand_up(q, se),
            };
            if let Some(se) = self.queues[q].entity.filter(hands_up) {
                self.update_load(self.entities[se].queue, se, what);
            }
            if rules.unlists_decayed && self.is_fully_decayed(cpu, q) {
                self.cpus[cpu].leaf.remove(&mut self.queues, q);
            }
            let avg = &self.queues[q].avg;
            blocked |= avg.load_avg != 0 || avg.util_avg != 0;
        }
        blocked
    }

    /// The group's entity has no load, and the queue below nothing new.
    fn nothing_to_hand_up(&self, below: QueueId, se: EntityId) -> bool {
        let avg = &self.entities[se].avg;
        avg.load_avg == 0 && avg.util_avg == 0 && !self.queues[below].propagate
    }

    /// Nothing in the queue or below is left to decay (`cfs_rq_is_decayed()`).
    pub(crate) fn is_fully_decayed(&self, cpu: CpuId, q: QueueId) -> bool {
        let queue = &self.queues[q];
        let child_listed = || {
            let before = self.cpus[cpu].leaf.before(&self.queues, q);
            before.is_some_and(|b| self.queues[b].parent == Some(q))
        };
        queue.load == Weight(0)
            && queue.avg.is_decayed()
            && !child_listed()
            && (queue.tg_load_contrib == 0 || !self.config.variants.listed_while_reported)
    }

    /// The task's part of its CPU's load.
    pub(crate) fn task_h_load(&mut self, task: TaskId) -> u64 {
        let se = self.tasks[task].entity;
        let q = self.entities[se].queue;
        self.update_h_load(q);
        let queue = &self.queues[q];
        self.entities[se].avg.load_avg.wrapping_mul(queue.h_load) / (queue.avg.load_avg + 1)
    }

    /// The same, as far as it is known this tick.
    pub(crate) fn known_h_load(&self, task: TaskId) -> u64 {
        let entity = &self.entities[self.tasks[task].entity];
        let queue = &self.queues[entity.queue];
        entity.avg.load_avg.wrapping_mul(queue.h_load) / (queue.avg.load_avg + 1)
    }

    /// Brings the share that `q` has of the CPU's load up to date, once per tick (`update_cfs_rq_h_load()`).
    pub(crate) fn update_h_load(&mut self, q: QueueId) {
        let now = self.jiffies();
        if self.queues[q].h_load_at == now {
            return;
        }
        // Upwards to where it is known, noting the way; then down again.
        self.queues[q].h_load_next = None;
        let mut top = q;
        let mut at = self.queues[q].entity;
        while let Some(se) = at {
            top = self.entities[se].queue;
            self.queues[top].h_load_next = Some(se);
            if self.queues[top].h_load_at == now {
                break;
            }
            at = self.entities[se].parent;
        }
        if at.is_none() {
            let queue = &mut self.queues[top];
            queue.h_load = queue.avg.load_avg;
            queue.h_load_at = now;
        }
        let mut q = top;
        while let Some(se) = self.queues[q].h_load_next {
            let above = &self.queues[q];
            let entity = &self.entities[se];
            let load = above.h_load.wrapping_mul(entity.avg.load_avg) / (above.avg.load_avg + 1);
            q = entity.my_queue.expect("the way leads through groups");
            let below = &mut self.queues[q];
            below.h_load = load;
            below.h_load_at = now;
        }
    }
}
