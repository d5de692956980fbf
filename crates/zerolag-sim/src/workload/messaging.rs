// SPDX-License-Identifier: GPL-2.0-only
//! hackbench, which is also `perf bench sched messaging`: groups of senders that write to all receivers of
//! their group.
//!
//! ```text
//! main    ── starts all ── waits until all are ready ──▶ begin ── writes one byte ── waits for all ──▶ end
//! worker  ── is ready ── waits for the byte ── sends, or receives, all its messages ── ends
//! ```
//!
//! Nobody takes the byte out, so it wakes everybody who waits for it, last come first served. Writing to a
//! pipe or socket wakes the reader with the promise to sleep soon.
//!
//! Source: rt-tests 2.x, hackbench.c; Linux, tools/perf/bench/sched-messaging.c.

use zerolag_core::nice::Policy;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::{CLONE, FORK, Medium};
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, Parsed, parse};
use crate::note::{Note, NoteKind};
use crate::program::{Attribute, Op, Program, ProgramBuilder, SharedProgram, Times};
use crate::resource::{ChannelId, Ref, RosterId, SemaphoreId};

pub(super) const HACKBENCH: &[OptionSpec] = &[
    OptionSpec::with_value('f', "fds", "N", "senders, and receivers, of a group (def: 20)"),
    OptionSpec::flag('F', "fifo", "the main thread is SCHED_FIFO"),
    OptionSpec::with_value('g', "groups", "N", "groups (def: 10)"),
    OptionSpec::flag('i', "inet", "TCP instead of Unix sockets"),
    OptionSpec::with_value('l', "loops", "N", "messages to each receiver (def: 100)"),
    OptionSpec::flag('p', "pipe", "pipes instead of Unix sockets"),
    OptionSpec::with_value('s', "datasize", "BYTES", "size of a message (def: 100)"),
    OptionSpec::flag('T', "threads", "threads"),
    OptionSpec::flag('P', "process", "processes (the default)"),
];

pub(super) const PERF: &[OptionSpec] = &[
    OptionSpec::flag('p', "pipe", "pipes instead of Unix sockets"),
    OptionSpec::flag('t', "thread", "threads instead of processes"),
    OptionSpec::with_value('g', "group", "N", "groups (def: 10)"),
    OptionSpec::with_value('l', "nr_loops", "N", "messages to each receiver (def: 100)"),
    OptionSpec::with_value('f', "format", "STYLE", "default or simple"),
];

/// Messages from all to all within groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Messaging {
    groups: u32,
    /// Senders and receivers of a group, each.
    fds: u32,
    loops: u32,
    bytes: u32,
    medium: Medium,
    threads: bool,
    fifo: bool,
    layout: Layout,
}

/// Who prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Hackbench,
    Perf,
    PerfSimple,
}

pub(super) fn hackbench(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("hackbench", HACKBENCH, arguments)?;
    given.no_rest()?;
    let medium = match (given.flag("pipe"), given.flag("inet")) {
        (true, _) => Medium::Pipe,
        (false, true) => Medium::Tcp,
        (false, false) => Medium::Unix,
    };
    Ok(Box::new(Messaging {
        groups: groups(&given, "groups")?,
        // A sender's program has all its receivers as arguments, and those are numbered with a byte.
        fds: given.number("fds", 1, 250)?.unwrap_or(20),
        loops: given.number("loops", 1, 10_000_000)?.unwrap_or(100),
        bytes: given.number("datasize", 1, 1 << 20)?.unwrap_or(100),
        medium,
        threads: given.flag("threads") && !given.flag("process"),
        fifo: given.flag("fifo"),
        layout: Layout::Hackbench,
    }))
}

/// `perf bench sched messaging`.
pub(super) fn perf(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("perf-bench-sched messaging", PERF, arguments)?;
    given.no_rest()?;
    let layout = match given.text("format") {
        None | Some("default") => Layout::Perf,
        Some("simple") => Layout::PerfSimple,
        Some(_) => return Err(given.bad_value("format", "default, simple")),
    };
    Ok(Box::new(Messaging {
        groups: groups(&given, "group")?,
        fds: 20,
        loops: given.number("nr_loops", 1, 10_000_000)?.unwrap_or(100),
        bytes: 100,
        medium: if given.flag("pipe") { Medium::Pipe } else { Medium::Unix },
        threads: given.flag("thread"),
        fifo: false,
        layout,
    }))
}

fn groups(given: &Parsed, name: &str) -> Result<u32, OptionError> {
    Ok(given.number(name, 1, 4096)?.unwrap_or(10))
}

/// Resources that all workers share.
#[derive(Clone, Copy)]
struct Shared {
    ready: SemaphoreId,
    done: SemaphoreId,
    roster: RosterId,
}

impl Messaging {
    fn workers(&self) -> u32 {
        self.groups * self.fds * 2
    }

    /// What a worker does, between being ready and being done. Its first argument is its own flag.
    fn worker(shared: Shared, work: impl FnOnce(&mut ProgramBuilder)) -> Program {
        let own = Ref::Argument(0);
        let mut program = ProgramBuilder::new();
        program
            .op(Op::Enlist { roster: shared.roster.into(), semaphore: own })
            .op(Op::Post(shared.ready.into()))
            .op(Op::Acquire(own));
        work(&mut program);
        built(program.op(Op::Post(shared.done.into())))
    }

    /// Arguments after the first: all receivers of the group.
    fn sender(&self, shared: Shared) -> Program {
        Self::worker(shared, |program| {
            program.begin(Times::Exactly(self.loops));
            for receiver in 1..=self.fds as u8 {
                let channel = Ref::Argument(receiver);
                program.op(Op::Run(self.medium.send(self.bytes).into()));
                program.op(Op::Write { channel, bytes: self.bytes, sync: true });
            }
            program.end();
        })
    }

    /// Argument after the first: what it receives from.
    fn receiver(&self, shared: Shared) -> Program {
        Self::worker(shared, |program| {
            program
                .begin(Times::Exactly(self.loops))
                .begin(Times::Exactly(self.fds))
                .op(Op::Read { channel: Ref::Argument(1), bytes: self.bytes })
                .op(Op::Run(self.medium.receive(self.bytes).into()))
                .end()
                .end();
        })
    }
}

impl Model for Messaging {
    fn run_time(&self) -> Option<Nanos> {
        None
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let begin = cast.marks(2);
        let shared = Shared {
            ready: cast.counter("ready"),
            done: cast.counter("ended"),
            roster: cast.roster("start"),
        };
        let sender = SharedProgram::new(self.sender(shared));
        let receiver = SharedProgram::new(self.receiver(shared));
        let mut main = ProgramBuilder::new();
        let start = if self.threads { CLONE } else { FORK };
        for group in 0..self.groups {
            let channels: Vec<ChannelId> = (0..self.fds)
                .map(|n| {
                    cast.channel(self.medium.channel(format!("receiver {n} of group {group}"), self.bytes))
                })
                .collect();
            for &channel in &channels {
                let own = cast.counter("start");
                let part = cast.part("receiver", receiver.clone(), vec![own.0, channel.0]);
                main.op(Op::Run(start.into())).op(Op::Fork(part));
            }
            for _ in 0..self.fds {
                let own = cast.counter("start");
                let arguments = [own.0].into_iter().chain(channels.iter().map(|c| c.0)).collect();
                let part = cast.part("sender", sender.clone(), arguments);
                main.op(Op::Run(start.into())).op(Op::Fork(part));
            }
        }
        if self.fifo {
            main.op(Op::Set(Attribute::Policy(Policy::Fifo(1))));
        }
        main.begin(Times::Exactly(self.workers())).op(Op::Acquire(shared.ready.into())).end();
        main.op(Op::Mark(begin)).op(Op::Release(shared.roster.into()));
        main.begin(Times::Exactly(self.workers())).op(Op::Acquire(shared.done.into())).end();
        main.op(Op::Mark(begin + 1));
        let main = cast.part("hackbench", built(&main), Vec::new());
        cast.start(main);
        Box::new(MessagingWatch { model: self.clone(), begin, began: place.start, ended: None })
    }
}

#[derive(Clone, Debug)]
struct MessagingWatch {
    model: Messaging,
    begin: u32,
    began: Instant,
    ended: Option<Instant>,
}

impl Watch for MessagingWatch {
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
        let elapsed = self.ended.unwrap_or(end).saturating_since(self.began);
        let (s, ms) = (elapsed.0 / 1_000_000_000, elapsed.0 / 1_000_000 % 1_000);
        let kind = if m.threads { "thread" } else { "process" };
        let mut text = match m.layout {
            Layout::Hackbench => format!(
                "Running in {kind} mode with {} groups using {} file descriptors each (== {} tasks)\n\
                 Each sender will pass {} messages of {} bytes\nTime: {s}.{ms:03}\n",
                m.groups,
                m.fds * 2,
                m.workers(),
                m.loops,
                m.bytes
            ),
            Layout::Perf => {
                let kinds = if m.threads { "threads" } else { "processes" };
                format!(
                    "# Running 'sched/messaging' benchmark:\n# {} sender and receiver {kinds} per group\n# {} groups == {} {kinds} run\n\n \
                     {:>14}: {s}.{ms:03} [sec]\n",
                    m.fds,
                    m.groups,
                    m.workers(),
                    "Total time"
                )
            }
            Layout::PerfSimple => format!("{s}.{ms:03}\n"),
        };
        if self.ended.is_none() {
            text.push_str("(not over yet)\n");
        }
        let messages = f64::from(m.groups) * f64::from(m.fds) * f64::from(m.fds) * f64::from(m.loops);
        let seconds = elapsed.0 as f64 / 1e9;
        let mut metrics = vec![Metric::time("time", "s", seconds)];
        if self.ended.is_some() && seconds > 0.0 {
            metrics.push(Metric::rate("messages", "1/s", messages / seconds));
        }
        Outcome { text, metrics }
    }
}
