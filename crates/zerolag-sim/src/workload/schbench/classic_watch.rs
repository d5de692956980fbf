// SPDX-License-Identifier: GPL-2.0-only
//! What the first generation measures and prints.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use zerolag_core::ids::TaskId;
use zerolag_core::units::Instant;

use super::classic::Classic;
use super::histogram::Histogram;
use super::micros;
use crate::note::{Note, NoteKind};
use crate::workload::Workload;
use crate::workload::model::{Metric, Outcome, Watch};

/// The percentiles printed, the fifth of which gets a star.
const LIST: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];
const STAR: usize = 4;
const P95: usize = 3;

/// Numbers of marks: three kinds, then two for each worker that serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    base: u32,
    workers: u32,
}

/// What a mark means.
enum Meaning {
    Blocks,
    Runs,
    Done,
    Hello(u32),
    Request(u32),
}

impl Marks {
    pub(super) fn take(workload: &mut Workload, workers: u32) -> Self {
        let base = workload.marks;
        workload.marks += 3 + 2 * workers;
        Self { base, workers }
    }

    /// A worker is about to wait.
    pub(super) const fn blocks(self) -> u32 {
        self.base
    }

    /// A worker runs again.
    pub(super) const fn runs(self) -> u32 {
        self.base + 1
    }

    /// A worker has served a request.
    pub(super) const fn done(self) -> u32 {
        self.base + 2
    }

    /// The task is this worker.
    pub(super) const fn hello(self, worker: u32) -> u32 {
        self.base + 3 + 2 * worker
    }

    /// This worker gets a request.
    pub(super) const fn request(self, worker: u32) -> u32 {
        self.hello(worker) + 1
    }

    fn meaning(self, mark: u32) -> Option<Meaning> {
        match mark.checked_sub(self.base)? {
            0 => Some(Meaning::Blocks),
            1 => Some(Meaning::Runs),
            2 => Some(Meaning::Done),
            n if n >= 3 + 2 * self.workers => None,
            n if (n - 3).is_multiple_of(2) => Some(Meaning::Hello((n - 3) / 2)),
            n => Some(Meaning::Request((n - 3) / 2)),
        }
    }
}

/// Watches a run of the first generation.
#[derive(Clone, Debug)]
pub(super) struct ClassicWatch {
    options: Classic,
    marks: Marks,
    start: Instant,
    /// When each waiting worker was woken, or since when it waits.
    wake_times: BTreeMap<TaskId, Instant>,
    workers: BTreeMap<TaskId, u32>,
    /// When the requests of each worker that are not served were made.
    requests: BTreeMap<u32, VecDeque<Instant>>,
    latencies: Histogram,
    over_1ms: u64,
    served: u64,
}

impl ClassicWatch {
    pub(super) fn new(options: Classic, marks: Marks, start: Instant) -> Self {
        Self {
            options,
            marks,
            start,
            wake_times: BTreeMap::new(),
            workers: BTreeMap::new(),
            requests: BTreeMap::new(),
            latencies: Histogram::new(false),
            over_1ms: 0,
            served: 0,
        }
    }

    fn runs(&mut self, note: &Note) {
        let Some(woken) = self.wake_times.remove(&note.task) else { return };
        let us = micros(note.time) - micros(woken);
        self.latencies.add_latency(us);
        self.over_1ms += u64::from(us >= 1000);
    }

    /// A request is over: its latency is what it took beyond the spinning, and 1 µs if that is nothing.
    fn done(&mut self, note: &Note) {
        let Some(worker) = self.workers.get(&note.task) else { return };
        let Some(made) = self.requests.get_mut(worker).and_then(VecDeque::pop_front) else { return };
        let us = micros(note.time) - micros(made);
        let cpu_us = u64::from(self.options.cpu_us);
        self.latencies.add_latency(if us > cpu_us { us - cpu_us } else { 1 });
        self.served += 1;
    }

    fn print_latencies(&self, out: &mut String) {
        let _ = writeln!(out, "Latency percentiles (usec)");
        for (i, p) in self.latencies.percentiles(LIST).iter().enumerate() {
            let star = if i == STAR { "*" } else { "" };
            let _ = writeln!(out, "\t{star}{:.4}th: {}", LIST[i], p.value);
        }
        let _ = writeln!(out, "\tmin={}, max={}", self.latencies.min(), self.latencies.max());
    }
}

impl Watch for ClassicWatch {
    fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Mark(mark) => match self.marks.meaning(mark) {
                None => {}
                Some(Meaning::Blocks) => drop(self.wake_times.insert(note.task, note.time)),
                Some(Meaning::Runs) => self.runs(note),
                Some(Meaning::Done) => self.done(note),
                Some(Meaning::Hello(worker)) => drop(self.workers.insert(note.task, worker)),
                Some(Meaning::Request(worker)) => {
                    self.requests.entry(worker).or_default().push_back(note.time);
                }
            },
            NoteKind::Released(_) => {
                if let Some(time) = self.wake_times.get_mut(&note.task) {
                    *time = note.time;
                }
            }
            NoteKind::Timer { .. } => {}
        }
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let o = &self.options;
        let found = self.latencies.percentiles(LIST);
        let (p95, p99) = (found[P95].value, found[STAR].value);
        let seconds = end.saturating_since(self.start).0 as f64 / 1e9;
        let rps = if seconds > 0.0 { self.served as f64 / seconds } else { 0.0 };
        let mut text = String::new();
        let rps_line = |text: &mut String| {
            let percent = |us: u32| f64::from(us) / f64::from(o.cpu_us) * 100.0;
            let _ = writeln!(
                text,
                "rps: {rps:.2} p95 (usec) {p95} p99 (usec) {p99} p95/cputime {:.2}% p99/cputime {:.2}%",
                percent(p95),
                percent(p99)
            );
        };
        if o.auto && o.rps == 0 {
            let _ = writeln!(text, "cputime {} threads {} p99 {p99}", o.cpu_us, o.worker_threads);
        }
        if (!o.auto || o.rps == 0) && o.with_more_load(p99).is_none() {
            self.print_latencies(&mut text);
        }
        if o.rps > 0 {
            rps_line(&mut text);
        }
        let mut metrics: Vec<_> = LIST
            .iter()
            .zip(found)
            .map(|(p, found)| Metric::time(format!("latency p{p}"), "us", f64::from(found.value)))
            .collect();
        metrics.push(Metric::time("latency max", "us", f64::from(self.latencies.max())));
        let samples = self.latencies.samples().max(1) as f64;
        metrics.push(Metric::time("latency of 1 ms or more", "%", self.over_1ms as f64 * 100.0 / samples));
        if o.rps > 0 {
            metrics.push(Metric::rate("requests", "1/s", rps));
        }
        Outcome { text, metrics }
    }
}
