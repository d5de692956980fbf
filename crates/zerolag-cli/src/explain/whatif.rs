// SPDX-License-Identifier: GPL-2.0-only
//! What single change would have let a task run earlier: each is made in a copy of the simulation just before
//! the wait began, and the copy runs on.

use zerolag_core::features::Feature;
use zerolag_core::group::Shares;
use zerolag_core::ids::{GroupId, TaskId};
use zerolag_core::nice::Nice;
use zerolag_core::task::Task;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::pattern::Pattern;
use zerolag_sim::sim::{Change, Sim, TaskChange};
use zerolag_sim::tunable::{Tunable, Unit};

use super::waits::{Wait, Waits};

/// A change that was tried, and how long the task then waited.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) what: String,
    /// Of the time that it waited, how much it would still have waited until it first ran.
    pub(crate) waited: Nanos,
}

/// Tries every single change that is known; the one that helps most first. `before` is the simulation just
/// before the wait began, `rival` the task that ran most meanwhile, `groups` those on the task's way up.
pub(crate) fn try_all(before: &Sim, wait: &Wait, end: Instant, rival: Option<TaskId>) -> Vec<Tried> {
    let mut tried: Vec<Tried> = changes(before, wait.task, rival)
        .into_iter()
        .map(|(what, change)| Tried { what, waited: waited_with(before, wait, end, change) })
        .collect();
    tried.sort_by_key(|tried| tried.waited);
    tried
}

fn changes(sim: &Sim, task: TaskId, rival: Option<TaskId>) -> Vec<(String, Change)> {
    let scheduler = sim.scheduler();
    let mut all = Vec::new();
    let has_slices = scheduler.config().variants.custom_slices;
    // A task that is only about to be made cannot be changed yet.
    if let Some(known) = scheduler.tasks().get(task) {
        of_the_task(sim, task, known, has_slices, &mut all);
    }
    if let Some((rival, known)) = rival.and_then(|rival| Some((rival, scheduler.tasks().get(rival)?))) {
        let other = sim.task_name(rival);
        if let Some(nice) = Nice::new(i64::from(known.nice.get()) + 5) {
            all.push((format!("nice {nice} for {other}"), of_task(&other, TaskChange::Nice(nice))));
        }
        if has_slices {
            let slice = TaskChange::Slice(Some(Nanos::from_micros(100)));
            all.push((format!("a slice of 0.1 ms for {other}"), of_task(&other, slice)));
        }
    }
    for &feature in Feature::ALL {
        if feature.default_in(scheduler.config().kernel).is_some() {
            let on = !scheduler.config().features.has(feature);
            let what = format!("{} {}", feature.name(), if on { "on" } else { "off" });
            all.push((what, Change::Feature { feature, on }));
        }
    }
    let tunables = &scheduler.config().tunables;
    for tunable in Tunable::of(scheduler.config().kernel).filter(|t| t.unit() == Unit::Time) {
        let value = tunable.get(tunables) / 4;
        if value > 0 {
            let what = format!("{} of {} ms", tunable.name(), value as f64 / 1e6);
            all.push((what, Change::Tunable { tunable, value }));
        }
    }
    all
}

fn of_task(name: &str, change: TaskChange) -> Change {
    Change::Tasks { pattern: Pattern::new(name), change }
}

/// Changes of the task that waits, and of the groups that it is in.
fn of_the_task(sim: &Sim, task: TaskId, known: &Task, has_slices: bool, all: &mut Vec<(String, Change)>) {
    let scheduler = sim.scheduler();
    let name = sim.task_name(task);
    for step in [5, 10] {
        if let Some(nice) = Nice::new(i64::from(known.nice.get()) - step) {
            all.push((format!("nice {nice} for {name}"), of_task(&name, TaskChange::Nice(nice))));
        }
    }
    if has_slices {
        for us in [100, 500] {
            let slice = TaskChange::Slice(Some(Nanos::from_micros(us)));
            all.push((format!("a slice of {} ms for {name}", us as f64 / 1e3), of_task(&name, slice)));
        }
    }
    let everywhere = scheduler.topology().online().clone();
    if known.affinity.and(&everywhere) != everywhere {
        all.push((format!("all CPUs for {name}"), of_task(&name, TaskChange::Affinity(everywhere))));
    }
    let mut at = known.group;
    while at != GroupId::ROOT {
        let group = &scheduler.groups()[at];
        let path = &sim.workload().groups[at].path;
        if !group.idle {
            let shares = Shares::clamped(group.shares.down().saturating_mul(4));
            let what = format!("four times the weight for {path} ({})", shares.get());
            all.push((what, Change::Shares { group: at, shares }));
        }
        at = group.parent.unwrap_or(GroupId::ROOT);
    }
}

/// How long after the wait began the task first ran, at most the length of the wait.
fn waited_with(before: &Sim, wait: &Wait, end: Instant, change: Change) -> Nanos {
    let mut sim = before.clone();
    sim.change_at(before.now(), change);
    let mut waits = Waits::default();
    let to = wait.to.unwrap_or(end);
    let mut ran = None;
    // Who runs when the copy is made is not told by an event.
    let mut runs = sim.scheduler().cpus().iter().any(|(_, rq)| rq.curr == Some(wait.task));
    while ran.is_none() && sim.now() <= to {
        let mut heard = Vec::new();
        if !sim.step(to, &mut |event: &zerolag_core::event::SchedEvent| heard.push(*event)) {
            break;
        }
        for event in heard {
            if event.time > wait.from && runs {
                // It was still running when it would have begun to wait.
                return Nanos::ZERO;
            }
            waits.feed(&event);
            if let zerolag_core::event::EventKind::Switch { prev, next, .. } = event.kind {
                if prev == Some(wait.task) {
                    runs = false;
                }
                if next == Some(wait.task) {
                    runs = true;
                    if event.time >= wait.from {
                        ran = Some(event.time);
                    }
                }
            }
        }
    }
    if runs && ran.is_none() {
        return Nanos::ZERO;
    }
    let ran = ran.unwrap_or(to).min(to);
    ran.saturating_since(wait.from)
}
