// SPDX-License-Identifier: GPL-2.0-only
//! What an rt-app file says, after all defaults and quirks of reading it.
//!
//! Times are in nanoseconds; the files' own unit is the microsecond, so all are multiples of 1000.

use zerolag_core::units::Nanos;

use super::error::Remark;
use crate::workload::json::Position;

/// A whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtApp {
    /// The file's name, for messages.
    pub file: String,
    /// What holds for all tasks.
    pub global: Global,
    /// The tasks in the order of the file, which is the order of creation.
    pub tasks: Vec<Task>,
    /// Timers that threads share, in order of first mention.
    pub shared_timers: Vec<TimerSpec>,
    /// What is accepted but probably not meant, in order of discovery.
    pub remarks: Vec<Remark>,
}

/// The `global` object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// After this, all threads are stopped. Without it, the run ends when the last thread ends.
    pub duration: Option<Nanos>,
    /// How work is measured.
    pub calibration: Calibration,
    /// Where that stands.
    pub calibration_at: Position,
    /// Policy of tasks that name none.
    pub default_policy: Policy,
    /// What is kept of each thread's log.
    pub log: LogSize,
    /// Directory of the log files.
    pub logdir: String,
    /// First part of the log files' names.
    pub log_basename: String,
    /// Which markers are written to the trace.
    pub ftrace: Categories,
    /// Whether threads lock their memory. Nothing that is scheduled depends on it.
    pub lock_pages: bool,
    /// Whether mutexes pass priority on.
    pub pi_enabled: bool,
    /// Whether `.plot` files are wanted.
    pub gnuplot: bool,
    /// Where `iorun` writes.
    pub io_device: String,
    /// Size of the buffer of `mem` and `iorun`, in bytes; at least 1.
    pub mem_buffer_bytes: u32,
    /// Whether the log's `slack` is the sum over a phase's timers rather than the last one's.
    pub cumulative_slack: bool,
}

/// How much work a microsecond of `run` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibration {
    /// What this CPU does in a microsecond.
    Cpu(u32),
    /// The loop of which a CPU of capacity 1024 does one in so many nanoseconds; at least 1.
    NanosPerLoop(u32),
}

/// What is kept of a thread's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSize {
    /// Nothing.
    Disabled,
    /// Every row.
    File,
    /// The last rows that fit in so many mebibytes; at least 1.
    Ring {
        /// Size of the buffer.
        mebibytes: u32,
    },
}

/// Which kinds of marker are written to the trace (`FTRACE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    /// `rtapp_main`, but for the clock reference.
    pub main: bool,
    /// `rtapp_task`, and the clock reference.
    pub task: bool,
    /// `rtapp_loop`.
    pub phase: bool,
    /// `rtapp_event`.
    pub event: bool,
    /// `rtapp_stats`.
    pub stats: bool,
    /// `rtapp_attrs`; only the old form `"ftrace": true` turns it on.
    pub attrs: bool,
}

/// A scheduling policy as the files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_RR`.
    RoundRobin,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_DEADLINE`.
    Deadline,
}

impl Policy {
    /// All of them under their names.
    pub(super) const NAMES: [(&'static str, Self); 6] = [
        ("SCHED_OTHER", Self::Other),
        ("SCHED_BATCH", Self::Batch),
        ("SCHED_IDLE", Self::Idle),
        ("SCHED_RR", Self::RoundRobin),
        ("SCHED_FIFO", Self::Fifo),
        ("SCHED_DEADLINE", Self::Deadline),
    ];

    /// The name in files and markers.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }

    /// True for the three policies of the fair class.
    pub fn is_fair(self) -> bool {
        matches!(self, Self::Other | Self::Batch | Self::Idle)
    }
}

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// So many times.
    Times(u32),
    /// Without end.
    Forever,
}

/// A change of scheduling attributes (`sched_data_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// The policy it leads to: named, or the one in force when it is first reached.
    pub policy: Policy,
    /// Nice level of fair policies, priority of real-time ones. Without it, policy, priority and slice stay as
    /// they are.
    pub priority: Option<i32>,
    /// `SCHED_DEADLINE`'s budget; the custom slice of `SCHED_OTHER` and `SCHED_BATCH`. Zero: not set.
    pub runtime: Nanos,
    /// `SCHED_DEADLINE`'s relative deadline.
    pub deadline: Nanos,
    /// `SCHED_DEADLINE`'s period.
    pub period: Nanos,
    /// Lower clamp of utilisation, 0 to 1024.
    pub util_min: Option<u32>,
    /// Upper clamp of utilisation, 0 to 1024.
    pub util_max: Option<u32>,
}

/// Where threads may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The CPUs; none: where the task may, and without that, everywhere.
    pub cpus: Option<Vec<u32>>,
    /// The memory nodes.
    pub nodes_membind: Option<Vec<u32>>,
    /// The task group as a path below the root, `/` for the root itself; none: unchanged.
    pub taskgroup: Option<String>,
}

/// A thread object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name; that of a thread has a number behind it.
    pub name: String,
    /// Where it is defined.
    pub at: Position,
    /// How many threads are created at start.
    pub instances: u32,
    /// How long after the common start they begin; also moves the origin of their timers.
    pub delay: Nanos,
    /// How often all phases are gone through.
    pub repeat: Repeat,
    /// Attributes at start.
    pub scheduling: Scheduling,
    /// Where they may run unless the phase says otherwise.
    pub placement: Placement,
    /// The phases; at least one.
    pub phases: Vec<Phase>,
    /// Modes of the timers that each thread has for itself, which events refer to by number.
    pub own_timers: Vec<TimerSpec>,
}

/// A phase: events, done over and over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name; empty if the events stand in the task itself.
    pub name: String,
    /// How often before the next phase.
    pub repeat: Repeat,
    /// Attributes that change on entry.
    pub scheduling: Option<Scheduling>,
    /// Where threads may run meanwhile.
    pub placement: Placement,
    /// The events; at least one.
    pub events: Vec<Event>,
}

/// A timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerSpec {
    /// Its name.
    pub name: String,
    /// Whether a missed period is made up for later. A timer is absolute once any event says so.
    pub absolute: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its key, made unique within the phase as `workgen` does.
    pub key: String,
    /// Where it stands.
    pub at: Position,
    /// What is done.
    pub kind: EventKind,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A fixed amount of work: what the calibrated CPU does in this time.
    Run(Nanos),
    /// Work until this much time has passed, whoever else had the CPU meanwhile.
    Runtime(Nanos),
    /// Sleeps this long.
    Sleep(Nanos),
    /// Waits for the next expiry of a timer.
    Timer {
        /// Which.
        timer: TimerName,
        /// How far the timer moves on.
        period: Nanos,
    },
    /// Takes a mutex.
    Lock(String),
    /// Leaves a mutex.
    Unlock(String),
    /// Waits at a condition, without the mutex meanwhile.
    Wait {
        /// The condition.
        condition: String,
        /// The mutex.
        mutex: String,
    },
    /// Lets one task that waits go on.
    Signal(String),
    /// Lets all tasks that wait go on.
    Broadcast(String),
    /// Signals a condition and waits at it.
    Sync {
        /// The condition.
        condition: String,
        /// The mutex.
        mutex: String,
    },
    /// Waits until someone resumes this name: mutex and condition of the name in one.
    Suspend(String),
    /// Lets all tasks suspended under this name go on.
    Resume(String),
    /// Writes so many bytes of the thread's buffer, as fast as the CPU can.
    Mem {
        /// How many.
        bytes: u64,
    },
    /// Accesses memory in a certain way.
    MemRun(MemRun),
    /// Writes so many bytes to the device.
    IoRun {
        /// How many.
        bytes: u64,
    },
    /// Offers the CPU to others.
    Yield,
    /// Waits until all tasks whose files mention the name have arrived.
    Barrier(String),
    /// Creates one thread of this task.
    Fork(String),
    /// Adds one to a semaphore.
    SemPost(String),
    /// Takes one from a semaphore, when there is one.
    SemWait(String),
}

/// Which timer an event uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerName {
    /// One that each thread has for itself (a `ref` beginning with `unique`): its number in
    /// [`Task::own_timers`].
    Own(u8),
    /// One that all threads share, each use moving it on.
    Shared(String),
}

/// A `memrun` event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemRun {
    /// How memory is accessed.
    pub access: MemAccess,
    /// Size of the buffer in bytes; at least 1.
    pub size_bytes: u32,
    /// Bytes accessed, or pointers followed.
    pub count: u64,
    /// Name under which threads share the buffer.
    pub shared: Option<String>,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemAccess {
    /// Reads byte after byte.
    Read,
    /// Writes byte after byte.
    Write,
    /// Follows pointers.
    Chase {
        /// Distance of neighbouring pointers in bytes; at least 1.
        stride_bytes: u32,
        /// In an order that defeats prefetching.
        random: bool,
    },
}
