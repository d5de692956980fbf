// SPDX-License-Identifier: GPL-2.0-only
//! Load balancing: keeping every CPU of a domain about equally busy.
//!
//! A pass looks at the groups of one domain and goes through five steps, of which only the last changes
//! anything:
//!
//! ```text
//!   collect   statistics of each group            classify   what state each group is in
//!   decide    which group to take from, how much  plan       which CPU, which tasks
//!   apply     move them
//! ```

pub(crate) mod classify;
pub mod nohz;

use crate::ids::{CpuId, TaskId};
use crate::scheduler::Scheduler;
use crate::units::Instant;

/// What a CPU that ran dry found elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewIdle {
    /// Nothing.
    Nothing,
    /// At least one task, which is queued here now.
    Pulled,
    /// A task of a higher class has come meanwhile.
    HigherClass,
}

impl Scheduler {
    pub(crate) fn newidle_balance(&mut self, _cpu: CpuId) -> NewIdle {
        NewIdle::Nothing
    }

    pub(crate) fn balance_trigger(&mut self, cpu: CpuId) {
        if self.domains.cpu(cpu).base.is_none() || !self.active.contains(cpu) {
            return;
        }
        self.nohz_balancer_kick(cpu);
    }

    pub(crate) fn balance_domains(&mut self, _cpu: CpuId, _idle: bool) {}

    pub fn softirq(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        if self.nohz_idle_balance(cpu) {
            return;
        }
        self.update_blocked_averages(cpu);
    }

    /// Notes whether the running task is too big for the CPU (`update_misfit_status()`).
    pub(crate) fn update_misfit(&mut self, cpu: CpuId, task: Option<TaskId>) {
        if !self.asym_capacity {
            return;
        }
        let load = match task {
            Some(task) if self.is_misfit(cpu, task) => self.task_h_load(task).max(1),
            _ => 0,
        };
        self.cpus[cpu].balance.misfit_task_load = load;
    }

    /// The task would fit a bigger CPU better, and may go there.
    fn is_misfit(&self, cpu: CpuId, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.pinned.is_none()
            && self.cpus[cpu].capacity.0 != t.max_allowed_capacity
            && !self.util_fits(self.task_util_est(task), cpu)
    }
}
