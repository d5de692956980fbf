// SPDX-License-Identifier: GPL-2.0-only
//! Load balancing: keeping every CPU of a domain about equally busy.
//!
//! A pass looks at the groups of one domain and goes through five steps, of which only the last moves
//! anything:
//!
//! ```text
//!   collect   statistics of each group            classify   what state each group is in
//!   decide    which group to take from, how much  plan       which queue, which tasks
//!   apply     move them
//! ```
//!
//! | module | when |
//! |---|---|
//! | `periodic` | at a tick, domains that are due |
//! | `newidle` | a CPU runs dry |
//! | [`nohz`] | for CPUs that have no tick |
//! | `pass` | one domain: the five steps in order, what to do if tasks are pinned, what to remember |

mod apply;
mod by_load;
mod by_weight;
mod chance;
pub(crate) mod classify;
mod collect;
pub mod counts;
mod decide;
pub mod history;
mod newidle;
pub mod nohz;
mod nohz_earlier;
mod pass;
mod periodic;
mod plan;
mod rules;
#[cfg(test)]
mod tests;

pub use by_load::ByLoad;
pub(crate) use chance::Tausworthe;
use decide::{Imbalance, Measure};
pub use history::History;
use pass::Pass;
pub use rules::{BalanceRules, NewIdleGate, NohzScheme};

use crate::ids::{CpuId, TaskId};
use crate::scheduler::Scheduler;

/// What the CPU that is balanced for is doing (`enum cpu_idle_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleType {
    /// It runs something.
    Busy,
    /// It is idle.
    Idle,
    /// It is about to go idle.
    NewlyIdle,
}

impl IdleType {
    /// It has nothing to do.
    pub(crate) const fn is_idle(self) -> bool {
        !matches!(self, Self::Busy)
    }
}

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
            && (self.config.variants.balance.misfit_on_biggest
                || self.cpus[cpu].capacity.0 != t.max_allowed_capacity)
            && !self.util_fits(self.task_util_est(task), cpu)
    }
}
