// SPDX-License-Identifier: GPL-2.0-only
//! The lines of a script as data.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};

/// One line of a script, after the machine words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Changes what is printed or how the script is run; no event.
    Setting(Setting),
    /// Changes the clock or the CPU that events happen on; no event.
    Place(Place),
    /// Prints information; no event.
    Query(Query),
    /// Something happens.
    Event(Event),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Mode(super::Output),
    /// In hash mode, hash events whose number is a multiple of this.
    Every(u64),
    /// Print the anchor of keys; off: print 0.
    Anchor(bool),
    /// Act on rescheduling and the idle loop by itself.
    Auto(bool),
    /// Interrupts, softirqs, stoppers and timers wait until they are asked for.
    Raw(bool),
    /// Count what happens.
    Stats(bool),
    Feature {
        name: String,
        on: bool,
    },
    Tunable {
        name: String,
        value: u64,
    },
    FairServer(bool),
    /// What is woken from now on is woken by interrupts.
    Interrupt(bool),
    /// Accepted for old scripts.
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Clock { ns: u64 },
    Advance { ns: u64 },
    Cpu(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Show(Option<u32>),
    /// What the kernel's files say of the run queues, or of a task.
    Debug(Option<u64>),
    Stats,
    /// How many tasks each CPU has.
    Glance,
}

/// What a `task` line says of the new task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewTask {
    pub(crate) group: u64,
    pub(crate) nice: Nice,
    pub(crate) policy: Policy,
    pub(crate) slice_ns: u64,
    pub(crate) latency_nice: LatencyNice,
    pub(crate) cpu: Option<u32>,
    pub(crate) pin: bool,
    pub(crate) cpus: Option<CpuSet>,
}

/// What an interrupt from another CPU brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ipi {
    /// Tasks on the wake list.
    Wake,
    /// The order to balance for idle CPUs.
    Kick,
    /// Queues to unthrottle.
    Unthrottle,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Dump,
    Group {
        group: u64,
        parent: u64,
        shares: Option<u64>,
        latency_nice: Option<i64>,
    },
    Shares {
        group: u64,
        shares: u64,
    },
    GroupIdle {
        group: u64,
        idle: bool,
    },
    /// Microseconds; no quota = unlimited.
    Quota {
        group: u64,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    },
    Task {
        task: u64,
        spec: NewTask,
    },
    Fork {
        task: u64,
    },
    Wake {
        task: u64,
        sync: bool,
    },
    Sleep {
        io: bool,
    },
    Exit,
    /// The running task replaces its program.
    Exec,
    Tick,
    TickAll,
    /// Each CPU runs its stopper for no time.
    Warm,
    /// The idle CPU's tick stops (1) or goes on (0); or its idle loop is entered (2), or before 5.0 its tick
    /// goes on.
    Nohz {
        what: u64,
    },
    /// What was sent to this CPU arrives.
    Ipi(Ipi),
    /// Softirqs that were raised on this CPU are done.
    Softirq,
    /// This CPU's stopper does what it was first asked for.
    Stopper,
    /// A timer of a group's bandwidth fires, if it is due.
    Timer {
        group: u64,
        timer: BandwidthTimer,
    },
    Offline {
        cpu: u32,
    },
    Online {
        cpu: u32,
    },
    Resched {
        force: bool,
    },
    Yield,
    Nice {
        task: u64,
        nice: Option<Nice>,
    },
    Slice {
        task: u64,
        ns: u64,
    },
    LatencyNice {
        task: u64,
        level: i64,
    },
    GroupLatencyNice {
        group: u64,
        level: i64,
    },
    Policy {
        task: u64,
        policy: Policy,
    },
    Move {
        task: u64,
        cpu: u32,
    },
    Affine {
        task: u64,
        cpus: CpuSet,
    },
    SetGroup {
        task: u64,
        group: u64,
    },
}

impl Event {
    /// The verb and, if there is one, the id that the event line shows.
    pub(crate) fn label(&self) -> (&'static str, Option<u64>) {
        match *self {
            Self::Dump => ("dump", None),
            Self::Group { group, .. } => ("group", Some(group)),
            Self::Shares { group, .. } => ("shares", Some(group)),
            Self::GroupIdle { group, .. } => ("gidle", Some(group)),
            Self::Quota { group, .. } => ("quota", Some(group)),
            Self::Task { task, .. } => ("task", Some(task)),
            Self::Fork { task } => ("fork", Some(task)),
            Self::Wake { task, .. } => ("wake", Some(task)),
            Self::Sleep { .. } => ("sleep", None),
            Self::Exit => ("exit", None),
            Self::Exec => ("exec", None),
            Self::Tick => ("tick", None),
            Self::TickAll => ("tickall", None),
            Self::Warm => ("warm", None),
            Self::Nohz { .. } => ("nohz", None),
            Self::Ipi(_) => ("ipi", None),
            Self::Softirq => ("softirq", None),
            Self::Stopper => ("stopper", None),
            Self::Timer { group, .. } => ("timer", Some(group)),
            Self::Offline { cpu } => ("offline", Some(u64::from(cpu))),
            Self::Online { cpu } => ("online", Some(u64::from(cpu))),
            Self::Resched { .. } => ("resched", None),
            Self::Yield => ("yield", None),
            Self::Nice { task, .. } => ("nice", Some(task)),
            Self::Slice { task, .. } => ("slice", Some(task)),
            Self::LatencyNice { task, .. } => ("latnice", Some(task)),
            Self::GroupLatencyNice { group, .. } => ("glatnice", Some(group)),
            Self::Policy { task, .. } => ("policy", Some(task)),
            Self::Move { task, .. } => ("move", Some(task)),
            Self::Affine { task, .. } => ("affine", Some(task)),
            Self::SetGroup { task, .. } => ("setgroup", Some(task)),
        }
    }

    /// The word that makes it depend on latency nice, if it does.
    pub(crate) fn latency_word(&self) -> Option<&'static str> {
        match self {
            Self::LatencyNice { .. } | Self::GroupLatencyNice { .. } => Some(self.label().0),
            Self::Group { latency_nice: Some(_), .. } => Some("latnice"),
            Self::Task { spec, .. } if spec.latency_nice != LatencyNice::ZERO => Some("latnice"),
            _ => None,
        }
    }
}
