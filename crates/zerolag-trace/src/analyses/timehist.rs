// SPDX-License-Identifier: GPL-2.0-only
//! What each task did before each time it left a CPU: `perf sched timehist`.
//!
//! A row is written when a task is switched out:
//!
//! ```text
//!       last switch out        ready     switch in              this switch out
//!             │ asleep or preempted │        │         run time        │
//!             └───────────── wait time ──────┤▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇┤
//!                                   └ delay ─┘
//! ```
//!
//! *Ready* is the first `sched_waking` since the last switch out, or `sched_wakeup` in a recording without
//! `sched_waking`.

use std::fmt;

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use super::{Millis, Seconds, Selection};
use crate::dense::at;
use crate::tasks::TaskTable;

/// Which columns and rows are written besides the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The state in which the task left the CPU (`--state`).
    pub state: bool,
    /// The task that runs next (`--next`).
    pub next: bool,
    /// A row for each wake-up (`--wakeups`).
    pub wakeups: bool,
    /// A row for each migration (`--migrations`).
    pub migrations: bool,
}

/// perf's width of a task's name.
const NAME_WIDTH: usize = 30;

/// Something that a history shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A task, or the idle task, left its CPU.
    Out {
        /// When, cut to the selected time.
        time: Instant,
        /// Which CPU.
        cpu: CpuId,
        /// Who.
        task: Option<TaskId>,
        /// Why.
        state: PrevState,
        /// Who comes after.
        next: Option<TaskId>,
        /// What it did before.
        times: Times,
    },
    /// A task was woken.
    Awakened {
        /// When.
        time: Instant,
        /// On which CPU the waker was.
        cpu: CpuId,
        /// Who ran there, if that is known.
        by: Option<Option<TaskId>>,
        /// Who.
        task: TaskId,
    },
    /// A task was moved.
    Migrated {
        /// When.
        time: Instant,
        /// On which CPU that was done.
        cpu: CpuId,
        /// Who ran there, if that is known.
        by: Option<Option<TaskId>>,
        /// Who.
        task: TaskId,
        /// Where it was.
        from: CpuId,
        /// Where it is.
        to: CpuId,
    },
}

/// Makes a row per switch, and a summary at the end.
#[derive(Clone, Debug, Default)]
pub struct Timehist {
    columns: Columns,
    selection: Selection,
    tasks: Vec<History>,
    /// The history of each CPU's idle task.
    idle: Vec<History>,
    cpus: Vec<Cpu>,
    /// Waking was recorded, so wake-ups say nothing new.
    has_waking: bool,
    first: Option<Instant>,
    last: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    last_switch: Option<Instant>,
    current: Option<Option<TaskId>>,
}

/// What is known of a task's past.
#[derive(Clone, Debug, Default)]
struct History {
    last_out: Option<Instant>,
    ready: Option<Instant>,
    ended: bool,
    migrations: u64,
    runs: Spread,
    run_total: Nanos,
}

/// The three times of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From the last switch out to this switch in.
    pub wait: Nanos,
    /// The part of it that the task was ready.
    pub delay: Nanos,
    /// From the switch in to this switch out.
    pub run: Nanos,
}

/// The runs of one task, as the summary has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs {
    /// Who.
    pub task: TaskId,
    /// How many.
    pub count: u64,
    /// How long in all.
    pub total: Nanos,
    /// The shortest.
    pub min: Nanos,
    /// The mean, rounded down.
    pub mean: Nanos,
    /// The longest.
    pub max: Nanos,
    /// The standard error of the mean in percent of it, which perf calls `stddev`.
    pub error_percent: f64,
    /// Migrations, counted only if they are shown.
    pub migrations: u64,
    /// It has ended.
    pub ended: bool,
}

impl History {
    /// The task leaves a CPU at `now`, on which the previous switch was at `since`.
    fn times(&self, since: Option<Instant>, now: Instant) -> Times {
        let Some(since) = since else { return Times::default() };
        Times {
            run: now.saturating_since(since),
            delay: self.ready.map_or(Nanos::ZERO, |ready| since.saturating_since(ready)),
            wait: self.last_out.map_or(Nanos::ZERO, |out| since.saturating_since(out)),
        }
    }

    fn count(&mut self, times: Times) {
        self.runs.add(times.run);
        self.run_total += times.run;
    }
}

impl Timehist {
    /// A history with these columns, of what is selected.
    pub fn new(columns: Columns, selection: Selection) -> Self {
        Self { columns, selection, ..Self::default() }
    }

    /// Writes the head of the table.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_header(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let w = NAME_WIDTH;
        let (state, units, rule) = if self.columns.state {
            ("  state", format!("  {:5}", ""), format!("  {}", "-".repeat(5)))
        } else {
            ("", String::new(), String::new())
        };
        writeln!(
            out,
            "{:>15} {:>6}  {:w$}  {:>9}  {:>9}  {:>9}{state}",
            "time", "cpu", "task name", "wait time", "sch delay", "run time"
        )?;
        writeln!(
            out,
            "{:>15} {:6}  {:w$}  {:>9}  {:>9}  {:>9}{units}",
            "", "", "[tid/pid]", "(msec)", "(msec)", "(msec)"
        )?;
        let dash = |n| "-".repeat(n);
        writeln!(out, "{} {}  {}  {}  {}  {}{rule}", dash(15), dash(6), dash(w), dash(9), dash(9), dash(9))
    }

    /// Takes the next event in; gives the row that it causes, if that is selected.
    pub fn feed(&mut self, event: &SchedEvent, names: &TaskTable) -> Option<Row> {
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => self.switch(event, prev, prev_state, next, names),
            EventKind::Waking { task, .. } => {
                self.has_waking = true;
                self.ready(event, task)
            }
            EventKind::WakeupNew { task, .. } => self.ready(event, task),
            EventKind::Wakeup { task, .. } if !self.has_waking => self.ready(event, task),
            EventKind::Migrate { task, from, to } => {
                // perf counts them only if it shows them.
                if !self.columns.migrations {
                    return None;
                }
                at(&mut self.tasks, task).migrations += 1;
                let (time, cpu, by) = self.place(event)?;
                Some(Row::Migrated { time, cpu, by, task, from, to })
            }
            EventKind::Exit { task } => {
                at(&mut self.tasks, task).ended = true;
                None
            }
            _ => None,
        }
    }

    fn switch(
        &mut self,
        event: &SchedEvent,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
        names: &TaskTable,
    ) -> Option<Row> {
        let Self { selection, .. } = &*self;
        let time = event.time.min(selection.to.unwrap_or(Instant::MAX));
        let begun = selection.from.is_none_or(|from| from <= time);
        let shown = selection.has_task(prev, names);
        let counted = selection.has_cpu(event.cpu);
        let from = selection.from.unwrap_or(Instant::ZERO);
        if begun {
            self.first.get_or_insert(time);
        }
        let cpu = at(&mut self.cpus, event.cpu);
        let since = cpu.last_switch.replace(event.time);
        cpu.current = Some(next);
        let over = since.is_some_and(|since| since > time);
        if !over {
            self.last = time;
        }
        let history = match prev {
            Some(task) => at(&mut self.tasks, task),
            None => at(&mut self.idle, event.cpu),
        };
        // What began before the selected time counts from there.
        let times = history.times(since.map(|since| since.max(from)), time);
        let row = begun && !over && shown && counted;
        if row {
            history.count(times);
        }
        (history.last_out, history.ready) = (Some(event.time), None);
        history.ended |= prev_state == PrevState::Dead;
        row.then_some(Row::Out { time, cpu: event.cpu, task: prev, state: prev_state, next, times })
    }

    /// `task` is ready to run.
    fn ready(&mut self, event: &SchedEvent, task: TaskId) -> Option<Row> {
        at(&mut self.tasks, task).ready.get_or_insert(event.time);
        if !self.columns.wakeups {
            return None;
        }
        let (time, cpu, by) = self.place(event)?;
        Some(Row::Awakened { time, cpu, by, task })
    }

    /// When, where and in whose context something happened, if that is selected.
    fn place(&mut self, event: &SchedEvent) -> Option<(Instant, CpuId, Option<Option<TaskId>>)> {
        let selected = self.selection.has_time(event.time) && self.selection.has_cpu(event.cpu);
        selected.then(|| (event.time, event.cpu, at(&mut self.cpus, event.cpu).current))
    }

    /// Writes a row.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_row(&self, row: &Row, names: &TaskTable, out: &mut impl fmt::Write) -> fmt::Result {
        match *row {
            Row::Out { time, cpu, task, state, next, times } => {
                write_start(time, cpu, &name(task, names), out)?;
                write!(out, "{:6} {:6} {:6} ", Millis(times.wait), Millis(times.delay), Millis(times.run))?;
                if self.columns.state {
                    let letter = if task.is_none() { 'I' } else { letter(state) };
                    write!(out, " {letter:>5} ")?;
                }
                if self.columns.next {
                    let next = match next {
                        Some(task) => format!("next: {}[{}]", names.comm(task), names.pid(task).unwrap_or(0)),
                        None => format!("next: swapper/{cpu}[0]"),
                    };
                    write!(out, " {next:NAME_WIDTH$}")?;
                } else if self.columns.wakeups {
                    write!(out, "  {:NAME_WIDTH$}", "")?;
                }
                writeln!(out)
            }
            Row::Awakened { time, cpu, by, task } => {
                write_remark(time, cpu, by, names, out)?;
                writeln!(out, "awakened: {}", name(Some(task), names))
            }
            Row::Migrated { time, cpu, by, task, from, to } => {
                write_remark(time, cpu, by, names, out)?;
                writeln!(out, "migrated: {} cpu {from} => {to}", name(Some(task), names))
            }
        }
    }

    /// What each task ran, in perf's order.
    pub fn runs(&self, names: &TaskTable) -> Vec<Runs> {
        let mut all: Vec<Runs> = (0..)
            .map(TaskId)
            .zip(&self.tasks)
            .filter(|(_, history)| history.runs.n > 0)
            .map(|(task, history)| Runs {
                task,
                count: history.runs.n,
                total: history.run_total,
                min: history.runs.min,
                mean: Nanos(history.runs.mean as u64),
                max: history.runs.max,
                error_percent: history.runs.relative_error_percent(),
                migrations: history.migrations,
                ended: history.ended,
            })
            .collect();
        // perf keeps threads in 256 buckets by tid.
        all.sort_by_key(|runs| {
            let pid = names.pid(runs.task).unwrap_or(0);
            (pid % 256, pid)
        });
        all
    }

    /// How often and how long each CPU idled, and how long the history is.
    pub fn idle(&self) -> (Vec<(CpuId, u64, Nanos)>, Nanos) {
        let none = History::default();
        let cpus = self.cpus.iter().enumerate().map(|(cpu, _)| {
            let idle = self.idle.get(cpu).unwrap_or(&none);
            (CpuId(cpu as u32), idle.runs.n, idle.run_total)
        });
        (cpus.collect(), self.last.saturating_since(self.first.unwrap_or_default()))
    }

    /// Writes the summary (`--summary`): a row per task, idle time per CPU, totals.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_summary(&self, names: &TaskTable, out: &mut impl fmt::Write) -> fmt::Result {
        let w = NAME_WIDTH;
        writeln!(out, "\nRuntime summary")?;
        writeln!(
            out,
            "{:>w$}  parent   sched-in     run-time    min-run     avg-run     max-run  stddev  migrations",
            "comm"
        )?;
        writeln!(
            out,
            "{:w$}            (count)       (msec)     (msec)      (msec)      (msec)       %",
            ""
        )?;
        writeln!(out, "{}", "-".repeat(117))?;
        let ran = self.runs(names);
        let (ended, living): (Vec<_>, Vec<_>) = ran.iter().partition(|runs| runs.ended);
        for runs in &living {
            write_task(runs, names, out)?;
        }
        if living.is_empty() {
            writeln!(out, "<no still running tasks>")?;
        }
        writeln!(out, "\nTerminated tasks:")?;
        for runs in &ended {
            write_task(runs, names, out)?;
        }
        if ended.is_empty() {
            writeln!(out, "<no terminated tasks>")?;
        }
        let (idle, total) = self.idle();
        writeln!(out, "\nIdle stats:")?;
        for &(CpuId(cpu), times, span) in &idle {
            if times > 0 {
                let percent = span.0 as f64 * 100.0 / total.0.max(1) as f64;
                writeln!(out, "    CPU {cpu:2} idle for {:6}  msec  ({percent:6.2}%)", Millis(span))?;
            } else {
                writeln!(out, "    CPU {cpu:2} idle entire time window")?;
            }
        }
        let idles = idle.iter().map(|&(_, times, _)| times).sum::<u64>();
        let switches = ran.iter().map(|runs| runs.count).sum::<u64>() + idles;
        let run = ran.iter().map(|runs| runs.total.0).sum();
        writeln!(out, "\n    Total number of unique tasks: {}", ran.len())?;
        writeln!(out, "Total number of context switches: {switches}")?;
        writeln!(out, "           Total run time (msec): {:2} ", Millis(Nanos(run)))?;
        writeln!(out, "    Total scheduling time (msec): {:2}  (x {})", Millis(total), self.cpus.len())
    }
}

fn write_start(time: Instant, cpu: CpuId, name: &str, out: &mut impl fmt::Write) -> fmt::Result {
    write!(out, "{:>15} [{:04}]  {name:NAME_WIDTH$} ", Seconds(time), cpu.0)
}

/// The beginning of a row without times, about something that the current task did.
fn write_remark(
    time: Instant,
    cpu: CpuId,
    by: Option<Option<TaskId>>,
    names: &TaskTable,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let name = match by {
        Some(Some(task)) => name(Some(task), names),
        Some(None) => "swapper".to_owned(),
        None => "?".to_owned(),
    };
    write_start(time, cpu, &name, out)?;
    write!(out, "  {:9}  {:9}  {:9} ", "", "", "")
}

fn write_task(runs: &Runs, names: &TaskTable, out: &mut impl fmt::Write) -> fmt::Result {
    let parent = names.ppid(runs.task).map_or(-1, i64::from);
    writeln!(
        out,
        "{:>NAME_WIDTH$}   {parent:5}  {:9} {:8} {:6} {:7} {:7}   {:5.2}   {:5}",
        name(Some(runs.task), names),
        runs.count,
        Millis(runs.total),
        Millis(runs.min),
        Millis(runs.mean),
        Millis(runs.max),
        runs.error_percent,
        runs.migrations,
    )
}

/// `comm[tid]`, `comm[tid/pid]` or `<idle>`.
fn name(task: Option<TaskId>, names: &TaskTable) -> String {
    let Some(task) = task else { return "<idle>".to_owned() };
    let comm = names.comm(task);
    match names.get(task).map(|t| (t.pid, t.tgid)) {
        Some((pid, Some(tgid))) if tgid != pid => format!("{comm}[{pid}/{tgid}]"),
        Some((pid, _)) => format!("{comm}[{pid}]"),
        None => comm.to_owned(),
    }
}

/// The state as perf shows it.
pub const fn letter(state: PrevState) -> char {
    match state {
        PrevState::Runnable | PrevState::Preempted => 'R',
        PrevState::Sleeping => 'S',
        PrevState::Uninterruptible => 'D',
        PrevState::IdleSleep => 'I',
        PrevState::Stopped => 'T',
        PrevState::Dead => 'X',
        PrevState::Other => '?',
    }
}

/// Mean and spread of run times, by Welford's updates as perf has them, so that rounding is the same.
#[derive(Clone, Copy, Debug)]
struct Spread {
    n: u64,
    mean: f64,
    squares: f64,
    min: Nanos,
    max: Nanos,
}

impl Default for Spread {
    fn default() -> Self {
        Self { n: 0, mean: 0.0, squares: 0.0, min: Nanos(u64::MAX), max: Nanos::ZERO }
    }
}

impl Spread {
    fn add(&mut self, run: Nanos) {
        self.n += 1;
        let value = run.0 as f64;
        let delta = value - self.mean;
        self.mean += delta / self.n as f64;
        self.squares += delta * (value - self.mean);
        self.min = self.min.min(run);
        self.max = self.max.max(run);
    }

    /// The standard error of the mean in percent of the mean, which perf calls `stddev`.
    fn relative_error_percent(&self) -> f64 {
        if self.n < 2 || self.mean == 0.0 {
            return 0.0;
        }
        let variance = self.squares / (self.n - 1) as f64;
        100.0 * (variance / self.n as f64).sqrt() / self.mean
    }
}
