// SPDX-License-Identifier: GPL-2.0-only
//! Throttling task by task: a task of a throttled hierarchy runs on until it returns to user mode, and goes
//! to *limbo* then.
//!
//! ```text
//!   picked from a throttled hierarchy ── work pending ── returns to user mode ── limbo: off all queues, but
//!                                                                               for everybody else queued
//!   hierarchy unthrottled ── leaves limbo as if it woke up
//! ```
//!
//! The kernel as a whole goes on to see a task in limbo as queued; so it may be taken out, changed, moved and
//! put back, all of which means no more than that it changes from one limbo to another, or leaves it.
//!
//! Source: kernel/sched/fair.c, `throttle_cfs_rq_work()`, `enqueue_throttled_task()`,
//! `dequeue_throttled_task()`, 6.18.

use crate::fair::{Dequeue, Enqueue};
use crate::ids::{CpuId, QueueId, TaskId};
use crate::scheduler::{Effect, Scheduler};
use crate::task::OnRq;
use crate::units::Instant;

impl Scheduler {
    /// A task has been picked from a throttled hierarchy: it has something to do when it returns to user mode
    /// (`task_throttle_setup_work()`).
    pub(crate) fn set_throttle_work(&mut self, cpu: CpuId, task: TaskId) {
        self.tasks[task].throttle_work = true;
        self.push(Effect::ThrottleWork { cpu });
    }

    /// The task that runs on `cpu` returns to user mode: if its hierarchy is still throttled, it goes to
    /// limbo, and somebody else should run. Only needed after [`Effect::ThrottleWork`]. Returns true if
    /// there was anything to do.
    pub fn return_to_user(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        let Some(task) = self.cpus[cpu].curr else { return false };
        if !core::mem::take(&mut self.tasks[task].throttle_work) {
            return false;
        }
        let q = self.entities[self.tasks[task].entity].queue;
        if self.tasks[task].policy.is_fair() && self.in_throttled_hierarchy(q) {
            self.update_clock(cpu);
            self.dequeue(task, Dequeue { sleep: true, throttle: true, ..Dequeue::default() });
            self.queues[q].throttle.limbo.push(task);
            self.tasks[task].throttled = true;
            self.resched(cpu);
        }
        true
    }

    /// A task goes to limbo from this queue, or one below.
    pub(crate) fn note_throttled_task(&mut self, q: QueueId) {
        if self.queues[q].throttle.throttled {
            self.start_throttled_clock(q);
        }
    }

    /// A task that is throttled is to join a queue. Returns true if it goes to limbo; one that runs cannot,
    /// and neither can one that comes to a queue that may run.
    #[inline]
    pub(crate) fn enters_limbo(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.bandwidth_used && self.tasks[task].throttled && self.enter_limbo(cpu, task)
    }

    fn enter_limbo(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let q = self.entities[self.tasks[task].entity].queue;
        let enters = self.in_throttled_hierarchy(q) && self.cpus[cpu].curr != Some(task);
        if enters {
            self.queues[q].throttle.limbo.push(task);
        } else {
            self.tasks[task].throttled = false;
        }
        enters
    }

    /// A task is to leave its queue. Returns true if it is in limbo, which it leaves instead.
    #[inline]
    pub(crate) fn is_taken_from_limbo(&mut self, task: TaskId, flags: Dequeue) -> bool {
        if !self.bandwidth_used || !self.tasks[task].throttled {
            return false;
        }
        let q = self.entities[self.tasks[task].entity].queue;
        self.queues[q].throttle.limbo.retain(|&other| other != task);
        if flags.sleep {
            self.tasks[task].throttled = false;
        } else if self.tasks[task].on_rq == OnRq::Migrating {
            self.fair_detach(task);
        }
        true
    }

    /// The queue's hierarchy may run again: its tasks leave limbo, the last to come first.
    pub(super) fn leave_limbo(&mut self, q: QueueId) {
        for task in core::mem::take(&mut self.queues[q].throttle.limbo).into_iter().rev() {
            self.enqueue(task, Enqueue { wakeup: true, ..Enqueue::default() });
        }
    }
}
