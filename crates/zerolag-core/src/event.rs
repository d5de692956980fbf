// SPDX-License-Identifier: GPL-2.0-only
//! The one vocabulary of scheduling events.
//!
//! A simulated machine emits these, and a reader of recorded traces yields them, so that statistics,
//! checks, writers and replay are each written once, as functions over a stream of [`SchedEvent`].
//!
//! Names and meaning follow the kernel's tracepoints of the `sched` group where one exists.

use crate::ids::{CpuId, TaskId};
use crate::units::{Instant, Nanos};

/// Something that happened at `time` on `cpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchedEvent {
    /// When it happened.
    pub time: Instant,
    /// The CPU that the event happened on (the one that executed the tracepoint).
    pub cpu: CpuId,
    /// What happened.
    pub kind: EventKind,
}

/// Why a task stopped running (`prev_state` of `sched_switch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrevState {
    /// Still runnable: it gave way, or was preempted on the way back to user mode (`R`).
    Runnable,
    /// Still runnable: it was preempted inside the kernel (`R+`).
    Preempted,
    /// Interruptible sleep (`S`).
    Sleeping,
    /// Uninterruptible sleep, usually on I/O (`D`).
    Uninterruptible,
    /// Idle sleep of a kernel thread (`I`).
    IdleSleep,
    /// Stopped or traced (`T`, `t`).
    Stopped,
    /// It ended (`X`, `Z`).
    Dead,
    /// A state letter this version does not know.
    Other,
}

impl PrevState {
    /// True if the task can run on without being woken.
    pub const fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable | Self::Preempted)
    }
}

/// What kind of pass over a sched domain balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BalanceKind {
    /// The CPU's own periodic balancing.
    Periodic,
    /// The CPU was about to go idle.
    NewlyIdle,
    /// Done for another, idle CPU.
    Nohz,
    /// A running task was pushed through the stopper.
    Active,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `sched_switch`: the CPU went from one task to another; `None` is the idle task.
    Switch {
        /// The task that stopped running.
        prev: Option<TaskId>,
        /// Why it stopped; meaningless for the idle task.
        prev_state: PrevState,
        /// The task that runs from now on.
        next: Option<TaskId>,
    },
    /// `sched_waking`: somebody on this CPU began to wake `task`.
    Waking {
        /// The task being woken.
        task: TaskId,
        /// Where it was last.
        target: CpuId,
    },
    /// `sched_wakeup`: `task` is runnable on `target`.
    Wakeup {
        /// The task that woke up.
        task: TaskId,
        /// Where it is queued.
        target: CpuId,
    },
    /// `sched_wakeup_new`: a new task is runnable for the first time.
    WakeupNew {
        /// The new task.
        task: TaskId,
        /// Where it is queued.
        target: CpuId,
    },
    /// `sched_migrate_task`: `task` moves to another CPU's run queue.
    Migrate {
        /// The task that moves.
        task: TaskId,
        /// The CPU it leaves.
        from: CpuId,
        /// The CPU it goes to.
        to: CpuId,
    },
    /// `sched_process_fork`: `parent` made `child`; no parent if the machine itself did.
    Fork {
        /// Who forked.
        parent: Option<TaskId>,
        /// The new task.
        child: TaskId,
    },
    /// `sched_process_exit`: the task ends.
    Exit {
        /// Who ends.
        task: TaskId,
    },
    /// `sched_stat_runtime`: `task` was charged this much CPU time.
    Runtime {
        /// Who was charged.
        task: TaskId,
        /// How much it ran since the last charge.
        ran: Nanos,
    },
    /// The periodic timer interrupt.
    Tick,
    /// A balancing pass took `moved` tasks to this CPU (for `Nohz`: to `target`).
    Balance {
        /// Which kind of pass.
        kind: BalanceKind,
        /// The CPU that was balanced for.
        target: CpuId,
        /// How many tasks came.
        moved: u32,
    },
}
