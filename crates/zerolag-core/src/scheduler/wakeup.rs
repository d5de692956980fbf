// SPDX-License-Identifier: GPL-2.0-only
//! Waking tasks up.
//!
//! ```text
//!   wake ─┬─ still queued (delayed dequeue) ── requeue, check preemption
//!         └─ asleep ── choose a CPU ─┬─ this CPU, or a busy one ── enqueue, check preemption
//!                                    └─ an idle other one ── its wake list, IPI ── the same, over there
//! ```
//!
//! Source: kernel/sched/core.c, `try_to_wake_up()`, `ttwu_queue_wakelist()`, 6.12.

use crate::event::EventKind;
use crate::fair::Enqueue;
use crate::features::Feature;
use crate::ids::{CpuId, TaskId};
use crate::scheduler::{Arrival, Effect, Scheduler, WokenFrom};
use crate::task::{OnRq, TaskState};
use crate::units::Instant;
use crate::variants::WakerMemory;
use crate::wake::Cause;

impl Scheduler {
    /// Somebody on `this_cpu` wakes `task`; `sync` = and promises to sleep soon. Returns false if it was not
    /// asleep.
    pub fn wake(&mut self, now: Instant, this_cpu: CpuId, task: TaskId, sync: bool) -> bool {
        self.wake_from(now, this_cpu, task, sync, WokenFrom::Process)
    }

    /// The same, by the task that runs or by an interrupt, which up to 2.6.35 is not the same.
    pub fn wake_from(
        &mut self,
        now: Instant,
        this_cpu: CpuId,
        task: TaskId,
        sync: bool,
        from: WokenFrom,
    ) -> bool {
        self.at(now);
        let sync = sync && self.believes_sync();
        if self.config.features.has(Feature::LbWakeupUpdate) {
            self.update_shares_towards(this_cpu, self.tasks[task].cpu);
        }
        if self.config.variants.sequence.wakes_by_old_clock {
            self.update_clock(self.tasks[task].cpu);
        }
        let woken = self.try_to_wake(this_cpu, task, sync, from);
        self.remember_attempt(this_cpu);
        woken
    }

    /// A kernel that can be told not to is not.
    fn believes_sync(&self) -> bool {
        self.config.variants.wakers.memory == WakerMemory::Nothing
            || self.config.features.has(Feature::SyncWakeups)
    }

    fn try_to_wake(&mut self, this_cpu: CpuId, task: TaskId, sync: bool, from: WokenFrom) -> bool {
        if !matches!(self.tasks[task].state, TaskState::Sleeping | TaskState::Uninterruptible) {
            return false;
        }
        self.trace(this_cpu, EventKind::Waking { task, target: self.tasks[task].cpu });
        if self.tasks[task].on_rq == OnRq::Queued {
            self.wake_delayed(this_cpu, task);
            return true;
        }
        if self.config.variants.cfs.absolute_before_charge && self.tasks[task].policy.is_fair() {
            // Before anybody knows where it will go.
            let se = self.tasks[task].entity;
            self.make_relative(self.entities[se].queue, se);
            self.record_wakee(this_cpu, task);
        }
        let previous = self.tasks[task].wake_cpu;
        let cpu = self.select_cpu(this_cpu, task, previous, Cause::Wake { sync });
        let migrated = cpu != self.tasks[task].cpu;
        if migrated {
            self.set_task_cpu(task, cpu);
        }
        if self.config.features.has(Feature::TtwuQueue) && self.wants_wake_list(this_cpu, cpu, task) {
            // The list is taken up by an interrupt; only the first entry has to send one.
            if self.wake_lists[cpu].is_empty() {
                self.push(Effect::WakeIpi { cpu });
            }
            self.tasks[task].remote_wakeup = migrated;
            self.wake_lists[cpu].push(task);
        } else {
            if !self.config.variants.sequence.wakes_by_old_clock {
                self.update_clock(cpu);
            }
            self.activate_wakee(this_cpu, task, migrated, sync, from);
        }
        true
    }

    /// Tasks are on the CPU's wake list.
    pub fn has_wakeups(&self, cpu: CpuId) -> bool {
        !self.wake_lists[cpu].is_empty()
    }

    /// The inter-processor interrupt: takes up the tasks on the CPU's wake list.
    pub fn finish_wakeups(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        if self.wake_lists[cpu].is_empty() {
            return;
        }
        self.update_clock(cpu);
        // Nobody is put on the list meanwhile; its memory is kept for those to come.
        let mut tasks = core::mem::take(&mut self.wake_lists[cpu]);
        for task in tasks.drain(..) {
            let migrated = self.tasks[task].remote_wakeup;
            self.activate_wakee(cpu, task, migrated, false, WokenFrom::Interrupt);
        }
        self.wake_lists[cpu] = tasks;
    }

    /// A sleeper whose dequeue was delayed is woken in time.
    fn wake_delayed(&mut self, this_cpu: CpuId, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.update_clock(cpu);
        if self.entities[self.tasks[task].entity].delayed {
            self.enqueue(task, Enqueue { delayed: true, ..Enqueue::default() });
        }
        if self.cpus[cpu].curr != Some(task) {
            self.check_preempt(cpu, task, Arrival::Woken { sync: false });
        }
        self.tasks[task].state = TaskState::Runnable;
        self.trace(this_cpu, EventKind::Wakeup { task, target: cpu });
    }

    fn activate_wakee(&mut self, this_cpu: CpuId, task: TaskId, migrated: bool, sync: bool, from: WokenFrom) {
        let cpu = self.tasks[task].cpu;
        self.remember_woken(task);
        let relative = migrated || self.config.variants.cfs.absolute_before_charge;
        self.enqueue(task, Enqueue { wakeup: true, migrated, relative, ..Enqueue::default() });
        self.tasks[task].on_rq = OnRq::Queued;
        self.remember_wakeup(this_cpu, from);
        self.check_preempt(cpu, task, Arrival::Woken { sync });
        self.tasks[task].state = TaskState::Runnable;
        let rq = &mut self.cpus[cpu];
        rq.balance.idle_ends(self.now, rq.clock, self.config.variants.balance.floors_idle_average);
        self.trace(this_cpu, EventKind::Wakeup { task, target: cpu });
    }

    /// The target does its own enqueue if it shares no cache, so that its run queue stays where it is used;
    /// and if it is idle, since it has to be interrupted anyway (`ttwu_queue_cond()`).
    fn wants_wake_list(&self, this_cpu: CpuId, cpu: CpuId, task: TaskId) -> bool {
        if !self.may_run_on(task, cpu) {
            return false;
        }
        !self.share_cache(this_cpu, cpu)
            || self.config.variants.wake.idle_cpus_take_wakees
                && cpu != this_cpu
                && self.cpus[cpu].nr_running == 0
    }

    /// A task became runnable on `cpu`: does it take over? (`wakeup_preempt()`)
    pub(crate) fn check_preempt(&mut self, cpu: CpuId, task: TaskId, arrival: Arrival) {
        let rank = self.class_of(Some(task));
        let curr = self.cpus[cpu].curr;
        let curr_rank = self.running_class(cpu);
        match curr {
            Some(curr) if rank == curr_rank => self.check_preempt_in_class(cpu, curr, task, arrival),
            _ if rank > curr_rank => self.resched(cpu),
            _ => {}
        }
        // The clock has just been updated: the reschedule that follows at once need not do it again.
        // (The idle task and the stopper count as queued.)
        let curr_queued = curr.is_none_or(|t| self.tasks[t].on_rq == OnRq::Queued);
        if curr_queued && self.cpus[cpu].need_resched {
            self.cpus[cpu].skip_requested = true;
        }
    }
}
