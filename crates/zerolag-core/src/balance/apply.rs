// SPDX-License-Identifier: GPL-2.0-only
//! Moves tasks: takes them off one queue and, once the last is off, puts them on another.
//!
//! Source: kernel/sched/fair.c, `detach_tasks()`, `attach_tasks()`, same in 6.1 and 6.12.

use alloc::vec::Vec;

use crate::balance::plan::Mobility;
use crate::balance::{IdleType, Pass};
use crate::fair::tasks::TaskList;
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, TaskId};
use crate::scheduler::{Arrival, Scheduler};
use crate::task::OnRq;

/// So many tasks are looked at before the queue's lock is let go for a moment (`SCHED_NR_MIGRATE_BREAK`).
pub(super) const BREAK: u32 = 32;

/// How far through the source's tasks a pass has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) looked_at: u32,
    break_at: u32,
    pub(super) max: u32,
}

impl Progress {
    /// At most `max` are to be looked at.
    pub(super) const fn new(max: u32) -> Self {
        Self { looked_at: 0, break_at: BREAK, max }
    }

    /// From the beginning, as far as before.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.max);
    }
}

impl Scheduler {
    /// Moves what the pass is to move from its source to its destination. Returns how many tasks came.
    pub(super) fn pull(&mut self, pass: &mut Pass, progress: &mut Progress) -> u32 {
        let mut moved = 0;
        let mut detached = core::mem::take(&mut self.spare_tasks);
        loop {
            if self.config.variants.balance.by_load.is_none_or(|rules| rules.updates_source_clock) {
                self.update_clock(pass.from);
            }
            let interrupted = self.detach_tasks(pass, progress, &mut detached);
            moved += detached.len() as u32;
            if !detached.is_empty() {
                self.update_clock(pass.to);
                // The last one off is the first one on.
                for task in detached.drain(..).rev() {
                    self.attach_task(task);
                }
            }
            if !interrupted {
                break;
            }
        }
        self.spare_tasks = detached;
        moved
    }

    /// Takes tasks off the source. Returns true if it only paused.
    fn detach_tasks(&mut self, pass: &mut Pass, progress: &mut Progress, detached: &mut Vec<TaskId>) -> bool {
        if self.cpus[pass.from].nr_running <= 1 {
            pass.all_pinned = false;
            return false;
        }
        let failures = self.states.domains[pass.domain].nr_balance_failed;
        let skip_small = self.config.features.has(Feature::LbMin) && failures == 0;
        let by_load = self.config.variants.balance.by_load;
        // By load, a task of up to twice what is left is taken, however often that failed.
        let failures = if by_load.is_some() { 1 } else { failures };
        while pass.left.amount > 0
            && let Some(task) = self.next_candidate(pass.from)
        {
            // An idle CPU does not empty another.
            if pass.idle.is_idle() && self.cpus[pass.from].nr_running <= 1 {
                break;
            }
            progress.looked_at += 1;
            if progress.looked_at > progress.max {
                break;
            }
            if progress.looked_at > progress.break_at {
                progress.break_at += BREAK;
                return true;
            }
            let taken = self.may_move(pass, task)
                && self.size_of(pass, task).is_some_and(|size| pass.left.take(size, failures, skip_small));
            if taken {
                self.detach_task(task, pass.to);
                detached.push(task);
            } else {
                let list = &mut self.cpus[pass.from].cfs_tasks;
                if by_load.is_none_or(|rules| rules.longest_waiting_first) {
                    list.move_to_front(&mut self.tasks, task);
                } else {
                    list.move_to_back(&mut self.tasks, task);
                }
            }
        }
        false
    }

    /// Takes one task off, no matter how much it is (`detach_one_task()`).
    pub(super) fn detach_one(&mut self, pass: &mut Pass) -> Option<TaskId> {
        let mut at = self.next_candidate(pass.from);
        let from_end = self.config.variants.balance.by_load.is_none_or(|rules| rules.longest_waiting_first);
        while let Some(task) = at {
            if self.may_move(pass, task) {
                self.detach_task(task, pass.to);
                return Some(task);
            }
            at = if from_end {
                TaskList::before(&self.tasks, task)
            } else {
                TaskList::after(&self.tasks, task)
            };
        }
        None
    }

    /// The task to be looked at first.
    fn next_candidate(&self, from: CpuId) -> Option<TaskId> {
        let list = &self.cpus[from].cfs_tasks;
        match self.config.variants.balance.by_load {
            Some(rules) if !rules.longest_waiting_first => list.first(),
            _ => list.last(),
        }
    }

    /// The task may be moved; notes what stands against it if not.
    fn may_move(&self, pass: &mut Pass, task: TaskId) -> bool {
        match self.mobility(pass, task) {
            Mobility::Free => {
                pass.all_pinned = false;
                true
            }
            Mobility::Limited => false,
            Mobility::Held => {
                pass.all_pinned = false;
                false
            }
            Mobility::Pinned => {
                pass.some_pinned = true;
                if pass.idle != IdleType::NewlyIdle && !pass.pushes && pass.elsewhere.is_none() {
                    // Another CPU that the pass may balance for might take it.
                    let group = self.other_targets(pass);
                    let affinity = &self.tasks[task].affinity;
                    let other = self.candidates(pass, group).find(|&c| affinity.contains(c));
                    pass.elsewhere = other;
                }
                false
            }
        }
    }

    /// Takes a waiting task off its queue; it belongs to `to` from now on.
    pub(crate) fn detach_task(&mut self, task: TaskId, to: CpuId) {
        self.tasks[task].on_rq = OnRq::Migrating;
        if self.config.variants.balance.by_load.is_some() {
            let from = self.tasks[task].cpu;
            self.update_clock(from);
        }
        self.dequeue(task, Dequeue::default());
        self.set_task_cpu(task, to);
    }

    /// Puts it on its new queue, whose clock is up to date.
    pub(crate) fn attach_task(&mut self, task: TaskId) {
        self.enqueue(task, Enqueue { migrated: true, ..Enqueue::default() });
        self.tasks[task].on_rq = OnRq::Queued;
        self.check_preempt(self.tasks[task].cpu, task, Arrival::Moved);
    }
}
