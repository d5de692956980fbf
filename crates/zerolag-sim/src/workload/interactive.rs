// SPDX-License-Identifier: GPL-2.0-only
//! `interactive`: somebody reads mail while a kernel is built.
//!
//! ```text
//! reader  ── sleeps ── works 1 to 5 ms ── asks the display server, waits for it ── and again
//! server  ── waits ── works 0.5 to 2 ms ── answers
//! hogs    ── compile: work all the time, with a pause for I/O every 20 ms or so
//! kthread ── does their I/O: woken often, works shortly, wakes them
//! ```
//!
//! What the reader feels is how long a burst takes from its beginning until the answer is there, and how long
//! it waits for a CPU each time it is woken. All lengths are assumed; the situation is that of the mailing
//! list threads in which people say that a desktop is "sluggish" or "snappy".

use std::fmt::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::family::Family;
use super::model::{Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::sample::Sample;
use crate::length::{Distribution, Length};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::long_only("hogs", "N", "compile jobs beside it (def: 4)"),
    OptionSpec::long_only("pause", "MSEC", "mean time between two bursts of the reader (def: 50)"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long (def: 10)"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Interactive {
    hogs: u32,
    pause_ms: u32,
    seconds: u32,
}

pub(super) fn interactive(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("interactive", OPTIONS, arguments)?;
    given.no_rest()?;
    Ok(Box::new(Interactive {
        hogs: given.number("hogs", 0, 65_536)?.unwrap_or(4),
        pause_ms: given.number("pause", 1, 1_000_000)?.unwrap_or(50),
        seconds: given.number("runtime", 1, 86_400)?.unwrap_or(10),
    }))
}

/// Marks: a task of the reader's side, a burst begins, a burst is answered.
const HELLO: u32 = 0;
const BEGINS: u32 = 1;
const ANSWERED: u32 = 2;

fn uniform(program: &mut ProgramBuilder, min_us: u64, max_us: u64) -> Length {
    let (min, max) = (Nanos::from_micros(min_us), Nanos::from_micros(max_us));
    Length::Drawn(program.distribution(Distribution::Uniform { min, max }))
}

impl Model for Interactive {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let first = cast.marks(3);
        let [asked, answered, request] = ["asked", "answered", "request"].map(|name| cast.counter(name));

        let mut reader = ProgramBuilder::new();
        let mean = Nanos::from_millis(self.pause_ms.into());
        let pause = Length::Drawn(reader.distribution(Distribution::Exponential { mean }));
        let burst = uniform(&mut reader, 1_000, 5_000);
        reader
            .op(Op::Mark(first + HELLO))
            .begin(Times::Forever)
            .op(Op::Sleep(pause))
            .op(Op::Mark(first + BEGINS))
            .op(Op::Run(burst))
            .op(Op::Post(asked.into()))
            .op(Op::Acquire(answered.into()))
            .op(Op::Mark(first + ANSWERED))
            .end();

        let mut server = ProgramBuilder::new();
        let drawing = uniform(&mut server, 500, 2_000);
        server
            .op(Op::Mark(first + HELLO))
            .begin(Times::Forever)
            .op(Op::Acquire(asked.into()))
            .op(Op::Run(drawing))
            .op(Op::Post(answered.into()))
            .end();

        let mut hog = ProgramBuilder::new();
        let piece = hog.distribution(Distribution::Exponential { mean: Nanos::from_millis(20) });
        let transfer = uniform(&mut hog, 100, 2_000);
        hog.begin(Times::Forever)
            .op(Op::Run(Length::Drawn(piece)))
            .op(Op::Post(request.into()))
            .op(Op::Io { device: None, service: transfer })
            .end();

        let mut kthread = ProgramBuilder::new();
        let handling = uniform(&mut kthread, 10, 50);
        kthread.begin(Times::Forever).op(Op::Acquire(request.into())).op(Op::Run(handling)).end();

        for (name, program, count) in [
            ("compile", hog, self.hogs),
            ("io-kthread", kthread, 1),
            ("display", server, 1),
            ("mail-reader", reader, 1),
        ] {
            let part = cast.part(name, built(&program), Vec::new());
            (0..count).for_each(|_| cast.start(part));
        }
        Box::new(InteractiveWatch {
            first,
            family: Family::default(),
            began: None,
            bursts: Sample::default(),
        })
    }
}

#[derive(Clone, Debug)]
struct InteractiveWatch {
    first: u32,
    /// The reader and the display server.
    family: Family,
    began: Option<Instant>,
    bursts: Sample,
}

impl Watch for InteractiveWatch {
    fn note(&mut self, note: &Note) {
        let NoteKind::Mark(mark) = note.kind else { return };
        match mark.wrapping_sub(self.first) {
            HELLO => self.family.add(note.task),
            BEGINS => self.began = Some(note.time),
            ANSWERED => {
                if let Some(began) = self.began.take() {
                    self.bursts.add(note.time.saturating_since(began));
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &SchedEvent) {
        self.family.event(event);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, _: Instant) -> Outcome {
        let mut text =
            format!("{:24} {:>8} {:>10} {:>10} {:>10} {:>10}\n", "(us)", "n", "mean", "p50", "p99", "max");
        for (name, sample) in
            [("burst until answered", &self.bursts), ("from wake-up to running", &self.family.waits)]
        {
            let [p50, p99, max] = sample.percentiles_us([50.0, 99.0, 100.0]);
            let _ = writeln!(
                text,
                "{name:24} {:8} {:10.1} {p50:10.1} {p99:10.1} {max:10.1}",
                sample.len(),
                sample.mean_us()
            );
        }
        let metrics = [self.bursts.metrics("burst"), self.family.waits.metrics("wait")].concat();
        Outcome { text, metrics }
    }
}
