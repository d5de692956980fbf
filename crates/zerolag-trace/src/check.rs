// SPDX-License-Identifier: GPL-2.0-only
//! Invariants that every schedule keeps, checked over its events.
//!
//! | invariant | broken by |
//! |---|---|
//! | time does not go back on a CPU | [`Violation::TimeWentBack`] |
//! | a CPU switches from the task that it switched to | [`Violation::ChainBroken`] |
//! | a task is on one CPU at a time | [`Violation::OnTwoCpus`] |
//! | a task that sleeps or is new is woken before it runs | [`Violation::RanUnwoken`] |
//! | a task runs where it is queued, or is migrated first | [`Violation::RanElsewhere`] |
//! | a task that waits to run is not woken again | [`Violation::WokenTwice`] |
//! | a task does nothing after its end | [`Violation::ActedAfterDeath`] |
//! | a CPU with a task in its queue does not idle | [`Violation::IdledWithWork`] |
//! | what the tasks of a CPU are charged is what they ran | [`Violation::ChargedWrongly`] |
//!
//! A simulator keeps all of them. A recording breaks the chain where events were lost, and the last two by
//! small amounts for reasons of its own (interrupts, wake-up IPIs on their way, CFS bandwidth), so these two
//! are checked against a bound, if at all.
//!
//! A switch may do without a fresh clock (`rq_clock_skip_update()`). Who leaves is then not charged for its last
//! part, and who comes is charged for it at its own next charge:
//!
//! ```text
//!           A runs          B runs          C runs
//!     |---------------|---------------|------------
//!     |charged to A|----charged to B--|
//!                  └ the clock last moved here before the switch
//! ```
//!
//! So time is carried from one task to the next, but to no later one. Nobody is charged for it if the CPU idles
//! between them, or if the clock moves between them: from 6.12 on only the first update of a switch is left out, and
//! where B sleeps and C is fetched from another CPU there is a second.
//!
//! What is not known is not held against a schedule: a CPU before its first switch, a task before its
//! first event.

use std::collections::BTreeSet;
use std::fmt;

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::dense::at;

/// Bounds of the invariants that depend on more than the events say; none is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// How long a CPU may idle while a task is in its queue.
    pub idle_with_work: Option<Nanos>,
    /// How far charges may be from the time between switches.
    pub charge: Option<Nanos>,
}

impl Bounds {
    /// For a schedule in which nothing takes longer than it must.
    pub const EXACT: Self = Self { idle_with_work: Some(Nanos::ZERO), charge: Some(Nanos::ZERO) };
}

/// An invariant that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// An event of this CPU is older than the one before it.
    TimeWentBack {
        /// Time of the event before.
        from: Instant,
    },
    /// A switch is from another task than the one that the CPU ran.
    ChainBroken {
        /// Who ran.
        believed: Option<TaskId>,
        /// Whom the switch is from.
        prev: Option<TaskId>,
    },
    /// A task is switched to while it runs on another CPU.
    OnTwoCpus {
        /// The task.
        task: TaskId,
        /// Where it runs.
        other: CpuId,
    },
    /// A task is switched to that was not woken since it slept or was forked.
    RanUnwoken {
        /// The task.
        task: TaskId,
    },
    /// A task is switched to on a CPU in whose queue it was not.
    RanElsewhere {
        /// The task.
        task: TaskId,
        /// Where it was queued.
        queued: CpuId,
    },
    /// A task is woken that waits to run since it was woken or preempted.
    WokenTwice {
        /// The task.
        task: TaskId,
    },
    /// A task is woken, moved or switched to after its last switch out.
    ActedAfterDeath {
        /// The task.
        task: TaskId,
    },
    /// The CPU was idle while a task was in its queue.
    IdledWithWork {
        /// The task that waited longest.
        task: TaskId,
        /// How long both held.
        span: Nanos,
    },
    /// Between switches a task was charged something else than it ran, with or without what was left to it.
    ChargedWrongly {
        /// The task.
        task: TaskId,
        /// How long it ran.
        ran: Nanos,
        /// What its predecessor ran and was not charged.
        left: Nanos,
        /// What it was charged.
        charged: Nanos,
    },
}

/// A violation, where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Time of the event that broke the invariant.
    pub time: Instant,
    /// Its CPU.
    pub cpu: CpuId,
    /// What was broken.
    pub violation: Violation,
}

/// Follows a schedule and collects what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Check {
    bounds: Bounds,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    findings: Vec<Finding>,
    count: u64,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    last: Instant,
    current: Option<Option<TaskId>>,
    idle_since: Instant,
    /// What the tasks before the running one ran and were not charged.
    uncharged: Nanos,
    /// Who waits here, the longest first.
    queue: BTreeSet<(Instant, TaskId)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Task {
    #[default]
    Unknown,
    Asleep,
    Queued {
        cpu: CpuId,
        since: Instant,
    },
    Running {
        cpu: CpuId,
        since: Instant,
        charged: Option<Nanos>,
    },
    Dead,
}

/// How many findings are kept; one fault often causes many.
const FINDINGS_MAX: usize = 100;

impl Check {
    /// Nothing seen yet.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        let cpu = at(&mut self.cpus, event.cpu);
        let from = std::mem::replace(&mut cpu.last, event.time);
        if event.time < from {
            self.found(event, Violation::TimeWentBack { from });
        }
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => self.switch(event, prev, prev_state, next),
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                self.wakeup(event, task, target);
            }
            EventKind::Migrate { task, to, .. } => match *at(&mut self.tasks, task) {
                Task::Queued { since, .. } => self.enqueue(task, to, since),
                Task::Dead => self.found(event, Violation::ActedAfterDeath { task }),
                _ => {}
            },
            EventKind::Fork { child, .. } => *at(&mut self.tasks, child) = Task::Asleep,
            EventKind::Runtime { task, ran } => {
                if let Task::Running { charged, .. } = at(&mut self.tasks, task) {
                    *charged = Some(charged.unwrap_or_default() + ran);
                }
            }
            _ => {}
        }
    }

    fn switch(
        &mut self,
        event: &SchedEvent,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
    ) {
        let (now, cpu) = (event.time, event.cpu);
        let believed = at(&mut self.cpus, cpu).current.replace(next);
        if let Some(believed) = believed.filter(|&b| b != prev) {
            self.found(event, Violation::ChainBroken { believed, prev });
            self.forget(believed);
        } else if believed == Some(None) {
            self.check_idle(event);
        }
        if next.is_none() && prev.is_some() {
            at(&mut self.cpus, cpu).idle_since = now;
        }
        if let Some(prev) = prev {
            self.check_charge(event, prev);
            self.forget(Some(prev));
            match prev_state {
                PrevState::Dead => *at(&mut self.tasks, prev) = Task::Dead,
                state if state.is_runnable() => self.enqueue(prev, cpu, now),
                _ => *at(&mut self.tasks, prev) = Task::Asleep,
            }
        }
        if next.is_none() {
            at(&mut self.cpus, cpu).uncharged = Nanos::ZERO;
        }
        if let Some(task) = next {
            match *at(&mut self.tasks, task) {
                Task::Unknown => {}
                Task::Asleep => self.found(event, Violation::RanUnwoken { task }),
                Task::Queued { cpu: queued, .. } if queued != cpu => {
                    self.found(event, Violation::RanElsewhere { task, queued });
                }
                Task::Queued { .. } => {}
                Task::Running { cpu: other, .. } => self.found(event, Violation::OnTwoCpus { task, other }),
                Task::Dead => self.found(event, Violation::ActedAfterDeath { task }),
            }
            self.forget(Some(task));
            *at(&mut self.tasks, task) = Task::Running { cpu, since: now, charged: None };
        }
    }

    fn wakeup(&mut self, event: &SchedEvent, task: TaskId, target: CpuId) {
        match *at(&mut self.tasks, task) {
            Task::Unknown | Task::Asleep => self.enqueue(task, target, event.time),
            // It was about to sleep and had not left its CPU yet.
            Task::Running { .. } => {}
            Task::Queued { .. } => self.found(event, Violation::WokenTwice { task }),
            Task::Dead => self.found(event, Violation::ActedAfterDeath { task }),
        }
    }

    /// The CPU stops being idle: had it work all the while?
    fn check_idle(&mut self, event: &SchedEvent) {
        let Some(bound) = self.bounds.idle_with_work else { return };
        let cpu = at(&mut self.cpus, event.cpu);
        if let Some(&(since, task)) = cpu.queue.first() {
            let span = event.time.saturating_since(since.max(cpu.idle_since));
            if span > bound {
                self.found(event, Violation::IdledWithWork { task, span });
            }
        }
    }

    /// The task leaves the CPU: was it charged what it ran, and what its predecessor left?
    fn check_charge(&mut self, event: &SchedEvent, task: TaskId) {
        let Some(bound) = self.bounds.charge else { return };
        let left = std::mem::take(&mut at(&mut self.cpus, event.cpu).uncharged);
        let Task::Running { since, charged, cpu } = *at(&mut self.tasks, task) else { return };
        if cpu != event.cpu {
            return;
        }
        let ran = event.time.saturating_since(since);
        let least = Nanos(ran.0.saturating_sub(bound.0));
        match charged {
            Some(charged) if charged >= least && charged <= ran + left + bound => {}
            Some(charged) if charged > ran || left > Nanos::ZERO => {
                self.found(event, Violation::ChargedWrongly { task, ran, left, charged });
            }
            // The clock may not have moved while it ran; then all of its time is left as well.
            charged => {
                let charged = charged.unwrap_or_default();
                at(&mut self.cpus, event.cpu).uncharged = ran + left - charged;
            }
        }
    }

    fn enqueue(&mut self, task: TaskId, cpu: CpuId, since: Instant) {
        self.forget(Some(task));
        at(&mut self.cpus, cpu).queue.insert((since, task));
        *at(&mut self.tasks, task) = Task::Queued { cpu, since };
    }

    /// The task is no longer where it was.
    fn forget(&mut self, task: Option<TaskId>) {
        let Some(task) = task else { return };
        if let Task::Queued { cpu, since } = std::mem::take(at(&mut self.tasks, task)) {
            at(&mut self.cpus, cpu).queue.remove(&(since, task));
        }
    }

    fn found(&mut self, event: &SchedEvent, violation: Violation) {
        self.count += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { time: event.time, cpu: event.cpu, violation });
        }
    }

    /// The first hundred findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Number of findings, of which only the first are kept.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: ", self.time, self.cpu)?;
        let who = |task: Option<TaskId>| task.map_or("idle".to_owned(), |t| format!("{t:?}"));
        match self.violation {
            Violation::TimeWentBack { from } => write!(f, "time went back from {from}"),
            Violation::ChainBroken { believed, prev } => {
                write!(f, "switch from {} while {} ran", who(prev), who(believed))
            }
            Violation::OnTwoCpus { task, other } => write!(f, "{task:?} runs on {other:?} as well"),
            Violation::RanUnwoken { task } => write!(f, "{task:?} runs without having been woken"),
            Violation::RanElsewhere { task, queued } => {
                write!(f, "{task:?} runs but is queued on {queued:?}")
            }
            Violation::WokenTwice { task } => write!(f, "{task:?} is woken again before it ran"),
            Violation::ActedAfterDeath { task } => write!(f, "{task:?} has ended"),
            Violation::IdledWithWork { task, span } => {
                write!(f, "idle for {} ns while {task:?} was queued", span.0)
            }
            Violation::ChargedWrongly { task, ran, left, charged } => {
                write!(f, "{task:?} ran {} ns and was charged {} ns", ran.0, charged.0)?;
                if left > Nanos::ZERO { write!(f, ", with {} ns left to it", left.0) } else { Ok(()) }
            }
        }
    }
}
