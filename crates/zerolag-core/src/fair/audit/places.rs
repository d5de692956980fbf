// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks and groups are: each in one place, and counted there.

use alloc::format;

use super::{Invariant, Queue, Violation};
use crate::ids::{CpuId, Id, TaskId};
use crate::scheduler::Scheduler;
use crate::task::{OnRq, Task, TaskState};

/// Checks all of it.
pub(super) fn check(s: &Scheduler) -> Result<(), Violation> {
    tasks(s)?;
    groups(s)?;
    s.cpus.ids().try_for_each(|cpu| running(s, cpu))
}

fn tasks(s: &Scheduler) -> Result<(), Violation> {
    let mut places = alloc::vec![0_u32; s.tasks.len()];
    let mut woken = alloc::vec![false; s.tasks.len()];
    let mut found = |task: TaskId| places[task.index()] += 1;
    for q in s.queues.ids() {
        let entities = Queue::of(s, q).competing();
        entities.into_iter().filter_map(|id| s.entities[id].task()).for_each(&mut found);
        s.queues[q].throttle.limbo.iter().copied().for_each(&mut found);
    }
    for cpu in s.cpus.ids() {
        s.cpus[cpu].rt.iter().for_each(&mut found);
        for &task in &s.wake_lists[cpu] {
            found(task);
            woken[task.index()] = true;
        }
    }
    for (id, task) in s.tasks.iter().filter(|(_, t)| t.state != TaskState::Dead) {
        let entity = &s.entities[task.entity];
        let queue = Queue::of(s, entity.queue);
        let here = (places[id.index()], s.queues[entity.queue].cpu, s.queues[entity.queue].group);
        let meant = (u32::from(task.on_rq == OnRq::Queued || woken[id.index()]), task.cpu, task.group);
        queue.require(Invariant::OnePlace, here == meant, || {
            format!("{id:?}: (places, CPU, group) {here:?}, and should be {meant:?}")
        })?;
        let weight = task.policy.load(task.nice).weight;
        let sound = entity.weight == weight || !task.policy.is_fair();
        queue.require(Invariant::TaskWeight, sound, || {
            format!("{id:?} weighs {:?}, and should {weight:?}", entity.weight)
        })?;
    }
    Ok(())
}

fn groups(s: &Scheduler) -> Result<(), Violation> {
    for (q, queue) in s.queues.iter() {
        let Some(entity) = queue.entity.map(|id| &s.entities[id]) else { continue };
        let meant = (queue.nr_queued != 0 || entity.delayed) && !s.is_cut_off(q);
        Queue::of(s, q).require(Invariant::GroupQueued, entity.on_rq == meant, || {
            let (there, nr) = (if entity.on_rq { "competes" } else { "does not compete" }, queue.nr_queued);
            format!("its entity {there}, {nr} compete in its queue")
        })?;
    }
    Ok(())
}

fn running(s: &Scheduler, cpu: CpuId) -> Result<(), Violation> {
    let rq = &s.cpus[cpu];
    let fair = s.queues[rq.root].h_nr_queued;
    let there =
        |task: &Task| task.cpu == cpu && task.on_rq == OnRq::Queued && task.state == TaskState::Runnable;
    let sound = rq.curr.is_none_or(|task| there(&s.tasks[task]));
    Queue::of(s, rq.root).require(Invariant::RunningIsQueued, sound, || format!("{:?} runs", rq.curr))?;
    let stopper = u32::from(rq.stopping || rq.stopper_queued);
    let counted = fair + rq.rt.len() as u32 + stopper;
    Queue::of(s, rq.root).require(Invariant::RunningCount, rq.nr_running == counted, || {
        format!("{} stored, {counted} counted", rq.nr_running)
    })
}
