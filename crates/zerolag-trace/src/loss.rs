// SPDX-License-Identifier: GPL-2.0-only
//! What a recording does not say: lines that made no sense, lost and unordered events, chains that do not
//! close. Nothing in a trace stops a reader; everything odd is counted here.
//!
//! Terms: the *chain* of a CPU is the sequence of its switches, each of which names the task before and
//! the task after. In a whole recording "before" is the "after" of the previous switch.

use std::fmt;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use crate::dense::at;

/// For so long nothing happens on no machine that does anything: rather, its clock was set.
const LEAP_MIN: Nanos = Nanos::from_secs(60);

/// A piece of input that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Line number from 1 in a text, byte offset in a binary file.
    pub at: u64,
    /// The piece, shortened, with unprintable bytes replaced.
    pub text: String,
}

/// Counts of what was odd or missing in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossReport {
    /// Where the input was damaged, so that nothing behind it could be read.
    pub cut_short: Option<String>,
    /// Lines or binary records read.
    pub records: u64,
    /// Events given out.
    pub events: u64,
    /// Events of tracepoints that say nothing about scheduling.
    pub other_events: u64,
    /// Lines or records that should have been events and were not understood.
    pub not_understood: u64,
    /// The first few of them.
    pub examples: Vec<Example>,
    /// Events that the recorder says it lost.
    pub lost: u64,
    /// Places where the recorder says that it lost events, but not how many.
    pub lost_unknown: u64,
    /// Events that came late and were put in their place.
    pub reordered: u64,
    /// Places where time steps back and could not be mended.
    pub steps_back: u64,
    /// The largest of these steps.
    pub largest_step_back: Nanos,
    /// Gaps of more than a minute between two events: the clock was set, perhaps.
    pub leaps: u64,
    /// The largest of these gaps.
    pub largest_leap: Nanos,
    /// Switches from a task that is not the one last switched to on that CPU.
    pub broken_chains: u64,
    /// Tasks that ran again after a sleep although no wake-up was seen.
    pub runs_without_wakeup: u64,
    /// Wake-ups of a task that was already awake and had not run since: its switches are missing.
    pub wakeups_without_run: u64,
    /// Pids that came back as another task.
    pub reused_pids: u64,
    /// From the first event to the time when every CPU has shown its first switch: before it, who runs is
    /// partly unknown.
    pub head: Nanos,
    /// From the last switch of the CPU that stops switching first to the last event.
    pub tail: Nanos,
}

impl LossReport {
    /// How many examples are kept.
    const EXAMPLES_MAX: usize = 5;
    /// How many bytes of an example are kept.
    const EXAMPLE_LEN_MAX: usize = 160;

    /// True if nothing was lost, misplaced or not understood. The clipped head and tail do not count: every
    /// recording has them.
    pub fn is_clean(&self) -> bool {
        self.cut_short.is_none()
            && self.not_understood == 0
            && self.lost == 0
            && self.lost_unknown == 0
            && self.steps_back == 0
            && self.leaps == 0
            && self.broken_chains == 0
            && self.runs_without_wakeup == 0
            && self.wakeups_without_run == 0
    }

    pub(crate) fn did_not_understand(&mut self, at: u64, piece: &[u8]) {
        self.not_understood += 1;
        if self.examples.len() < Self::EXAMPLES_MAX {
            let piece = &piece[..piece.len().min(Self::EXAMPLE_LEN_MAX)];
            let text = String::from_utf8_lossy(piece)
                .chars()
                .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
                .collect();
            self.examples.push(Example { at, text });
        }
    }
}

impl fmt::Display for LossReport {
    /// One line for each kind of loss that occurred, nothing for a clean recording.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.cut_short {
            writeln!(f, "the recording ends in the middle: {why}")?;
        }
        let mut line = |n: u64, what: &str| if n > 0 { writeln!(f, "{n} {what}") } else { Ok(()) };
        line(self.lost, "events lost by the recorder")?;
        line(self.lost_unknown, "places where the recorder lost an unknown number of events")?;
        line(self.steps_back, "places where time steps back")?;
        let longest = self.largest_leap.0 / 1_000_000_000;
        let leaps = format!("gaps of more than a minute without an event (the longest: {longest} s)");
        line(self.leaps, &leaps)?;
        line(self.reordered, "events out of order, put in their place")?;
        line(self.broken_chains, "switches from a task that was not known to run there")?;
        line(self.runs_without_wakeup, "tasks ran after a sleep without a wake-up")?;
        line(self.wakeups_without_run, "wake-ups after which the task was not seen to run")?;
        line(self.reused_pids, "pids used again by another task")?;
        line(self.not_understood, "pieces not understood")?;
        for Example { at, text } in &self.examples {
            writeln!(f, "  at {at}: {text}")?;
        }
        Ok(())
    }
}

/// Follows the chains of an ordered stream of events and counts where they break.
#[derive(Clone, Debug, Default)]
pub(crate) struct Continuity {
    first: Option<Instant>,
    last: Instant,
    cpus: Vec<Option<Chain>>,
    tasks: Vec<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    first: Instant,
    last: Instant,
    current: Option<TaskId>,
}

/// What was last seen of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    /// Nothing, or nothing that would make its next event odd.
    #[default]
    Unclear,
    Running,
    Asleep,
    Woken,
}

impl Continuity {
    pub(crate) fn follow(&mut self, event: &SchedEvent, loss: &mut LossReport) {
        let leap = event.time.saturating_since(self.last);
        if self.first.is_some() && leap > LEAP_MIN {
            loss.leaps += 1;
            loss.largest_leap = loss.largest_leap.max(leap);
        }
        self.first.get_or_insert(event.time);
        self.last = event.time;
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                let chain = at(&mut self.cpus, event.cpu);
                let before = chain.replace(Chain {
                    first: chain.map_or(event.time, |c| c.first),
                    last: event.time,
                    current: next,
                });
                if let Some(before) = before.filter(|b| b.current != prev) {
                    loss.broken_chains += 1;
                    self.see(before.current, Seen::Unclear);
                }
                self.see(prev, if prev_state.is_runnable() { Seen::Unclear } else { Seen::Asleep });
                if self.see(next, Seen::Running) == Seen::Asleep {
                    loss.runs_without_wakeup += 1;
                }
            }
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                let seen = at(&mut self.tasks, task);
                match *seen {
                    // It was about to sleep and had not left its CPU yet.
                    Seen::Running => {}
                    Seen::Woken => loss.wakeups_without_run += 1,
                    Seen::Unclear | Seen::Asleep => *seen = Seen::Woken,
                }
            }
            _ => {}
        }
    }

    /// Fills in the clipped head and tail.
    pub(crate) fn close(&self, loss: &mut LossReport) {
        let chains = || self.cpus.iter().flatten();
        if let (Some(first), Some(known)) = (self.first, chains().map(|c| c.first).max()) {
            loss.head = known.saturating_since(first);
        }
        if let Some(until) = chains().map(|c| c.last).min() {
            loss.tail = self.last.saturating_since(until);
        }
    }

    /// Notes what was seen of `task` and returns what was seen before.
    fn see(&mut self, task: Option<TaskId>, now: Seen) -> Seen {
        task.map_or(Seen::Unclear, |task| std::mem::replace(at(&mut self.tasks, task), now))
    }
}
