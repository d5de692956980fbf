// SPDX-License-Identifier: GPL-2.0-only
//! Tasks: what the scheduler knows of a thread.

pub use crate::wake::memory::WakeStats;

use crate::cpu_set::CpuSet;
use crate::fair::tasks::TaskLink;
use crate::ids::{CpuId, EntityId, GroupId, TaskId};
use crate::latency::LatencyNice;
use crate::nice::{Nice, Policy};
use crate::units::{Jiffies, Nanos};

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
    /// How much it minds waiting, in kernels that ask.
    pub latency_nice: LatencyNice,
    /// What it is doing.
    pub state: TaskState,
    /// Whether it is on a run queue.
    pub on_rq: OnRq,
    /// Where it may run; changed by `Task::restrict`.
    pub affinity: CpuSet,
    /// The only CPU it may run on, if there is but one.
    pub(crate) pinned: Option<CpuId>,
    /// The CPU it should wake up on if nothing speaks against it; usually where it was.
    pub(crate) wake_cpu: CpuId,
    /// The CPU it used before its last wake-up, as a second guess for the next.
    pub recent_used_cpu: CpuId,
    /// Whom it wakes.
    pub waker: Waker,
    /// How it wakes others, in kernels that keep that.
    pub wakes: WakeStats,
    /// The greatest capacity among the CPUs it may run on.
    pub(crate) max_allowed_capacity: u32,
    /// It is on a wake list, for another CPU than the one it slept on.
    pub(crate) remote_wakeup: bool,
    /// It is in limbo: throttled, and off its queue, though queued for everybody else.
    pub throttled: bool,
    /// It is to be throttled when it returns to user mode.
    pub(crate) throttle_work: bool,
    /// It was to give way when it last ran, and still is.
    pub(crate) gives_way: bool,
    /// Place among its CPU's queued tasks.
    pub(crate) link: TaskLink,
    /// Round robin: what is left of its turn.
    pub(crate) rr_left: Nanos,
    /// Switches away because it blocked or yielded (`nvcsw`).
    pub voluntary_switches: u64,
    /// Switches away while it could have run on (`nivcsw`).
    pub involuntary_switches: u64,
    /// How often it changed CPU.
    pub migrations: u64,
}

impl Task {
    /// It may run on these CPUs from now on.
    pub(crate) fn restrict(&mut self, cpus: CpuSet) {
        self.pinned = only_member(&cpus);
        self.affinity = cpus;
    }
}

/// The member of a set that has just one.
pub(crate) fn only_member(cpus: &CpuSet) -> Option<CpuId> {
    cpus.first().filter(|&first| cpus.last() == Some(first))
}

/// How a task, or a CPU's idle task, wakes others: many different ones, or always the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waker {
    /// Whom it woke last.
    pub last_wakee: Option<TaskId>,
    /// How often that changed; halved each second.
    pub wakee_flips: u32,
    /// When it was last halved.
    pub(crate) decayed_at: Jiffies,
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
    /// Latency nice; must be 0 in kernels without it.
    pub latency_nice: LatencyNice,
    /// Request length asked for with `sched_setattr()`, clamped to 0.1 to 100 ms; nothing = the base slice.
    pub slice: Option<Nanos>,
    /// Where it may run; must contain `cpu`.
    pub affinity: CpuSet,
}

impl TaskSpec {
    /// An ordinary task of the root group: nice 0, `SCHED_NORMAL`, the base slice.
    pub const fn new(cpu: CpuId, affinity: CpuSet) -> Self {
        Self {
            cpu,
            group: GroupId::ROOT,
            nice: Nice::ZERO,
            policy: Policy::Normal,
            latency_nice: LatencyNice::ZERO,
            slice: None,
            affinity,
        }
    }
}
