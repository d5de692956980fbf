// SPDX-License-Identifier: GPL-2.0-only
//! Tasks: what the scheduler knows of a thread.

use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, EntityId, GroupId};
use crate::nice::{Nice, Policy};
use crate::units::Nanos;

/// What a task is doing, as far as scheduling is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Made, but not woken for the first time.
    New,
    /// Running, or waiting for a CPU.
    Runnable,
    /// Waiting for an event, interruptibly (`S`).
    Sleeping,
    /// Waiting for an event, uninterruptibly (`D`).
    Uninterruptible,
    /// Ended.
    Dead,
}

/// Whether a task is on its CPU's run queue (`p->on_rq`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRq {
    /// It is not.
    No,
    /// It is: running, waiting, or asleep with a delayed dequeue.
    Queued,
    /// It is between two run queues.
    Migrating,
}

/// A task (`struct task_struct`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its entity. Means nothing once the task is dead.
    pub entity: EntityId,
    /// The CPU it runs on, waits on, or last did.
    pub cpu: CpuId,
    /// The group it is in.
    pub group: GroupId,
    /// Its nice level.
    pub nice: Nice,
    /// Its policy.
    pub policy: Policy,
    /// What it is doing.
    pub state: TaskState,
    /// Whether it is on a run queue.
    pub on_rq: OnRq,
    /// Where it may run.
    pub affinity: CpuSet,
    /// Round robin: what is left of its turn.
    pub(crate) rr_left: Nanos,
    /// Switches away because it blocked or yielded (`nvcsw`).
    pub voluntary_switches: u64,
    /// Switches away while it could have run on (`nivcsw`).
    pub involuntary_switches: u64,
    /// How often it changed CPU.
    pub migrations: u64,
}

/// What a new task starts with; the rest is as after `fork()`.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// The CPU of the parent, where the new task counts as running until it is woken.
    pub cpu: CpuId,
    /// The group.
    pub group: GroupId,
    /// The nice level.
    pub nice: Nice,
    /// The policy.
    pub policy: Policy,
    /// Request length asked for with `sched_setattr()`, clamped to 0.1 to 100 ms; nothing = the base slice.
    pub slice: Option<Nanos>,
    /// Where it may run; must contain `cpu`.
    pub affinity: CpuSet,
}
