// SPDX-License-Identifier: GPL-2.0-only
//! `perf bench sched pipe`: two tasks that pass a number back and forth through two pipes.
//!
//! One operation is a message there and one back. On one CPU, with nothing else to do, it costs exactly two
//! writes, two reads, two wake-ups and two switches; less where the writer is preempted by the reader it
//! wakes, since the answer is there then before it waits and it need not be woken.
//!
//! Source: Linux, tools/perf/bench/sched-pipe.c.

use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::{CLONE, FORK, Medium};
use super::messaging;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};

pub(super) const PIPE: &[OptionSpec] = &[
    OptionSpec::with_value('l', "loop", "N", "how often (def: 1000000)"),
    OptionSpec::flag('T', "threaded", "threads instead of processes"),
    OptionSpec::with_value('f', "format", "STYLE", "default or simple"),
];

/// `sizeof(int)`.
const BYTES: u32 = 4;

/// `perf bench sched`, whichever benchmark is named first.
pub(super) fn perf(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    match arguments.split_first() {
        Some((&"messaging", rest)) => messaging::perf(rest),
        Some((&"pipe", rest)) => {
            let given = parse("perf-bench-sched pipe", PIPE, rest)?;
            given.no_rest()?;
            let simple = match given.text("format") {
                None | Some("default") => false,
                Some("simple") => true,
                Some(_) => return Err(given.bad_value("format", "default, simple")),
            };
            let loops = given.number("loop", 1, 1_000_000_000)?.unwrap_or(1_000_000);
            Ok(Box::new(PingPong { loops, threads: given.flag("threaded"), simple }))
        }
        other => Err(OptionError::Mode {
            tool: "perf-bench-sched",
            found: other.map(|(first, _)| (*first).to_owned()),
            accepted: "messaging, pipe",
        }),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PingPong {
    loops: u32,
    threads: bool,
    simple: bool,
}

impl Model for PingPong {
    fn run_time(&self) -> Option<Nanos> {
        None
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let begin = cast.marks(2);
        let done = cast.counter("ended");
        let [there, back] = ["there", "back"].map(|name| cast.channel(Medium::Pipe.channel(name, BYTES)));
        let send = |program: &mut ProgramBuilder, channel| {
            program.op(Op::Run(Medium::Pipe.send(BYTES).into()));
            program.op(Op::Write { channel, bytes: BYTES, sync: true });
        };
        let receive = |program: &mut ProgramBuilder, channel| {
            program.op(Op::Read { channel, bytes: BYTES });
            program.op(Op::Run(Medium::Pipe.receive(BYTES).into()));
        };
        let mut first = ProgramBuilder::new();
        first.begin(Times::Exactly(self.loops));
        receive(&mut first, there.into());
        send(&mut first, back.into());
        first.end().op(Op::Post(done.into()));
        let mut second = ProgramBuilder::new();
        second.begin(Times::Exactly(self.loops));
        send(&mut second, there.into());
        receive(&mut second, back.into());
        second.end().op(Op::Post(done.into()));
        let start = if self.threads { CLONE } else { FORK };
        let mut main = ProgramBuilder::new();
        main.op(Op::Mark(begin));
        for program in [first, second] {
            let part = cast.part("sched-pipe", built(&program), Vec::new());
            main.op(Op::Run(start.into())).op(Op::Fork(part));
        }
        main.op(Op::Acquire(done.into())).op(Op::Acquire(done.into())).op(Op::Mark(begin + 1));
        let main = cast.part("perf", built(&main), Vec::new());
        cast.start(main);
        Box::new(PingPongWatch { model: self.clone(), begin, began: place.start, ended: None })
    }
}

#[derive(Clone, Debug)]
struct PingPongWatch {
    model: PingPong,
    begin: u32,
    began: Instant,
    ended: Option<Instant>,
}

impl Watch for PingPongWatch {
    fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Mark(mark) if mark == self.begin => self.began = note.time,
            NoteKind::Mark(mark) if mark == self.begin + 1 => self.ended = Some(note.time),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let m = &self.model;
        let Some(ended) = self.ended else {
            let spent = end.saturating_since(self.began).0 as f64 / 1e9;
            let text = format!("# not over after {spent:.3} [sec]\n");
            return Outcome { text, metrics: Vec::new() };
        };
        let elapsed = ended.saturating_since(self.began);
        let (s, ms) = (elapsed.0 / 1_000_000_000, elapsed.0 / 1_000_000 % 1_000);
        let us_per_op = elapsed.0 as f64 / 1e3 / f64::from(m.loops);
        let per_second = 1e6 / us_per_op;
        let kinds = if m.threads { "threads" } else { "processes" };
        let text = if m.simple {
            format!("{s}.{ms:03}\n")
        } else {
            format!(
                "# Running 'sched/pipe' benchmark:\n# Executed {} pipe operations between two {kinds}\n\n {:>14}: {s}.{ms:03} [sec]\n\n \
                 {us_per_op:>14.6} usecs/op\n {:>14} ops/sec\n",
                m.loops, "Total time", per_second as u64
            )
        };
        let metrics = vec![
            Metric::time("time per operation", "us", us_per_op),
            Metric::rate("operations", "1/s", per_second),
        ];
        Outcome { text, metrics }
    }
}
