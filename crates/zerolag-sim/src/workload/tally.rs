// SPDX-License-Identifier: GPL-2.0-only
//! Counting what tasks have done, for benchmarks that go on for a given time and print a rate.

use std::collections::BTreeSet;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use crate::note::{Note, NoteKind};

/// Counts of several kinds, by marks: number `first + kind` stands for one done.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    first: u32,
    start: Instant,
    done: Vec<u64>,
    /// Tasks that have done something, by kind, and their CPU time.
    tasks: BTreeSet<(TaskId, u32)>,
    cpu: Vec<Nanos>,
}

impl Tally {
    pub(super) fn new(first: u32, kinds: usize, start: Instant) -> Self {
        let (done, cpu) = (vec![0; kinds], vec![Nanos::ZERO; kinds]);
        Self { first, start, done, tasks: BTreeSet::new(), cpu }
    }

    pub(super) fn note(&mut self, note: &Note) {
        let NoteKind::Mark(mark) = note.kind else { return };
        let Some(kind) = mark.checked_sub(self.first).filter(|&kind| (kind as usize) < self.done.len())
        else {
            return;
        };
        self.done[kind as usize] += 1;
        self.tasks.insert((note.task, kind));
    }

    /// Adds up CPU time, of tasks that have done something.
    pub(super) fn event(&mut self, event: &SchedEvent) {
        if let EventKind::Runtime { task, ran } = event.kind
            && let Some(&(_, kind)) = self.tasks.range((task, 0)..=(task, u32::MAX)).next()
        {
            self.cpu[kind as usize] += ran;
        }
    }

    pub(super) fn done(&self, kind: usize) -> u64 {
        self.done[kind]
    }

    pub(super) fn cpu_s(&self, kind: usize) -> f64 {
        self.cpu[kind].0 as f64 / 1e9
    }

    /// Seconds until now.
    pub(super) fn seconds(&self, now: Instant) -> f64 {
        now.saturating_since(self.start).0 as f64 / 1e9
    }

    /// How many a second.
    pub(super) fn rate(&self, kind: usize, now: Instant) -> f64 {
        let seconds = self.seconds(now);
        if seconds > 0.0 { self.done[kind] as f64 / seconds } else { 0.0 }
    }
}
