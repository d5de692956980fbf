// SPDX-License-Identifier: GPL-2.0-only
//! What the second generation measures and prints.
//!
//! Its main thread wakes up once a second, and there it counts the requests of the last second, prints what
//! has been measured every ten seconds, and forgets it when it is told to. Here that is done when the first
//! note or event after a full second comes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::current::{Current, PENDING_MAX};
use super::delay::Delays;
use super::histogram::Histogram;
use super::micros;
use crate::note::{Note, NoteKind};
use crate::workload::Workload;
use crate::workload::model::{Metric, Outcome, Watch};

const LIST: [f64; 5] = [20.0, 50.0, 90.0, 99.0, 99.9];
/// Which of them are printed of latencies, and which gets the star.
const LATENCY_ROWS: ([usize; 4], usize) = ([1, 2, 3, 4], 3);
/// The same of requests per second.
const RPS_ROWS: ([usize; 3], usize) = ([0, 1, 2], 1);

const SECOND: Nanos = Nanos::from_secs(1);

/// Numbers of marks: five kinds, then two for each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    base: u32,
    workers: u32,
}

/// Kinds of mark that are the same for all workers.
const KINDS: u32 = 5;

enum Meaning {
    Blocks,
    Runs,
    Works,
    Done,
    Message,
    Hello,
    Request(u32),
}

impl Marks {
    pub(super) fn take(workload: &mut Workload, workers: u32) -> Self {
        let base = workload.marks;
        workload.marks += KINDS + 2 * workers;
        Self { base, workers }
    }

    /// A worker is about to wait.
    pub(super) const fn blocks(self) -> u32 {
        self.base
    }

    /// A worker runs again, and its request begins.
    pub(super) const fn runs(self) -> u32 {
        self.base + 1
    }

    /// A request begins only now.
    pub(super) const fn works(self) -> u32 {
        self.base + 2
    }

    /// A request is served.
    pub(super) const fn done(self) -> u32 {
        self.base + 3
    }

    /// The task is a message thread.
    pub(super) const fn message(self) -> u32 {
        self.base + 4
    }

    /// The task is this worker.
    pub(super) const fn hello(self, worker: u32) -> u32 {
        self.base + KINDS + 2 * worker
    }

    /// This worker gets a request.
    pub(super) const fn request(self, worker: u32) -> u32 {
        self.hello(worker) + 1
    }

    fn meaning(self, mark: u32) -> Option<(Meaning, u32)> {
        let number = mark.checked_sub(self.base).filter(|n| *n < KINDS + 2 * self.workers)?;
        let worker = number.saturating_sub(KINDS) / 2;
        let meaning = match number {
            0 => Meaning::Blocks,
            1 => Meaning::Runs,
            2 => Meaning::Works,
            3 => Meaning::Done,
            4 => Meaning::Message,
            n if (n - KINDS).is_multiple_of(2) => Meaning::Hello,
            _ => Meaning::Request(worker),
        };
        Some((meaning, worker))
    }
}

/// A worker.
#[derive(Clone, Debug, Default)]
struct Worker {
    /// When it was woken, or since when it waits.
    wake_time: Instant,
    /// It found nothing to do and waits.
    waits: bool,
    request_start: Instant,
    /// Requests that wait for it.
    pending: u32,
}

/// Watches a run of the second generation.
#[derive(Clone, Debug)]
pub(super) struct CurrentWatch {
    options: Current,
    marks: Marks,
    start: Instant,
    per_message: u32,
    numbers: BTreeMap<TaskId, u32>,
    workers: Vec<Worker>,
    messengers: BTreeSet<TaskId>,
    delays: Delays,
    wakeups: Histogram,
    requests: Histogram,
    rps: Histogram,
    served: u64,
    /// Rounds of the main thread.
    rounds: u64,
    served_before: u64,
    last_count: Instant,
    last_print: Instant,
    last_zero: Instant,
    warm: bool,
    text: String,
}

impl CurrentWatch {
    pub(super) fn new(options: Current, marks: Marks, per_message: u32, start: Instant) -> Self {
        let mut text = String::new();
        if options.worker_threads.is_none() {
            let _ = writeln!(text, "setting worker threads to {per_message}");
        }
        let workers = vec![Worker::default(); (options.message_threads * per_message) as usize];
        Self {
            options,
            marks,
            start,
            per_message,
            numbers: BTreeMap::new(),
            workers,
            messengers: BTreeSet::new(),
            delays: Delays::default(),
            wakeups: Histogram::new(true),
            requests: Histogram::new(true),
            rps: Histogram::new(true),
            served: 0,
            rounds: 0,
            served_before: 0,
            last_count: start,
            last_print: start,
            last_zero: start,
            warm: false,
            text,
        }
    }

    /// What the main thread did up to this time.
    fn catch_up(&mut self, now: Instant) {
        loop {
            let due = self.start + Nanos(self.rounds * SECOND.0);
            if now < due || due > self.start + Nanos::from_secs(self.options.runtime_s.into()) {
                return;
            }
            self.round(due);
            self.rounds += 1;
        }
    }

    /// A round of the main thread (`sleep_for_runtime()`). Its rounds really are a little more than a second
    /// apart, so what is to come after a number of seconds comes in the round of that number.
    fn round(&mut self, now: Instant) {
        let o = &self.options;
        let running = now.saturating_since(self.start);
        let seconds = |s: u32| Nanos::from_secs(s.into());
        let warmed_up = o.rps == 0 && o.warmup_s > 0 && running >= seconds(o.warmup_s);
        if warmed_up && !self.warm {
            // This round does not count requests, and the next one those of two seconds.
            self.warm = true;
            self.text.push_str("warmup done, zeroing stats\n");
            self.zero(now);
        } else {
            let passed = micros(now) - micros(self.last_count);
            let served = self.served - self.served_before;
            let rps = if passed > 0 { (served * 1_000_000) as f64 / passed as f64 } else { 0.0 };
            self.served_before = self.served;
            self.last_count = now;
            self.rps.add(rps as u32);
            if now.saturating_since(self.last_print) >= seconds(self.options.interval_s) {
                self.last_print = now;
                self.print_tables(running.0 / SECOND.0);
                self.print_delays();
                let _ = writeln!(self.text, "current rps: {rps:.2}");
            }
        }
        let zero = seconds(self.options.zero_s);
        if zero > Nanos::ZERO && now.saturating_since(self.last_zero) >= zero {
            self.zero(now);
        }
    }

    fn zero(&mut self, now: Instant) {
        self.last_zero = now;
        self.wakeups.clear();
        self.requests.clear();
        self.rps.clear();
    }

    fn print_tables(&mut self, seconds: u64) {
        let out = &mut self.text;
        let (rows, star) = LATENCY_ROWS;
        print_table(out, &self.wakeups, ["Wakeup Latencies", "usec"], seconds, &rows, star);
        print_table(out, &self.requests, ["Request Latencies", "usec"], seconds, &rows, star);
        let (rows, star) = RPS_ROWS;
        print_table(out, &self.rps, ["RPS", "requests"], seconds, &rows, star);
    }

    /// Means of what each thread waited on average, in whole microseconds.
    fn mean_delays(&self) -> [u64; 2] {
        let mean = |tasks: &mut dyn Iterator<Item = TaskId>, count: u32| {
            let sum: u64 = tasks.map(|task| self.delays.mean(task).0).sum();
            sum / u64::from(count.max(1)) / 1000
        };
        let o = &self.options;
        [
            mean(&mut self.messengers.iter().copied(), o.message_threads),
            mean(&mut self.numbers.keys().copied(), o.message_threads * self.per_message),
        ]
    }

    fn print_delays(&mut self) {
        let [message, worker] = self.mean_delays();
        let _ = writeln!(self.text, "sched delay: message {message} (usec) worker {worker} (usec)");
    }

    fn mark(&mut self, note: &Note, meaning: Meaning, named: u32) {
        if let Meaning::Hello = meaning {
            self.numbers.insert(note.task, named);
            return;
        }
        if let Meaning::Message = meaning {
            self.messengers.insert(note.task);
            return;
        }
        if let Meaning::Request(number) = meaning {
            let worker = &mut self.workers[number as usize];
            worker.wake_time = note.time;
            worker.pending = (worker.pending + 1).min(PENDING_MAX);
            return;
        }
        let Some(&number) = self.numbers.get(&note.task) else { return };
        let by_requests = self.options.rps > 0;
        let worker = &mut self.workers[number as usize];
        match meaning {
            Meaning::Blocks => {
                worker.wake_time = note.time;
                worker.waits = !by_requests || worker.pending == 0;
            }
            Meaning::Runs => {
                if worker.waits {
                    self.wakeups.add_latency(micros(note.time) - micros(worker.wake_time));
                }
                worker.pending = worker.pending.saturating_sub(1);
                worker.request_start = note.time;
            }
            Meaning::Works => worker.request_start = note.time,
            Meaning::Done => {
                self.requests.add_latency(micros(note.time) - micros(worker.request_start));
                self.served += 1;
            }
            Meaning::Message | Meaning::Hello | Meaning::Request(_) => {}
        }
    }
}

/// Prints the rows of a table (`show_latencies()`).
fn print_table(
    out: &mut String,
    h: &Histogram,
    [label, unit]: [&str; 2],
    seconds: u64,
    rows: &[usize],
    star: usize,
) {
    let samples = h.samples();
    let _ = writeln!(out, "{label} percentiles ({unit}) runtime {seconds} (s) ({samples} total samples)");
    let found = h.percentiles(LIST);
    for &row in rows {
        let mark = if row == star { "* " } else { "  " };
        let p = found[row];
        let _ = writeln!(out, "\t{mark}{:.1}th: {:<10} ({} samples)", LIST[row], p.value, p.samples);
    }
    let _ = writeln!(out, "\t  min={}, max={}", h.min(), h.max());
}

impl Watch for CurrentWatch {
    fn note(&mut self, note: &Note) {
        self.catch_up(note.time);
        match note.kind {
            NoteKind::Mark(mark) => {
                if let Some((meaning, named)) = self.marks.meaning(mark) {
                    self.mark(note, meaning, named);
                }
            }
            NoteKind::Released(_) => {
                if let Some(&number) = self.numbers.get(&note.task) {
                    self.workers[number as usize].wake_time = note.time;
                }
            }
            NoteKind::Timer { .. } => {}
        }
    }

    fn event(&mut self, event: &SchedEvent) {
        self.catch_up(event.time);
        self.delays.event(event);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        self.catch_up(end);
        let o = self.options.clone();
        let seconds = end.saturating_since(self.start).0 as f64 / SECOND.0 as f64;
        self.print_tables(o.runtime_s.into());
        let average = if seconds > 0.0 { self.served as f64 / seconds } else { 0.0 };
        let _ = writeln!(self.text, "average rps: {average:.2}");
        // The tool asks when its threads have gone, and prints zeros here.
        self.print_delays();
        let mut metrics = Vec::new();
        for (name, h) in [("wakeup", &self.wakeups), ("request", &self.requests)] {
            let found = h.percentiles(LIST);
            for &row in &LATENCY_ROWS.0 {
                metrics.push(Metric::time(format!("{name} p{}", LIST[row]), "us", found[row].value.into()));
            }
            metrics.push(Metric::time(format!("{name} max"), "us", h.max().into()));
        }
        metrics.push(Metric::rate("requests", "1/s", average));
        let [message, worker] = self.mean_delays();
        metrics.push(Metric::time("delay of message threads", "us", message as f64));
        metrics.push(Metric::time("delay of workers", "us", worker as f64));
        Outcome { text: std::mem::take(&mut self.text), metrics }
    }
}
