// SPDX-License-Identifier: GPL-2.0-only
//! `hogs`: tasks that want all the CPU time they can get, and how evenly it is shared.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::family::Family;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('n', "tasks", "N", "how many (def: 2)"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long (def: 10)"),
];

/// Work between two turns of the loop; long, since each turn is an event.
const TURN: Nanos = Nanos::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hogs {
    tasks: u32,
    seconds: u32,
}

pub(super) fn hogs(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("hogs", OPTIONS, arguments)?;
    given.no_rest()?;
    let tasks = given.number("tasks", 1, 65_536)?.unwrap_or(2);
    let seconds = given.number("runtime", 1, 86_400)?.unwrap_or(10);
    Ok(Box::new(Hogs { tasks, seconds }))
}

impl Model for Hogs {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let hello = cast.marks(1);
        let mut hog = ProgramBuilder::new();
        hog.op(Op::Mark(hello)).begin(Times::Forever).op(Op::Run(TURN.into())).end();
        let hog = cast.part("hog", built(&hog), Vec::new());
        (0..self.tasks).for_each(|_| cast.start(hog));
        Box::new(HogsWatch { tasks: self.tasks, hello, start: place.start, family: Family::default() })
    }
}

#[derive(Clone, Debug)]
struct HogsWatch {
    tasks: u32,
    hello: u32,
    start: Instant,
    family: Family,
}

impl Watch for HogsWatch {
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
        let mut shares: Vec<f64> = self.family.cpu().map(|cpu| cpu.0 as f64 / span * 100.0).collect();
        // Some have never run.
        shares.resize(self.tasks as usize, 0.0);
        let total: f64 = shares.iter().sum();
        let (min, max) =
            (shares.iter().copied().fold(f64::MAX, f64::min), shares.iter().copied().fold(0.0, f64::max));
        let mean = total / f64::from(self.tasks);
        let text = format!(
            "{} hogs: {total:.2} % of a CPU together, each {mean:.2} % on average, from {min:.2} % to {max:.2} %\n",
            self.tasks
        );
        let metrics = vec![
            Metric::rate("share of all", "%", total),
            Metric::rate("least share", "%", min),
            Metric::time("greatest less least share", "%", max - min),
        ];
        Outcome { text, metrics }
    }
}
