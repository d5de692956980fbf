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

use super::{Millis, Seconds};
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

/// Writes a row per switch, and a summary at the end.
#[derive(Clone, Debug, Default)]
pub struct Timehist {
    columns: Columns,
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
    last_out: Option<(Instant, PrevState)>,
    ready: Option<Instant>,
    ended: bool,
    migrations: u64,
    runs: Spread,
    run_total: Nanos,
}

/// The three times of one row.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    wait: Nanos,
    delay: Nanos,
    run: Nanos,
}

impl History {
    /// The task leaves a CPU at `now`, on which the previous switch was at `since`.
    fn switched_out(&mut self, since: Option<Instant>, now: Instant, state: PrevState) -> Times {
        let mut times = Times::default();
        if let Some(since) = since {
            times.run = now.saturating_since(since);
            times.delay = self.ready.map_or(Nanos::ZERO, |ready| since.saturating_since(ready));
            times.wait = self.last_out.map_or(Nanos::ZERO, |(out, _)| since.saturating_since(out));
        }
        self.runs.add(times.run);
        self.run_total += times.run;
        self.last_out = Some((now, state));
        self.ready = None;
        times
    }
}

impl Timehist {
    /// A history with these columns.
    pub fn new(columns: Columns) -> Self {
        Self { columns, ..Self::default() }
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

    /// Takes the next event in and writes what rows it causes.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn feed(&mut self, event: &SchedEvent, names: &TaskTable, out: &mut impl fmt::Write) -> fmt::Result {
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                self.switch(event, prev, prev_state, next, names, out)
            }
            EventKind::Waking { task, .. } => {
                self.has_waking = true;
                self.ready(event, task, names, out)
            }
            EventKind::WakeupNew { task, .. } => self.ready(event, task, names, out),
            EventKind::Wakeup { task, .. } if !self.has_waking => self.ready(event, task, names, out),
            EventKind::Migrate { task, from, to } => {
                // perf counts them only if it shows them.
                if !self.columns.migrations {
                    return Ok(());
                }
                at(&mut self.tasks, task).migrations += 1;
                let migrated = name(Some(task), names);
                self.remark(event, format_args!("migrated: {migrated} cpu {from} => {to}"), names, out)
            }
            EventKind::Exit { task } => {
                at(&mut self.tasks, task).ended = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn switch(
        &mut self,
        event: &SchedEvent,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
        names: &TaskTable,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        let now = event.time;
        self.first.get_or_insert(now);
        self.last = now;
        let cpu = at(&mut self.cpus, event.cpu);
        let since = cpu.last_switch.replace(now);
        cpu.current = Some(next);
        let history = match prev {
            Some(task) => at(&mut self.tasks, task),
            None => at(&mut self.idle, event.cpu),
        };
        let times = history.switched_out(since, now, prev_state);
        history.ended |= prev_state == PrevState::Dead;

        write_start(event, &name(prev, names), out)?;
        write!(out, "{:6} {:6} {:6} ", Millis(times.wait), Millis(times.delay), Millis(times.run))?;
        if self.columns.state {
            let letter = if prev.is_none() { 'I' } else { letter(prev_state) };
            write!(out, " {letter:>5} ")?;
        }
        if self.columns.next {
            let next = match next {
                Some(task) => format!("next: {}[{}]", names.comm(task), names.pid(task).unwrap_or(0)),
                None => format!("next: swapper/{}[0]", event.cpu),
            };
            write!(out, " {next:NAME_WIDTH$}")?;
        } else if self.columns.wakeups {
            write!(out, "  {:NAME_WIDTH$}", "")?;
        }
        writeln!(out)
    }

    /// `task` is ready to run.
    fn ready(
        &mut self,
        event: &SchedEvent,
        task: TaskId,
        names: &TaskTable,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        at(&mut self.tasks, task).ready.get_or_insert(event.time);
        if !self.columns.wakeups {
            return Ok(());
        }
        let woken = name(Some(task), names);
        self.remark(event, format_args!("awakened: {woken}"), names, out)
    }

    /// A row without times, about something that the current task did.
    fn remark(
        &mut self,
        event: &SchedEvent,
        what: fmt::Arguments<'_>,
        names: &TaskTable,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        let name = match at(&mut self.cpus, event.cpu).current {
            Some(Some(task)) => name(Some(task), names),
            Some(None) => "swapper".to_owned(),
            None => "?".to_owned(),
        };
        write_start(event, &name, out)?;
        writeln!(out, "  {:9}  {:9}  {:9} {what}", "", "", "")
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
        let mut ran: Vec<(TaskId, &History)> =
            (0..).map(TaskId).zip(&self.tasks).filter(|(_, h)| h.runs.n > 0).collect();
        // perf keeps threads in 256 buckets by tid.
        ran.sort_by_key(|&(task, _)| {
            let pid = names.pid(task).unwrap_or(0);
            (pid % 256, pid)
        });
        let (ended, living): (Vec<_>, Vec<_>) = ran.iter().partition(|(_, h)| h.ended);
        for &(task, history) in &living {
            write_task(task, history, names, out)?;
        }
        if living.is_empty() {
            writeln!(out, "<no still running tasks>")?;
        }
        writeln!(out, "\nTerminated tasks:")?;
        for &(task, history) in &ended {
            write_task(task, history, names, out)?;
        }
        if ended.is_empty() {
            writeln!(out, "<no terminated tasks>")?;
        }
        let total = self.last.saturating_since(self.first.unwrap_or_default());
        writeln!(out, "\nIdle stats:")?;
        for (cpu, _) in self.cpus.iter().enumerate() {
            match self.idle.get(cpu).filter(|h| h.runs.n > 0) {
                Some(idle) => {
                    let percent = idle.run_total.0 as f64 * 100.0 / total.0.max(1) as f64;
                    writeln!(
                        out,
                        "    CPU {cpu:2} idle for {:6}  msec  ({percent:6.2}%)",
                        Millis(idle.run_total)
                    )?;
                }
                None => writeln!(out, "    CPU {cpu:2} idle entire time window")?,
            }
        }
        let runs = |histories: &mut dyn Iterator<Item = &History>| histories.map(|h| h.runs.n).sum::<u64>();
        let switches = runs(&mut ran.iter().map(|&(_, h)| h)) + runs(&mut self.idle.iter());
        let run = ran.iter().map(|(_, h)| h.run_total.0).sum();
        writeln!(out, "\n    Total number of unique tasks: {}", ran.len())?;
        writeln!(out, "Total number of context switches: {switches}")?;
        writeln!(out, "           Total run time (msec): {:2} ", Millis(Nanos(run)))?;
        writeln!(out, "    Total scheduling time (msec): {:2}  (x {})", Millis(total), self.cpus.len())
    }
}

fn write_start(event: &SchedEvent, name: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let CpuId(cpu) = event.cpu;
    write!(out, "{:>15} [{cpu:04}]  {name:NAME_WIDTH$} ", Seconds(event.time))
}

fn write_task(task: TaskId, history: &History, names: &TaskTable, out: &mut impl fmt::Write) -> fmt::Result {
    let parent = names.get(task).and_then(|t| t.parent).and_then(|p| names.pid(p)).map_or(-1, i64::from);
    let runs = &history.runs;
    writeln!(
        out,
        "{:>NAME_WIDTH$}   {parent:5}  {:9} {:8} {:6} {:7} {:7}   {:5.2}   {:5}",
        name(Some(task), names),
        runs.n,
        Millis(history.run_total),
        Millis(runs.min),
        Millis(Nanos(runs.mean as u64)),
        Millis(runs.max),
        runs.relative_error_percent(),
        history.migrations,
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

const fn letter(state: PrevState) -> char {
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
