// SPDX-License-Identifier: GPL-2.0-only
//! How long tasks waited for a CPU after they became runnable: `perf sched latency`.
//!
//! A task is asleep, waiting or running. It begins to wait when it is woken, or when it is switched out
//! runnable; its delay ends with the next switch in. A wake-up of a task that is not asleep changes
//! nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::Seconds;
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
    pub fn new(perf: Perf) -> Self {
        Self { perf, ..Self::default() }
    }

    /// Takes the next event in.
    pub fn feed(&mut self, event: &SchedEvent) {
        let now = event.time;
        let waits = State::Waiting { since: now };
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                let current = at(&mut self.current, event.cpu);
                self.broken_chains += u64::from(current.is_some_and(|c| c != prev));
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
                    self.timed_wakeups += 1;
                }
            }
            EventKind::Runtime { task, ran } => self.task(task, waits).run += ran,
            _ => {}
        }
    }

    /// The delays of `task`, which is in state `first` if it was never heard of.
    fn task(&mut self, task: TaskId, first: State) -> &mut Delays {
        at(&mut self.tasks, task).get_or_insert(Delays::new(first))
    }

    /// Writes the table: a row per name, or per task if `by_pid`; the longest mean delay first.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, names: &TaskTable, by_pid: bool, out: &mut impl fmt::Write) -> fmt::Result {
        let rule = |n| "-".repeat(n);
        writeln!(out, "\n {}", rule(139))?;
        writeln!(
            out,
            "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | Max delay \
             start           | Max delay end          |"
        )?;
        writeln!(out, " {}", rule(139))?;
        let (mut run, mut switches) = (Nanos::ZERO, 0);
        for (name, row) in self.rows(names, by_pid) {
            run += row.run;
            switches += row.switches;
            let ms = |n: Nanos| n.0 as f64 / 1e6;
            writeln!(
                out,
                "  {name:<22}|{:11.3} ms |{:9} | avg:{:8.3} ms | max:{:8.3} ms | max start: {:>12} s | max end: \
                 {:>12} s",
                ms(row.run),
                row.switches,
                ms(row.mean()),
                ms(row.max),
                Seconds(row.max_start),
                Seconds(row.max_end),
            )?;
        }
        writeln!(out, " {}", rule(113))?;
        writeln!(out, "  TOTAL:                |{:11.3} ms |{switches:9} |", run.0 as f64 / 1e6)?;
        writeln!(out, " {}", rule(51))?;
        if self.broken_chains > 0 && self.timed_wakeups > 0 {
            let (bad, of) = (self.broken_chains, self.timed_wakeups);
            let percent = bad as f64 / of as f64 * 100.0;
            writeln!(out, "  INFO: {percent:.3}% context switch bugs ({bad} out of {of})")?;
        }
        writeln!(out)
    }

    /// Names with their delays in the order of the table.
    fn rows(&self, names: &TaskTable, by_pid: bool) -> Vec<(String, Delays)> {
        let mut merged: BTreeMap<(&str, Option<TaskId>), (TaskId, Delays)> = BTreeMap::new();
        for (task, delays) in (0..).map(TaskId).zip(&self.tasks) {
            let Some(delays) = delays else { continue };
            merged
                .entry((names.comm(task), by_pid.then_some(task)))
                .and_modify(|(_, sum)| sum.merge(delays))
                .or_insert((task, *delays));
        }
        let mut rows: Vec<(String, Delays)> = merged
            .into_iter()
            .filter(|(_, (_, delays))| delays.switches > 0)
            .map(|((comm, _), (task, delays))| {
                let pid = names.pid(task).unwrap_or(0);
                let count = delays.merged;
                (if count > 1 { format!("{comm}:({count}) ") } else { format!("{comm}:{pid} ") }, delays)
            })
            .collect();
        rows.sort_by_key(|(_, d)| Reverse((d.mean(), d.max, d.switches, d.run)));
        rows
    }
}
