// SPDX-License-Identifier: GPL-2.0-only
//! `random`: tasks that run and sleep for times drawn from named distributions.
//!
//! With many tasks that run for a fixed time and sleep for long exponential times, on one CPU, arrivals are
//! nearly Poisson and the mean wait is that of an M/D/1 queue, `ρ S / 2 (1 - ρ)`, as long as nobody is
//! preempted.

use zerolag_core::event::SchedEvent;
use zerolag_core::nice::Policy;
use zerolag_core::units::{Instant, Nanos};

use super::cast::{Cast, built};
use super::family::Family;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, Parsed, parse};
use super::{Attributes, Workload};
use crate::length::{Distribution, Length};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};
use crate::scenario::language;

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('n', "tasks", "N", "how many (def: 4)"),
    OptionSpec::long_only("run", "LENGTH", "how long each runs at a time (def: exponential(1ms))"),
    OptionSpec::long_only("sleep", "LENGTH", "how long it sleeps then (def: exponential(9ms))"),
    OptionSpec::long_flag("batch", "SCHED_BATCH: they do not preempt each other when they wake"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long (def: 10)"),
];

/// What a length may be.
const ACCEPTED: &str = "a time such as 3ms, uniform(MIN,MAX), steps(MIN,MAX,STEP), exponential(MEAN), \
                        normal(MEAN,DEVIATION), lognormal(MEDIAN,SIGMA) or pareto(MIN,ALPHA)";

/// A length that is always the same, or drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    Exactly(Nanos),
    Drawn(Distribution),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Random {
    tasks: u32,
    run: Lengths,
    sleep: Lengths,
    batch: bool,
    seconds: u32,
}

pub(super) fn random(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("random", OPTIONS, arguments)?;
    given.no_rest()?;
    Ok(Box::new(Random {
        tasks: given.number("tasks", 1, 65_536)?.unwrap_or(4),
        run: lengths(&given, "run", Distribution::Exponential { mean: Nanos::from_millis(1) })?,
        sleep: lengths(&given, "sleep", Distribution::Exponential { mean: Nanos::from_millis(9) })?,
        batch: given.flag("batch"),
        seconds: given.number("runtime", 1, 86_400)?.unwrap_or(10),
    }))
}

fn lengths(given: &Parsed, name: &str, default: Distribution) -> Result<Lengths, OptionError> {
    let Some(text) = given.text(name) else { return Ok(Lengths::Drawn(default)) };
    let wrong = || given.bad_value(name, ACCEPTED);
    let found = match language::read_length(text).ok_or_else(wrong)? {
        (Length::Exactly(span), _) => Lengths::Exactly(span),
        (Length::Drawn(id), program) => Lengths::Drawn(*program.distribution(id)),
    };
    let never = match found {
        Lengths::Exactly(span) => span == Nanos::ZERO,
        Lengths::Drawn(distribution) => distribution.is_always_zero(),
    };
    if never { Err(wrong()) } else { Ok(found) }
}

impl Lengths {
    fn of(self, program: &mut ProgramBuilder) -> Length {
        match self {
            Self::Exactly(span) => Length::Exactly(span),
            Self::Drawn(distribution) => Length::Drawn(program.distribution(distribution)),
        }
    }
}

impl Model for Random {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let hello = cast.marks(1);
        let mut program = ProgramBuilder::new();
        let (run, sleep) = (self.run.of(&mut program), self.sleep.of(&mut program));
        program.op(Op::Mark(hello)).begin(Times::Forever).op(Op::Sleep(sleep)).op(Op::Run(run)).end();
        let policy = self.batch.then_some(Policy::Batch);
        let attributes = Attributes { policy, ..Attributes::default() };
        let part = cast.part_with("random", built(&program), Vec::new(), attributes);
        (0..self.tasks).for_each(|_| cast.start(part));
        Box::new(RandomWatch { tasks: self.tasks, hello, start: place.start, family: Family::default() })
    }
}

#[derive(Clone, Debug)]
struct RandomWatch {
    tasks: u32,
    hello: u32,
    start: Instant,
    family: Family,
}

impl Watch for RandomWatch {
    fn note(&mut self, note: &Note) {
        if note.kind == NoteKind::Mark(self.hello) {
            self.family.add(note.task);
        }
    }

    fn event(&mut self, event: &SchedEvent) {
        self.family.event(event);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let span = end.saturating_since(self.start).0.max(1) as f64;
        let share = self.family.total_cpu().0 as f64 / span * 100.0;
        let waits = &self.family.waits;
        let [p50, p99, max] = waits.percentiles_us([50.0, 99.0, 100.0]);
        let text = format!(
            "{} tasks: {share:.2} % of a CPU together, {} wake-ups, from wake-up to running (us) mean {:.1} \
             p50 {p50:.1} p99 {p99:.1} max {max:.1}\n",
            self.tasks,
            waits.len(),
            waits.mean_us()
        );
        let mut metrics = waits.metrics("wait");
        metrics.push(Metric::rate("share of all", "%", share));
        Outcome { text, metrics }
    }
}
