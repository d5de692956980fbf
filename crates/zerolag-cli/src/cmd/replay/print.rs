// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as tables.

use std::io::{self, Write};

use zerolag_study::replay::{Comparison, Figures, Task};

use crate::report::text::{ms, us};
use crate::table;

/// Nobody reads more than so many tasks; those with the most CPU time are shown.
const TASKS_MAX: usize = 40;

const COLUMNS: [&str; 12] = [
    "TASK",
    ">PID",
    "GROUP",
    "",
    ">SHARE",
    ">SWITCHES",
    ">PREEMPTED",
    ">WAKEUPS",
    ">P50_US",
    ">P90_US",
    ">P99_US",
    ">MAX_US",
];

/// A comparison to be printed.
pub(super) struct Text<'c>(pub(super) &'c Comparison);

impl Text<'_> {
    /// Prints it.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{}: {} ms, {} events, replayed by Linux {} on {} CPU{}",
            self.0.input,
            ms(self.0.duration),
            self.0.events,
            self.0.kernel,
            self.0.cpus,
            if self.0.cpus == 1 { "" } else { "s" },
        )?;
        writeln!(out)?;
        let mut shown: Vec<&Task> = self.0.tasks.iter().collect();
        shown.sort_by_key(|t| std::cmp::Reverse(t.measured.run.max(t.simulated.run)));
        let left_out = shown.len().saturating_sub(TASKS_MAX);
        shown.truncate(TASKS_MAX);
        if self.is_what_if() {
            self.write_what_if(out, &shown)?;
        } else {
            let rows = shown.iter().flat_map(|task| {
                let names = [task.comm.clone(), task.pid.to_string(), task.group.clone(), "measured".into()];
                let again = [String::new(), String::new(), String::new(), "simulated".into()];
                [cells(names, &task.measured), cells(again, &task.simulated)]
            });
            table::write(out, &COLUMNS, rows)?;
        }
        if left_out > 0 {
            writeln!(out, "and {left_out} tasks that ran less; --json has them all")?;
        }
        writeln!(out)?;
        if self.repetitions() > 0 {
            self.write_repetitions(out, &shown)?;
            writeln!(out)?;
        }
        writeln!(out, "{}", self.0.verdict())
    }

    /// How often it was replayed, if several times.
    fn repetitions(&self) -> usize {
        self.0.tasks.iter().map(|t| t.simulated.repeated.len()).max().unwrap_or(0)
    }

    /// Between which shares the repetitions came out.
    fn write_repetitions(&self, out: &mut dyn Write, shown: &[&Task]) -> io::Result<()> {
        writeln!(out, "Share of one CPU in {} replays", self.repetitions())?;
        let columns = ["TASK", ">PID", "GROUP", "", ">MEASURED", ">LEAST", ">MIDDLE", ">MOST"];
        let rows = shown.iter().flat_map(|task| {
            let asked = task.as_recorded.is_some().then_some(("as asked", &task.simulated));
            let first = std::iter::once(("as recorded", task.baseline())).chain(asked);
            let changes = self.0.changes.iter().map(String::as_str).zip(&task.what_if);
            let percent = |share: f64| format!("{:.2}%", 100.0 * share);
            first.chain(changes).enumerate().filter_map(move |(n, (what, figures))| {
                let [least, middle, most] = figures.range()?.map(percent);
                let first = |text: String| if n == 0 { text } else { String::new() };
                let names = [task.comm.clone(), task.pid.to_string(), task.group.clone()].map(first);
                let measured = first(percent(task.measured.share));
                let shares = [what.to_owned(), measured, least, middle, most];
                Some(names.into_iter().chain(shares).collect())
            })
        });
        table::write(out, &columns, rows)
    }

    fn is_what_if(&self) -> bool {
        !self.0.changes.is_empty() || self.0.tasks.iter().any(|t| t.as_recorded.is_some())
    }

    /// A column for each replay, a table for each figure.
    fn write_what_if(&self, out: &mut dyn Write, shown: &[&Task]) -> io::Result<()> {
        let changed_as_a_whole = shown.iter().any(|t| t.as_recorded.is_some());
        let mut columns = vec!["TASK".to_owned(), ">PID".into(), "GROUP".into(), ">MEASURED".into()];
        columns.push(">AS RECORDED".into());
        columns.extend(changed_as_a_whole.then(|| ">AS ASKED".to_owned()));
        columns.extend(self.0.changes.iter().map(|c| format!(">{c}")));
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let all = |task: &Task| -> Vec<Figures> {
            let asked = changed_as_a_whole.then(|| task.simulated.clone());
            let first = [task.measured.clone(), task.baseline().clone()];
            first.into_iter().chain(asked).chain(task.what_if.iter().cloned()).collect()
        };
        let share = |f: &Figures| format!("{:.2}%", 100.0 * f.share);
        let p99 = |f: &Figures| f.wakeup.quantile(0.99).map_or_else(|| "-".to_owned(), us);
        let rows = |of: &dyn Fn(&Figures) -> String, tasks: &[&Task]| -> Vec<Vec<String>> {
            let row = |task: &&Task| {
                let names = [task.comm.clone(), task.pid.to_string(), task.group.clone()];
                names.into_iter().chain(all(task).iter().map(of)).collect()
            };
            tasks.iter().map(row).collect()
        };
        writeln!(out, "Share of one CPU")?;
        table::write(out, &columns, rows(&share, shown))?;
        writeln!(out)?;
        writeln!(out, "Switches")?;
        table::write(out, &columns, rows(&|f| f.switches.to_string(), shown))?;
        writeln!(out)?;
        writeln!(out, "From wake-up to running, 99th percentile in microseconds")?;
        let woken: Vec<&Task> =
            shown.iter().copied().filter(|t| all(t).iter().any(|f| !f.wakeup.is_empty())).collect();
        table::write(out, &columns, rows(&p99, &woken))
    }
}

fn cells(names: [String; 4], f: &Figures) -> Vec<String> {
    let latencies = match f.wakeup.percentiles() {
        None => ["0", "-", "-", "-", "-"].map(String::from),
        Some(p) => [p.n.to_string(), us(p.p50), us(p.p90), us(p.p99), us(p.max)],
    };
    let counts = [format!("{:.2}%", 100.0 * f.share), f.switches.to_string(), f.preempted.to_string()];
    names.into_iter().chain(counts).chain(latencies).collect()
}
