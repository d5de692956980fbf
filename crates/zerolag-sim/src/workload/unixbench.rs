// SPDX-License-Identifier: GPL-2.0-only
//! UnixBench: `spawn`, `context1` and `pipe`.
//!
//! | test | what it does | what it counts |
//! |---|---|---|
//! | `spawn` | starts a process that ends at once, waits for it | processes |
//! | `context1` | two processes pass a number back and forth through two pipes | round trips |
//! | `pipe` | writes 512 bytes into a pipe and reads them back | both together |
//!
//! `pipe` schedules nothing: that it is the same everywhere is what it is good for.
//!
//! Source: byte-unixbench 5.1.3, src/spawn.c, context1.c, pipe.c, Run.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::{EXIT, FORK, Medium};
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::tally::Tally;
use crate::note::Note;
use crate::program::{Op, ProgramBuilder, Times};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('c', "copies", "N", "how many run at once (def: 1)"),
    OptionSpec::long_only("time", "SECONDS", "how long (def: 30; pipe: 10), as the tests themselves take it"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Spawn,
    Context,
    Pipe,
}

impl Test {
    const ALL: [(&'static str, Self, &'static str, u32); 3] = [
        ("spawn", Self::Spawn, "Process Creation", 30),
        ("context1", Self::Context, "Pipe-based Context Switching", 30),
        ("pipe", Self::Pipe, "Pipe Throughput", 10),
    ];
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct UnixBench {
    test: Test,
    title: &'static str,
    copies: u32,
    seconds: u32,
}

pub(super) fn unixbench(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("unixbench", OPTIONS, arguments)?;
    let mode = |found| OptionError::Mode { tool: "unixbench", found, accepted: "spawn, context1, pipe" };
    let (name, more) = given.rest().split_first().ok_or_else(|| mode(None))?;
    if let Some(found) = more.first() {
        return Err(OptionError::Extra { tool: "unixbench", found: found.clone() });
    }
    let known = Test::ALL.into_iter().find(|(known, ..)| known == name);
    let (_, test, title, seconds) = known.ok_or_else(|| mode(Some(name.clone())))?;
    Ok(Box::new(UnixBench {
        test,
        title,
        copies: given.number("copies", 1, 65_536)?.unwrap_or(1),
        seconds: given.number("time", 1, 86_400)?.unwrap_or(seconds),
    }))
}

impl Model for UnixBench {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let done = cast.marks(1);
        for _ in 0..self.copies {
            match self.test {
                Test::Spawn => spawn(&mut cast, done),
                Test::Context => context(&mut cast, done),
                Test::Pipe => pipe(&mut cast, done),
            }
        }
        Box::new(UnixBenchWatch { model: self.clone(), tally: Tally::new(done, 1, place.start) })
    }
}

/// Starts a process that ends at once and waits for it, again and again.
pub(super) fn spawn(cast: &mut Cast<'_, '_>, done: u32) {
    let ended = cast.counter("child ended");
    let child = ProgramBuilder::new().op(Op::Run(EXIT.into())).op(Op::Post(ended.into())).build();
    let child = cast.part("spawned", child.expect("it has no loops"), Vec::new());
    let mut parent = ProgramBuilder::new();
    parent
        .begin(Times::Forever)
        .op(Op::Run(FORK.into()))
        .op(Op::Fork(child))
        .op(Op::Acquire(ended.into()))
        .op(Op::Mark(done))
        .end();
    let parent = cast.part("spawn", built(&parent), Vec::new());
    cast.start(parent);
}

/// Two that pass a number back and forth; the first one counts.
fn context(cast: &mut Cast<'_, '_>, done: u32) {
    const BYTES: u32 = 8;
    let [there, back] = ["there", "back"].map(|name| cast.channel(Medium::Pipe.channel(name, BYTES)));
    let send = Op::Run(Medium::Pipe.send(BYTES).into());
    let receive = Op::Run(Medium::Pipe.receive(BYTES).into());
    let mut first = ProgramBuilder::new();
    first
        .begin(Times::Forever)
        .op(send)
        .op(Op::Write { channel: there.into(), bytes: BYTES, sync: true })
        .op(Op::Read { channel: back.into(), bytes: BYTES })
        .op(receive)
        .op(Op::Mark(done))
        .end();
    let mut second = ProgramBuilder::new();
    second
        .begin(Times::Forever)
        .op(Op::Read { channel: there.into(), bytes: BYTES })
        .op(receive)
        .op(send)
        .op(Op::Write { channel: back.into(), bytes: BYTES, sync: true })
        .end();
    for program in [first, second] {
        let part = cast.part("context1", built(&program), Vec::new());
        cast.start(part);
    }
}

/// One that talks to itself.
fn pipe(cast: &mut Cast<'_, '_>, done: u32) {
    const BYTES: u32 = 512;
    let both = Medium::Pipe.send(BYTES) + Medium::Pipe.receive(BYTES);
    let program =
        built(ProgramBuilder::new().begin(Times::Forever).op(Op::Run(both.into())).op(Op::Mark(done)).end());
    let part = cast.part("pipe", program, Vec::new());
    cast.start(part);
}

#[derive(Clone, Debug)]
struct UnixBenchWatch {
    model: UnixBench,
    tally: Tally,
}

impl Watch for UnixBenchWatch {
    fn note(&mut self, note: &Note) {
        self.tally.note(note);
    }

    fn event(&mut self, _: &SchedEvent) {}

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let rate = self.tally.rate(0, end);
        let seconds = self.tally.seconds(end);
        let text =
            format!("{:<40} {rate:>12.1} {:<5} ({seconds:.1} s, 1 samples)\n", self.model.title, "lps");
        Outcome { text, metrics: vec![Metric::rate("loops", "1/s", rate)] }
    }
}
