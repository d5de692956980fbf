// SPDX-License-Identifier: GPL-2.0-only
//! How long tasks waited for a CPU after they became runnable: `perf sched latency`.
//!
//! A task is asleep, waiting or running. It begins to wait when it is woken, or when it is switched out
//! runnable; its delay ends with the next switch in. A wake-up of a task that is not asleep changes
//! nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::{Seconds, Selection};
use crate::dense::at;
use crate::tasks::TaskTable;

/// Whose figures are wanted where versions of perf differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Perf {
    /// What the words mean: a preempted task waits.
    #[default]
    Latest,
    /// perf 6.1 knows no state `R+` and takes a task preempted inside the kernel for asleep.
    V6_1,
}

/// Collects delays from events in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    perf: Perf,
    selection: Selection,
    tasks: Vec<Option<Delays>>,
    current: Vec<Option<Option<TaskId>>>,
    timed_wakeups: u64,
    broken_chains: u64,
}

/// Delays of one task, or of all that have the same name.
#[derive(Clone, Copy, Debug)]
struct Delays {
    state: State,
    run: Nanos,
    switches: u64,
    total: Nanos,
    max: Nanos,
    max_start: Instant,
    max_end: Instant,
    merged: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    /// Somebody began to wake it; it counts as waiting if that is all that was recorded.
    Waking {
        since: Instant,
    },
    Waiting {
        since: Instant,
    },
    Running,
}

impl Delays {
    const fn new(state: State) -> Self {
        Self {
            state,
            run: Nanos::ZERO,
            switches: 0,
            total: Nanos::ZERO,
            max: Nanos::ZERO,
            max_start: Instant::ZERO,
            max_end: Instant::ZERO,
            merged: 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.merged += other.merged;
        self.run += other.run;
        self.switches += other.switches;
        self.total += other.total;
        if self.max < other.max {
            (self.max, self.max_start, self.max_end) = (other.max, other.max_start, other.max_end);
        }
    }

    fn mean(&self) -> Nanos {
        Nanos(self.total.0.checked_div(self.switches).unwrap_or(0))
    }
}

impl Latency {
    /// Nothing collected yet.
    pub fn new(perf: Perf, selection: Selection) -> Self {
        Self { perf, selection, ..Self::default() }
    }

    /// Takes the next event in. As perf has it, nothing that happens on other CPUs than those selected is
    /// looked at. A delay belongs to the time at which it ends.
    pub fn feed(&mut self, event: &SchedEvent) {
        if !self.selection.has_cpu(event.cpu) {
            return;
        }
        let now = event.time;
        let selected = self.selection.has_time(now);
        let waits = State::Waiting { since: now };
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                let current = at(&mut self.current, event.cpu);
                self.broken_chains += u64::from(selected && current.is_some_and(|c| c != prev));
                *current = Some(next);
                if let Some(prev) = prev {
                    let state = match (prev_state, self.perf) {
                        (PrevState::Preempted, Perf::V6_1) => State::Asleep,
                        (state, _) if state.is_runnable() => waits,
                        _ => State::Asleep,
                    };
                    self.task(prev, state).state = state;
                }
                if let Some(next) = next {
                    let task = self.task(next, waits);
                    if let State::Waiting { since } | State::Waking { since } = task.state {
                        let delay = now.saturating_since(since);
                        task.state = State::Running;
                        if !selected {
                            return;
                        }
                        task.total += delay;
                        task.switches += 1;
                        if delay > task.max {
                            (task.max, task.max_start, task.max_end) = (delay, since, now);
                        }
                    }
                }
            }
            EventKind::Waking { task, .. } => {
                let task = self.task(task, State::Asleep);
                if task.state == State::Asleep {
                    task.state = State::Waking { since: now };
                }
            }
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                let task = self.task(task, State::Asleep);
                if matches!(task.state, State::Asleep | State::Waking { .. }) {
                    task.state = waits;
                    self.timed_wakeups += u64::from(selected);
                }
            }
            EventKind::Runtime { task, ran } => {
                let task = self.task(task, waits);
                if selected {
                    task.run += ran;
                }
            }
            _ => {}
        }
    }

    /// The delays of `task`, which is in state `first` if it was never heard of.
    fn task(&mut self, task: TaskId, first: State) -> &mut Delays {
        at(&mut self.tasks, task).get_or_insert(Delays::new(first))
    }

    /// Writes the table: a row per name, or per task if `by_pid`; what is largest by the first key, then by
    /// the next, comes first.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(
        &self,
        names: &TaskTable,
        by_pid: bool,
        sort: &[Key],
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        Self::write_rows("Task", &self.rows(names, by_pid, sort), out)?;
        if self.broken_chains > 0 && self.timed_wakeups > 0 {
            let (bad, of) = (self.broken_chains, self.timed_wakeups);
            let percent = bad as f64 / of as f64 * 100.0;
            writeln!(out, "  INFO: {percent:.3}% context switch bugs ({bad} out of {of})")?;
        }
        writeln!(out)
    }

    /// Writes a table of the same layout with a row per group; `groups` gives each task's path.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_groups(
        &self,
        names: &TaskTable,
        groups: &BTreeMap<TaskId, String>,
        sort: &[Key],
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        Self::write_rows("Group", &self.group_rows(names, groups, sort), out)?;
        writeln!(out)
    }

    fn write_rows(heading: &str, rows: &[Row], out: &mut impl fmt::Write) -> fmt::Result {
        let rule = |n| "-".repeat(n);
        writeln!(out, "\n {}", rule(139))?;
        writeln!(
            out,
            "  {heading:<22}|   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | Max delay \
             start           | Max delay end          |"
        )?;
        writeln!(out, " {}", rule(139))?;
        let (mut run, mut switches) = (Nanos::ZERO, 0);
        for row in rows {
            run += row.run;
            switches += row.switches;
            let ms = |n: Nanos| n.0 as f64 / 1e6;
            let count = if row.tasks > 1 { format!("({})", row.tasks) } else { row.pid.to_string() };
            let name = format!("{}:{count} ", row.comm);
            writeln!(
                out,
                "  {name:<22}|{:11.3} ms |{:9} | avg:{:8.3} ms | max:{:8.3} ms | max start: {:>12} s | max end: \
                 {:>12} s",
                ms(row.run),
                row.switches,
                ms(row.mean),
                ms(row.max),
                Seconds(row.max_start),
                Seconds(row.max_end),
            )?;
        }
        writeln!(out, " {}", rule(113))?;
        writeln!(out, "  TOTAL:                |{:11.3} ms |{switches:9} |", run.0 as f64 / 1e6)?;
        writeln!(out, " {}", rule(51))
    }

    /// The rows of the table in its order.
    pub fn rows(&self, names: &TaskTable, by_pid: bool, sort: &[Key]) -> Vec<Row> {
        self.merged(names, sort, |task| (names.comm(task), by_pid.then_some(task)))
    }

    /// The rows of a table by group; `groups` gives each task's path.
    pub fn group_rows(&self, names: &TaskTable, groups: &BTreeMap<TaskId, String>, sort: &[Key]) -> Vec<Row> {
        self.merged(names, sort, |task| (groups.get(&task).map_or("/", String::as_str), None))
    }

    /// Tasks added up by what `key` says of them.
    fn merged<'k>(
        &self,
        names: &TaskTable,
        sort: &[Key],
        key: impl Fn(TaskId) -> (&'k str, Option<TaskId>),
    ) -> Vec<Row> {
        let mut merged: BTreeMap<(&str, Option<TaskId>), (TaskId, Delays)> = BTreeMap::new();
        for (task, delays) in (0..).map(TaskId).zip(&self.tasks) {
            let Some(delays) = delays else { continue };
            if !self.selection.has_task(Some(task), names) {
                continue;
            }
            merged.entry(key(task)).and_modify(|(_, sum)| sum.merge(delays)).or_insert((task, *delays));
        }
        let mut rows: Vec<Row> = merged
            .into_iter()
            .filter(|(_, (_, delays))| delays.switches > 0)
            .map(|((comm, _), (task, delays))| Row {
                comm: comm.to_owned(),
                pid: names.pid(task).unwrap_or(0),
                tasks: delays.merged,
                run: delays.run,
                switches: delays.switches,
                mean: delays.mean(),
                max: delays.max,
                max_start: delays.max_start,
                max_end: delays.max_end,
            })
            .collect();
        let largest_first = |a: &Row, b: &Row| {
            let keys = sort.iter().chain(&Key::ALL);
            keys.map(|key| key.of(b).cmp(&key.of(a))).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        rows.sort_by(largest_first);
        rows
    }
}

/// A row of the table: one task, or all that have the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name.
    pub comm: String,
    /// The pid of the first of them.
    pub pid: u32,
    /// How many there are.
    pub tasks: u32,
    /// CPU time charged.
    pub run: Nanos,
    /// How often a delay ended.
    pub switches: u64,
    /// The mean delay, rounded down.
    pub mean: Nanos,
    /// The longest delay.
    pub max: Nanos,
    /// When that began.
    pub max_start: Instant,
    /// When that ended.
    pub max_end: Instant,
}

/// What rows are sorted by, by perf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The mean delay.
    Avg,
    /// The longest delay.
    Max,
    /// The number of switches.
    Switch,
    /// The time charged.
    Runtime,
}

impl Key {
    /// In the order in which perf uses them.
    pub const ALL: [Self; 4] = [Self::Avg, Self::Max, Self::Switch, Self::Runtime];

    const fn of(self, row: &Row) -> u64 {
        match self {
            Self::Avg => row.mean.0,
            Self::Max => row.max.0,
            Self::Switch => row.switches,
            Self::Runtime => row.run.0,
        }
    }
}
