// SPDX-License-Identifier: GPL-2.0-only
//! What part of a schedule somebody wants to see. Everything is followed nevertheless: what a task did before
//! the time selected decides what its first row says.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::Instant;

use crate::tasks::TaskTable;

/// A part of a schedule; by default all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// From when on.
    pub from: Option<Instant>,
    /// Until when.
    pub to: Option<Instant>,
    /// On which CPUs.
    pub cpus: Option<CpuSet>,
    /// Threads with these ids, or of processes with these ids.
    pub pids: Vec<u32>,
    /// Threads with these names.
    pub comms: Vec<String>,
}

impl Selection {
    /// Whether this time is in it.
    pub fn has_time(&self, time: Instant) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time <= to)
    }

    /// Whether this CPU is.
    pub fn has_cpu(&self, cpu: CpuId) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// Whether this task is. Both lists have to have it, as far as there is one; the idle task is in neither.
    pub fn has_task(&self, task: Option<TaskId>, names: &TaskTable) -> bool {
        if self.pids.is_empty() && self.comms.is_empty() {
            return true;
        }
        let Some(info) = task.and_then(|task| names.get(task)) else { return false };
        let by_pid = self.pids.iter().any(|&pid| pid == info.pid || Some(pid) == info.tgid);
        (self.pids.is_empty() || by_pid) && (self.comms.is_empty() || self.comms.contains(&info.comm))
    }
}
