// SPDX-License-Identifier: GPL-2.0-only
//! Why a task waited: who ran meanwhile and how they stood to each other, where it could have gone, and what
//! would have helped.
//!
//! The simulation runs twice. The first time, waits are found; the second time it stops before each of them, so
//! that its state can be looked at, and copied for what-ifs.

pub(crate) mod recorded;
pub(crate) mod scene;
mod text;
pub(crate) mod waits;
pub(crate) mod whatif;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use zerolag_core::event::{BalanceKind, EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::Sim;

use scene::{Level, Places};
use waits::{Wait, Waits};
use whatif::Tried;

/// Who ran on the CPU on whose queue the task waited.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) cpu: CpuId,
    /// Nobody = the idle task.
    pub(crate) ran: Option<TaskId>,
    /// How both stood when the stretch began.
    pub(crate) levels: Vec<Level>,
}

/// A balancing pass that moved something while the task waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    pub(crate) kind: BalanceKind,
    pub(crate) moved: u32,
}

/// All about one wait.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    pub(crate) wait: Wait,
    pub(crate) name: String,
    pub(crate) len: Nanos,
    /// Who ran on the CPU of the waker, if the task was woken.
    pub(crate) waker: Option<Option<String>>,
    /// Where it last was before.
    pub(crate) last_cpu: CpuId,
    pub(crate) places: Places,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) passes: Vec<Pass>,
    pub(crate) migrated: Vec<(Instant, CpuId, CpuId)>,
    /// For how long each CPU that it may use was idle while it waited.
    pub(crate) idle: Vec<(CpuId, Nanos)>,
    pub(crate) tried: Vec<Tried>,
    /// Events around it, for the drawing.
    pub(crate) events: Vec<SchedEvent>,
    /// What the drawing shows.
    pub(crate) window: (Instant, Instant),
    pub(crate) names: BTreeMap<TaskId, String>,
}

/// More stretches than this are not told one by one.
const STRETCHES_MAX: usize = 200;

/// All waits of tasks that are wanted, and the end of the run.
pub(crate) fn find(mut sim: Sim, end: Instant, wanted: impl Fn(&str) -> bool) -> (Vec<Wait>, Instant, usize) {
    let mut waits = Waits::default();
    let mut found = Vec::new();
    sim.run_until(end, &mut |event: &SchedEvent| found.extend(waits.feed(event)));
    found.extend(waits.rest());
    let names: Vec<bool> =
        (0..sim.task_count()).map(|n| wanted(&sim.task_name(TaskId::from_index(n)))).collect();
    let matching = names.iter().filter(|&&matches| matches).count();
    found.retain(|wait| names[wait.task.index()]);
    (found, sim.now(), matching)
}

/// Explains these waits, in the order of time; the simulation is at its beginning.
pub(crate) fn explain(mut sim: Sim, mut waits: Vec<Wait>, end: Instant) -> Vec<Explanation> {
    waits.sort_by_key(|wait| (wait.from, wait.task));
    let mut explanations = Vec::new();
    for wait in waits {
        // Everything up to the moment before.
        if let Some(before) = wait.from.0.checked_sub(1).filter(|&before| before > sim.now().0) {
            sim.run_until(Instant(before), &mut ());
        }
        explanations.push(one(&sim, wait, end));
    }
    explanations
}

fn one(before: &Sim, wait: Wait, end: Instant) -> Explanation {
    let to = wait.to.unwrap_or(end);
    let len = to.saturating_since(wait.from);
    let last_cpu = before
        .scheduler()
        .tasks()
        .iter()
        .find(|&(id, _)| id == wait.task)
        .map_or(wait.cpu, |(_, task)| task.cpu);
    let mut sim = before.clone();
    let mut watch = Watch { wait, at: wait.cpu, begun: false, over: false, current: None, ran: Vec::new() };
    let mut events: Vec<SchedEvent> = Vec::new();
    let (mut passes, mut migrated, mut places, mut waker) = (Vec::new(), Vec::new(), None, None);
    let mut idle: BTreeMap<CpuId, Nanos> = BTreeMap::new();
    let mut since = wait.from;
    while !watch.over {
        let mut heard = Vec::new();
        let idle_before: Vec<CpuId> = idle_cpus(&sim);
        if !sim.step(to, &mut |event: &SchedEvent| heard.push(*event)) {
            break;
        }
        if watch.begun {
            let passed = sim.now().saturating_since(since);
            for cpu in idle_before {
                *idle.entry(cpu).or_default() += passed;
            }
            since = sim.now();
        }
        for event in heard {
            events.push(event);
            let was_begun = watch.begun;
            watch.feed(&event, &sim);
            if watch.begun && !was_begun {
                since = event.time;
                places = Some(scene::places(&sim, wait.task, wait.cpu));
                if let waits::Begin::Woken { by } | waits::Begin::New { by } = wait.begin {
                    let curr = before_event(before, &events, by);
                    waker = Some(curr.map(|task| sim.task_name(task)));
                }
            }
            match event.kind {
                EventKind::Balance { kind, moved, .. } if watch.begun => passes.push(Pass { kind, moved }),
                EventKind::Migrate { task, from, to } if watch.begun && task == wait.task => {
                    migrated.push((event.time, from, to));
                }
                _ => {}
            }
        }
    }
    watch.close(to);
    let mut ran: BTreeMap<TaskId, Nanos> = BTreeMap::new();
    for stretch in &watch.ran {
        if let Some(task) = stretch.ran {
            *ran.entry(task).or_default() += stretch.to.saturating_since(stretch.from);
        }
    }
    let rival = ran.iter().max_by_key(|&(task, span)| (*span, Reverse(*task))).map(|(&task, _)| task);
    let tried = whatif::try_all(before, &wait, end, rival);
    let allowed = sim.scheduler().tasks()[wait.task].affinity.clone();
    let names =
        (0..sim.task_count()).map(TaskId::from_index).map(|task| (task, sim.task_name(task))).collect();
    Explanation {
        wait,
        name: sim.task_name(wait.task),
        len,
        waker,
        last_cpu,
        places: places.unwrap_or_else(|| scene::places(&sim, wait.task, wait.cpu)),
        stretches: watch.ran,
        passes,
        migrated,
        idle: idle.into_iter().filter(|&(cpu, span)| span > Nanos::ZERO && allowed.contains(cpu)).collect(),
        tried,
        events,
        window: (wait.from, to),
        names,
    }
}

fn idle_cpus(sim: &Sim) -> Vec<CpuId> {
    let cpus = sim.scheduler().cpus().iter();
    cpus.filter(|(_, rq)| rq.curr.is_none() && rq.nr_running == 0).map(|(cpu, _)| cpu).collect()
}

/// Who ran on a CPU before the last of these events.
fn before_event(before: &Sim, events: &[SchedEvent], cpu: CpuId) -> Option<TaskId> {
    let mut current = before.scheduler().cpus()[cpu].curr;
    for event in events {
        if let EventKind::Switch { next, .. } = event.kind
            && event.cpu == cpu
        {
            current = next;
        }
    }
    current
}

/// Follows the CPU on whose queue the task waits.
struct Watch {
    wait: Wait,
    at: CpuId,
    begun: bool,
    over: bool,
    current: Option<Stretch>,
    ran: Vec<Stretch>,
}

impl Watch {
    fn feed(&mut self, event: &SchedEvent, sim: &Sim) {
        if !self.begun {
            let begins = match event.kind {
                EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => task == self.wait.task,
                EventKind::Switch { prev, .. } => prev == Some(self.wait.task),
                _ => false,
            };
            if begins && event.time >= self.wait.from {
                self.begun = true;
                self.look(event.time, sim);
            }
            return;
        }
        match event.kind {
            EventKind::Switch { next, .. } if next == Some(self.wait.task) => {
                self.close(event.time);
                self.over = true;
            }
            EventKind::Switch { .. } if event.cpu == self.at => self.look(event.time, sim),
            EventKind::Migrate { task, to, .. } if task == self.wait.task => {
                self.at = to;
                self.look(event.time, sim);
            }
            _ => {}
        }
    }

    /// Somebody else runs from now on.
    fn look(&mut self, now: Instant, sim: &Sim) {
        self.close(now);
        let ran = sim.scheduler().cpus()[self.at].curr;
        let levels = scene::levels(sim, self.wait.task, ran);
        self.current = Some(Stretch { from: now, to: now, cpu: self.at, ran, levels });
    }

    fn close(&mut self, now: Instant) {
        if let Some(stretch) = self.current.take()
            && stretch.from < now
            && self.ran.len() < STRETCHES_MAX
        {
            self.ran.push(Stretch { to: now, ..stretch });
        }
    }
}
