// SPDX-License-Identifier: GPL-2.0-only
//! What tasks and CPUs have of the scheduler at a moment. Values are those of the last update of whom they
//! are about: in between they stand still, as they do in the kernel.

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::task::TaskState;
use zerolag_sim::sim::Sim;

/// Values of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfTask {
    /// Its virtual runtime in nanoseconds, relative to its queue.
    pub vruntime_ns: i64,
    /// By how much it is behind the average of its queue, in nanoseconds of virtual time; of a task that is
    /// asleep, what was put aside.
    pub lag_ns: i64,
    /// Its virtual deadline in nanoseconds; nothing while it is relative.
    pub deadline_ns: Option<i64>,
    /// Its average load.
    pub load: i64,
    /// Its average utilisation: 1024 is one CPU all the time.
    pub util: i64,
}

impl OfTask {
    /// Those of a task; nothing if it has ended.
    pub fn at(sim: &Sim, task: TaskId) -> Option<Self> {
        let scheduler = sim.scheduler();
        let known = &scheduler.tasks()[task];
        if known.state == TaskState::Dead {
            return None;
        }
        let entity = &scheduler.entities()[known.entity];
        let lag = match entity.on_rq {
            true => scheduler.virtual_time(entity.queue).since(entity.vruntime),
            false => entity.vlag,
        };
        Some(Self {
            vruntime_ns: entity.vruntime.0 as i64,
            lag_ns: lag.0,
            deadline_ns: (!entity.rel_deadline).then_some(entity.deadline.0 as i64),
            load: entity.avg.load_avg as i64,
            util: entity.avg.util_avg as i64,
        })
    }
}

/// Values of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfCpu {
    /// The average load of its queue.
    pub load: i64,
    /// The average utilisation of its queue: 1024 is one CPU all the time.
    pub util: i64,
    /// How many tasks run or wait there.
    pub running: u32,
}

impl OfCpu {
    /// Those of a CPU.
    pub fn at(sim: &Sim, cpu: CpuId) -> Self {
        let rq = &sim.scheduler().cpus()[cpu];
        let avg = &sim.scheduler().queues()[rq.root].avg;
        Self { load: avg.load_avg as i64, util: avg.util_avg as i64, running: rq.nr_running }
    }
}
