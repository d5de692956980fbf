// SPDX-License-Identifier: GPL-2.0-only
//! Who ran when on each CPU, in as much detail as there is room for.
//!
//! ```text
//! exact:    A A A A A A B A B A B A C C C C C C
//!           └── 6 ────┘ 1 1 1 1 1 1 └── 6 ────┘
//! grain 4:  └── A ────┘ └ A, 4 ┘└ B ┘└── C ──┘      what is shorter than the grain is put together
//! ```
//!
//! A segment at least as long as the grain keeps its exact ends. Shorter ones are put together until they are
//! long enough; such a mixed segment says who ran most in it, for how much of it at least, and how many runs
//! it stands for. If there are too many segments, the grain doubles.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

/// A time on a CPU; nobody is the idle task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) len: Nanos,
    /// Who ran most.
    pub(crate) task: Option<TaskId>,
    /// For how long at least: what is put together twice forgets who ran less.
    pub(crate) ran: Nanos,
    /// How many runs it stands for.
    pub(crate) runs: u64,
}

/// The segments of all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) cpus: Vec<Row>,
    pub(crate) grain: Nanos,
    /// How many segments may be kept.
    room: usize,
    kept: usize,
}

/// The segments of one CPU, without gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// The begin of the first.
    pub(crate) from: Instant,
    pub(crate) segments: Vec<Segment>,
    /// Who runs since when; not known before the first switch.
    current: Option<(Option<TaskId>, Instant)>,
    mix: Mix,
}

/// Short segments that are being put together.
#[derive(Clone, Debug, Default)]
struct Mix {
    len: Nanos,
    ran: BTreeMap<Option<TaskId>, Nanos>,
    runs: u64,
}

impl Mix {
    fn add(&mut self, segment: Segment) {
        self.len += segment.len;
        self.runs += segment.runs;
        *self.ran.entry(segment.task).or_default() += segment.ran;
    }

    /// The one segment for all, if there are any.
    fn take(&mut self) -> Option<Segment> {
        let Self { len, ran, runs } = std::mem::take(self);
        // Of equals the first by id.
        let (task, ran) = ran.into_iter().rev().max_by_key(|&(_, ran)| ran)?;
        Some(Segment { len, task, ran, runs })
    }
}

impl Row {
    fn push(&mut self, segment: Segment, grain: Nanos) {
        if segment.len >= grain {
            let mixed = self.mix.take();
            self.segments.extend(mixed);
            self.segments.push(segment);
        } else {
            self.mix.add(segment);
            if self.mix.len >= grain {
                let mixed = self.mix.take();
                self.segments.extend(mixed);
            }
        }
    }

    fn coarsen(&mut self, grain: Nanos) {
        let mix = std::mem::take(&mut self.mix);
        let old = std::mem::take(&mut self.segments);
        for segment in old {
            self.push(segment, grain);
        }
        self.mix.len += mix.len;
        for (task, ran) in mix.ran {
            *self.mix.ran.entry(task).or_default() += ran;
        }
        self.mix.runs += mix.runs;
    }
}

impl Timeline {
    /// Nothing yet; at most about so many segments are kept.
    pub(crate) const fn new(room: usize) -> Self {
        Self { cpus: Vec::new(), grain: Nanos(1), room, kept: 0 }
    }

    /// Takes the next event in.
    pub(crate) fn feed(&mut self, event: &SchedEvent) {
        let EventKind::Switch { prev, next, .. } = event.kind else { return };
        let index = event.cpu.index();
        if index >= self.cpus.len() {
            self.cpus.resize(index + 1, Row::default());
        }
        self.close(event.cpu, prev, event.time);
        self.cpus[index].current = Some((next, event.time));
        if self.kept > self.room {
            self.grain = Nanos(self.grain.0 * 2);
            for row in &mut self.cpus {
                row.coarsen(self.grain);
            }
            self.kept = self.cpus.iter().map(|row| row.segments.len()).sum();
        }
    }

    /// What ran on `cpu` ran until `now`.
    fn close(&mut self, cpu: CpuId, who: Option<TaskId>, now: Instant) {
        let grain = self.grain;
        let row = &mut self.cpus[cpu.index()];
        let Some((_, since)) = row.current else {
            row.from = now;
            return;
        };
        let len = now.saturating_since(since);
        if len > Nanos::ZERO {
            let before = row.segments.len();
            row.push(Segment { len, task: who, ran: len, runs: 1 }, grain);
            self.kept += row.segments.len() - before;
        }
    }

    /// Who runs, runs until `end`.
    pub(crate) fn finish(&mut self, end: Instant) {
        for index in 0..self.cpus.len() {
            let cpu = CpuId(index as u32);
            if let Some((who, _)) = self.cpus[index].current {
                self.close(cpu, who, end);
            }
            let row = &mut self.cpus[index];
            let mixed = row.mix.take();
            row.segments.extend(mixed);
        }
    }

    /// One row, packed: for each segment its length in nanoseconds, its task (`name` makes a number of it,
    /// from 1; 0 is idle) and the runs it stands for, less one; if that is not 0, also the permille that the
    /// task ran. Numbers are written seven bits to a byte, the lowest first.
    pub(crate) fn pack(row: &Row, name: impl Fn(TaskId) -> u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |mut number: u64| {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        };
        for segment in &row.segments {
            put(segment.len.0);
            put(segment.task.map_or(0, &name));
            let more = segment.runs.saturating_sub(1);
            put(more);
            if more > 0 {
                put(segment.ran.0.saturating_mul(1000) / segment.len.0.max(1));
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::event::PrevState;

    fn switches(times: &[(u64, Option<u32>)]) -> Timeline {
        let mut timeline = Timeline::new(usize::MAX);
        feed(&mut timeline, times);
        timeline
    }

    fn feed(timeline: &mut Timeline, times: &[(u64, Option<u32>)]) {
        let mut prev = None;
        for &(time, next) in times {
            let next = next.map(TaskId);
            let kind = EventKind::Switch { prev, prev_state: PrevState::Runnable, next };
            timeline.feed(&SchedEvent { time: Instant(time), cpu: CpuId(0), kind });
            prev = next;
        }
    }

    #[test]
    fn with_room_everything_is_exact() {
        let mut timeline = switches(&[(10, Some(0)), (30, None), (35, Some(1))]);
        timeline.finish(Instant(50));
        let lens: Vec<_> = timeline.cpus[0].segments.iter().map(|s| (s.len.0, s.task, s.runs)).collect();
        assert_eq!(lens, [(20, Some(TaskId(0)), 1), (5, None, 1), (15, Some(TaskId(1)), 1)]);
        assert_eq!(timeline.cpus[0].from, Instant(10));
    }

    #[test]
    fn without_room_the_sum_of_lengths_and_of_runs_stays() {
        let times: Vec<_> = (0..10_000).map(|n| (n * 7 + n * n % 5, Some((n % 3) as u32))).collect();
        let mut timeline = Timeline::new(100);
        feed(&mut timeline, &times);
        timeline.finish(Instant(80_000));
        let segments = &timeline.cpus[0].segments;
        assert!(segments.len() <= 102, "{}", segments.len());
        assert_eq!(segments.iter().map(|s| s.len.0).sum::<u64>(), 80_000);
        assert_eq!(segments.iter().map(|s| s.runs).sum::<u64>(), 10_000);
        assert!(segments.iter().all(|s| s.ran <= s.len && s.ran > Nanos::ZERO));
    }

    #[test]
    fn a_long_segment_keeps_its_ends() {
        let mut times: Vec<_> = (0..500).map(|n| (n * 2, Some((n % 2) as u32))).collect();
        times.push((1000, Some(7)));
        times.extend((0..500).map(|n| (500_000 + n * 2, Some((n % 2) as u32))));
        let mut timeline = Timeline::new(50);
        feed(&mut timeline, &times);
        timeline.finish(Instant(501_000));
        let mut at = 0;
        let long = timeline.cpus[0].segments.iter().find_map(|s| {
            at += s.len.0;
            (s.task == Some(TaskId(7))).then_some((at - s.len.0, at))
        });
        assert_eq!(long, Some((1000, 500_000)));
    }
}
