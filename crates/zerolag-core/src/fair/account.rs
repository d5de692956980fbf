// SPDX-License-Identifier: GPL-2.0-only
//! Charging the entity that runs.
//!
//! Source: kernel/sched/fair.c, `update_curr()`, 6.1 and 6.12.

use crate::entity::Owner;
use crate::event::EventKind;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::units::{Instant, Nanos, VDelta};

impl Scheduler {
    /// Charges a queue's running entity for the time since it was last charged.
    #[inline]
    pub(crate) fn update_curr(&mut self, q: QueueId) {
        let queue = &self.queues[q];
        let Some(curr) = queue.curr else { return };
        self.charge_until(q, curr, self.cpus[queue.cpu].clock_task);
    }

    /// The same for who runs in it, and up to when, by the task clock.
    #[inline]
    pub(crate) fn charge_until(&mut self, q: QueueId, curr: EntityId, now: Instant) {
        let ran_ns = now.0.wrapping_sub(self.entities[curr].exec_start.0) as i64;
        if ran_ns > 0 {
            self.charge(q, curr, now, Nanos(ran_ns as u64));
        }
    }

    /// It ran for that long. Out of line, so that asking whether it did is not.
    #[inline(never)]
    fn charge(&mut self, q: QueueId, curr: EntityId, now: Instant, ran: Nanos) {
        let entity = &mut self.entities[curr];
        entity.exec_start = now;
        entity.sum_exec.0 += ran.0;
        let served = entity.service(self.config.policy, ran);
        entity.vruntime += VDelta(served as i64);
        if let Owner::Task(task) = entity.owner {
            self.trace(self.queues[q].cpu, EventKind::Runtime { task, ran });
        }
        self.charge_runtime(q, ran);
        if self.charged(q, curr) {
            self.resched(self.queues[q].cpu);
            self.clear_buddies(q, curr);
        }
    }
}
