// SPDX-License-Identifier: GPL-2.0-only
//! Shows a simulation to somebody while it runs, and says who its tasks are.

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::nice::Policy;
use zerolag_core::units::Instant;
use zerolag_sim::scenario::Watches;
use zerolag_sim::sim::Sim;
use zerolag_study::follow::{Follower, Listener};
use zerolag_trace::TaskTable;

use crate::cmd::drive;
use crate::failure::Failure;

/// Runs until `end`, until models that the run is for are over, or until the simulation ends by itself.
pub(crate) fn drive(
    sim: &mut Sim,
    end: Instant,
    watches: Watches,
    listener: &mut dyn Listener<Failure>,
) -> Result<Watches, Failure> {
    let mut follower = Follower::new(watches);
    let mut outcome = Ok(());
    drive::in_parts(sim, end, |sim, until| match follower.run_until(sim, until, listener) {
        Ok(goes_on) => goes_on,
        Err(failure) => {
            outcome = Err(failure);
            false
        }
    });
    outcome.map(|()| follower.into_watches())
}

/// The tasks of a simulation as a recording would name them. Pids are numbers of tasks, from 1; each task is
/// a process of its own.
#[derive(Debug, Default)]
pub(crate) struct Names(TaskTable);

impl Names {
    /// Who there is at an event.
    pub(crate) fn at(&mut self, event: &SchedEvent, sim: &Sim) -> &TaskTable {
        for task in (self.0.len()..sim.task_count()).map(TaskId::from_index) {
            let pid = task.0 + 1;
            let added = self.0.add(pid, &sim.task_name(task));
            debug_assert_eq!(added, task, "tables and simulations number tasks alike");
            if let Some(info) = self.0.get_mut(task) {
                (info.tgid, info.prio) = (Some(pid), Some(prio(sim, task)));
            }
        }
        match event.kind {
            EventKind::Fork { parent, child } => {
                if let Some(info) = self.0.get_mut(child) {
                    info.parent = parent;
                }
            }
            // Its nice level may have been changed meanwhile.
            EventKind::Switch { next: Some(task), .. } => {
                if let Some(info) = self.0.get_mut(task) {
                    info.prio = Some(prio(sim, task));
                }
            }
            _ => {}
        }
        &self.0
    }

    /// Who there was.
    pub(crate) fn into_table(self) -> TaskTable {
        self.0
    }
}

/// The kernel's number for a task's priority.
fn prio(sim: &Sim, task: TaskId) -> i16 {
    let task = &sim.scheduler().tasks()[task];
    match task.policy {
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => 99 - i16::from(priority),
        _ => 120 + task.nice.get() as i16,
    }
}
