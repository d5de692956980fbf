// SPDX-License-Identifier: GPL-2.0-only
//! What a task does, as a small program.
//!
//! A [`Program`] is a flat list of [`Op`]s with loops in it; it is immutable, and any number of tasks share
//! one. What differs between tasks that run the same code comes in as *arguments*, numbers of resources
//! ([`Ref::Argument`]). A task that reaches the end exits.
//!
//! ```
//! use zerolag_core::units::Nanos;
//! use zerolag_sim::program::{Op, ProgramBuilder, Times};
//!
//! // for ever: run 2 ms, sleep 8 ms
//! let periodic = ProgramBuilder::new()
//!     .begin(Times::Forever)
//!     .op(Op::Run(Nanos::from_millis(2).into()))
//!     .op(Op::Sleep(Nanos::from_millis(8).into()))
//!     .end()
//!     .build()
//!     .unwrap();
//! assert_eq!(periodic.ops().len(), 4);
//! ```
//!
//! # Work and time
//!
//! *Work* ([`Op::Run`]) is nanoseconds of CPU time on a CPU of full capacity and nominal speed; it takes
//! longer on a smaller CPU, and pauses while the task is preempted. *Time* is what a clock on the wall shows.
//! All other operations take no time by themselves, except that those that wake somebody cost the waker what
//! [`Costs`](crate::costs::Costs) says, and those that wait, wait.
//!
//! # Waiting
//!
//! Waiters queue in the order in which they came. Waking one takes it off the queue and makes it runnable;
//! when it runs again it looks whether what it waited for (a mutex, a semaphore's count, bytes in a channel)
//! is still there, and if somebody was faster it waits again, at the end of the queue. So do futexes and
//! pipes; there is no hand-over. A condition's signal and a barrier's release cannot be lost this way.

mod builder;

use std::sync::Arc;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::GroupId;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::units::{Instant, Nanos};

pub use builder::{LOOP_DEPTH_MAX, ProgramBuilder, ProgramError};

use crate::length::{Distribution, DistributionId, Length};
use crate::resource::{
    BarrierId, ChannelId, ConditionId, DeviceId, MutexId, Ref, RosterId, SemaphoreId, SpinLockId, TimerRef,
};
use crate::workload::TemplateId;

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Does so much work.
    Run(Length),
    /// Works until so much wall time has passed since the operation began, preemption included. The clock is
    /// looked at after each `grain` of work (rt-app's `runtime`: 32 µs; schbench's spinning: none, that is 0,
    /// and the task stops on the dot, or as soon as it runs again).
    RunFor {
        /// Wall time.
        wall: Length,
        /// Work between two looks at the clock.
        grain: Nanos,
    },

    /// Sleeps for so long, by the task's timer slack longer (`nanosleep()`).
    Sleep(Length),
    /// Has the task's delays and timers count from this moment (rt-app: a forked thread's count from the start
    /// of all). Without it they count from when the task was started.
    Epoch(Instant),
    /// Sleeps until so long after the task's epoch, and moves the epoch there. A task's epoch is the moment
    /// it was started; its timers count from there. A time that has passed is not waited for.
    Delay(Nanos),
    /// Sleeps until this moment (`clock_nanosleep()` with `TIMER_ABSTIME`). If it has passed, a timer goes off at once,
    /// and the task has been switched out for that.
    Until(Instant),
    /// Moves the timer's next expiry on by `period` and sleeps until then, or goes on at once if that has
    /// passed. The first use counts from the task's epoch. Reports a [`NoteKind::Timer`].
    ///
    /// [`NoteKind::Timer`]: crate::note::NoteKind::Timer
    Timer {
        /// Which timer.
        timer: TimerRef,
        /// By how much.
        period: Nanos,
        /// What happens to a timer that is late.
        late: Late,
    },
    /// Waits, uninterruptibly, for I/O: it is served for so long, after those that the device was asked for
    /// before. Without a device nothing else has to be served first.
    Io {
        /// The device.
        device: Option<Ref<DeviceId>>,
        /// Time of service.
        service: Length,
    },

    /// Asks a device for I/O as [`Op::Io`] does, but goes on: when it is served, the interrupt posts the
    /// semaphore.
    Submit {
        /// The device.
        device: Ref<DeviceId>,
        /// Time of service.
        service: Length,
        /// What is posted.
        done: Ref<SemaphoreId>,
    },

    /// Takes a mutex, waiting while somebody has it. A task that takes it twice waits for itself.
    Lock(Ref<MutexId>),
    /// Gives a mutex back and wakes the first that waits for it. Nothing happens if the task does not have it.
    Unlock(Ref<MutexId>),
    /// Takes a spin lock, working in vain while somebody has it.
    SpinLock(Ref<SpinLockId>),
    /// Gives back the spin lock taken (of a per-CPU one, the one that was taken).
    SpinUnlock(Ref<SpinLockId>),
    /// Gives the mutex back, if any, waits at the condition until signalled, and takes the mutex again.
    Wait {
        /// Where.
        condition: Ref<ConditionId>,
        /// The mutex that the task holds.
        mutex: Option<Ref<MutexId>>,
    },
    /// Wakes the first task that waits at the condition.
    Signal(Ref<ConditionId>),
    /// Wakes all tasks that wait at the condition, in the order in which they came.
    Broadcast(Ref<ConditionId>),
    /// Wakes the first that waits at the condition, then waits there itself as [`Op::Wait`] does.
    Sync {
        /// Where.
        condition: Ref<ConditionId>,
        /// The mutex that the task holds.
        mutex: Option<Ref<MutexId>>,
    },
    /// Waits until the barrier's number of tasks is there; the last one wakes the others and goes on.
    Barrier(Ref<BarrierId>),
    /// Raises the semaphore's count by one and wakes the first that waits for it. At the maximum nothing
    /// happens.
    Post(Ref<SemaphoreId>),
    /// The same to one of as many semaphores as there are CPUs: that whose number is the CPU's more than this.
    PostHere(SemaphoreId),
    /// Lowers the semaphore's count by one, waiting while it is 0.
    Acquire(Ref<SemaphoreId>),
    /// Sets the semaphore's count to 0.
    Drain(Ref<SemaphoreId>),
    /// Puts the task on a roster: when the roster is released, this semaphore is posted on its behalf. It
    /// does not wait.
    Enlist {
        /// The roster.
        roster: Ref<RosterId>,
        /// The semaphore that the task is about to acquire.
        semaphore: Ref<SemaphoreId>,
    },
    /// Takes everybody who is on the roster off it and posts their semaphores, last come first served. All
    /// are reported by a [`NoteKind::Released`] with the time at which this began.
    ///
    /// [`NoteKind::Released`]: crate::note::NoteKind::Released
    Release(Ref<RosterId>),

    /// Takes bytes out of a channel, waiting until all of them have come; wakes blocked writers.
    Read {
        /// The channel.
        channel: Ref<ChannelId>,
        /// How many.
        bytes: u32,
    },
    /// Puts bytes into a channel, waiting until there is room for them at once (or, if they are more than it
    /// can hold, bit by bit); wakes the first blocked reader.
    Write {
        /// The channel.
        channel: Ref<ChannelId>,
        /// How many.
        bytes: u32,
        /// Wakes the reader with the promise to sleep soon (`WF_SYNC`), as pipes and sockets do.
        sync: bool,
    },

    /// Gives way (`sched_yield()`).
    Yield,
    /// Starts a new task on the code of this template.
    Fork(TemplateId),
    /// Replaces the task's program by what follows (`execve()`): a good time to move to an idle CPU.
    Exec,
    /// Changes one of the task's own attributes.
    Set(Attribute),
    /// Reports that the task has come here, as a [`NoteKind::Mark`](crate::note::NoteKind::Mark) with this
    /// number. What it means is up to the workload.
    Mark(u32),
    /// Ends the task.
    Exit,

    /// Start of a loop: what follows, up to the matching [`Op::Again`], is done so many times.
    Repeat {
        /// How often; 0 skips it.
        times: Times,
        /// Index of the matching [`Op::Again`].
        again: u32,
    },
    /// End of a loop.
    Again {
        /// Index of the first operation of the body.
        body: u32,
        /// How deep the loop is nested, from 0.
        depth: u8,
    },
}

/// How often a loop is run through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// So many times.
    Exactly(u32),
    /// Without end.
    Forever,
}

/// What becomes of a timer whose next expiry has passed when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It starts anew from now (rt-app, mode "relative").
    Restart,
    /// It keeps its beat, and is late next time too, or catches up (rt-app, mode "absolute"). A timer once
    /// used so stays so.
    KeepBeat,
    /// It skips to the first beat that has not passed and waits for that (cyclictest).
    SkipBeats,
}

/// An attribute that a task can change while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The nice level.
    Nice(Nice),
    /// The policy; the request length stays.
    Policy(Policy),
    /// The request length; nothing = the base slice.
    Slice(Option<Nanos>),
    /// Policy, nice level and request length at once (`sched_setattr()`).
    Scheduling {
        /// The policy.
        policy: Policy,
        /// The nice level.
        nice: Nice,
        /// The request length; nothing = the base slice.
        slice: Option<Nanos>,
    },
    /// Where it may run: a set of the program.
    Affinity(AffinityId),
    /// Its group.
    Group(GroupId),
    /// How much later its timers may fire, for the sake of doing several things at one interrupt.
    TimerSlack(Nanos),
}

/// The number of a CPU set within its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffinityId(pub u16);

/// The code of tasks. Made by [`ProgramBuilder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    ops: Vec<Op>,
    distributions: Vec<Distribution>,
    affinities: Vec<CpuSet>,
    loop_depth: usize,
    own_timers: usize,
    arguments: usize,
}

impl Program {
    /// The operations.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// A distribution of this program.
    pub fn distribution(&self, id: DistributionId) -> &Distribution {
        &self.distributions[usize::from(id.0)]
    }

    /// A CPU set of this program.
    pub fn affinity(&self, id: AffinityId) -> &CpuSet {
        &self.affinities[usize::from(id.0)]
    }

    /// All CPU sets of this program.
    pub fn affinities(&self) -> &[CpuSet] {
        &self.affinities
    }

    /// How deep its loops are nested.
    pub const fn loop_depth(&self) -> usize {
        self.loop_depth
    }

    /// How many timers of its own a task that runs this needs.
    pub const fn own_timers(&self) -> usize {
        self.own_timers
    }

    /// How many arguments a task that runs this must have.
    pub const fn arguments(&self) -> usize {
        self.arguments
    }
}

/// Programs are shared by the tasks that run them.
pub type SharedProgram = Arc<Program>;

#[cfg(test)]
mod tests;
