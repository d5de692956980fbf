// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel shows of its scheduler: `/proc/PID/sched`, and the part of `/sys/kernel/debug/sched/debug`
//! that describes run queues.
//!
//! Layouts are those of 6.1 (for CFS) and 6.12 (for EEVDF), of kernels built as the reference is and with
//! `kernel.sched_schedstats` off; other kernels are shown in the nearer of the two. So lines that belong to
//! what is not modelled are not there: NUMA balancing, uclamp, core scheduling, sched_ext, deadline tasks,
//! real-time throttling, the CPU's frequency. Looking changes nothing, whereas a 6.12.117 moves its anchors
//! when it computes virtual time for the file.
//!
//! | number | written as |
//! |---|---|
//! | times, also virtual ones, and `next_balance` | milliseconds and six digits; the sign is lost below 1 ms |
//! | weights | nice 0 is 1048576 |
//!
//! Source: kernel/sched/debug.c, `proc_sched_show_task()`, `print_cpu()`, `print_cfs_rq()`, `print_task()`,
//! 6.1 and 6.12.

mod queues;
mod task;

use alloc::string::String;
use core::fmt;

pub use queues::ShowQueues;
pub use task::ShowTask;

use crate::config::FairPolicy;
use crate::ids::{GroupId, TaskId};
use crate::nice::Policy;
use crate::scheduler::Scheduler;
use crate::task::Task;

/// What the scheduler does not know of tasks and groups, but the files show.
pub trait Names {
    /// The name of a task.
    fn comm(&self, task: TaskId) -> String;
    /// Its number.
    fn pid(&self, task: TaskId) -> u64;
    /// Where a group is in the hierarchy; `/` is the root.
    fn path(&self, group: GroupId) -> String;
}

/// The most bytes of a name that a kernel keeps.
const COMM_BYTES_MAX: usize = 15;

fn comm(names: &impl Names, task: TaskId) -> String {
    let mut comm = names.comm(task);
    let end = (0..=COMM_BYTES_MAX.min(comm.len())).rev().find(|&i| comm.is_char_boundary(i));
    comm.truncate(end.unwrap_or(0));
    comm
}

/// Which of the two layouts is meant.
fn is_cfs(s: &Scheduler) -> bool {
    matches!(s.config().policy, FairPolicy::Cfs | FairPolicy::Cfs2009)
}

/// The kernel's own number for priorities: 0 to 98 for real-time tasks, 100 and more for fair ones.
fn prio(task: &Task) -> i32 {
    match task.policy {
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => 99 - i32::from(priority),
        Policy::Normal | Policy::Batch | Policy::Idle => 120 + task.nice.get(),
    }
}

/// A time in nanoseconds as the files show it (`SPLIT_NS()`).
struct Millis(i64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        // The width, if any, is that of the part before the point.
        whole.fmt(f)?;
        write!(f, ".{rest:06}")
    }
}

#[cfg(test)]
mod tests;
