// SPDX-License-Identifier: GPL-2.0-only
//! A schedule as a drawing in text, for tests, explanations and terminals.
//!
//! [`draw`] has a row per CPU and a letter per bucket of time: the task that ran most in it, `.` if the CPU
//! was idle most. A task whose name is one character is drawn as that character; the others get letters
//! in the order of their ids and a line that says who they are:
//!
//! ```text
//! cpu0 |aaaaaaaaBBBBBBBB|
//! cpu1 |....aaaa........|
//! B = hog
//! ```
//!
//! [`draw_tasks`] has a row per task: `#` running, `-` runnable and waiting, ` ` asleep or not known; again
//! what there was most of in the bucket.

use std::collections::BTreeMap;
use std::fmt::Write;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::tasks::TaskTable;

/// Draws a row per CPU over `from` to `to` in steps of `bucket`.
///
/// Before its first switch a CPU ran the task that this switch names as the previous one; after its last
/// switch it runs on to `to`. Of two that ran equally long in a bucket, idle and then the lower id is drawn.
///
/// # Panics
/// If `bucket` is zero.
pub fn draw<'e>(
    events: impl IntoIterator<Item = &'e SchedEvent>,
    names: &TaskTable,
    from: Instant,
    to: Instant,
    bucket: Nanos,
) -> String {
    let mut rows: BTreeMap<CpuId, Row<Option<TaskId>>> = BTreeMap::new();
    let blank = Row::new(from, to, bucket);
    for event in events {
        if let EventKind::Switch { prev, next, .. } = event.kind {
            let row = rows.entry(event.cpu).or_insert_with(|| blank.clone());
            row.was(prev, event.time);
            row.is(next);
        }
    }
    let columns: BTreeMap<CpuId, Vec<Option<TaskId>>> =
        rows.into_iter().map(|(cpu, row)| (cpu, row.columns())).collect();

    let letters = Letters::new(columns.values().flatten().flatten().copied(), names);
    let mut out = String::new();
    let width = columns.keys().map(|cpu| format!("cpu{cpu}").len()).max().unwrap_or(0);
    for (cpu, row) in &columns {
        let drawn: String = row.iter().map(|task| task.map_or('.', |t| letters.of(t))).collect();
        _ = writeln!(out, "{:<width$} |{drawn}|", format!("cpu{cpu}"));
    }
    out.push_str(&letters.legend);
    out
}

/// Draws a row per task that was seen, over `from` to `to` in steps of `bucket`.
///
/// # Panics
/// If `bucket` is zero.
pub fn draw_tasks<'e>(
    events: impl IntoIterator<Item = &'e SchedEvent>,
    names: &TaskTable,
    from: Instant,
    to: Instant,
    bucket: Nanos,
) -> String {
    let mut rows: BTreeMap<TaskId, Row<Doing>> = BTreeMap::new();
    let blank = Row::new(from, to, bucket);
    for event in events {
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    let row = rows.entry(prev).or_insert_with(|| blank.clone());
                    row.was(Doing::Run, event.time);
                    row.is(if prev_state.is_runnable() { Doing::Wait } else { Doing::Sleep });
                }
                if let Some(next) = next {
                    rows.entry(next).or_insert_with(|| blank.clone()).becomes(Doing::Run, event.time);
                }
            }
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                let row = rows.entry(task).or_insert_with(|| blank.clone());
                if row.now != Some(Doing::Run) {
                    row.becomes(Doing::Wait, event.time);
                }
            }
            _ => {}
        }
    }
    let label = |task| format!("{} {}", names.comm(task), names.pid(task).map_or(-1, i64::from));
    let width = rows.keys().map(|&task| label(task).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (task, row) in rows {
        let drawn: String = row.columns().into_iter().map(Doing::letter).collect();
        _ = writeln!(out, "{:<width$} |{drawn}|", label(task));
    }
    out
}

/// What a task does, in the order in which a tie is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    #[default]
    Sleep,
    Wait,
    Run,
}

impl Doing {
    const fn letter(self) -> char {
        match self {
            Self::Sleep => ' ',
            Self::Wait => '-',
            Self::Run => '#',
        }
    }
}

/// What goes on in one row, as time spent on each thing in each bucket.
#[derive(Clone)]
struct Row<T> {
    from: Instant,
    to: Instant,
    bucket: Nanos,
    /// What goes on since `since`; not known before the first event.
    now: Option<T>,
    since: Instant,
    spent: Vec<BTreeMap<T, u64>>,
}

impl<T: Copy + Default + Ord> Row<T> {
    fn new(from: Instant, to: Instant, bucket: Nanos) -> Self {
        assert_ne!(bucket, Nanos::ZERO, "a bucket of no length holds nothing");
        let buckets = to.saturating_since(from).0.div_ceil(bucket.0) as usize;
        Self { from, to, bucket, now: None, since: from, spent: vec![BTreeMap::new(); buckets] }
    }

    /// Up to `time` it was `what`, whatever was believed.
    fn was(&mut self, what: T, time: Instant) {
        self.now = Some(what);
        self.close(time);
    }

    fn is(&mut self, what: T) {
        self.now = Some(what);
    }

    /// What goes on changes at `time`.
    fn becomes(&mut self, what: T, time: Instant) {
        self.close(time);
        self.now = Some(what);
    }

    /// Books what went on since the last event.
    fn close(&mut self, time: Instant) {
        let (mut at, end) = (self.since.max(self.from), time.min(self.to));
        self.since = time;
        let Some(what) = self.now else { return };
        while at < end {
            let index = (at - self.from).0 / self.bucket.0;
            let until = end.min(self.from + Nanos((index + 1) * self.bucket.0));
            *self.spent[index as usize].entry(what).or_default() += (until - at).0;
            at = until;
        }
    }

    /// What there was most of in each bucket; the first of equals.
    fn columns(mut self) -> Vec<T> {
        self.close(self.to);
        let most = |spent: &BTreeMap<T, u64>| {
            spent.iter().rev().max_by_key(|&(_, time)| *time).map(|(what, _)| *what).unwrap_or_default()
        };
        self.spent.iter().map(most).collect()
    }
}

/// Which letter stands for which task.
struct Letters {
    of: BTreeMap<TaskId, char>,
    legend: String,
}

impl Letters {
    fn new(tasks: impl Iterator<Item = TaskId>, names: &TaskTable) -> Self {
        let mut of: BTreeMap<TaskId, char> = tasks.map(|task| (task, '?')).collect();
        let mut taken = vec!['.'];
        for (&task, letter) in &mut of {
            let mut name = names.comm(task).chars();
            if let (Some(only), None) = (name.next(), name.next())
                && only.is_ascii_graphic()
                && !taken.contains(&only)
            {
                *letter = only;
                taken.push(only);
            }
        }
        let mut free = ('A'..='Z').chain('a'..='z').chain('0'..='9').filter(|c| !taken.contains(c));
        let mut legend = String::new();
        for (&task, letter) in of.iter_mut().filter(|(_, letter)| **letter == '?') {
            if let Some(next) = free.next() {
                *letter = next;
                _ = writeln!(legend, "{next} = {}", names.comm(task));
            }
        }
        Self { of, legend }
    }

    fn of(&self, task: TaskId) -> char {
        self.of.get(&task).copied().unwrap_or('?')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use zerolag_core::event::PrevState::{self, Runnable, Sleeping};

    fn switch(time: u64, cpu: u32, prev: i32, prev_state: PrevState, next: i32) -> SchedEvent {
        let task = |n| u32::try_from(n).ok().map(TaskId);
        let kind = EventKind::Switch { prev: task(prev), prev_state, next: task(next) };
        SchedEvent { time: Instant(time), cpu: CpuId(cpu), kind }
    }

    fn wakeup(time: u64, task: u32) -> SchedEvent {
        let kind = EventKind::Wakeup { task: TaskId(task), target: CpuId(0) };
        SchedEvent { time: Instant(time), cpu: CpuId(0), kind }
    }

    /// A hog is preempted by `b`, which sleeps, while a third task has the other CPU for a while.
    fn schedule() -> (Vec<SchedEvent>, TaskTable) {
        let events = vec![
            switch(20, 0, -1, Runnable, 0),
            wakeup(35, 1),
            switch(50, 0, 0, Runnable, 1),
            switch(54, 1, 2, Sleeping, -1),
            switch(100, 0, 1, Sleeping, 0),
        ];
        (events, TaskTable::from_iter([(10, "hog"), (11, "b"), (12, "third")]))
    }

    fn check(drawing: String, want: Expect) {
        want.assert_eq(&drawing);
    }

    #[test]
    fn cpus_as_rows() {
        let (events, names) = schedule();
        check(
            draw(&events, &names, Instant(0), Instant(160), Nanos(10)),
            expect![[r#"
                cpu0 |..AAAbbbbbAAAAAA|
                cpu1 |BBBBB...........|
                A = hog
                B = third
            "#]],
        );
    }

    #[test]
    fn tasks_as_rows() {
        let (events, names) = schedule();
        check(
            draw_tasks(&events, &names, Instant(0), Instant(160), Nanos(10)),
            expect![[r#"
                hog 10   |  ###-----######|
                b 11     |   --#####      |
                third 12 |#####           |
            "#]],
        );
    }

    #[test]
    fn a_part_of_a_schedule_shows_what_runs_on_from_before() {
        let (events, names) = schedule();
        check(
            draw(&events, &names, Instant(60), Instant(115), Nanos(10)),
            expect![[r#"
                cpu0 |bbbbAA|
                cpu1 |......|
                A = hog
            "#]],
        );
        assert_eq!(draw(&[], &names, Instant(0), Instant(10), Nanos(1)), "");
    }
}
