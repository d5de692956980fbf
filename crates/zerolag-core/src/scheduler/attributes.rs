// SPDX-License-Identifier: GPL-2.0-only
//! Changing a task's nice level, policy, slice or group, whatever it is doing.
//!
//! A task that is queued is taken out, changed, and put back; one that runs is first put aside and made the
//! running one again afterwards.
//!
//! Source: kernel/sched/syscalls.c, `set_user_nice()`, `__sched_setscheduler()`; core.c,
//! `sched_move_task()`; fair.c, `prio_changed_fair()`, `task_change_group_fair()`, 6.12.

use crate::fair::{Dequeue, Enqueue};
use crate::ids::{CpuId, GroupId, TaskId};
use crate::latency::{LatencyError, LatencyNice};
use crate::nice::{Nice, Policy};
use crate::scheduler::lifecycle::clamp_slice;
use crate::scheduler::{Arrival, Scheduler};
use crate::task::{OnRq, TaskState};
use crate::units::{Instant, Nanos};

/// Where a task stood before a change.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    cpu: CpuId,
    pub(super) queued: bool,
    pub(super) running: bool,
}

impl Scheduler {
    /// Sets a task's nice level (`nice()`, `setpriority()`).
    pub fn set_nice(&mut self, now: Instant, task: TaskId, nice: Nice) {
        self.at(now);
        let t = &self.tasks[task];
        if t.nice == nice || t.state == TaskState::Dead {
            return;
        }
        let cpu = t.cpu;
        self.update_clock_for_change(cpu);
        if !self.tasks[task].policy.is_fair() {
            self.tasks[task].nice = nice;
            return;
        }
        let old = self.tasks[task].nice;
        if self.config.variants.sequence.renices_in_place {
            return self.renice_in_place(task, nice);
        }
        let rules = self.config.variants.reinstating;
        let standing = self.take_out_for(task, false, rules.nice_keeps_running);
        self.tasks[task].nice = nice;
        self.set_load_weight(task);
        if rules.nice_reschedules {
            self.put_back_and_resched(task, standing, nice < old, nice > old);
            return;
        }
        self.put_back(task, standing);
        // The kernel compares priorities: a greater number is less urgent.
        self.priority_changed(task, standing, nice > old);
    }

    /// The task, if it is queued, leaves and comes back with its new weight; one that runs goes on.
    fn renice_in_place(&mut self, task: TaskId, nice: Nice) {
        let t = &self.tasks[task];
        let (cpu, old, queued) = (t.cpu, t.nice, t.on_rq == OnRq::Queued);
        let running = self.cpus[cpu].curr == Some(task);
        if queued {
            self.dequeue(task, Dequeue::default());
        }
        self.tasks[task].nice = nice;
        self.set_load_weight(task);
        if queued {
            self.enqueue(task, Enqueue::default());
            if nice < old || nice > old && running {
                self.resched(cpu);
            }
        }
    }

    /// Sets policy and slice together, as `sched_setattr()` does. A slice of nothing means the base slice;
    /// others are clamped to 0.1 to 100 ms.
    pub fn set_attributes(&mut self, now: Instant, task: TaskId, policy: Policy, slice: Option<Nanos>) {
        self.at(now);
        let t = &self.tasks[task];
        if t.state == TaskState::Dead {
            return;
        }
        self.update_clock_for_change(t.cpu);
        let t = &self.tasks[task];
        // Idle tasks have no slice of their own: what they are given is ignored.
        let takes_slice =
            self.config.variants.custom_slices && matches!(policy, Policy::Normal | Policy::Batch);
        let unchanged = policy == t.policy
            && (!takes_slice || slice.unwrap_or(Nanos(0)) == self.entities[t.entity].slice);
        let sequence = self.config.variants.sequence;
        if unchanged && !sequence.always_looks_after_policy {
            return;
        }
        let old = t.policy;
        let (was_fair, is_fair) = (old.is_fair(), policy.is_fair());
        let se = t.entity;
        if was_fair != is_fair && self.entities[se].delayed {
            let cpu = self.tasks[task].cpu;
            self.finish_delayed(cpu, se);
        }
        // Among fair policies the priority stays what it was, and with it the place.
        let standing = self.take_out(task, was_fair != is_fair);
        self.tasks[task].policy = policy;
        self.entities[se].idle_policy = policy == Policy::Idle;
        if takes_slice {
            let entity = &mut self.entities[se];
            entity.custom_slice = slice.is_some();
            entity.slice = slice.map_or(self.config.tunables.base_slice, clamp_slice);
        }
        self.set_load_weight(task);
        self.put_back(task, standing);
        match (was_fair, is_fair) {
            (true, true) if sequence.always_looks_after_policy => {
                if standing.queued && !standing.running {
                    self.check_preempt(standing.cpu, task, Arrival::Moved);
                }
            }
            (true, true) => {}
            (false, false) => self.rt_priority_changed(task, standing, old),
            (true, false) => {
                self.fair_detach(task);
                self.class_changed(task, standing);
            }
            (false, true) => {
                self.fair_attach(task);
                self.class_changed(task, standing);
            }
        }
    }

    /// Sets a task's latency nice, as `sched_setattr()` does. A queued task is placed anew.
    pub fn set_latency_nice(
        &mut self,
        now: Instant,
        task: TaskId,
        level: LatencyNice,
    ) -> Result<(), LatencyError> {
        self.at(now);
        if !self.config.variants.latency_nice {
            return Err(LatencyError::NotInKernel { kernel: self.config.kernel });
        }
        let t = &self.tasks[task];
        if t.state == TaskState::Dead {
            return Ok(());
        }
        self.update_clock(t.cpu);
        let t = &self.tasks[task];
        if t.latency_nice == level {
            return Ok(());
        }
        let se = t.entity;
        let standing = self.take_out(task, false);
        self.tasks[task].latency_nice = level;
        self.entities[se].slice = level.request(self.config.tunables.base_slice);
        self.set_load_weight(task);
        self.put_back(task, standing);
        Ok(())
    }

    /// Sets the policy and keeps the slice the task asked for (`sched_setscheduler()`).
    pub fn set_policy(&mut self, now: Instant, task: TaskId, policy: Policy) {
        let entity = &self.entities[self.tasks[task].entity];
        let slice = entity.custom_slice.then_some(entity.slice);
        self.set_attributes(now, task, policy, slice);
    }

    /// Moves a task to another group.
    pub fn set_group(&mut self, now: Instant, task: TaskId, group: GroupId) {
        self.at(now);
        let t = &self.tasks[task];
        let (cpu, se) = (t.cpu, t.entity);
        match t.state {
            TaskState::Dead => return,
            TaskState::New => {
                self.tasks[task].group = group;
                self.set_task_rq(task, cpu, group);
                return;
            }
            _ => {}
        }
        self.update_clock_for_change(cpu);
        let standing = self.take_out(task, true);
        self.tasks[task].group = group;
        if self.tasks[task].policy.is_fair() {
            self.fair_detach(task);
            self.entities[se].avg.last_update_time = Instant(0);
            self.set_task_rq(task, cpu, group);
            self.fair_attach(task);
            self.fair_regrouped(task);
        } else {
            self.set_task_rq(task, cpu, group);
        }
        self.put_back(task, standing);
        if standing.running && !self.config.variants.sequence.regroups_quietly {
            self.resched(cpu);
        }
    }

    /// Takes a task out for a change; `moves` = which may put it into another place.
    pub(super) fn take_out(&mut self, task: TaskId, moves: bool) -> Standing {
        self.take_out_for(task, moves, false)
    }

    /// Before a change the CPU's clock is brought up to date; in early kernels only if that takes the task
    /// out of its queue.
    pub(super) fn update_clock_for_change(&mut self, cpu: CpuId) {
        if self.config.variants.reinstating.updates_clock {
            self.update_clock(cpu);
        }
    }

    /// The same; with `keeps_running` one that runs is only taken out of its queue.
    fn take_out_for(&mut self, task: TaskId, moves: bool, keeps_running: bool) -> Standing {
        let t = &self.tasks[task];
        let standing = Standing {
            cpu: t.cpu,
            queued: t.on_rq == OnRq::Queued,
            running: self.cpus[t.cpu].curr == Some(task),
        };
        if standing.queued {
            if !self.config.variants.reinstating.updates_clock {
                self.update_clock(standing.cpu);
            }
            self.dequeue(task, Dequeue { save: true, moves, ..Dequeue::default() });
        }
        if standing.running && !keeps_running {
            self.put_prev(standing.cpu, Some(task));
        }
        standing
    }

    /// Puts a task back whose nice level changed. Somebody else is picked if it became more urgent, or less
    /// urgent while it runs.
    fn put_back_and_resched(&mut self, task: TaskId, standing: Standing, more: bool, less: bool) {
        let keeps_running = self.config.variants.reinstating.nice_keeps_running;
        if standing.queued {
            self.enqueue(task, Enqueue { restore: true, ..Enqueue::default() });
            if more || less && standing.running {
                self.resched(standing.cpu);
            }
        }
        if standing.running && !keeps_running {
            self.set_current(standing.cpu, task);
        }
    }

    pub(super) fn put_back(&mut self, task: TaskId, standing: Standing) {
        if self.config.variants.reinstating.runs_before_queued && standing.running {
            self.set_current(standing.cpu, task);
        }
        if standing.queued {
            self.enqueue(task, Enqueue { restore: true, ..Enqueue::default() });
        }
        if !self.config.variants.reinstating.runs_before_queued && standing.running {
            self.set_current(standing.cpu, task);
        }
    }

    fn set_load_weight(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (se, load) = (t.entity, t.policy.load(t.nice));
        if t.policy.is_fair() {
            let q = self.entities[se].queue;
            self.reweight(q, se, load);
        } else {
            let entity = &mut self.entities[se];
            (entity.weight, entity.inverse) = (load.weight, load.inverse);
        }
    }

    /// A queued fair task's nice level changed. One that runs gives way if it became less urgent; any other
    /// is looked at as if it had woken up.
    fn priority_changed(&mut self, task: TaskId, standing: Standing, less_urgent: bool) {
        let root = self.cpus[standing.cpu].root;
        if !standing.queued || self.queues[root].nr_queued == 1 {
            return;
        }
        if !standing.running {
            self.check_preempt(standing.cpu, task, Arrival::Moved);
        } else if less_urgent {
            self.resched(standing.cpu);
        }
    }

    fn rt_priority_changed(&mut self, task: TaskId, standing: Standing, old: Policy) {
        let priority = |p: Policy| match p {
            Policy::Fifo(n) | Policy::RoundRobin(n) => n,
            _ => 0,
        };
        if !standing.queued {
            return;
        }
        if !standing.running {
            self.check_preempt(standing.cpu, task, Arrival::Moved);
        } else if priority(self.tasks[task].policy) < priority(old) {
            self.resched(standing.cpu);
        }
    }

    fn class_changed(&mut self, task: TaskId, standing: Standing) {
        if !standing.queued {
            return;
        }
        if standing.running {
            self.resched(standing.cpu);
        } else {
            self.check_preempt(standing.cpu, task, Arrival::Moved);
        }
    }
}
