// SPDX-License-Identifier: GPL-2.0-only
//! Run queues, as in `/sys/kernel/debug/sched/debug`.

use core::fmt::{self, Display};
use core::iter;

use super::{Millis, Names, comm, is_cfs, prio};
use crate::config::FairPolicy;
use crate::ids::{CpuId, QueueId, TaskId};
use crate::scheduler::Scheduler;
use crate::task::{Task, TaskState};
use crate::units::VTime;
use crate::variants::Anchor;

/// Shows the run queues of all CPUs that are online, with the fair queues that have load and all tasks there.
#[derive(Clone, Copy, Debug)]
pub struct ShowQueues<'a, N> {
    /// The scheduler.
    pub scheduler: &'a Scheduler,
    /// Names of tasks and groups.
    pub names: &'a N,
}

/// What is shown of an end of an empty timeline.
const NOBODY: i64 = -1;

impl<N: Names> Display for ShowQueues<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scheduler.online().iter().try_for_each(|cpu| self.cpu(f, cpu))
    }
}

impl<N: Names> ShowQueues<'_, N> {
    /// (`print_cpu()`)
    fn cpu(&self, f: &mut fmt::Formatter<'_>, cpu: CpuId) -> fmt::Result {
        let s = self.scheduler;
        let rq = &s.cpus()[cpu];
        let here = || s.tasks().iter().filter(|(_, t)| t.cpu == cpu && t.state != TaskState::Dead);
        // The kernel counts where tasks fall asleep and where they wake; only the sum over all CPUs means
        // something there.
        let blocked = here().filter(|(_, t)| t.state == TaskState::Uninterruptible).count();
        writeln!(f, "cpu#{cpu}")?;
        line(f, "nr_running", rq.nr_running)?;
        line(f, "nr_switches", rq.nr_switches)?;
        line(f, "nr_uninterruptible", blocked)?;
        line(f, "next_balance", Millis(rq.balance.next_balance.0 as i64))?;
        line(f, "curr->pid", rq.curr.map_or(0, |task| self.names.pid(task)))?;
        line(f, "clock", Millis(rq.clock.0 as i64))?;
        line(f, "clock_task", Millis(rq.clock_task.0 as i64))?;
        line(f, "avg_idle", rq.balance.avg_idle.0)?;
        line(f, "max_idle_balance_cost", rq.balance.max_idle_balance_cost.0)?;
        for q in iter::successors(rq.leaf.first(), |&q| s.queues()[q].leaf.next) {
            self.queue(f, q)?;
        }
        writeln!(f, "\nrt_rq[{cpu}]:")?;
        line(f, "rt_nr_running", rq.rt.len())?;
        if is_cfs(s) {
            writeln!(f, "\nrunnable tasks:\n{}\n{:-<109}", TASKS_6_1, "")?;
            here().try_for_each(|(id, task)| self.task_6_1(f, id, task))?;
        } else {
            writeln!(f, "\nrunnable tasks:\n{}\n{:-<177}", TASKS_6_12, "")?;
            here().try_for_each(|(id, task)| self.task_6_12(f, id, task))?;
        }
        writeln!(f)
    }

    /// (`print_cfs_rq()`)
    fn queue(&self, f: &mut fmt::Formatter<'_>, id: QueueId) -> fmt::Result {
        let s = self.scheduler;
        let queue = &s.queues()[id];
        writeln!(f, "\ncfs_rq[{}]:{}", queue.cpu, self.names.path(queue.group))?;
        if is_cfs(s) {
            self.virtual_time_6_1(f, id)?;
            line(f, "nr_running", queue.nr_queued)?;
            line(f, "h_nr_running", queue.h_nr_queued)?;
        } else {
            self.virtual_time_6_12(f, id)?;
            line(f, "nr_running", queue.nr_queued)?;
            line(f, "h_nr_runnable", queue.h_nr_runnable)?;
            line(f, "h_nr_queued", queue.h_nr_queued)?;
            line(f, "h_nr_delayed", queue.h_nr_delayed)?;
        }
        line(f, "idle_nr_running", queue.idle_nr)?;
        line(f, "idle_h_nr_running", queue.idle_h_nr)?;
        line(f, "load", queue.load.0)?;
        line(f, "load_avg", queue.avg.load_avg)?;
        line(f, "runnable_avg", queue.avg.runnable_avg)?;
        line(f, "util_avg", queue.avg.util_avg)?;
        line(f, if is_cfs(s) { "util_est_enqueued" } else { "util_est" }, queue.avg.util_est)?;
        line(f, "removed.load_avg", queue.removed.load_avg)?;
        line(f, "removed.util_avg", queue.removed.util_avg)?;
        line(f, "removed.runnable_avg", queue.removed.runnable_avg)?;
        line(f, "tg_load_avg_contrib", queue.tg_load_contrib)?;
        line(f, "tg_load_avg", s.groups()[queue.group].load_avg)?;
        if s.config().variants.bandwidth.is_some() {
            line(f, "throttled", u8::from(queue.throttle.throttled))?;
            line(f, "throttle_count", queue.throttle.throttle_count)?;
        }
        let Some(entity) = queue.entity.map(|se| &s.entities()[se]) else { return Ok(()) };
        line(f, "se->exec_start", Millis(entity.exec_start.0 as i64))?;
        line(f, "se->vruntime", Millis(entity.vruntime.0 as i64))?;
        line(f, "se->sum_exec_runtime", Millis(entity.sum_exec.0 as i64))?;
        line(f, "se->load.weight", entity.weight.0)?;
        line(f, "se->avg.load_avg", entity.avg.load_avg)?;
        line(f, "se->avg.util_avg", entity.avg.util_avg)?;
        line(f, "se->avg.runnable_avg", entity.avg.runnable_avg)
    }

    fn virtual_time_6_1(&self, f: &mut fmt::Formatter<'_>, id: QueueId) -> fmt::Result {
        let s = self.scheduler;
        let queue = &s.queues()[id];
        let (least, most) = (at(self.least(id)), at(self.last(id)));
        let first_root = s.cpus()[CpuId(0)].root;
        // Kept only by a kernel with schedstats on.
        line(f, "exec_clock", Millis(0))?;
        line(f, "MIN_vruntime", Millis(least))?;
        line(f, "min_vruntime", Millis(queue.anchor.0 as i64))?;
        line(f, "max_vruntime", Millis(most))?;
        line(f, "spread", Millis(most.wrapping_sub(least)))?;
        line(f, "spread0", Millis(queue.anchor.since(s.queues()[first_root].anchor).0))?;
        line(f, "nr_spread_over", 0)
    }

    fn virtual_time_6_12(&self, f: &mut fmt::Formatter<'_>, id: QueueId) -> fmt::Result {
        let s = self.scheduler;
        let queue = &s.queues()[id];
        let (least, most) = (at(self.least(id)), at(self.last(id)));
        let anchor = match s.config().variants.anchor {
            Anchor::ZeroLag => "zero_vruntime",
            Anchor::Minimum => "min_vruntime",
        };
        line(f, "left_deadline", Millis(at(self.first_deadline(id))))?;
        line(f, "left_vruntime", Millis(least))?;
        line(f, anchor, Millis(queue.anchor.0 as i64))?;
        line(f, "avg_vruntime", Millis(s.virtual_time(id).0 as i64))?;
        line(f, "right_vruntime", Millis(most))?;
        line(f, "spread", Millis(most.wrapping_sub(least)))
    }

    /// The least vruntime of those that wait.
    fn least(&self, id: QueueId) -> Option<VTime> {
        let s = self.scheduler;
        let timeline = &s.queues()[id].timeline;
        match s.config().policy {
            FairPolicy::Eevdf => timeline.root().map(|root| s.entities()[root].subtree_min),
            _ => timeline.first().map(|first| s.entities()[first].vruntime),
        }
    }

    /// The deadline of the first in the timeline, whatever its order.
    fn first_deadline(&self, id: QueueId) -> Option<VTime> {
        let s = self.scheduler;
        s.queues()[id].timeline.first().map(|first| s.entities()[first].deadline)
    }

    /// The vruntime of the last in the timeline.
    fn last(&self, id: QueueId) -> Option<VTime> {
        let s = self.scheduler;
        s.queues()[id].timeline.last(s.entities()).map(|last| s.entities()[last].vruntime)
    }

    /// (`print_task()`, 6.1)
    fn task_6_1(&self, f: &mut fmt::Formatter<'_>, id: TaskId, task: &Task) -> fmt::Result {
        let entity = &self.scheduler.entities()[task.entity];
        let none = Millis(0);
        writeln!(
            f,
            "{} {:>15} {:>5} {:>9} {:>9} {:>5} {none:>9} {:>9} {none:>9} {none:>9} {}",
            self.state(id, task),
            comm(self.names, id),
            self.names.pid(id),
            Millis(entity.vruntime.0 as i64),
            task.voluntary_switches + task.involuntary_switches,
            prio(task),
            Millis(entity.sum_exec.0 as i64),
            self.names.path(task.group),
        )
    }

    /// (`print_task()`, 6.12)
    fn task_6_12(&self, f: &mut fmt::Formatter<'_>, id: TaskId, task: &Task) -> fmt::Result {
        let entity = &self.scheduler.entities()[task.entity];
        let none = Millis(0);
        writeln!(
            f,
            "{} {:>15} {:>5} {:>9}   {}   {:>9} {} {:>9} {:>9} {:>9}   {:>5} {none:>9} {none:>9} {none:>9}        \
             {}",
            self.state(id, task),
            comm(self.names, id),
            self.names.pid(id),
            Millis(entity.vruntime.0 as i64),
            if self.scheduler.is_eligible(task.entity) { 'E' } else { 'N' },
            Millis(entity.deadline.0 as i64),
            if entity.custom_slice { 'S' } else { ' ' },
            Millis(entity.slice.0 as i64),
            Millis(entity.sum_exec.0 as i64),
            task.voluntary_switches + task.involuntary_switches,
            prio(task),
            self.names.path(task.group),
        )
    }

    fn state(&self, id: TaskId, task: &Task) -> &'static str {
        match task.state {
            _ if self.scheduler.cpus()[task.cpu].curr == Some(id) => ">R",
            TaskState::New | TaskState::Runnable => " R",
            TaskState::Sleeping => " S",
            TaskState::Uninterruptible => " D",
            TaskState::Dead => " X",
        }
    }
}

/// The heads of the tables of tasks. The last column of 6.1 but one, and its group, have none.
const TASKS_6_1: &str = concat!(
    " S            task   PID         tree-key  switches  prio",
    "     wait-time             sum-exec        sum-sleep",
);
const TASKS_6_12: &str = concat!(
    " S            task   PID       vruntime   eligible    deadline             slice          sum-exec",
    "      switches  prio         wait-time        sum-sleep       sum-block  group-path",
);

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "  .{name:<30}: {value}")
}

fn at(time: Option<VTime>) -> i64 {
    time.map_or(NOBODY, |t| t.0 as i64)
}
