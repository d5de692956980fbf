// SPDX-License-Identifier: GPL-2.0-only
//! Charging the entity that runs.
//!
//! Source: kernel/sched/fair.c, `update_curr()`, 6.1 and 6.12.

use crate::entity::Owner;
use crate::event::EventKind;
use crate::ids::QueueId;
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta};

impl Scheduler {
    /// Charges a queue's running entity for the time since it was last charged.
    #[inline]
    pub(crate) fn update_curr(&mut self, q: QueueId) {
        let queue = &self.queues[q];
        let Some(curr) = queue.curr else { return };
        let cpu = queue.cpu;
        let now = self.cpus[cpu].clock_task;
        let policy = self.config.policy;
        let entity = &mut self.entities[curr];
        let ran_ns = now.0.wrapping_sub(entity.exec_start.0) as i64;
        if ran_ns <= 0 {
            return;
        }
        let ran = Nanos(ran_ns as u64);
        entity.exec_start = now;
        entity.sum_exec.0 += ran.0;
        let served = entity.service(policy, ran);
        entity.vruntime += VDelta(served as i64);
        if let Owner::Task(task) = entity.owner {
            self.trace(cpu, EventKind::Runtime { task, ran });
        }
        self.charge_runtime(q, ran);
        if self.charged(q, curr) {
            self.resched(cpu);
            self.clear_buddies(q, curr);
        }
    }
}
