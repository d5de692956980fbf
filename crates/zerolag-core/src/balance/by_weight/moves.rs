// SPDX-License-Identifier: GPL-2.0-only
//! Moves tasks of a certain weight.
//!
//! Groups are gone through, the newest first, and the tasks in each, the one queued last first. A group's tasks
//! give of the weight what they are worth at the top of the hierarchy.
//!
//! Source: kernel/sched_fair.c of 2.6.29, `load_balance_fair()`, `move_one_task_fair()`; kernel/sched.c,
//! `balance_tasks()`, `can_migrate_task()`, `task_hot()`, `active_load_balance()`.

use super::Pass;
use crate::balance::IdleType;
use crate::event::{BalanceKind, EventKind};
use crate::fair::tasks::TaskList;
use crate::features::Feature;
use crate::ids::{CpuId, DomainId, GroupId, QueueId, TaskId};
use crate::scheduler::Scheduler;

/// A migration cost that makes every task hot.
const ALWAYS_HOT: u64 = u32::MAX as u64;

impl Scheduler {
    /// Moves tasks of about this weight from `from` to the CPU of the pass. Returns how many; but none if they
    /// are worth nothing at the top.
    pub(super) fn move_weight(&mut self, pass: &mut Pass, from: CpuId, amount: u64) -> u32 {
        let mut moved = 0;
        self.update_loads_from_top(from);
        let mut left = amount as i64;
        let groups: alloc::vec::Vec<GroupId> = self.groups.ids().collect();
        for group in groups.into_iter().rev() {
            let q = self.groups[group].on(from).queue;
            let (share, weight) = (&self.queues[q].share, self.queues[q].load.down());
            let h_load = share.h_load;
            if share.task_weight == 0 {
                continue;
            }
            let part = (left as u64).wrapping_mul(weight) / (h_load + 1);
            let came = self.move_tasks_of(pass, from, q, part, &mut moved);
            if came == 0 {
                continue;
            }
            left -= ((came as u64).wrapping_mul(h_load) / (weight + 1)) as i64;
            if left < 0 {
                break;
            }
        }
        if left < amount as i64 { moved } else { 0 }
    }

    /// Moves tasks of one queue. Returns their weight.
    fn move_tasks_of(
        &mut self,
        pass: &mut Pass,
        from: CpuId,
        q: QueueId,
        amount: u64,
        moved: &mut u32,
    ) -> i64 {
        pass.all_pinned = false;
        let mut left = amount as i64;
        if amount == 0 {
            return 0;
        }
        pass.all_pinned = true;
        let mut looked_at = 0;
        let mut at = self.queues[q].tasks.first();
        while let Some(task) = at {
            at = TaskList::after(&self.tasks, task);
            if looked_at > self.config.tunables.nr_migrate {
                break;
            }
            looked_at += 1;
            let weight = self.entities[self.tasks[task].entity].table_weight() as i64;
            if weight >> 1 > left || !self.may_migrate(pass, from, task) {
                continue;
            }
            self.detach_task(task, pass.cpu);
            self.attach_task(task);
            *moved += 1;
            left -= weight;
            if left <= 0 {
                break;
            }
        }
        amount as i64 - left
    }

    fn may_migrate(&self, pass: &mut Pass, from: CpuId, task: TaskId) -> bool {
        if !self.tasks[task].affinity.contains(pass.cpu) {
            return false;
        }
        pass.all_pinned = false;
        if self.cpus[from].curr == Some(task) {
            return false;
        }
        !self.has_warm_cache(task) || self.failed_too_often(pass.domain)
    }

    fn failed_too_often(&self, domain: DomainId) -> bool {
        self.states.domains[domain].nr_balance_failed > self.domains[domain].cache_nice_tries
    }

    /// The task's data are likely to be in a cache.
    fn has_warm_cache(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let entity = &self.entities[t.entity];
        let queue = &self.queues[entity.queue];
        let buddy = queue.next == Some(t.entity) || queue.last == Some(t.entity);
        if buddy && self.config.features.has(Feature::CacheHotBuddy) {
            return true;
        }
        let cost = self.config.tunables.migration_cost.0;
        match cost {
            0 => false,
            ALWAYS_HOT => true,
            _ => (self.cpus[t.cpu].clock.0.wrapping_sub(entity.exec_start.0) as i64) < cost as i64,
        }
    }

    /// In the stopper: pushes the first task that may go to the CPU that asked.
    pub(crate) fn push_by_weight(&mut self, cpu: CpuId) {
        let to = self.cpus[cpu].balance.push_cpu;
        if self.cpus[cpu].nr_running > 1 {
            self.update_clock(cpu);
            self.update_clock(to);
            let common = self.domains.chain(to).find(|&d| self.domains.span(d).contains(cpu));
            if let Some(domain) = common
                && self.move_first(domain, cpu, to)
            {
                self.trace(cpu, EventKind::Balance { kind: BalanceKind::Active, target: to, moved: 1 });
            }
        }
        self.cpus[cpu].balance.active_balance = false;
    }

    fn move_first(&mut self, domain: DomainId, from: CpuId, to: CpuId) -> bool {
        let mut pass = Pass::new(domain, from, to, IdleType::Idle);
        let listed = self.listed.clone();
        for group in listed.into_iter().rev() {
            let q = self.groups[group].on(from).queue;
            let mut at = self.queues[q].tasks.first();
            while let Some(task) = at {
                if self.may_migrate(&mut pass, from, task) {
                    self.detach_task(task, to);
                    self.attach_task(task);
                    return true;
                }
                at = TaskList::after(&self.tasks, task);
            }
        }
        false
    }
}
