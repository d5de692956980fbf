// SPDX-License-Identifier: GPL-2.0-only
//! `/proc/PID/sched`.

use core::fmt::{self, Display};

use super::{Millis, Names, comm, is_cfs, prio};
use crate::fair::load::UTIL_UNCHANGED;
use crate::ids::TaskId;
use crate::nice::Policy;
use crate::scheduler::Scheduler;

/// Shows one task, which has not ended.
#[derive(Clone, Copy, Debug)]
pub struct ShowTask<'a, N> {
    /// The scheduler.
    pub scheduler: &'a Scheduler,
    /// Names of tasks.
    pub names: &'a N,
    /// The task.
    pub task: TaskId,
}

impl<N: Names> Display for ShowTask<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.scheduler;
        let task = &s.tasks()[self.task];
        let entity = &s.entities()[task.entity];
        let (comm, pid) = (comm(self.names, self.task), self.names.pid(self.task));
        writeln!(f, "{comm} ({pid}, #threads: 1)\n{:-<67}", "")?;
        time(f, "se.exec_start", entity.exec_start.0)?;
        time(f, "se.vruntime", entity.vruntime.0)?;
        time(f, "se.sum_exec_runtime", entity.sum_exec.0)?;
        line(f, "se.nr_migrations", task.migrations)?;
        line(f, "nr_switches", task.voluntary_switches + task.involuntary_switches)?;
        line(f, "nr_voluntary_switches", task.voluntary_switches)?;
        line(f, "nr_involuntary_switches", task.involuntary_switches)?;
        line(f, "se.load.weight", entity.weight.0)?;
        let avg = &entity.avg;
        line(f, "se.avg.load_sum", avg.load_sum)?;
        line(f, "se.avg.runnable_sum", avg.runnable_sum)?;
        line(f, "se.avg.util_sum", avg.util_sum)?;
        line(f, "se.avg.load_avg", avg.load_avg)?;
        line(f, "se.avg.runnable_avg", avg.runnable_avg)?;
        line(f, "se.avg.util_avg", avg.util_avg)?;
        line(f, "se.avg.last_update_time", avg.last_update_time.0)?;
        // The mark that the task has not been updated since is no part of the estimate.
        let util_est = avg.util_est & !UTIL_UNCHANGED;
        if is_cfs(s) {
            line(f, "se.avg.util_est.ewma", avg.util_est_ewma)?;
            line(f, "se.avg.util_est.enqueued", util_est)?;
        } else {
            line(f, "se.avg.util_est", util_est)?;
        }
        line(f, "policy", task.policy.number())?;
        line(f, "prio", prio(task))?;
        if !is_cfs(s) && matches!(task.policy, Policy::Normal | Policy::Batch) {
            line(f, "se.slice", entity.slice.0)?;
        }
        // The clock is read twice; here no time passes in between.
        line(f, "clock-delta", 0)
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "{name:<45}:{value:>21}")
}

fn time(f: &mut fmt::Formatter<'_>, name: &str, ns: u64) -> fmt::Result {
    writeln!(f, "{name:<45}:{:>14}", Millis(ns as i64))
}
