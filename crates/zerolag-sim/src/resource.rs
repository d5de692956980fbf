// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share and wait for: mutexes, conditions, barriers, semaphores, channels, spin locks, rosters,
//! devices and timers. Here is what they are when a machine starts; [`crate::program::Op`] says what can be
//! done with them.
//!
//! Each kind has its own id type. A program refers to a resource by a [`Ref`]: either one certain resource,
//! or whatever the task was given as its n-th argument, so that many tasks can share one program.

use std::fmt;
use std::hash::Hash;

use zerolag_core::ids::Id;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena holds fewer than 2^32 elements"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

id! {
    /// A mutex.
    MutexId, "mutex";
    /// A condition: tasks wait at it until they are signalled. A signal that finds nobody is lost.
    ConditionId, "condition";
    /// A barrier: tasks wait at it until all are there.
    BarrierId, "barrier";
    /// A counting semaphore. With a `max` of 1 it is a flag, as a futex word is often used.
    SemaphoreId, "semaphore";
    /// A pipe or one direction of a stream socket.
    ChannelId, "channel";
    /// A lock that is waited for by spinning.
    SpinLockId, "spinlock";
    /// A list on which tasks put themselves, to be released together (schbench's message threads).
    RosterId, "roster";
    /// Something that does I/O.
    DeviceId, "device";
    /// A timer that several tasks share.
    TimerId, "timer";
    /// A program that numbers its threads, as rt-app does.
    AppId, "app";
}

/// How a program names a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ref<I> {
    /// This one.
    Fixed(I),
    /// The one whose number is this argument of the task (0 is the first).
    Argument(u8),
}

impl<I> From<I> for Ref<I> {
    fn from(id: I) -> Self {
        Self::Fixed(id)
    }
}

impl<I: From<u32> + Copy> Ref<I> {
    /// The resource meant by a task with these arguments. Panics if there are too few of them.
    pub fn resolve(self, arguments: &[u32]) -> I {
        match self {
            Self::Fixed(id) => id,
            Self::Argument(n) => I::from(arguments[usize::from(n)]),
        }
    }

    /// How many arguments a task must have for this to mean something.
    pub(crate) fn arguments_needed(self) -> usize {
        match self {
            Self::Fixed(_) => 0,
            Self::Argument(n) => usize::from(n) + 1,
        }
    }
}

/// How a program names a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerRef {
    /// A timer that each task has for itself, by number (0 is the first).
    Own(u8),
    /// One that tasks share: each use moves it on (rt-app, a `ref` that does not start with "unique").
    Shared(TimerId),
}

/// A mutex, a condition, a roster: nothing but a name for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierSpec {
    /// Its name in reports.
    pub name: String,
    /// How many tasks must have arrived for all of them to go on; at least 1. Then it starts anew.
    pub parties: u32,
}

/// A semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemaphoreSpec {
    /// Its name in reports.
    pub name: String,
    /// The count at first.
    pub initial: u32,
    /// The count never exceeds this: posting at the maximum does nothing. 1 makes it a flag.
    pub max: u32,
}

/// A pipe, or one direction of a stream socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// Its name in reports.
    pub name: String,
    /// How much it holds, in bytes; at least 1.
    pub capacity: u32,
    /// What each write occupies beside its bytes: the bookkeeping of a socket buffer, the unused rest of a
    /// pipe's page.
    pub overhead: u32,
    /// Blocked writers are woken when no more than this many bytes are occupied. A pipe wakes them as soon as
    /// something was taken out (`capacity - 1`), a Unix socket when it is half empty.
    pub refill_below: u32,
}

/// A spin lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpinLockSpec {
    /// Its name in reports.
    pub name: String,
    /// It is one lock per CPU, and a task takes that of the CPU it runs on (schbench's `lock_this_cpu`). A
    /// task that is moved while it spins goes for the lock of the new CPU.
    pub per_cpu: bool,
}

/// Something that serves I/O requests in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Its name in reports.
    pub name: String,
    /// How many requests it serves at a time; at least 1. A saturated network link has 1.
    pub lanes: u32,
}
