// SPDX-License-Identifier: GPL-2.0-only
//! Moving tasks between CPUs.
//!
//! Source: kernel/sched/core.c, `set_task_cpu()`, `move_queued_task()`, `set_cpus_allowed_ptr()`; fair.c,
//! `migrate_task_rq_fair()`, 6.12.

use crate::cpu_set::CpuSet;
use crate::event::EventKind;
use crate::ids::{CpuId, TaskId};
use crate::scheduler::attributes::Standing;
use crate::scheduler::{Effect, Scheduler, StopWork};
use crate::task::OnRq;
use crate::units::Instant;
use crate::variants::LoadOnMove;
use crate::wake::Cause;

impl Scheduler {
    /// The task belongs to another CPU from now on. It is not queued, or in between.
    pub(crate) fn set_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        let t = &self.tasks[task];
        let (from, se, group) = (t.cpu, t.entity, t.group);
        if from != cpu {
            self.trace(from, EventKind::Migrate { task, from, to: cpu });
            if self.tasks[task].policy.is_fair() {
                self.fair_migrate(task, cpu);
                let on_move = self.config.variants.load.on_move;
                if self.tasks[task].on_rq != OnRq::Migrating || on_move == LoadOnMove::Removed {
                    self.remove_load(se);
                    self.age_for_idle_time(se);
                } else if on_move == LoadOnMove::DetachedAfter {
                    self.detach_entity(se);
                }
                if on_move != LoadOnMove::DetachedWithin {
                    // It is not cache hot any more; later kernels say so when it is enqueued.
                    self.entities[se].exec_start = Instant(0);
                }
                // Detached: it will be attached where it is enqueued next.
                self.entities[se].avg.last_update_time = Instant(0);
            }
            self.tasks[task].migrations += 1;
        }
        self.set_task_rq(task, cpu, group);
        (self.tasks[task].cpu, self.tasks[task].wake_cpu) = (cpu, cpu);
    }

    /// Moves a task that waits in a run queue to another CPU. `from`'s clock is up to date.
    pub(crate) fn move_queued(&mut self, task: TaskId, cpu: CpuId) {
        self.detach_task(task, cpu);
        self.update_clock(cpu);
        self.attach_task(task);
    }

    /// Restricts a task to one CPU and, if it waits in a run queue, moves it there. A sleeper follows when it
    /// wakes up. Returns nothing if the task runs, else whether it was moved.
    pub fn move_to_cpu(&mut self, now: Instant, task: TaskId, cpu: CpuId) -> Option<bool> {
        self.at(now);
        let from = self.tasks[task].cpu;
        if self.cpus[from].curr == Some(task) {
            return None;
        }
        self.tasks[task].restrict(CpuSet::single(cpu));
        if from != cpu
            && self.tasks[task].on_rq != OnRq::Queued
            && self.config.variants.sequence.moves_sleepers
        {
            self.update_clock(from);
            self.update_clock(cpu);
            self.set_task_cpu(task, cpu);
        }
        if from == cpu || self.tasks[task].on_rq != OnRq::Queued {
            return Some(false);
        }
        self.update_clock(from);
        self.move_queued(task, cpu);
        Some(true)
    }

    /// Changes where a task may run (`sched_setaffinity()`), by order of somebody on `this_cpu`. If it is
    /// somewhere else it moves at once; a running one is taken along by the stopper ([`Effect::Stop`]).
    ///
    /// Returns false, and changes nothing, if none of `cpus` takes tasks.
    pub fn set_affinity(&mut self, now: Instant, this_cpu: CpuId, task: TaskId, cpus: CpuSet) -> bool {
        self.at(now);
        let from = self.tasks[task].cpu;
        self.update_clock_for_change(from);
        if self.tasks[task].affinity == cpus {
            return true;
        }
        let Some(to) = self.distribute(this_cpu, &cpus) else { return false };
        let standing = self.change_affinity(task, cpus);
        if self.tasks[task].affinity.contains(from) {
            return true;
        }
        if standing.running {
            self.push(Effect::Stop { cpu: from, work: StopWork::Migrate { task, to } });
        } else if standing.queued {
            self.move_queued(task, to);
        }
        true
    }

    /// Changes where a task may run, without moving it (`__do_set_cpus_allowed()`).
    pub(crate) fn change_affinity(&mut self, task: TaskId, cpus: CpuSet) -> Standing {
        let standing = self.take_out(task, false);
        self.tasks[task].restrict(cpus);
        self.note_allowed_capacity(task);
        self.put_back(task, standing);
        standing
    }

    /// The running task of `cpu` replaces its program (`sched_exec()`). Nothing of it is in any cache worth
    /// keeping, so this is a good time to go where there is room. Returns false if the CPU is idle.
    pub fn exec(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        let Some(task) = self.cpus[cpu].curr else { return false };
        let to = self.select_cpu_unchecked(cpu, task, cpu, Cause::Exec);
        if to != cpu && self.active.contains(to) {
            self.push(Effect::Stop { cpu, work: StopWork::Exec { task, to } });
        }
        true
    }

    /// Notes the greatest capacity of a CPU that the task may run on (`set_task_max_allowed_capacity()`). While
    /// all CPUs online are of the same kind nothing is noted, and a new task has what its parent had.
    pub(crate) fn note_allowed_capacity(&mut self, task: TaskId) {
        if self.asym_capacity {
            let allowed = self.tasks[task].affinity.iter().filter(|&c| self.cpus.get(c).is_some());
            let greatest = allowed.map(|c| self.cpus[c].capacity.0).max();
            self.tasks[task].max_allowed_capacity = greatest.unwrap_or(1024);
        }
    }
}
