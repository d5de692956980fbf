// SPDX-License-Identifier: GPL-2.0-only
//! stress-ng: the stressors `switch`, `fork`, `futex` and `nanosleep`.
//!
//! | stressor | an instance | one bogo operation |
//! |---|---|---|
//! | `switch` | a parent writes packets of a byte into a pipe that holds one, a child takes them out, so that each waits for the other | a packet |
//! | `fork` | starts a process that ends at once, waits for it | a process |
//! | `futex` | a parent does nothing but wake, a child waits each time | a wake-up of the child |
//! | `nanosleep` | eight threads sleep for random times of less than 262 µs, 131 µs, … 1 ns | a sleep |
//!
//! Of `futex` the child's timeouts (5 µs) are not modelled: it waits until it is woken. The parent calls
//! `futex_wake()` again and again without anything in between; here it looks whether the child waits every
//! 2 µs, since each look is an event.
//!
//! Of `nanosleep` only the random sleeps are; later versions also sleep as long as each idle state of the CPU is worth it.
//!
//! Source: stress-ng 0.17, stress-switch.c, stress-fork.c, stress-futex.c, stress-nanosleep.c.

use std::fmt::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::Medium;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::tally::Tally;
use super::unixbench;
use crate::length::{Distribution, Length};
use crate::note::Note;
use crate::program::{Op, ProgramBuilder, Times};

const TOOL: &str = "stress-ng";

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::long_only("switch", "N", "instances that force switches through a pipe; 0: one per CPU"),
    OptionSpec::long_only("fork", "N", "instances that start processes"),
    OptionSpec::long_only("futex", "N", "instances that wake through a futex"),
    OptionSpec::long_only("nanosleep", "N", "instances that sleep"),
    OptionSpec::with_value(
        't',
        "timeout",
        "TIME",
        "how long, with s, m or h (def: 10s; the tool's is a day)",
    ),
    OptionSpec::long_flag("metrics-brief", "print the figures (always done)"),
    OptionSpec::long_flag("metrics", "print the figures (always done)"),
];

/// Stressors in the order in which they start.
const STRESSORS: [&str; 4] = ["switch", "fork", "futex", "nanosleep"];

/// What `switch` writes: the pipe is in packet mode (`O_DIRECT`), and of one page, which one packet occupies whole.
const PACKET: u32 = 1;
/// Work of a `futex()` call that waits or wakes, beside the waking and the switch; assumed.
const FUTEX: Nanos = Nanos(300);
/// How often a parent that does nothing else looks whether its child waits.
const LOOK: Nanos = Nanos(2_000);
/// Threads of a nanosleep instance.
const SLEEPERS: u32 = 8;
/// Work around a sleep; assumed.
const AROUND_SLEEP: Nanos = Nanos(500);
/// The longest sleep is drawn below this power of two of nanoseconds.
const SLEEP_BITS: u32 = 18;

#[derive(Clone, Debug, PartialEq, Eq)]
struct StressNg {
    /// Instances of each stressor, if it was asked for; 0 for one per CPU.
    instances: [Option<u32>; STRESSORS.len()],
    seconds: u32,
}

pub(super) fn stress_ng(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse(TOOL, OPTIONS, arguments)?;
    given.no_rest()?;
    let mut instances = [None; STRESSORS.len()];
    for (name, instances) in STRESSORS.iter().zip(&mut instances) {
        *instances = given.number(name, 0, 65_536)?;
    }
    if instances == [None; STRESSORS.len()] {
        let accepted = "--switch N, --fork N, --futex N, --nanosleep N";
        return Err(OptionError::Mode { tool: TOOL, found: None, accepted });
    }
    let seconds = match given.text("timeout") {
        None => 10,
        Some(text) => seconds(text).ok_or_else(|| {
            given.bad_value("timeout", "seconds, or a number with s, m or h, of a day at most")
        })?,
    };
    Ok(Box::new(StressNg { instances, seconds }))
}

/// A time as the tool takes it: seconds, or with a unit.
fn seconds(text: &str) -> Option<u32> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 's') => (&text[..at], 1),
        (at, 'm') => (&text[..at], 60),
        (at, 'h') => (&text[..at], 3600),
        _ => (text, 1),
    };
    digits.parse::<u32>().ok()?.checked_mul(unit).filter(|s| (1..=86_400).contains(s))
}

impl Model for StressNg {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let first = cast.marks(STRESSORS.len() as u32);
        let cpus = place.machine.cpus().len() as u32;
        let counts = self.instances.map(|n| n.map_or(0, |n| if n == 0 { cpus } else { n }));
        for (kind, count) in (first..).zip(counts) {
            for _ in 0..count {
                match kind - first {
                    0 => switch(&mut cast, kind),
                    1 => unixbench::spawn(&mut cast, kind),
                    2 => futex(&mut cast, kind),
                    _ => nanosleep(&mut cast, kind),
                }
            }
        }
        let tally = Tally::new(first, STRESSORS.len(), place.start);
        Box::new(StressNgWatch { seconds: self.seconds, counts, tally })
    }
}

fn switch(cast: &mut Cast<'_, '_>, done: u32) {
    let channel = Medium::Pipe.channel("a packet", PACKET);
    let channel = crate::resource::ChannelSpec { capacity: PACKET, refill_below: 0, ..channel };
    let channel = cast.channel(channel).into();
    let mut parent = ProgramBuilder::new();
    parent
        .begin(Times::Forever)
        .op(Op::Run(Medium::Pipe.send(PACKET).into()))
        .op(Op::Write { channel, bytes: PACKET, sync: true })
        .op(Op::Mark(done))
        .end();
    let mut child = ProgramBuilder::new();
    child
        .begin(Times::Forever)
        .op(Op::Read { channel, bytes: PACKET })
        .op(Op::Run(Medium::Pipe.receive(PACKET).into()))
        .end();
    for program in [child, parent] {
        let part = cast.part("stress-ng-switch", built(&program), Vec::new());
        cast.start(part);
    }
}

fn futex(cast: &mut Cast<'_, '_>, done: u32) {
    let word = cast.workload.conditions.push(crate::resource::Named { name: "futex".into() });
    let mut parent = ProgramBuilder::new();
    parent.begin(Times::Forever).op(Op::Run(LOOK.into())).op(Op::Signal(word.into())).end();
    let mut child = ProgramBuilder::new();
    child
        .begin(Times::Forever)
        .op(Op::Run(FUTEX.into()))
        .op(Op::Wait { condition: word.into(), mutex: None })
        .op(Op::Mark(done))
        .end();
    for program in [child, parent] {
        let part = cast.part("stress-ng-futex", built(&program), Vec::new());
        cast.start(part);
    }
}

fn nanosleep(cast: &mut Cast<'_, '_>, done: u32) {
    let mut thread = ProgramBuilder::new();
    thread.begin(Times::Forever);
    for bits in (0..=SLEEP_BITS).rev() {
        let longest = Distribution::Uniform { min: Nanos(8), max: Nanos((1 << bits) + 7) };
        let sleep = thread.distribution(longest);
        thread.op(Op::Run(AROUND_SLEEP.into())).op(Op::Sleep(Length::Drawn(sleep))).op(Op::Mark(done));
    }
    let part = cast.part("stress-ng-nanosleep", built(thread.end()), Vec::new());
    for _ in 0..SLEEPERS {
        cast.start(part);
    }
}

#[derive(Clone, Debug)]
struct StressNgWatch {
    seconds: u32,
    counts: [u32; STRESSORS.len()],
    tally: Tally,
}

impl Watch for StressNgWatch {
    fn note(&mut self, note: &Note) {
        self.tally.note(note);
    }

    fn event(&mut self, event: &SchedEvent) {
        self.tally.event(event);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    /// CPU time is all counted as the system's.
    fn finish(&mut self, end: Instant) -> Outcome {
        let mut text =
            format!("stress-ng: info:  [1] setting to a {} second run per stressor\n", self.seconds);
        let asked = || STRESSORS.iter().zip(self.counts).enumerate().filter(|(_, (_, count))| *count > 0);
        let hogs: Vec<_> = asked().map(|(_, (name, count))| format!("{count} {name}")).collect();
        let _ = writeln!(text, "stress-ng: info:  [1] dispatching hogs: {}", hogs.join(", "));
        let mut row = |cells: [String; 7]| {
            let [name, ops, real, usr, sys, per_real, per_cpu] = cells;
            let _ = writeln!(
                text,
                "stress-ng: metrc: [1] {name:<13} {ops:>9} {real:>9} {usr:>9} {sys:>9} {per_real:>12} {per_cpu:>14}"
            );
        };
        row(["stressor", "bogo ops", "real time", "usr time", "sys time", "bogo ops/s", "bogo ops/s"]
            .map(String::from));
        row(["", "", "(secs)", "(secs)", "(secs)", "(real time)", "(usr+sys time)"].map(String::from));
        let mut metrics = Vec::new();
        for (kind, (name, _)) in asked() {
            let (ops, cpu) = (self.tally.done(kind), self.tally.cpu_s(kind));
            let rate = self.tally.rate(kind, end);
            row([
                (*name).into(),
                ops.to_string(),
                format!("{:.2}", self.tally.seconds(end)),
                "0.00".into(),
                format!("{cpu:.2}"),
                format!("{rate:.2}"),
                format!("{:.2}", if cpu > 0.0 { ops as f64 / cpu } else { 0.0 }),
            ]);
            metrics.push(Metric::rate(format!("{name} operations"), "1/s", rate));
        }
        let _ = writeln!(
            text,
            "stress-ng: info:  [1] successful run completed in {:.2}s",
            self.tally.seconds(end)
        );
        Outcome { text, metrics }
    }
}
