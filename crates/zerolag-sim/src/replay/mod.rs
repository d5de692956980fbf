// SPDX-License-Identifier: GPL-2.0-only
//! Replay of recordings: what tasks did becomes programs, and those run under a scheduler.
//!
//! ```text
//! SchedEvents ── History ──┐
//! names, priorities ───────┼─ Replay: Setup + Workload ── Sim
//! context file ────────────┘
//! ```
//!
//! # From a recording to programs
//!
//! * *Work* is CPU time: what a task ran between two sleeps, however often it was preempted meanwhile
//!   (`history`).
//! * *Sleeps* end as they did: by the task that ended them, when that has come to the same point of its own
//!   work (`cause`); or after the recorded time, or at the recorded moment if the task keeps a beat
//!   (`beat`).
//! * *Answers* are waited for: a task that mostly sleeps until the one that it has woken wakes it does so also where
//!   it found the answer there (`call`).
//! * What ran without a sleep until the recording or the task itself ended, and was still at it near the end,
//!   goes on for that long, whatever work it gets done: how much more it would have had to do is not known,
//!   and if work were taken as given, shares would come out right under any scheduler.
//! * *Where*: a task that was there from the beginning starts on the CPU on which it was, a forked one
//!   on the CPU on which it came to rest. It is bound to the
//!   CPUs that the context says, else to those that the recording suggests (`binding`).
//! * *Latency*: what the machinery of a wake-up takes is measured in the recording (`latency`) and taken off
//!   the recorded run times, into which it had gone.
//!
//! # Time
//!
//! The simulated machine is switched on [`LEAD_IN`] before the recording begins, or up to a tick earlier, so that
//! it ticks when the recorded one did (`phase`), and as late as that one now and then. Tasks that slept when the
//! recording began, or that sleep for most of it, go to sleep in that time, so that they are known as sleepers, as
//! they were on the real machine; the others start when the recording does, with the load of new tasks.
//!
//! How late a tick comes, a few microseconds, is chance, and may decide which of two tasks is ahead of the other
//! when balancing moves one. With another [`Options::repetition`] chance falls out differently.

mod beat;
mod binding;
mod build;
mod call;
mod cause;
mod clock;
pub mod context;
mod history;
mod latency;
mod phase;

use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

pub use build::{Options, Remark, Replay};
pub use clock::Clock;
pub use context::Context;
pub use history::{History, RecordedTask, RecordedTasks};

use crate::scenario::ScenarioError;
use crate::sim::{RecordedError, Sim};

/// How long the machine runs at least before the recording begins.
pub const LEAD_IN: Nanos = Nanos::from_secs(1);

impl Replay {
    /// The machine, switched on.
    ///
    /// # Errors
    /// If the workload cannot run on it: a limit of CPU time that the kernel does not know, for one.
    pub fn simulate(&self) -> Result<Sim, ScenarioError> {
        Sim::new(self.setup.clone(), self.workload.clone()).map_err(|e| ScenarioError {
            file: "replay".into(),
            place: crate::machines::Place::default(),
            fault: Box::new(e.into()),
        })
    }

    /// The same, with what the scheduler is asked to do written down as an event script.
    ///
    /// # Errors
    /// As [`Sim::recorded`].
    pub fn simulate_recorded(&self) -> Result<Sim, RecordedError> {
        Sim::recorded(self.setup.clone(), self.workload.clone())
    }

    /// The recorded task that a simulated one stands for.
    pub fn recorded(&self, sim: &Sim, task: TaskId) -> TaskId {
        TaskId::from_index(sim.template_of(task).index())
    }

    /// When the recording begins, in simulated time.
    pub fn begin(&self) -> Instant {
        Instant(self.lead_in.0)
    }

    /// When it ends.
    pub fn end(&self) -> Instant {
        self.begin() + self.duration
    }
}

/// Makes room for an element of this number. Returns whether there was none.
fn resize<I: Id, T: Clone + Default>(table: &mut Vec<T>, id: I) -> bool {
    let is_new = id.index() >= table.len();
    if is_new {
        table.resize(id.index() + 1, T::default());
    }
    is_new
}

#[cfg(test)]
mod tests;
