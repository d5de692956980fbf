// SPDX-License-Identifier: GPL-2.0-only
//! Who waits for whom: the diagnosis when nothing will ever happen again.

use std::fmt;

use zerolag_core::ids::TaskId;
use zerolag_core::units::Instant;

use super::task::WaitingFor;
use super::{Machine, Stop};

/// A task that waits, with everything needed to say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Who waits.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// For what.
    pub waiting_for: WaitingFor,
    /// The name of that, as the workload has it; empty if it has none.
    pub resource: String,
    /// Since when.
    pub since: Instant,
    /// Who has it, if it is something that a task can have.
    pub holder: Option<Holder>,
}

/// The task that has what another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Who.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// It has ended and will never give it back.
    pub ended: bool,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.waiting_for {
            WaitingFor::Time => "a timer",
            WaitingFor::Io(_) => "I/O",
            WaitingFor::Mutex(_) => "mutex",
            WaitingFor::SpinLock(_) => "spin lock",
            WaitingFor::Condition(_) => "condition",
            WaitingFor::Barrier(_) => "barrier",
            WaitingFor::Semaphore(_) => "semaphore",
            WaitingFor::Bytes(_) => "bytes in channel",
            WaitingFor::Room(_) => "room in channel",
        };
        write!(f, "{} has waited since {} for {what}", self.name, self.since)?;
        if !self.resource.is_empty() {
            write!(f, " {}", self.resource)?;
        }
        match &self.holder {
            None => Ok(()),
            Some(h) if h.task == self.task => f.write_str(", which it has itself"),
            Some(h) if h.ended => write!(f, ", which {} had when it ended", h.name),
            Some(h) => write!(f, ", which {} has", h.name),
        }
    }
}

impl Machine {
    /// Everybody who waits, in the order of their ids.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        let waiting = self.tasks.iter().filter(|(_, t)| t.alive);
        waiting
            .filter_map(|(task, t)| {
                let waiting_for = t.waiting_for?;
                Some(Wait {
                    task,
                    name: self.name(task),
                    waiting_for,
                    resource: self.resource_name(waiting_for).to_owned(),
                    since: t.waiting_since,
                    holder: self.holder(task, waiting_for),
                })
            })
            .collect()
    }

    /// Nothing is due any more.
    pub(super) fn standstill(&self) -> Stop {
        if self.alive == 0 { Stop::Finished } else { Stop::Deadlock(self.waits()) }
    }

    fn resource_name(&self, waiting_for: WaitingFor) -> &str {
        let w = &self.workload;
        match waiting_for {
            WaitingFor::Time | WaitingFor::Io(None) => "",
            WaitingFor::Io(Some(id)) => &w.devices[id].name,
            WaitingFor::Mutex(id) => &w.mutexes[id].name,
            WaitingFor::SpinLock(id) => &w.spin_locks[id].name,
            WaitingFor::Condition(id) => &w.conditions[id].name,
            WaitingFor::Barrier(id) => &w.barriers[id].name,
            WaitingFor::Semaphore(id) => &w.semaphores[id].name,
            WaitingFor::Bytes(id) | WaitingFor::Room(id) => &w.channels[id].name,
        }
    }

    fn holder(&self, waiter: TaskId, waiting_for: WaitingFor) -> Option<Holder> {
        let task = match waiting_for {
            WaitingFor::Mutex(id) => self.shared.mutexes[id].owner?,
            WaitingFor::SpinLock(id) => {
                let lock = &self.shared.spin_locks[id];
                lock.owners[lock.place(self.tasks[waiter].cpu?)]?
            }
            _ => return None,
        };
        Some(Holder { task, name: self.name(task), ended: !self.tasks[task].alive })
    }
}
