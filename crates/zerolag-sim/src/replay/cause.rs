// SPDX-License-Identifier: GPL-2.0-only
//! Who woke whom: a task, or an interrupt that happened to find that task running?
//!
//! A recording says where a wake-up began and who ran there. If that CPU was idle it was an interrupt. Else it
//! was one too, or the task itself asked for it; nothing in the recording says which. What tells them apart:
//!
//! | the woken task … | is woken by |
//! |---|---|
//! | is often woken from another CPU than the one it slept on, by tasks | tasks: a timer expires where it was set |
//! | is woken on an idle CPU more than now and then | interrupts: they do not care |
//! | is mostly woken while certain tasks run that do not run that much | those tasks |
//! | sleeps for always the same time, or until a beat | interrupts: timers |
//! | anything else | tasks |
//!
//! One that hardly ever sleeps, such as something that computes, does not wake anybody on its own CPU. Nor does one
//! that runs as often as chance has it when a task that others wake ends a sleep of always the same length: that task
//! also sleeps for a time, and found the other running.

use std::collections::{BTreeMap, BTreeSet};

use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::beat::{self, Rhythm};
use super::call::{self, After};
use super::history::{History, Step, TaskHistory, WakeUp};

/// More wake-ups to a sleep than this are not a task's own.
const WAKES_PER_SLEEP: usize = 16;

/// What ends the sleeps of a task that no other task ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sleeper {
    /// Its wake-ups by a task that runs are taken to be that task's doing.
    by_tasks: bool,
    /// How its other sleeps are spaced.
    pub(super) rhythm: Rhythm,
}

/// What was concluded about wake-ups.
#[derive(Clone, Debug)]
pub(super) struct Causes {
    pub(super) sleepers: Vec<Sleeper>,
    /// Whether each task sleeps often enough to be more than somebody whom interrupts hit.
    sleeps: Vec<bool>,
    /// Tasks, and those whom their timers hit.
    hit: BTreeSet<(TaskId, TaskId)>,
}

impl Causes {
    pub(super) fn of(history: &History) -> Self {
        let slept = |s: &&Step| matches!(s, Step::Slept { from: Some(_), .. });
        let woke = |s: &&Step| matches!(s, Step::Woke(_));
        let sleeps = history
            .tasks
            .iter()
            .map(|t| {
                t.steps.iter().filter(slept).count() * WAKES_PER_SLEEP >= t.steps.iter().filter(woke).count()
            })
            .collect();
        let span = history.last().saturating_since(history.first()).0.max(1);
        let had = |task: &TaskHistory| task.steps.iter().map(|s| s.work().0).sum::<u64>();
        let permille: Vec<u64> = history.tasks.iter().map(|t| had(t) * 1000 / span).collect();
        let mut tallies = vec![Tally::default(); history.tasks.len()];
        for wake in history.wakes.iter().filter(|w| w.ended_sleep) {
            tallies[wake.task.0 as usize].count(wake);
        }
        let suspects = suspects(history, &permille);
        for (&(task, _), &n) in &suspects {
            tallies[task.0 as usize].suspect += n;
        }
        let hit = hit(history, &suspects);
        let mut causes = Self { sleepers: Vec::new(), sleeps, hit };
        for (task, tally) in history.tasks.iter().zip(&tallies) {
            let all = sleeps_of(&task.steps);
            let by_tasks = tally.are_tasks(beat::rhythm(&all));
            causes.sleepers.push(Sleeper { by_tasks, rhythm: Rhythm::default() });
        }
        // With that known, the rhythm is that of the sleeps which no task ends.
        for (n, task) in history.tasks.iter().enumerate() {
            let timed: Vec<Step> = task
                .steps
                .iter()
                .filter(|s| !matches!(s, Step::Slept { wake: Some(w), .. } if causes.is_by_task(&history.wakes[*w])))
                .copied()
                .collect();
            causes.sleepers[n].rhythm = beat::rhythm(&sleeps_of(&timed));
        }
        causes
    }

    /// Whether a task made this wake-up happen.
    pub(super) fn is_by_task(&self, wake: &WakeUp) -> bool {
        let Some(by) = wake.by else { return false };
        if self.hit.contains(&(wake.task, by)) {
            return false;
        }
        let sleeps = self.sleeps[by.0 as usize];
        self.sleepers[wake.task.0 as usize].by_tasks && (sleeps || wake.on != wake.left)
    }
}

/// Tasks with those running who were found running, more often than an interrupt would have hit them, when they were
/// woken; and how often that was.
fn suspects(history: &History, permille: &[u64]) -> BTreeMap<(TaskId, TaskId), u32> {
    let mut pairs: BTreeMap<(TaskId, TaskId), u32> = BTreeMap::new();
    let mut all = vec![0u32; history.tasks.len()];
    for wake in history.wakes.iter().filter(|w| w.ended_sleep) {
        all[wake.task.0 as usize] += 1;
        if let Some(by) = wake.by {
            *pairs.entry((wake.task, by)).or_default() += 1;
        }
    }
    pairs.retain(|&(task, by), &mut n| {
        let by_chance = u64::from(all[task.0 as usize]) * permille[by.0 as usize] / 1000;
        n >= 3 && u64::from(n) > 3 * by_chance + 2
    });
    pairs
}

/// Tasks with those whom timers hit that end their sleeps: on their own CPU only, not more often than chance has it,
/// after always the same time, and without being waited for.
fn hit(history: &History, suspects: &BTreeMap<(TaskId, TaskId), u32>) -> BTreeSet<(TaskId, TaskId)> {
    let mut answers: BTreeMap<(TaskId, TaskId), usize> = BTreeMap::new();
    for (by, task) in (0..).map(TaskId).zip(&history.tasks) {
        for (at, step) in task.steps.iter().enumerate() {
            if let Step::Woke(number) = *step
                && let After::Answered(_) = call::after(history, &|_| true, number, &task.steps[at + 1..])
            {
                *answers.entry((history.wakes[number].task, by)).or_default() += 1;
            }
        }
    }
    let mut hit = BTreeSet::new();
    for task in &history.tasks {
        let mut ended_by: BTreeMap<(TaskId, TaskId), Ended> = BTreeMap::new();
        for step in &task.steps {
            if let Step::Slept { from: Some(from), until: Some(until), wake: Some(number) } = *step
                && let Some(by) = history.wakes[number].by
            {
                let wake = &history.wakes[number];
                let ended = ended_by.entry((wake.task, by)).or_default();
                ended.across |= wake.on != wake.left;
                ended.sleeps.push((from, until));
            }
        }
        let timed = ended_by.into_iter().filter(|(pair, Ended { across, sleeps })| {
            let is_answered = answers.get(pair).is_some_and(|n| 4 * n >= sleeps.len());
            !across && !is_answered && !suspects.contains_key(pair) && beat::rhythm(sleeps) == Rhythm::Lengths
        });
        hit.extend(timed.map(|(pair, _)| pair));
    }
    hit
}

/// The sleeps of one task that another ended.
#[derive(Debug, Default)]
struct Ended {
    /// One of them from another CPU.
    across: bool,
    /// Beginning and end of each.
    sleeps: Vec<(Instant, Instant)>,
}

/// Beginning and end of the sleeps that were seen as a whole.
fn sleeps_of(steps: &[Step]) -> Vec<(Instant, Instant)> {
    let whole = |step: &Step| match *step {
        Step::Slept { from: Some(from), until: Some(until), .. } => Some((from, until)),
        _ => None,
    };
    steps.iter().filter_map(whole).collect()
}

/// How a task was woken, counted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// While a task ran, on another CPU.
    across: u32,
    /// While a task ran, on its own CPU.
    here: u32,
    /// While the CPU was idle.
    idle: u32,
    /// While a task ran that runs too little to have been hit so often.
    suspect: u32,
}

impl Tally {
    fn count(&mut self, wake: &WakeUp) {
        match wake.by {
            None => self.idle += 1,
            Some(_) if wake.on != wake.left => self.across += 1,
            Some(_) => self.here += 1,
        }
    }

    fn are_tasks(self, rhythm: Rhythm) -> bool {
        let Self { across, here, idle, suspect } = self;
        if across >= 2 && across * 5 >= across + here {
            return true;
        }
        // A task that tasks wake is hardly ever woken while the CPU is idle.
        if idle >= 3 && idle * 10 >= here {
            return false;
        }
        if 2 * suspect > here + across {
            return true;
        }
        rhythm == Rhythm::Irregular
    }
}

/// How long a sleep lasts.
pub(super) fn length((from, until): (Instant, Instant)) -> Nanos {
    until.saturating_since(from)
}
