// SPDX-License-Identifier: GPL-2.0-only
//! Who waits for an answer: a task that wakes another and goes on when that has done its work.
//!
//! ```text
//!                   slept:                          found its answer:
//! caller  ▇▇▇wakes────────woken▇▇▇▇▇       caller  ▇▇▇wakes┄┄┄┄┄┄┄▇▇▇▇▇▇▇
//! callee      └▇▇▇▇▇▇▇▇▇wakes────────      callee       └▇▇▇▇▇▇▇▇▇────────
//! ```
//!
//! On its way into a sleep the caller may be preempted by the very task that it has woken, and then find its
//! answer there: it never sleeps, and nothing in the recording says that it would have. Replayed without it, the
//! caller would run ahead whenever the callee does not preempt it at once. So if some of a task's wake-ups of
//! another were followed by a sleep that the other ended, and nearly all the rest by being preempted by it, all of
//! them are calls. A caller waits after a call for the next answer of the callee, which gives as many as it is
//! called; who called first is answered first, as it would be on a machine on which they come in another order.
//!
//! Nobody wakes a callee that is awake: a caller that then falls asleep, and is woken by the callee, has called without a
//! wake-up. The callee takes that call as well before it goes on, or it would owe somebody an answer until the next
//! call. Whom it owes one already it answers first.

use std::collections::BTreeMap;

use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

use super::cause::Causes;
use super::history::{History, Step, WakeNumber, WakeUp};

/// Who computes for longer after a wake-up does something else than wait for an answer.
pub(super) const PREPARES_MAX: Nanos = Nanos::from_micros(120);
/// Fewer sleeps that were ended by the one who had been woken may be chance.
const SLEEPS_MIN: u32 = 3;

/// What a wake-up means between the one who wakes and the one who is woken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// No more than that.
    #[default]
    Plain,
    /// A call, whose answer ends a recorded sleep.
    Call,
    /// A call, whose answer the caller found there.
    CallWithoutSleep,
    /// The answer to a call.
    Answer,
    /// The answer to a call for which the callee did not have to be woken.
    AnswerWithoutWake,
}

/// The roles of all wake-ups.
#[derive(Clone, Debug)]
pub(super) struct Calls(Vec<Role>);

/// What came after a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// A sleep that the woken task ended, by this wake-up.
    Answered(WakeNumber),
    /// The woken task had the CPU.
    HandedOver,
    /// Another task had the CPU, or the recording ended: it does not tell.
    Unclear,
    /// Something else.
    Other,
}

impl Calls {
    pub(super) fn of(history: &History, causes: &Causes) -> Self {
        let mut afters: Vec<(WakeNumber, TaskId, After)> = Vec::new();
        for (index, task) in history.tasks.iter().enumerate() {
            let caller = TaskId::from_index(index);
            for (at, step) in task.steps.iter().enumerate() {
                if let Step::Woke(number) = *step
                    && history.wakes[number].ended_sleep
                    && causes.is_by_task(&history.wakes[number])
                {
                    let after =
                        after(history, &|wake| causes.is_by_task(wake), number, &task.steps[at + 1..]);
                    afters.push((number, caller, after));
                }
            }
        }
        let mut pairs: BTreeMap<(TaskId, TaskId), Tally> = BTreeMap::new();
        for &(number, caller, after) in &afters {
            pairs.entry((caller, history.wakes[number].task)).or_default().count(after);
        }
        let mut roles = vec![Role::Plain; history.wakes.len()];
        // In the order of time: between two who call each other, the answer to a call is no call.
        afters.sort_unstable_by_key(|&(number, _, _)| number);
        for (number, caller, after) in afters {
            if roles[number] == Role::Answer || !pairs[&(caller, history.wakes[number].task)].calls() {
                continue;
            }
            roles[number] = Role::CallWithoutSleep;
            if let After::Answered(answer) = after {
                roles[number] = Role::Call;
                roles[answer] = Role::Answer;
            }
        }
        let mut sleeps: BTreeMap<TaskId, Sleeps> = BTreeMap::new();
        for (index, task) in history.tasks.iter().enumerate() {
            let caller = TaskId::from_index(index);
            for step in &task.steps {
                if let Step::Slept { from: Some(from), wake: Some(answer), .. } = *step
                    && roles[answer] == Role::Plain
                    && causes.is_by_task(&history.wakes[answer])
                    && let Some(callee) = history.wakes[answer].by
                    && pairs.get(&(caller, callee)).is_some_and(|tally| tally.calls())
                    && !sleeps
                        .entry(callee)
                        .or_insert_with(|| Sleeps::of(&history.tasks[callee.index()].steps))
                        .contain(from)
                {
                    roles[answer] = Role::AnswerWithoutWake;
                }
            }
        }
        Self(roles)
    }

    pub(super) fn role(&self, number: WakeNumber) -> Role {
        self.0[number]
    }
}

/// What the waker did after a wake-up, whose next steps are these.
pub(super) fn after(
    history: &History,
    is_by_task: &dyn Fn(&WakeUp) -> bool,
    number: WakeNumber,
    steps: &[Step],
) -> After {
    let callee = history.wakes[number].task;
    let is_by_task = |wake: WakeNumber| is_by_task(&history.wakes[wake]);
    let mut ran = Nanos::ZERO;
    for step in steps {
        match *step {
            Step::Ran { work, .. } => ran += work,
            Step::Slept { wake: Some(wake), .. } if ran <= PREPARES_MAX => {
                if history.wakes[wake].by == Some(callee) && is_by_task(wake) {
                    return After::Answered(wake);
                }
                break;
            }
            Step::Slept { until: None, .. } => return After::Unclear,
            Step::Woke(wake) if !is_by_task(wake) || !history.wakes[wake].ended_sleep => {}
            Step::Slept { .. } | Step::Woke(_) | Step::Forked(_) | Step::Exited => break,
        }
        if ran > PREPARES_MAX {
            break;
        }
    }
    match &history.wakes[number] {
        wake if wake.handed_over => After::HandedOver,
        wake if wake.lost_cpu => After::Unclear,
        _ => After::Other,
    }
}

/// When a task slept, in the order of time.
#[derive(Clone, Debug)]
struct Sleeps(Vec<(Instant, Instant)>);

impl Sleeps {
    fn of(steps: &[Step]) -> Self {
        let span = |step: &Step| match *step {
            Step::Slept { from, until, .. } => {
                Some((from.unwrap_or(Instant::ZERO), until.unwrap_or(Instant::MAX)))
            }
            _ => None,
        };
        Self(steps.iter().filter_map(span).collect())
    }

    fn contain(&self, at: Instant) -> bool {
        let later = self.0.partition_point(|&(from, _)| from <= at);
        later > 0 && at < self.0[later - 1].1
    }
}

/// What came after the wake-ups of one task by another, counted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    answered: u32,
    handed_over: u32,
    other: u32,
}

impl Tally {
    fn count(&mut self, after: After) {
        match after {
            After::Answered(_) => self.answered += 1,
            After::HandedOver => self.handed_over += 1,
            After::Unclear => {}
            After::Other => self.other += 1,
        }
    }

    /// Whether these were calls: now and then an interrupt's work comes in between.
    const fn calls(self) -> bool {
        self.answered >= SLEEPS_MIN && self.other * 5 <= self.answered + self.handed_over
    }
}
