// SPDX-License-Identifier: GPL-2.0-only
//! Figures of a schedule, from one pass over its events.
//!
//! ```text
//!        waking  wakeup      switch in        switch out     switch in      switch out
//! task ────┴───────┴─────────────┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇┴── R ──────────┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇┴── S ──
//!          │       └── wake-up ───┤     slice      ├ preempt delay ┤
//!          └──────── waking ──────┘
//! ```
//!
//! * *CPU time* by switches is the time between a switch in and the next switch out on that CPU; by charges
//!   it is the sum of `sched_stat_runtime`. Recordings lose either: on virtual machines, switches from an
//!   idle task; in short recordings, charges at the end. The time given is the larger of the two.
//! * *Wake-up latency* runs from `sched_wakeup` to the switch in, *waking latency* from `sched_waking`.
//!   Waking a task that is on a CPU does not count: it never left.
//! * A switch out in a runnable state is *preempted*, any other *voluntary*.
//!
//! Properties, checked by the tests:
//! * what all tasks ran by switches and what all CPUs were busy is the same sum;
//! * on a recording, the figures are those of an independent program (see `tests/data/README.md`).

mod distribution;
mod overload;
mod rivals;

use std::collections::BTreeMap;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

pub use distribution::{Bin, Distribution, Percentiles};
use overload::Overload;
pub use rivals::Rivals;

use crate::dense::at;

/// Collects figures from events in the order of time.
///
/// ```
/// # use zerolag_core::event::{EventKind::*, PrevState, SchedEvent};
/// # use zerolag_core::ids::{CpuId, TaskId};
/// # use zerolag_core::units::{Instant, Nanos};
/// use zerolag_trace::metrics::Metrics;
///
/// let (cpu, hog) = (CpuId(0), TaskId(0));
/// let mut metrics = Metrics::new();
/// for (time, kind) in [
///     (100, Wakeup { task: hog, target: cpu }),
///     (130, Switch { prev: None, prev_state: PrevState::Runnable, next: Some(hog) }),
///     (200, Switch { prev: Some(hog), prev_state: PrevState::Sleeping, next: None }),
/// ] {
///     metrics.feed(&SchedEvent { time: Instant(time), cpu, kind });
/// }
/// let summary = metrics.summary();
/// assert_eq!(summary.span, Nanos(100));
/// assert_eq!(summary.tasks[&hog].run(), Nanos(70));
/// assert_eq!(summary.tasks[&hog].wakeup.max(), Some(Nanos(30)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    first: Option<Instant>,
    last: Instant,
    events: u64,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    overload: Overload,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    figures: CpuFigures,
    /// Who runs, since when; not known before the first switch.
    current: Option<(Option<TaskId>, Instant)>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    seen: bool,
    figures: TaskFigures,
    on: Option<CpuId>,
    waking_since: Option<Instant>,
    woken_since: Option<Instant>,
    preempted_since: Option<Instant>,
}

/// Figures of one task, or of several added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskFigures {
    /// CPU time between switches.
    pub run_by_switches: Nanos,
    /// CPU time charged.
    pub run_by_charges: Nanos,
    /// CPU time between switches, by CPU.
    pub per_cpu: BTreeMap<CpuId, Nanos>,
    /// How often it got a CPU.
    pub switches_in: u64,
    /// How often it lost the CPU while it could have run on.
    pub preempted: u64,
    /// How often it gave the CPU up by sleeping or ending.
    pub voluntary: u64,
    /// How often it was moved to another CPU's queue.
    pub migrations: u64,
    /// How often a wake-up was answered by a CPU that was idle until then.
    pub wakeups_to_idle: u64,
    /// Uninterrupted times on a CPU.
    pub slice: Distribution,
    /// From `sched_wakeup` to running.
    pub wakeup: Distribution,
    /// From `sched_waking` to running.
    pub waking: Distribution,
    /// From being preempted to running again.
    pub preempt_delay: Distribution,
}

impl TaskFigures {
    /// CPU time: the larger of the two sums.
    pub fn run(&self) -> Nanos {
        self.run_by_switches.max(self.run_by_charges)
    }

    /// Adds the figures of another task.
    pub fn add(&mut self, other: &Self) {
        self.run_by_switches += other.run_by_switches;
        self.run_by_charges += other.run_by_charges;
        for (&cpu, &run) in &other.per_cpu {
            *self.per_cpu.entry(cpu).or_default() += run;
        }
        self.switches_in += other.switches_in;
        self.preempted += other.preempted;
        self.voluntary += other.voluntary;
        self.migrations += other.migrations;
        self.wakeups_to_idle += other.wakeups_to_idle;
        self.slice.merge(&other.slice);
        self.wakeup.merge(&other.wakeup);
        self.waking.merge(&other.waking);
        self.preempt_delay.merge(&other.preempt_delay);
    }
}

/// Figures of one CPU. What is neither busy nor idle time passed before its first switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuFigures {
    /// Time during which a task ran.
    pub busy: Nanos,
    /// Time during which the idle task ran.
    pub idle: Nanos,
    /// Number of switches.
    pub switches: u64,
    /// From `sched_wakeup` to running, of tasks that then ran here.
    pub wakeup: Distribution,
    /// From being preempted to running again, of tasks that then ran here.
    pub preempt_delay: Distribution,
}

/// The figures of a whole schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Time of the first event.
    pub first: Instant,
    /// From the first to the last event.
    pub span: Nanos,
    /// Number of events.
    pub events: u64,
    /// Figures of every task that an event named.
    pub tasks: BTreeMap<TaskId, TaskFigures>,
    /// Figures of every CPU that switched.
    pub cpus: BTreeMap<CpuId, CpuFigures>,
    /// Wall time during which a CPU was idle while a task waited behind another on a busy CPU.
    pub idle_while_overloaded: Nanos,
    /// CPU time lost to that: in each moment as many CPUs as could have been put to work.
    pub idle_while_overloaded_cpu: Nanos,
    /// Of that, what tasks could have used that waited where a wake-up had put them, and had not been moved since.
    pub idle_while_overloaded_woken: Nanos,
}

impl Summary {
    /// The fraction of the span that `run` is: 1 is one CPU all the time.
    pub fn share(&self, run: Nanos) -> f64 {
        if self.span == Nanos::ZERO { 0.0 } else { run.0 as f64 / self.span.0 as f64 }
    }

    /// Adds tasks up by what `key` says of them; those without a key are left out.
    pub fn by_group<K: Ord>(&self, key: impl Fn(TaskId) -> Option<K>) -> BTreeMap<K, TaskFigures> {
        let mut groups: BTreeMap<K, TaskFigures> = BTreeMap::new();
        for (&task, figures) in &self.tasks {
            if let Some(key) = key(task) {
                groups.entry(key).or_default().add(figures);
            }
        }
        groups
    }
}

impl Metrics {
    /// Nothing collected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        let now = event.time;
        self.first.get_or_insert(now);
        self.last = self.last.max(now);
        self.events += 1;
        self.overload.advance(now);
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                self.switch(now, event.cpu, prev, prev_state, next);
            }
            EventKind::Waking { task, .. } => {
                let task = self.task(task);
                if task.on.is_none() {
                    task.waking_since.get_or_insert(now);
                }
            }
            EventKind::Wakeup { task, target } => self.wakeup(now, task, target, true),
            EventKind::WakeupNew { task, target } => self.wakeup(now, task, target, false),
            EventKind::Migrate { task, to, .. } => {
                self.task(task).figures.migrations += 1;
                self.overload.moves(task, to);
            }
            EventKind::Runtime { task, ran } => self.task(task).figures.run_by_charges += ran,
            EventKind::Fork { child, .. } => _ = self.task(child),
            EventKind::Exit { task } => _ = self.task(task),
            _ => {}
        }
    }

    /// From now on the task may only use these CPUs, or all: what of idle CPUs it could have taken.
    pub fn bind(&mut self, task: TaskId, cpus: Option<CpuSet>) {
        self.overload.bind(task, cpus);
    }

    /// Nothing more has happened until `now`: who runs has run until then, who waits has waited.
    pub fn advance(&mut self, now: Instant) {
        self.last = self.last.max(now);
        self.overload.advance(now);
    }

    /// Counts from `now` on, and forgets what was counted before; who runs and who waits is not forgotten.
    /// A wait that began before counts whole when it ends.
    pub fn restart(&mut self, now: Instant) {
        self.advance(now);
        (self.first, self.events) = (Some(now), 0);
        self.overload.restart();
        for cpu in &mut self.cpus {
            cpu.figures = CpuFigures::default();
            if let Some((_, since)) = &mut cpu.current {
                *since = now;
            }
        }
        for task in &mut self.tasks {
            task.figures = TaskFigures::default();
            task.seen = task.on.is_some();
        }
    }

    fn switch(
        &mut self,
        now: Instant,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
    ) {
        let state = at(&mut self.cpus, cpu);
        state.figures.switches += 1;
        let before = state.current.replace((next, now));
        // A chain that broke says nothing about how long anybody ran.
        let slice = before.filter(|(who, _)| *who == prev).map(|(_, since)| now.saturating_since(since));
        if let Some(slice) = slice {
            self.ran(cpu, prev, slice);
        }
        if let Some((Some(believed), _)) = before
            && self.task(believed).on == Some(cpu)
        {
            self.task(believed).on = None;
        }
        if let Some(id) = prev {
            let task = self.task(id);
            if let Some(slice) = slice {
                task.figures.slice.record(slice);
            }
            if prev_state.is_runnable() {
                task.figures.preempted += 1;
                task.preempted_since = Some(now);
                self.overload.waits(id, cpu, false);
            } else {
                task.figures.voluntary += 1;
                self.overload.waits_no_more(id);
            }
        }
        if let Some(id) = next {
            let task = self.task(id);
            task.on = Some(cpu);
            let figures = &mut task.figures;
            figures.switches_in += 1;
            figures.wakeups_to_idle += u64::from(prev.is_none() && task.woken_since.is_some());
            let span = |since: Option<Instant>| since.map(|since| now.saturating_since(since));
            let woken = span(task.woken_since.take());
            let waking = span(task.waking_since.take());
            let preempted = span(task.preempted_since.take());
            woken.into_iter().for_each(|span| figures.wakeup.record(span));
            waking.into_iter().for_each(|span| figures.waking.record(span));
            preempted.into_iter().for_each(|span| figures.preempt_delay.record(span));
            let here = &mut at(&mut self.cpus, cpu).figures;
            woken.into_iter().for_each(|span| here.wakeup.record(span));
            preempted.into_iter().for_each(|span| here.preempt_delay.record(span));
            self.overload.waits_no_more(id);
        }
        self.overload.runs(cpu, next.is_some());
    }

    /// Books that `who` ran on `cpu` for `span`.
    fn ran(&mut self, cpu: CpuId, who: Option<TaskId>, span: Nanos) {
        let figures = &mut at(&mut self.cpus, cpu).figures;
        match who {
            None => figures.idle += span,
            Some(task) => {
                figures.busy += span;
                let figures = &mut self.task(task).figures;
                figures.run_by_switches += span;
                *figures.per_cpu.entry(cpu).or_default() += span;
            }
        }
    }

    fn wakeup(&mut self, now: Instant, id: TaskId, target: CpuId, again: bool) {
        let task = self.task(id);
        if task.on.is_some() {
            (task.woken_since, task.waking_since) = (None, None);
        } else {
            task.woken_since.get_or_insert(now);
            self.overload.waits(id, target, again);
        }
    }

    /// The figures up to now. Tasks that run are taken to run until the last event.
    pub fn summary(&self) -> Summary {
        let mut end = self.clone();
        for index in 0..end.cpus.len() {
            let cpu = CpuId(index as u32);
            if let Some((who, since)) = end.cpus[index].current {
                end.ran(cpu, who, self.last.saturating_since(since));
            }
        }
        let first = self.first.unwrap_or_default();
        let lost = end.overload.totals();
        Summary {
            first,
            span: self.last.saturating_since(first),
            events: self.events,
            tasks: (0..)
                .map(TaskId)
                .zip(end.tasks)
                .filter(|(_, t)| t.seen)
                .map(|(i, t)| (i, t.figures))
                .collect(),
            cpus: (0..)
                .map(CpuId)
                .zip(end.cpus)
                .filter(|(_, c)| c.current.is_some())
                .map(|(i, c)| (i, c.figures))
                .collect(),
            idle_while_overloaded: lost.wall,
            idle_while_overloaded_cpu: lost.cpu_time,
            idle_while_overloaded_woken: lost.woken,
        }
    }

    fn task(&mut self, task: TaskId) -> &mut Task {
        let task = at(&mut self.tasks, task);
        task.seen = true;
        task
    }
}
