// SPDX-License-Identifier: GPL-2.0-only
//! Moving tasks between CPUs, and the rules by which one is chosen.
//!
//! The three choices at the end (for a new task, for a wakee, for a CPU that runs dry) are simple rules in
//! place of Linux's; DIFFERENCES.md lists them.
//!
//! Source: kernel/sched/core.c, `set_task_cpu()`, `move_queued_task()`, `set_cpus_allowed_ptr()`; fair.c,
//! `migrate_task_rq_fair()`, 6.12.

use crate::cpu_set::CpuSet;
use crate::event::EventKind;
use crate::fair::{Dequeue, Enqueue};
use crate::ids::{CpuId, TaskId};
use crate::scheduler::Scheduler;
use crate::task::{OnRq, TaskState};
use crate::units::Instant;

impl Scheduler {
    /// The task belongs to another CPU from now on. It is not queued, or in between.
    pub(crate) fn set_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        let t = &self.tasks[task];
        let (from, se, group) = (t.cpu, t.entity, t.group);
        if from != cpu {
            self.trace(from, EventKind::Migrate { task, from, to: cpu });
            if self.tasks[task].policy.is_fair() {
                if self.tasks[task].on_rq != OnRq::Migrating {
                    self.remove_load(se);
                    self.age_for_idle_time(se);
                }
                // Detached: it will be attached where it is enqueued next.
                self.entities[se].avg.last_update_time = Instant(0);
            }
            self.tasks[task].migrations += 1;
        }
        self.set_task_rq(task, cpu, group);
        self.tasks[task].cpu = cpu;
    }

    /// Moves a task that waits in a run queue to another CPU. `from`'s clock is up to date.
    pub(crate) fn move_queued(&mut self, task: TaskId, cpu: CpuId) {
        self.tasks[task].on_rq = OnRq::Migrating;
        self.dequeue(task, Dequeue::default());
        self.set_task_cpu(task, cpu);
        self.update_clock(cpu);
        self.enqueue(task, Enqueue { migrated: true, ..Enqueue::default() });
        self.tasks[task].on_rq = OnRq::Queued;
        self.check_preempt(cpu, task, false);
    }

    /// Restricts a task to one CPU and, if it waits in a run queue, moves it there. A sleeper follows when it
    /// wakes up. Returns nothing if the task runs, else whether it was moved.
    pub fn move_to_cpu(&mut self, now: Instant, task: TaskId, cpu: CpuId) -> Option<bool> {
        self.at(now);
        let from = self.tasks[task].cpu;
        if self.cpus[from].curr == Some(task) {
            return None;
        }
        self.tasks[task].affinity = CpuSet::single(cpu);
        if from == cpu || self.tasks[task].on_rq != OnRq::Queued {
            return Some(false);
        }
        self.update_clock(from);
        self.move_queued(task, cpu);
        Some(true)
    }

    /// Changes where a task may run (`sched_setaffinity()`). If it is somewhere else it moves at once, a
    /// running one at the next opportunity: it is preempted and taken along.
    ///
    /// Panics if `cpus` contains no CPU of the machine.
    pub fn set_affinity(&mut self, now: Instant, task: TaskId, cpus: CpuSet) {
        self.at(now);
        let target = cpus.iter().find(|&c| self.cpus.get(c).is_some());
        let target = target.expect("an affinity names at least one CPU of the machine");
        let from = self.tasks[task].cpu;
        let must_move = !cpus.contains(from);
        self.tasks[task].affinity = cpus;
        if self.tasks[task].state == TaskState::Dead || !must_move {
            return;
        }
        self.update_clock(from);
        if self.cpus[from].curr == Some(task) {
            self.push_running(from, task, target);
        } else if self.tasks[task].on_rq == OnRq::Queued {
            self.move_queued(task, target);
        }
    }

    /// Takes the running task off its CPU and queues it on another, as the stopper does.
    fn push_running(&mut self, from: CpuId, task: TaskId, target: CpuId) {
        self.put_prev(from, Some(task));
        self.cpus[from].curr = None;
        self.trace(
            from,
            EventKind::Switch { prev: Some(task), prev_state: crate::event::PrevState::Runnable, next: None },
        );
        self.move_queued(task, target);
        self.resched(from);
    }

    fn allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task].affinity.contains(cpu)
    }

    fn allowed_cpus(&self, task: TaskId) -> impl Iterator<Item = CpuId> + '_ {
        self.tasks[task].affinity.iter().filter(|&c| self.cpus.get(c).is_some())
    }

    fn least_loaded(&self, task: TaskId) -> Option<CpuId> {
        self.allowed_cpus(task).min_by_key(|&c| self.cpus[c].nr_running)
    }

    /// A new task goes to the least loaded CPU, its parent's if that is one of them.
    pub(crate) fn select_cpu_for_new(&self, _this_cpu: CpuId, task: TaskId) -> CpuId {
        let here = self.tasks[task].cpu;
        let best = self.least_loaded(task).unwrap_or(here);
        let tie = self.allowed(task, here) && self.cpus[here].nr_running <= self.cpus[best].nr_running;
        if tie { here } else { best }
    }

    /// A wakee goes where it was if it may and that CPU is idle, else to the first idle CPU, else where it
    /// was.
    pub(crate) fn select_cpu_for_wakee(&self, _this_cpu: CpuId, task: TaskId, _sync: bool) -> CpuId {
        let previous = self.tasks[task].cpu;
        let idle = |c: CpuId| self.cpus[c].nr_running == 0 && self.wake_lists[c].is_empty();
        if self.allowed(task, previous) && idle(previous) {
            return previous;
        }
        match self.allowed_cpus(task).find(|&c| idle(c)) {
            Some(cpu) => cpu,
            None if self.allowed(task, previous) => previous,
            None => self.least_loaded(task).unwrap_or(previous),
        }
    }

    /// A CPU that has run dry takes a waiting task from the CPU that has most, if it may. Returns it, queued
    /// here.
    pub(crate) fn pull_for_idle(&mut self, cpu: CpuId) -> Option<TaskId> {
        let busiest = self
            .cpus
            .ids()
            .filter(|&c| c != cpu)
            .max_by_key(|&c| (self.cpus[c].nr_running, core::cmp::Reverse(c)))?;
        if self.cpus[busiest].nr_running < 2 {
            return None;
        }
        let root = self.cpus[busiest].root;
        let candidate = self.first_waiting(root, busiest, cpu)?;
        self.update_clock(busiest);
        self.move_queued(candidate, cpu);
        self.fair_pick(cpu)
    }

    /// The first task, in the order of the timelines, that waits below `q` on `from` and may run on `cpu`.
    fn first_waiting(&self, q: crate::ids::QueueId, from: CpuId, cpu: CpuId) -> Option<TaskId> {
        let queue = &self.queues[q];
        queue.curr.into_iter().chain(queue.timeline.iter(&self.entities)).find_map(|se| {
            let entity = &self.entities[se];
            match (entity.my_queue, entity.task()) {
                (Some(below), _) => self.first_waiting(below, from, cpu),
                (None, Some(task)) => (self.cpus[from].curr != Some(task)
                    && entity.on_rq
                    && !entity.delayed
                    && self.allowed(task, cpu))
                .then_some(task),
                (None, None) => None,
            }
        })
    }
}
