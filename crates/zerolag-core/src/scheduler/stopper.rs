// SPDX-License-Identifier: GPL-2.0-only
//! The stopper: a task on each CPU, above all others, that takes the running one off.
//!
//! A running task cannot be moved. So the stopper takes its place, which makes it a waiting one; moves it;
//! and goes to sleep, upon which the CPU picks somebody else. Observers do not see the stopper: to them the CPU
//! is idle for a moment.
//!
//! Source: kernel/stop_machine.c; kernel/sched/core.c, `migration_cpu_stop()`; fair.c,
//! `active_load_balance_cpu_stop()`.

use crate::event::{EventKind, PrevState};
use crate::ids::{CpuId, TaskId};
use crate::scheduler::Scheduler;
use crate::task::OnRq;
use crate::units::Instant;

/// What the stopper is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopWork {
    /// Nothing; the CPU is merely disturbed.
    Nothing,
    /// Take the task to another CPU if it is not where it may be.
    Migrate {
        /// The task.
        task: TaskId,
        /// Where to.
        to: CpuId,
    },
    /// Take the task off a CPU that goes offline.
    PushAway {
        /// The task.
        task: TaskId,
    },
    /// The CPU is gone after this.
    Die,
    /// Take the task to another CPU if it may still go there: it replaces its program.
    Exec {
        /// The task.
        task: TaskId,
        /// Where to.
        to: CpuId,
    },
    /// Push the task that was running to the CPU that asked for it.
    ActiveBalance,
}

impl Scheduler {
    /// The stopper runs on `cpu` and does this.
    pub fn stop(&mut self, now: Instant, cpu: CpuId, work: StopWork) {
        self.at(now);
        self.enter_stopper(cpu);
        match work {
            StopWork::Nothing => {}
            StopWork::PushAway { task } => self.push_away(cpu, task),
            StopWork::Die => self.die(cpu),
            // Affinity may have been changed back meanwhile.
            StopWork::Migrate { task, .. } if self.tasks[task].affinity.contains(cpu) => {}
            StopWork::Migrate { task, to } | StopWork::Exec { task, to } => {
                self.migrate_stopped(cpu, task, to);
            }
            StopWork::ActiveBalance => self.push_stopped(cpu),
        }
        self.leave_stopper(cpu);
    }

    /// The stopper wakes up and takes the CPU.
    fn enter_stopper(&mut self, cpu: CpuId) {
        self.update_clock(cpu);
        if !core::mem::take(&mut self.cpus[cpu].stopper_queued) {
            self.add_running(cpu);
        }
        self.resched(cpu);
        let rq = &mut self.cpus[cpu];
        if rq.curr.is_none_or(|t| self.tasks[t].on_rq == OnRq::Queued) {
            rq.skip_requested = true;
        }
        rq.balance.idle_ends(self.now, rq.clock, self.config.variants.balance.floors_idle_average);
        rq.begin_switch(self.now, self.config.variants.clock_skip);
        let prev = rq.curr;
        self.balance_before_stopper(cpu, prev);
        self.put_prev(cpu, prev);
        if prev.is_some() {
            self.trace(cpu, EventKind::Switch { prev, prev_state: PrevState::Runnable, next: None });
        }
        let rq = &mut self.cpus[cpu];
        rq.end_pick(self.config.variants.clock_skip);
        rq.need_resched = false;
        rq.nr_switches += 1;
        rq.curr = None;
        rq.stopping = true;
    }

    /// The stopper goes to sleep.
    fn leave_stopper(&mut self, cpu: CpuId) {
        let rq = &mut self.cpus[cpu];
        let skip = self.config.variants.clock_skip;
        rq.begin_switch(self.now, skip);
        rq.nr_running -= 1;
        let next = self.pick_after_higher(cpu, None);
        self.set_next_picked(cpu, next);
        let rq = &mut self.cpus[cpu];
        rq.end_pick(skip);
        rq.need_resched = false;
        rq.nr_switches += 1;
        rq.stopping = false;
        rq.curr = next;
        if next.is_some() {
            self.trace(cpu, EventKind::Switch { prev: None, prev_state: PrevState::Runnable, next });
        }
        self.push_if_dying(cpu);
    }

    fn migrate_stopped(&mut self, cpu: CpuId, task: TaskId, to: CpuId) {
        let t = &self.tasks[task];
        if t.cpu != cpu {
            return;
        }
        if t.on_rq != OnRq::Queued {
            self.tasks[task].wake_cpu = to;
        } else {
            self.update_clock(cpu);
            if self.may_run_on(task, to) {
                self.move_queued(task, to);
            }
        }
    }
}
