// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share, in the state it is in.

use std::collections::VecDeque;

use zerolag_core::ids::{CpuId, IdVec, TaskId};
use zerolag_core::units::Instant;

use super::task::{Task, TimerState};
use crate::resource::{
    BarrierId, ChannelId, ChannelSpec, ConditionId, DeviceId, MutexId, RosterId, SemaphoreId, SpinLockId,
    TimerId,
};
use crate::workload::Workload;

/// Tasks in the order in which they came, linked through [`Task::next_in_queue`], so that waiting allocates
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitQueue {
    first: Option<TaskId>,
    last: Option<TaskId>,
    len: u32,
}

impl WaitQueue {
    pub(super) fn push(&mut self, tasks: &mut IdVec<TaskId, Task>, task: TaskId) {
        tasks[task].next_in_queue = None;
        match self.last.replace(task) {
            Some(last) => tasks[last].next_in_queue = Some(task),
            None => self.first = Some(task),
        }
        self.len += 1;
    }

    pub(super) fn pop(&mut self, tasks: &mut IdVec<TaskId, Task>) -> Option<TaskId> {
        let task = self.first?;
        self.first = tasks[task].next_in_queue.take();
        if self.first.is_none() {
            self.last = None;
        }
        self.len -= 1;
        Some(task)
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mutex {
    pub(super) owner: Option<TaskId>,
    pub(super) waiters: WaitQueue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) parties: u32,
    /// How many are there, in this round.
    pub(super) arrived: u32,
    pub(super) waiters: WaitQueue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Semaphore {
    pub(super) count: u32,
    pub(super) max: u32,
    pub(super) waiters: WaitQueue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpinLock {
    /// One for all CPUs, or one for each.
    pub(super) owners: Vec<Option<TaskId>>,
    /// Those who spin or, while they are preempted, will.
    pub(super) spinners: Vec<TaskId>,
}

impl SpinLock {
    /// Which of the owners' places counts on this CPU.
    pub(super) const fn place(&self, cpu: CpuId) -> usize {
        if self.owners.len() == 1 { 0 } else { cpu.0 as usize }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roster {
    /// Who put themselves on it, with the semaphore to be posted.
    pub(super) waiting: Vec<(TaskId, SemaphoreId)>,
    /// Those who are being released: the last comes first.
    pub(super) leaving: Vec<(TaskId, SemaphoreId)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) spec: ChannelSpec,
    /// Bytes to be read.
    pub(super) bytes: u32,
    /// What they occupy, with the overhead of the writes they came in.
    pub(super) occupied: u32,
    /// Bytes that are left of each write; not kept if writes have no overhead.
    pub(super) writes: VecDeque<u32>,
    pub(super) readers: WaitQueue,
    pub(super) writers: WaitQueue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// When each lane has served what it was asked for so far.
    pub(super) lanes: Vec<Instant>,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) mutexes: IdVec<MutexId, Mutex>,
    pub(super) conditions: IdVec<ConditionId, WaitQueue>,
    pub(super) barriers: IdVec<BarrierId, Barrier>,
    pub(super) semaphores: IdVec<SemaphoreId, Semaphore>,
    pub(super) spin_locks: IdVec<SpinLockId, SpinLock>,
    pub(super) rosters: IdVec<RosterId, Roster>,
    pub(super) channels: IdVec<ChannelId, Channel>,
    pub(super) devices: IdVec<DeviceId, Device>,
    pub(super) timers: IdVec<TimerId, TimerState>,
}

impl Shared {
    pub(super) fn new(w: &Workload, cpus: usize) -> Self {
        Self {
            mutexes: w.mutexes.iter().map(|_| Mutex::default()).collect(),
            conditions: w.conditions.iter().map(|_| WaitQueue::default()).collect(),
            barriers: w
                .barriers
                .iter()
                .map(|(_, b)| Barrier { parties: b.parties, arrived: 0, waiters: WaitQueue::default() })
                .collect(),
            semaphores: w
                .semaphores
                .iter()
                .map(|(_, s)| Semaphore {
                    count: s.initial.min(s.max),
                    max: s.max,
                    waiters: WaitQueue::default(),
                })
                .collect(),
            spin_locks: w
                .spin_locks
                .iter()
                .map(|(_, s)| SpinLock {
                    owners: vec![None; if s.per_cpu { cpus } else { 1 }],
                    spinners: Vec::new(),
                })
                .collect(),
            rosters: w.rosters.iter().map(|_| Roster::default()).collect(),
            channels: w
                .channels
                .iter()
                .map(|(_, spec)| Channel {
                    spec: spec.clone(),
                    bytes: 0,
                    occupied: 0,
                    writes: VecDeque::new(),
                    readers: WaitQueue::default(),
                    writers: WaitQueue::default(),
                })
                .collect(),
            devices: w
                .devices
                .iter()
                .map(|(_, d)| Device { lanes: vec![Instant::ZERO; d.lanes as usize] })
                .collect(),
            timers: w.timers.iter().map(|_| TimerState::default()).collect(),
        }
    }
}
