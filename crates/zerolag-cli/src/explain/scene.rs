// SPDX-License-Identifier: GPL-2.0-only
//! How two tasks stood to each other at one moment: at the level of the hierarchy where they compete.

use zerolag_core::config::FairPolicy;
use zerolag_core::entity::Owner;
use zerolag_core::ids::{CpuId, EntityId, QueueId, TaskId};
use zerolag_core::units::Nanos;
use zerolag_sim::sim::Sim;

/// One of those that compete in a queue.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// The task's name, or the group's path.
    pub(crate) name: String,
    /// In units of the nice table.
    pub(crate) weight: u64,
    /// What it is owed, in nanoseconds of virtual time: the queue's virtual time less its vruntime.
    pub(crate) lag: i64,
    /// Its deadline, counted from the queue's virtual time; EEVDF only.
    pub(crate) deadline: Option<i64>,
    /// It is owed something, or even; EEVDF only.
    pub(crate) eligible: Option<bool>,
    /// It runs, and may go on whoever has an earlier deadline.
    pub(crate) protected: bool,
    pub(crate) slice: Nanos,
}

/// A level of the hierarchy, from the top.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// The group in whose queue they compete.
    pub(crate) group: String,
    /// The one that waits, or the group in which it does.
    pub(crate) waiting: Standing,
    /// The one that runs; nothing if it is in the same group.
    pub(crate) running: Option<Standing>,
    /// Others that wait in the queue.
    pub(crate) others: u32,
}

/// Where the waiting task stands on its way up; the last level is where it meets who runs there.
pub(crate) fn levels(sim: &Sim, task: TaskId, runs: Option<TaskId>) -> Vec<Level> {
    let scheduler = sim.scheduler();
    let path = |task: TaskId| -> Vec<EntityId> {
        let mut chain = Vec::new();
        let mut at = Some(scheduler.tasks()[task].entity);
        while let Some(entity) = at {
            chain.push(entity);
            at = scheduler.entities()[entity].parent;
        }
        chain.reverse();
        chain
    };
    let fair = |task: TaskId| scheduler.tasks()[task].policy.is_fair();
    if !fair(task) {
        return Vec::new();
    }
    let theirs = runs.filter(|&runs| runs != task && fair(runs)).map(path).unwrap_or_default();
    let mut levels = Vec::new();
    for (depth, entity) in path(task).into_iter().enumerate() {
        let queue = scheduler.entities()[entity].queue;
        let met = theirs.get(depth).copied().filter(|&other| scheduler.entities()[other].queue == queue);
        if !scheduler.entities()[entity].on_rq {
            break;
        }
        let other = met.filter(|&other| other != entity && scheduler.entities()[other].on_rq);
        let waiting = scheduler.queues()[queue].nr_queued;
        levels.push(Level {
            group: sim.workload().groups[scheduler.queues()[queue].group].path.clone(),
            waiting: standing(sim, queue, entity),
            running: other.map(|other| standing(sim, queue, other)),
            others: waiting.saturating_sub(1 + u32::from(other.is_some())),
        });
        if met.is_some_and(|other| other != entity) {
            break;
        }
    }
    levels
}

fn standing(sim: &Sim, queue: QueueId, id: EntityId) -> Standing {
    let scheduler = sim.scheduler();
    let entity = &scheduler.entities()[id];
    let eevdf = matches!(scheduler.config().policy, FairPolicy::Eevdf | FairPolicy::Eevdf2023);
    let virtual_time = scheduler.virtual_time(queue);
    let runs = scheduler.queues()[queue].curr == Some(id);
    Standing {
        name: match entity.owner {
            Owner::Task(task) => sim.task_name(task),
            Owner::Group(group) => sim.workload().groups[group].path.clone(),
        },
        weight: entity.weight.down(),
        lag: virtual_time.since(entity.vruntime).0,
        deadline: eevdf.then(|| entity.deadline.since(virtual_time).0),
        eligible: eevdf.then(|| scheduler.is_eligible(id)),
        protected: eevdf && runs && scheduler.slice_is_protected(id),
        slice: entity.slice,
    }
}

/// CPUs that were idle, and those that the task may use.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) allowed: String,
    /// Those of them that were idle: the number, whether it shares a last-level cache with where it waits.
    pub(crate) idle: Vec<(CpuId, bool)>,
    /// How many tasks run or wait on each.
    pub(crate) running: Vec<u32>,
    pub(crate) allowed_count: usize,
}

/// Where the task could have gone, `cpu` being where it waits.
pub(crate) fn places(sim: &Sim, task: TaskId, cpu: CpuId) -> Places {
    let scheduler = sim.scheduler();
    let topology = scheduler.topology();
    let online = topology.online();
    let allowed = scheduler.tasks()[task].affinity.and(online);
    let is_idle = |cpu: &CpuId| scheduler.cpus()[*cpu].nr_running == 0;
    let near = |cpu: CpuId, other: CpuId| topology.llc(cpu).contains(other);
    Places {
        idle: allowed.iter().filter(is_idle).map(|other| (other, near(cpu, other))).collect(),
        allowed_count: allowed.len(),
        allowed: allowed.to_string(),
        running: topology.cpus().map(|cpu| scheduler.cpus()[cpu].nr_running).collect(),
    }
}
