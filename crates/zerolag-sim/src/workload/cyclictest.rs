// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest: threads that sleep until a certain time, and how much later they run.
//!
//! ```text
//! thread i ── next = now + interval + i · distance
//!          └─▶ sleeps until next ── runs, latency = now - next ── next += interval, past ones are skipped ─┐
//!              ▲────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A fair task's timer has a slack (50 µs), which is part of the latency; a real-time task's has none. Times
//! are whole microseconds, cut, or nanoseconds with `-N`.
//!
//! Source: rt-tests 2.x, src/cyclictest/cyclictest.c.

use std::collections::BTreeMap;
use std::fmt::Write;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::TaskId;
use zerolag_core::nice::Policy;
use zerolag_core::units::{Instant, Nanos};

use super::cast::{Cast, built};
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, Parsed, parse};
use super::sample::Sample;
use super::{Attributes, Workload};
use crate::note::{Note, NoteKind};
use crate::program::{Late, Op, ProgramBuilder, Times};
use crate::resource::TimerRef;

const TOOL: &str = "cyclictest";

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_optional('a', "affinity", "CPUS", "thread i on the i-th of these (without: of all)"),
    OptionSpec::with_value('d', "distance", "USEC", "how much longer each thread's interval is (def: 500)"),
    OptionSpec::with_value(
        'D',
        "duration",
        "TIME",
        "how long, with s, m, h or d (def: 10s; the tool's: without end)",
    ),
    OptionSpec::with_value('h', "histogram", "USEC", "print a histogram up to this"),
    OptionSpec::with_value('i', "interval", "USEC", "interval of the first thread (def: 1000)"),
    OptionSpec::with_value('l', "loops", "N", "end when a thread has run so often"),
    OptionSpec::flag('m', "mlockall", "no effect: nothing is swapped here"),
    OptionSpec::flag('n', "nanosleep", "no effect: this is what is done"),
    OptionSpec::flag('N', "nsecs", "nanoseconds"),
    OptionSpec::with_value(
        'p',
        "priority",
        "PRIO",
        "real-time priority of the first thread, of others one less each",
    ),
    OptionSpec::long_only(
        "policy",
        "NAME",
        "other (normal), batch, idle, fifo or rr (def: fifo with -p, else other)",
    ),
    OptionSpec::flag('q', "quiet", "print only at the end (always so)"),
    OptionSpec::flag('S', "smp", "a thread on each CPU, all of the same priority"),
    OptionSpec::with_optional('t', "threads", "N", "so many threads (def: 1; without a number: one per CPU)"),
    OptionSpec::flag('r', "relative", "relative timers (not simulated)"),
    OptionSpec::flag('v', "verbose", "print each value"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct CyclicTest {
    threads: Threads,
    pins: Pins,
    /// Of the first thread, and by how much each further one's is longer.
    interval: Nanos,
    distance: Nanos,
    loops: Option<u32>,
    seconds: u32,
    policy: Policy,
    /// Real-time priorities count down.
    descending: bool,
    histogram_us: Option<u32>,
    nanoseconds: bool,
    quiet: bool,
    verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    Count(u32),
    EachCpu,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pins {
    Anywhere,
    All,
    Some(CpuSet),
}

pub(super) fn cyclictest(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse(TOOL, OPTIONS, arguments)?;
    given.no_rest()?;
    given.refuse("relative", "the next time counts from the last one; leave it out")?;
    let smp = given.flag("smp");
    let threads = match given.text("threads") {
        Some("") => Threads::EachCpu,
        None if smp => Threads::EachCpu,
        _ => Threads::Count(given.number("threads", 1, 65_536)?.unwrap_or(1)),
    };
    let pins = match given.text("affinity") {
        None if !smp => Pins::Anywhere,
        None | Some("") => Pins::All,
        Some(list) => match list.parse::<CpuSet>() {
            Ok(cpus) if !cpus.is_empty() => Pins::Some(cpus),
            _ => return Err(given.bad_value("affinity", "a list of CPUs such as 0-3,8")),
        },
    };
    let loops = given.number("loops", 1, u32::MAX)?;
    let us = |name, default: u64| Ok(Nanos::from_micros(given.number(name, 1, 1 << 40)?.unwrap_or(default)));
    Ok(Box::new(CyclicTest {
        threads,
        pins,
        interval: us("interval", 1000)?,
        distance: Nanos::from_micros(given.number("distance", 0, 1 << 32)?.unwrap_or(500)),
        loops,
        seconds: duration(&given, if loops.is_some() { 86_400 } else { 10 })?,
        policy: policy(&given)?,
        descending: !smp,
        histogram_us: given.number("histogram", 1, 1_000_000)?,
        nanoseconds: given.flag("nsecs"),
        quiet: given.flag("quiet"),
        verbose: given.flag("verbose"),
    }))
}

fn duration(given: &Parsed, default: u32) -> Result<u32, OptionError> {
    let Some(text) = given.text("duration") else { return Ok(default) };
    let (digits, unit) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1),
        Some('m') => (&text[..text.len() - 1], 60),
        Some('h') => (&text[..text.len() - 1], 3600),
        Some('d') => (&text[..text.len() - 1], 86_400),
        _ => (text, 1),
    };
    let seconds =
        digits.parse::<u32>().ok().and_then(|n| n.checked_mul(unit)).filter(|s| (1..=86_400).contains(s));
    seconds
        .ok_or_else(|| given.bad_value("duration", "a number, alone or with s, m, h or d, of a day at most"))
}

fn policy(given: &Parsed) -> Result<Policy, OptionError> {
    let priority = given.number("priority", 0, 99)?.filter(|&p: &u8| p > 0);
    let name = given.text("policy").unwrap_or(if priority.is_some() { "fifo" } else { "other" });
    let fair = match name.to_lowercase().as_str() {
        "other" | "normal" => Policy::Normal,
        "batch" => Policy::Batch,
        "idle" => Policy::Idle,
        // The tool takes 2 where a real-time policy has no priority.
        "fifo" => return Ok(Policy::Fifo(priority.unwrap_or(2))),
        "rr" => return Ok(Policy::RoundRobin(priority.unwrap_or(2))),
        _ => return Err(given.bad_value("policy", "other, normal, batch, idle, fifo, rr")),
    };
    match priority {
        None => Ok(fair),
        Some(_) => Err(given.bad_value("priority", "0 with a policy other than fifo and rr")),
    }
}

impl CyclicTest {
    /// Policy of the thread with this number.
    fn policy_of(&self, thread: u32) -> Policy {
        let lower = |p: u8| if self.descending { p.saturating_sub(thread.min(99) as u8).max(1) } else { p };
        match self.policy {
            Policy::Fifo(p) => Policy::Fifo(lower(p)),
            Policy::RoundRobin(p) => Policy::RoundRobin(lower(p)),
            fair => fair,
        }
    }

    fn interval_of(&self, thread: u32) -> Nanos {
        self.interval + Nanos(self.distance.0 * u64::from(thread))
    }
}

impl Model for CyclicTest {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let cpus: Vec<_> = match &self.pins {
            Pins::Some(cpus) => cpus.iter().collect(),
            _ => place.machine.cpus().collect(),
        };
        let count = match self.threads {
            Threads::Count(count) => count,
            Threads::EachCpu => place.machine.cpus().len() as u32,
        };
        let first = cast.marks(count);
        let main = built(
            ProgramBuilder::new().begin(Times::Forever).op(Op::Sleep(Nanos::from_millis(10).into())).end(),
        );
        let main = cast.part(TOOL, main, Vec::new());
        cast.start(main);
        for thread in 0..count {
            let times = self.loops.map_or(Times::Forever, Times::Exactly);
            let (timer, period) = (TimerRef::Own(0), self.interval_of(thread));
            let mut program = ProgramBuilder::new();
            program
                .op(Op::Mark(first + thread))
                .begin(times)
                .op(Op::Timer { timer, period, late: Late::SkipBeats })
                .op(Op::Mark(first + thread))
                .end();
            let affinity =
                (self.pins != Pins::Anywhere).then(|| CpuSet::single(cpus[thread as usize % cpus.len()]));
            let policy = Some(self.policy_of(thread));
            let attributes = Attributes { policy, affinity, ..Attributes::default() };
            let part = cast.part_with(TOOL, built(&program), Vec::new(), attributes);
            cast.start(part);
        }
        let threads = (0..count).map(|_| Thread::default()).collect();
        Box::new(CyclicWatch {
            model: self.clone(),
            first,
            tasks: BTreeMap::new(),
            threads,
            values: String::new(),
        })
    }
}

/// What a thread has measured.
#[derive(Clone, Debug, Default)]
struct Thread {
    task: Option<TaskId>,
    /// When it is to run next.
    next: Instant,
    waits: bool,
    actual: Nanos,
    latencies: Sample,
    histogram: Vec<u32>,
    overflows: u32,
}

#[derive(Clone, Debug)]
struct CyclicWatch {
    model: CyclicTest,
    first: u32,
    tasks: BTreeMap<TaskId, u32>,
    threads: Vec<Thread>,
    /// What is printed for each value.
    values: String,
}

impl CyclicWatch {
    /// In the unit in which it prints.
    fn printed(&self, time: Nanos) -> u64 {
        if self.model.nanoseconds { time.0 } else { time.0 / 1000 }
    }

    fn ran(&mut self, number: u32, now: Instant) {
        let thread = &mut self.threads[number as usize];
        if !thread.waits {
            return;
        }
        thread.waits = false;
        thread.actual = now.saturating_since(thread.next);
        thread.latencies.add(thread.actual);
        let (latency, cycle) = (thread.actual, thread.latencies.len());
        if let Some(rows) = self.model.histogram_us {
            thread.histogram.resize(rows as usize, 0);
            match thread.histogram.get_mut((latency.0 / 1000) as usize) {
                Some(count) => *count += 1,
                None => thread.overflows += 1,
            }
        }
        if self.model.verbose {
            let value = self.printed(latency);
            let _ = writeln!(self.values, "{number:8}:{:8}:{value:8}", cycle - 1);
        }
    }

    fn print_threads(&self, text: &mut String) {
        let width = if self.model.nanoseconds { 8 } else { 5 };
        for (number, thread) in (0..).zip(&self.threads) {
            let [min, max] = thread.latencies.percentiles_us([0.0, 100.0]).map(|us| Nanos((us * 1e3) as u64));
            let mean = Nanos((thread.latencies.mean_us() * 1e3) as u64);
            let priority = match self.model.policy_of(number) {
                Policy::Fifo(p) | Policy::RoundRobin(p) => p,
                _ => 0,
            };
            let _ = writeln!(
                text,
                "T:{number:2} ({:5}) P:{priority:2} I:{} C:{:7} Min:{:7} Act:{:width$} Avg:{:width$} Max:{:8}",
                thread.task.map_or(0, |task| task.0 + 1),
                self.model.interval_of(number).0 / 1000,
                thread.latencies.len(),
                self.printed(min),
                self.printed(thread.actual),
                self.printed(mean),
                self.printed(max),
            );
        }
    }

    fn print_histogram(&self, rows: u32, text: &mut String) {
        text.push_str("# Histogram\n");
        let each = |f: &dyn Fn(&Thread) -> u64, width: usize| {
            self.threads.iter().map(|t| format!(" {:0width$}", f(t))).collect::<String>()
        };
        for row in 0..rows as usize {
            let counts = self.threads.iter().map(|t| t.histogram.get(row).copied().unwrap_or(0));
            let cells: Vec<_> = counts.map(|n| format!("{n:06}")).collect();
            let _ = writeln!(text, "{row:06} {}", cells.join("\t"));
        }
        let us = |t: &Thread, p| t.latencies.percentiles_us([p])[0] as u64;
        let _ = writeln!(text, "# Total:{}", each(&|t| t.histogram.iter().map(|&n| u64::from(n)).sum(), 9));
        let _ = writeln!(text, "# Min Latencies:{}", each(&|t| us(t, 0.0), 5));
        let _ = writeln!(text, "# Avg Latencies:{}", each(&|t| t.latencies.mean_us() as u64, 5));
        let _ = writeln!(text, "# Max Latencies:{}", each(&|t| us(t, 100.0), 5));
        let _ = writeln!(text, "# Histogram Overflows:{}", each(&|t| t.overflows.into(), 5));
        text.push_str("# Histogram Overflow at cycle number:\n");
        for number in 0..self.threads.len() {
            let _ = writeln!(text, "# Thread {number}:");
        }
    }
}

impl Watch for CyclicWatch {
    fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Mark(mark) => {
                let number = mark.wrapping_sub(self.first);
                let Some(thread) = self.threads.get_mut(number as usize) else { return };
                if thread.task.is_none() {
                    thread.task = Some(note.task);
                    self.tasks.insert(note.task, number);
                }
                self.ran(number, note.time);
            }
            NoteKind::Timer { slack_ns } => {
                let Some(&number) = self.tasks.get(&note.task) else { return };
                let period_ns = self.model.interval_of(number).0;
                let due_ns = note.time.0 as i64 + slack_ns;
                // Beats that have passed are skipped, as the machine does.
                let skipped = if slack_ns > 0 { 0 } else { slack_ns.unsigned_abs() / period_ns + 1 };
                let thread = &mut self.threads[number as usize];
                thread.next = Instant(due_ns as u64 + skipped * period_ns);
                thread.waits = true;
            }
            NoteKind::Released(_) => {}
        }
    }

    fn is_over(&self) -> bool {
        let done = |loops: u32| self.threads.iter().any(|t| t.latencies.len() >= loops as usize);
        self.model.loops.is_some_and(done)
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, _: Instant) -> Outcome {
        let mut text = std::mem::take(&mut self.values);
        if !(self.model.quiet && self.model.histogram_us.is_some()) {
            self.print_threads(&mut text);
        }
        if let Some(rows) = self.model.histogram_us {
            self.print_histogram(rows, &mut text);
        }
        let mut all = Sample::default();
        self.threads.iter().for_each(|thread| all.append(&thread.latencies));
        let mut metrics = all.metrics("latency");
        let cycles = self.threads.iter().map(|t| t.latencies.len()).sum::<usize>();
        metrics.push(Metric::rate("cycles", "1", cycles as f64));
        Outcome { text, metrics }
    }
}
