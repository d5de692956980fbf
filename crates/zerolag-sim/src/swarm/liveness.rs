// SPDX-License-Identifier: GPL-2.0-only
//! Once nothing changes any more: does everybody who waits get a turn in time?
//!
//! A fair queue with weights `w` whose sum is `W` gives each entity `w / W` of its time, and is late or early
//! by about one request (TR-95-22, theorem 2; CFS promises a `sched_period` instead). So at one level an
//! entity that competes waits no longer than it takes to serve it at that rate:
//!
//! ```text
//!   wait <= W / w * (q + tick)               q: the longest request anybody makes
//! ```
//!
//! A group's queue is itself served at the rate of the group's entity, so ratios multiply on the way up:
//!
//! ```text
//!   wait <= (W1 / w1) (W2 / w2) ... (q + tick + lead)
//! ```
//!
//! `lead` is what a task has had in advance when calm begins, in its queue's virtual time: kernels that do not
//! rescale it when weights change (CFS) let it be paid back at the new rate. Averages lag behind, groups'
//! weights with them, and tasks move: [`SLACK`] is for that. The bound is one that only something badly wrong
//! exceeds; what it cannot judge within the time there is (idle groups beside heavy ones) is counted as not
//! judged.
//!
//! Tasks below a quota, and tasks of machines with real-time tasks, may wait for other reasons and are not
//! judged.

use zerolag_core::config::FairPolicy;
use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{GroupId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::sim::Sim;

/// By how much a wait may exceed what the formula says.
const SLACK: f64 = 4.0;

/// A task that waited too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Overdue {
    /// The task.
    pub task: TaskId,
    /// How long it waited.
    pub waited: Nanos,
    /// How long it might have.
    pub bound: Nanos,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Who waited too long; the worst first.
    pub overdue: Vec<Overdue>,
    /// How many waits had a bound within the time there was.
    pub judged: usize,
    /// How many had not.
    pub not_judged: usize,
}

/// Follows the waits of all tasks.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    tasks: Vec<Waits>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    since: Option<Instant>,
    longest: Nanos,
    lead: f64,
}

impl Liveness {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn task(&mut self, task: TaskId) -> &mut Waits {
        let index = task.index();
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, Waits::default());
        }
        &mut self.tasks[index]
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                self.task(task).since.get_or_insert(event.time);
            }
            EventKind::Switch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    self.task(prev).since = prev_state.is_runnable().then_some(event.time);
                }
                if let Some(next) = next {
                    let waits = self.task(next);
                    if let Some(since) = waits.since.take() {
                        waits.longest = waits.longest.max(event.time.saturating_since(since));
                    }
                }
            }
            _ => {}
        }
    }

    /// Calm begins: what was before does not count.
    pub fn begin(&mut self, sim: &Sim) {
        let now = sim.now();
        for index in 0..sim.task_count() {
            let task = TaskId::from_index(index);
            let lead = lead(sim, task);
            let waits = self.task(task);
            waits.since = waits.since.map(|_| now);
            waits.longest = Nanos::ZERO;
            waits.lead = lead;
        }
    }

    /// Calm ends after `calm`: who waited too long?
    pub fn verdict(&self, sim: &Sim, calm: Nanos) -> Verdict {
        let mut verdict = Verdict::default();
        let tasks = sim.scheduler().tasks();
        if tasks.iter().any(|(_, t)| !t.policy.is_fair()) {
            return verdict;
        }
        for (index, waits) in self.tasks.iter().enumerate() {
            let task = TaskId::from_index(index);
            let going_on = waits.since.map_or(Nanos::ZERO, |since| sim.now().saturating_since(since));
            let waited = waits.longest.max(going_on);
            if waited == Nanos::ZERO || limited(sim, tasks[task].group) {
                continue;
            }
            let bound = bound(sim, task, waits.lead);
            if bound >= calm.0 as f64 {
                verdict.not_judged += 1;
                continue;
            }
            verdict.judged += 1;
            let bound = Nanos(bound as u64);
            if waited > bound {
                verdict.overdue.push(Overdue { task, waited, bound });
            }
        }
        verdict.overdue.sort_by_key(|o| (core::cmp::Reverse(o.waited), o.task));
        verdict
    }
}

/// Whether a quota can keep the group's tasks waiting.
fn limited(sim: &Sim, group: GroupId) -> bool {
    let s = sim.scheduler();
    let mut at = Some(group);
    while let Some(group) = at {
        if s.groups()[group].bandwidth.quota.is_some() {
            return true;
        }
        at = s.groups()[group].parent;
    }
    false
}

/// How far ahead of its queue a task is, level by level, in nanoseconds of the queue's service.
fn lead(sim: &Sim, task: TaskId) -> f64 {
    let s = sim.scheduler();
    let mut lead = 0.0;
    let mut at = Some(s.tasks()[task].entity);
    while let Some(id) = at {
        let entity = &s.entities()[id];
        let queue = &s.queues()[entity.queue];
        if matches!(s.config().policy, FairPolicy::Cfs | FairPolicy::Cfs2009) || entity.on_rq {
            let ahead = entity.vruntime.since(queue.anchor).0.max(0) as f64;
            lead += ahead * queue.load.down() as f64 / 1024.0;
        }
        at = entity.parent;
    }
    lead
}

fn bound(sim: &Sim, task: TaskId, lead: f64) -> f64 {
    let s = sim.scheduler();
    let config = s.config();
    let asked = s.tasks().iter().map(|(_, t)| s.entities()[t.entity].slice.0).max().unwrap_or(0);
    let request = match config.policy {
        FairPolicy::Cfs | FairPolicy::Cfs2009 => {
            let most = s.queues().iter().map(|(_, q)| q.h_nr_queued).max().unwrap_or(0);
            let period = config.tunables.min_granularity.0.max(config.tunables.idle_min_granularity.0);
            config.tunables.latency.0.max(period * u64::from(most))
        }
        FairPolicy::Eevdf | FairPolicy::Eevdf2023 => asked.max(config.tunables.base_slice.0),
    };
    let tick = 1_000_000_000 / u64::from(config.hz);
    let mut ratio = 1.0;
    let mut at = Some(s.tasks()[task].entity);
    while let Some(id) = at {
        let entity = &s.entities()[id];
        let queue = &s.queues()[entity.queue];
        let weight = entity.weight.down().max(1) as f64;
        let others = if entity.on_rq { queue.load.down() } else { queue.load.down() + entity.weight.down() };
        ratio *= (others as f64 / weight).max(1.0);
        at = entity.parent;
    }
    SLACK * ratio * ((request + tick) as f64 + lead)
}
