// SPDX-License-Identifier: GPL-2.0-only
//! One task: where it is in its program.

use std::sync::Arc;

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::program::{Op, SharedProgram};
use crate::resource::{BarrierId, ChannelId, ConditionId, DeviceId, MutexId, SemaphoreId, SpinLockId};
use crate::rng::Stream;
use crate::workload::TemplateId;

/// What a task that does not run, though nobody took the CPU from it, waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingFor {
    /// A timer of its own.
    Time,
    /// I/O, of a device or just so.
    Io(Option<DeviceId>),
    /// A mutex.
    Mutex(MutexId),
    /// A spin lock; it works in vain meanwhile.
    SpinLock(SpinLockId),
    /// A condition to be signalled.
    Condition(ConditionId),
    /// Others to arrive at a barrier.
    Barrier(BarrierId),
    /// A semaphore to be posted.
    Semaphore(SemaphoreId),
    /// Bytes to read.
    Bytes(ChannelId),
    /// Room to write to.
    Room(ChannelId),
}

/// What a task does whenever it has a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It goes on with its program.
    Program,
    /// Works off what is left.
    Work,
    /// Works until `until`, looking at the clock each `grain` of work.
    Wall { grain: Nanos },
    /// Spins on a lock. It looks at it when it gets the CPU, and when the lock becomes free.
    Spin,
}

/// A timer's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimerState {
    /// When it is due next; nothing before the first use.
    pub(super) due: Option<Instant>,
    /// It was once used so as to keep its beat.
    pub(super) keeps_beat: bool,
}

/// Where a task got its name from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Birth {
    /// The machine started it: which of the workload's starts.
    Start(u32),
    /// The n-th task forked from its template, counting from 0.
    Fork(u32),
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) program: SharedProgram,
    /// Numbers of the resources the program names by argument.
    pub(super) arguments: Arc<[u32]>,
    /// Next operation.
    pub(super) pc: u32,
    /// How far it is in that, for those that take several steps.
    pub(super) stage: u8,
    pub(super) doing: Doing,
    /// `Work`: what is left. `Wall`: work until the next look at the clock that may find it past `until`.
    pub(super) left: Nanos,
    /// `Wall`: when it ends. `Release`: when it began.
    pub(super) until: Instant,
    /// Bytes, or tasks to be woken, that are left of this operation.
    pub(super) count: u32,
    /// Rounds that are left of each loop it is in.
    pub(super) loops: Box<[u32]>,
    /// Its own timers.
    pub(super) timers: Box<[TimerState]>,
    pub(super) waiting_for: Option<WaitingFor>,
    /// Since when.
    pub(super) waiting_since: Instant,
    /// The next in the queue in which it waits.
    pub(super) next_in_queue: Option<TaskId>,
    /// Its chance.
    pub(super) stream: Stream,
    /// Its delays and timers count from here.
    pub(super) epoch: Instant,
    pub(super) timer_slack: Nanos,
    /// Where it last ran.
    pub(super) cpu: Option<CpuId>,
    pub(super) template: TemplateId,
    pub(super) birth: Birth,
    pub(super) alive: bool,
}

impl Task {
    /// The operation it is at; nothing at the end of its program.
    #[inline]
    pub(super) fn op(&self) -> Option<Op> {
        self.program.ops().get(self.pc as usize).copied()
    }

    /// On to the next operation.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.pc += 1;
        self.stage = 0;
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduler's part is 192 bytes of entity and less than that of everything else, so that a task
    /// stays far below 1 KiB.
    #[test]
    fn a_task_is_small() {
        assert!(size_of::<Task>() <= 256, "{}", size_of::<Task>());
    }
}
