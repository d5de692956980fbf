// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as one value: all CPUs, groups and tasks, and the events that change them.
//!
//! # How to drive it
//!
//! Every method that can change anything takes the time first; time must not go backwards. After each call,
//! take the effects with [`Scheduler::poll`] until there are none, and act on them:
//!
//! | effect | what the caller does |
//! |---|---|
//! | [`Effect::Resched`] | calls [`Scheduler::schedule`] on that CPU soon: at once, or when it next can be preempted |
//! | [`Effect::WakeIpi`] | calls [`Scheduler::finish_wakeups`] on that CPU, as an inter-processor interrupt would |
//! | [`Effect::Stop`] | calls [`Scheduler::stop`] on that CPU, as the stopper thread would run there |
//! | [`Effect::Softirq`] | calls [`Scheduler::softirq`] on that CPU, as soon as interrupts are done |
//! | [`Effect::NohzKick`] | calls [`Scheduler::nohz_kick`] on that CPU, as an inter-processor interrupt would |
//! | [`Effect::BandwidthTimer`] | sets a timer that calls [`Scheduler::bandwidth_timer`], on the CPU it comes from |
//! | [`Effect::ThrottleWork`] | calls [`Scheduler::return_to_user`] on that CPU when the task that runs there returns to user mode: at once, if the caller does not model the kernel's own time |
//! | [`Effect::UnthrottleIpi`] | calls [`Scheduler::finish_unthrottling`] on that CPU, as an inter-processor interrupt would |
//! | [`Effect::Hrtick`] | sets, or clears, a timer that calls [`Scheduler::hrtick`] |
//! | [`Effect::BlockedLoad`] | counts it, or not |
//! | [`Effect::Trace`] | looks at it, or not: what happened, for observers |
//!
//! Effects come in the order in which they arose. Beyond that the caller calls [`Scheduler::tick`]
//! periodically on each busy CPU.
//!
//! A task's life: [`Scheduler::fork`], [`Scheduler::wake_new`], then [`Scheduler::block`] and
//! [`Scheduler::wake`] in turn, [`Scheduler::exit`].
//!
//! The value is plain data: clone it to ask what would have happened otherwise, compare two to find where
//! they part.

mod attributes;
mod bandwidth;
mod groups;
mod hotplug;
mod lifecycle;
mod machine;
mod migrate;
mod stopper;
mod switch;
mod wakeup;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::balance::nohz::{BlockedDeed, Nohz};
use crate::config::Config;
use crate::cpu_set::CpuSet;
use crate::domain::{DomainStates, Domains, Partitions};
use crate::entity::Entity;
use crate::event::{EventKind, SchedEvent};
use crate::fair::bandwidth::BandwidthTimer;
use crate::fair::queue::CfsRq;
use crate::group::Group;
use crate::ids::{CpuId, EntityId, GroupId, IdVec, QueueId, RootId, TaskId};
use crate::rq::Rq;
use crate::task::Task;
use crate::topology::Topology;
use crate::units::{Instant, Jiffies};

pub use stopper::StopWork;

/// Something the caller has to know or to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Another task should run on this CPU.
    Resched {
        /// The CPU.
        cpu: CpuId,
    },
    /// Tasks wait on this CPU's wake list.
    WakeIpi {
        /// The CPU.
        cpu: CpuId,
    },
    /// The stopper has something to do on this CPU.
    Stop {
        /// The CPU.
        cpu: CpuId,
        /// What.
        work: StopWork,
    },
    /// Load has to be balanced on this CPU (`SCHED_SOFTIRQ`).
    Softirq {
        /// The CPU.
        cpu: CpuId,
    },
    /// This idle CPU is asked to balance for those whose tick is stopped.
    NohzKick {
        /// The CPU.
        cpu: CpuId,
    },
    /// The precise end of a slice.
    Hrtick {
        /// The CPU.
        cpu: CpuId,
        /// When; nothing = not any more.
        at: Option<Instant>,
    },
    /// A group's bandwidth needs a timer, beside those that are set: once, at that time, by an interrupt on
    /// the CPU that this effect comes from, the one on which the call that caused it was made.
    BandwidthTimer {
        /// The group.
        group: GroupId,
        /// Which of its timers.
        timer: BandwidthTimer,
        /// When.
        at: Instant,
    },
    /// Queues on this CPU have got runtime and are to be unthrottled.
    UnthrottleIpi {
        /// The CPU.
        cpu: CpuId,
    },
    /// The task that is about to run on this CPU is to be throttled when it returns to user mode.
    ThrottleWork {
        /// The CPU.
        cpu: CpuId,
    },
    /// Something was done about load that decays on idle CPUs. Only produced while tracing.
    BlockedLoad {
        /// What.
        deed: BlockedDeed,
        /// To the load of which CPU, or by which CPU a pass is made.
        cpu: CpuId,
    },
    /// Something observable happened.
    Trace(SchedEvent),
}

/// In what context a task is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WokenFrom {
    /// The task that runs does it.
    Process,
    /// An interrupt does it, while some task happens to run.
    Interrupt,
}

/// How a task has come to be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is new.
    New,
    /// It was woken; `sync` = its waker will sleep soon.
    Woken {
        /// Its waker will sleep soon.
        sync: bool,
    },
    /// It came from elsewhere, or was changed.
    Moved,
}

impl Arrival {
    /// Whoever woke it will sleep soon.
    pub(crate) const fn is_sync(self) -> bool {
        matches!(self, Self::Woken { sync: true })
    }
}

/// The state of a whole machine's scheduling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    pub(crate) config: Config,
    pub(crate) now: Instant,
    pub(crate) entities: IdVec<EntityId, Entity>,
    pub(crate) queues: IdVec<QueueId, CfsRq>,
    pub(crate) cpus: IdVec<CpuId, Rq>,
    pub(crate) tasks: IdVec<TaskId, Task>,
    pub(crate) groups: IdVec<GroupId, Group>,
    /// Groups in the order in which they were made, or their shares set, where that matters.
    pub(crate) listed: Vec<GroupId>,
    /// Entities of dead tasks, to be used again.
    pub(crate) free_entities: Vec<EntityId>,
    /// Tasks that were woken remotely, by target CPU, until it takes them up.
    pub(crate) wake_lists: IdVec<CpuId, Vec<TaskId>>,
    pub(crate) topology: Topology,
    pub(crate) domains: Domains,
    pub(crate) states: DomainStates,
    /// Root domains in which some CPU has more than one task (`rd->overload`).
    pub(crate) overloaded: IdVec<RootId, bool>,
    /// A CPU outside of any root domain has been, once.
    pub(crate) overloaded_outside: bool,
    /// CPUs that are there.
    pub(crate) online: CpuSet,
    /// CPUs that take tasks.
    pub(crate) active: CpuSet,
    pub(crate) partitions: Partitions,
    /// Domains have been built; without them every CPU is on its own.
    pub(crate) has_domains: bool,
    /// Some group has, or had, a quota; until then nothing of bandwidth is looked at.
    pub(crate) bandwidth_used: bool,
    /// Some core has several threads.
    pub(crate) smt_present: bool,
    /// CPUs of some root domain have different capacities.
    pub(crate) asym_capacity: bool,
    /// The greatest capacity that tasks without a parent may use: they are all made by one ancestor, whose
    /// affinity was theirs, and which keeps what was noted for the last.
    pub(crate) ancestor_allowed_capacity: u32,
    /// Some CPU is in a cluster that wake-ups look at first.
    pub(crate) clusters_active: bool,
    /// Idle CPUs without a tick.
    pub(crate) nohz: Nohz,
    /// The longest time between two balancings of a domain.
    pub(crate) max_balance_interval: Jiffies,
    /// See [`Scheduler::take_spare_set`].
    spare_set: CpuSet,
    /// Memory for tasks on their way from one CPU to another; empty in between.
    pub(crate) spare_tasks: Vec<TaskId>,
    effects: VecDeque<Effect>,
    tracing: bool,
}

impl Scheduler {
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration, to be changed while the machine runs: features and tunables take effect at the
    /// next decision that asks for them, as through debugfs.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The CPUs' run queues.
    pub fn cpus(&self) -> &IdVec<CpuId, Rq> {
        &self.cpus
    }

    /// All fair queues of all CPUs and groups.
    pub fn queues(&self) -> &IdVec<QueueId, CfsRq> {
        &self.queues
    }

    /// All entities; those of dead tasks mean nothing.
    pub fn entities(&self) -> &IdVec<EntityId, Entity> {
        &self.entities
    }

    /// All tasks that ever were.
    pub fn tasks(&self) -> &IdVec<TaskId, Task> {
        &self.tasks
    }

    /// All groups.
    pub fn groups(&self) -> &IdVec<GroupId, Group> {
        &self.groups
    }

    /// Idle CPUs without a tick, and what is to be done for them.
    pub fn nohz(&self) -> &Nohz {
        &self.nohz
    }

    /// The next effect; see the module's documentation for what to do with it.
    #[must_use]
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether [`Effect::Trace`] is produced; off at first.
    pub fn set_tracing(&mut self, on: bool) {
        self.tracing = on;
    }

    /// Starts an event: time moves on.
    #[inline]
    pub(crate) fn at(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time went backwards: {now} after {}", self.now);
        self.now = now;
    }

    /// An empty set, for CPUs that are searched or passed over; to be given back, so that its memory is used again.
    pub(crate) fn take_spare_set(&mut self) -> CpuSet {
        core::mem::take(&mut self.spare_set)
    }

    /// A set that was taken is not needed any more.
    pub(crate) fn give_back(&mut self, mut set: CpuSet) {
        set.clear();
        self.spare_set = set;
    }

    /// Out of line: there are many callers, and most of the time nothing happens.
    #[inline(never)]
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// An effect that is of interest to observers only.
    #[inline]
    pub(crate) fn push_traced(&mut self, effect: Effect) {
        if self.tracing {
            self.push(effect);
        }
    }

    #[inline]
    pub(crate) fn trace(&mut self, cpu: CpuId, kind: EventKind) {
        if self.tracing {
            self.push(Effect::Trace(SchedEvent { time: self.now, cpu, kind }));
        }
    }

    /// Brings a CPU's run-queue clocks to the present.
    #[inline]
    pub(crate) fn update_clock(&mut self, cpu: CpuId) {
        self.cpus[cpu].update_clock(self.now);
    }

    /// Somebody else should run on `cpu` (`resched_curr()`).
    #[inline]
    pub(crate) fn resched(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].need_resched {
            self.cpus[cpu].need_resched = true;
            self.push(Effect::Resched { cpu });
        }
    }
}
