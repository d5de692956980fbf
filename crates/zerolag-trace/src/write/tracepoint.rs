// SPDX-License-Identifier: GPL-2.0-only
//! Events as the kernel's tracepoints print them: the counterpart of the reader's texts.

use std::fmt;

use zerolag_core::event::{EventKind, PrevState};
use zerolag_core::ids::{CpuId, TaskId};

use crate::tasks::TaskTable;

/// Longest name that a kernel has for a task, in bytes (`TASK_COMM_LEN` without the end).
const COMM_LEN_MAX: usize = 15;

/// Priority of a task of which nothing is known: nice 0.
const PRIO_DEFAULT: i16 = 120;

/// A task as the kernel shows it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) comm: String,
    pub(super) pid: u32,
    pub(super) prio: i16,
}

impl Shown {
    /// `None` is the idle task of `cpu`.
    pub(super) fn new(task: Option<TaskId>, cpu: CpuId, names: &TaskTable) -> Self {
        let Some(task) = task else {
            return Self { comm: format!("swapper/{cpu}"), pid: 0, prio: PRIO_DEFAULT };
        };
        let info = names.get(task);
        Self {
            comm: names.comm(task).chars().map(|c| if c.is_control() { '?' } else { c }).collect(),
            pid: info.map_or(0, |t| t.pid),
            prio: info.and_then(|t| t.prio).unwrap_or(PRIO_DEFAULT),
        }
    }

    /// The name as far as a kernel keeps it.
    pub(super) fn comm(&self) -> &str {
        let mut end = self.comm.len().min(COMM_LEN_MAX);
        while !self.comm.is_char_boundary(end) {
            end -= 1;
        }
        &self.comm[..end]
    }
}

/// The tracepoint of an event; none if it has none.
pub(super) const fn name(kind: &EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::Switch { .. } => "sched_switch",
        EventKind::Waking { .. } => "sched_waking",
        EventKind::Wakeup { .. } => "sched_wakeup",
        EventKind::WakeupNew { .. } => "sched_wakeup_new",
        EventKind::Migrate { .. } => "sched_migrate_task",
        EventKind::Fork { .. } => "sched_process_fork",
        EventKind::Exit { .. } => "sched_process_exit",
        EventKind::Runtime { .. } => "sched_stat_runtime",
        _ => return None,
    })
}

/// The text of an event that happened on `cpu`, as the kernel's `TP_printk` has it.
pub(super) struct Text<'a> {
    pub(super) kind: EventKind,
    pub(super) cpu: CpuId,
    pub(super) names: &'a TaskTable,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |task| Shown::new(task, self.cpu, self.names);
        match self.kind {
            EventKind::Switch { prev, prev_state, next } => {
                let (prev, next) = (show(prev), show(next));
                write!(
                    f,
                    "prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} next_prio={}",
                    prev.comm(),
                    prev.pid,
                    prev.prio,
                    letters(prev_state),
                    next.comm(),
                    next.pid,
                    next.prio
                )
            }
            EventKind::Waking { task, target }
            | EventKind::Wakeup { task, target }
            | EventKind::WakeupNew { task, target } => {
                let task = show(Some(task));
                let CpuId(target) = target;
                write!(f, "comm={} pid={} prio={} target_cpu={target:03}", task.comm(), task.pid, task.prio)
            }
            EventKind::Migrate { task, from, to } => {
                let task = show(Some(task));
                let (comm, pid, prio) = (task.comm(), task.pid, task.prio);
                write!(f, "comm={comm} pid={pid} prio={prio} orig_cpu={from} dest_cpu={to}")
            }
            EventKind::Fork { parent, child } => {
                let (parent, child) = (show(parent), show(Some(child)));
                write!(
                    f,
                    "comm={} pid={} child_comm={} child_pid={}",
                    parent.comm(),
                    parent.pid,
                    child.comm(),
                    child.pid
                )
            }
            EventKind::Exit { task } => {
                let task = show(Some(task));
                write!(f, "comm={} pid={} prio={}", task.comm(), task.pid, task.prio)
            }
            EventKind::Runtime { task, ran } => {
                let task = show(Some(task));
                write!(f, "comm={} pid={} runtime={} [ns]", task.comm(), task.pid, ran.0)
            }
            _ => Ok(()),
        }
    }
}

/// The state as a kernel prints it. A state that is none of ours is written as parked, which is none of
/// ours when it is read.
const fn letters(state: PrevState) -> &'static str {
    match state {
        PrevState::Runnable => "R",
        PrevState::Preempted => "R+",
        PrevState::Sleeping => "S",
        PrevState::Uninterruptible => "D",
        PrevState::IdleSleep => "I",
        PrevState::Stopped => "T",
        PrevState::Dead => "X",
        PrevState::Other => "P",
    }
}

/// The state as the number in a binary record (4.14 and later).
pub(super) const fn bits(state: PrevState) -> u64 {
    match state {
        PrevState::Runnable => 0x00,
        PrevState::Sleeping => 0x01,
        PrevState::Uninterruptible => 0x02,
        PrevState::Stopped => 0x04,
        PrevState::Dead => 0x10,
        PrevState::Other => 0x40,
        PrevState::IdleSleep => 0x80,
        PrevState::Preempted => 0x100,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_a_kernel_cuts_them() {
        let names =
            TaskTable::from_iter([(1, "a-name-of-16-byt"), (2, "fünfzehn-bytes-ü"), (3, "two\nlines")]);
        let comm = |task| Shown::new(Some(TaskId(task)), CpuId(0), &names).comm().to_owned();
        assert_eq!(comm(0), "a-name-of-16-by");
        assert_eq!(comm(1), "fünfzehn-bytes");
        assert_eq!(comm(2), "two?lines");
    }
}
