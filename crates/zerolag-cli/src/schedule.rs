// SPDX-License-Identifier: GPL-2.0-only
//! A schedule to be looked at, whether somebody recorded it or it is simulated on the spot.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};

use zerolag_core::balance::counts::NohzCounts;
use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos, Weight};
use zerolag_sim::sim::Sim;
use zerolag_study::follow::Listener;
use zerolag_trace::analyses::Selection;
use zerolag_trace::read::{self, Trace};
use zerolag_trace::{LossReport, TaskTable};

use crate::args::high::Source;
use crate::args::high::workload::{Input, is_workload};
use crate::args::low;
use crate::context;
use crate::failure::Failure;
use crate::simulate::{self, Names};

/// So much of a file decides what it is: scenarios may begin with long comments.
pub(crate) const HEAD_LEN: u64 = 64 * 1024;

/// A schedule that has not been followed yet.
pub(crate) struct Schedule {
    source: Source,
    kind: Kind,
    beside: Option<context::Beside>,
}

enum Kind {
    Recording { trace: Box<Trace<'static>>, first: SchedEvent },
    Simulation { sim: Box<Sim>, end: Instant, input: Box<Input> },
}

/// An event, with who is who at that time.
pub(crate) struct Moment<'a> {
    pub(crate) event: &'a SchedEvent,
    pub(crate) names: &'a TaskTable,
    /// The simulation, if it is one, having done everything that takes no time.
    pub(crate) sim: Option<&'a Sim>,
    /// What is known beside the recording, if it is one.
    pub(crate) beside: Option<&'a context::Beside>,
}

/// What is known when a schedule has been followed to its end.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The schedule as the user named it.
    pub(crate) input: String,
    pub(crate) names: TaskTable,
    /// Since when, and up to when nothing more happened.
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// The paths of the tasks' groups at the end, if they are known.
    pub(crate) groups: Option<BTreeMap<TaskId, String>>,
    /// The groups' weights at the end, by path, if they are known.
    pub(crate) weights: BTreeMap<String, Weight>,
    /// What was known beside the recording.
    pub(crate) beside: Option<context::Beside>,
    /// What was missing, if it was a recording.
    pub(crate) loss: Option<LossReport>,
    /// What it ran on, if it was simulated.
    pub(crate) simulated: Option<Simulated>,
}

/// What a simulated schedule ran on.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) kernel: &'static str,
    pub(crate) machine: String,
    pub(crate) cpus: usize,
    pub(crate) seed: u64,
    /// What balancing for idle CPUs did.
    pub(crate) nohz: NohzCounts,
}

impl Schedule {
    /// Opens a recording, of which more may be known from elsewhere, or sets a simulation up.
    pub(crate) fn open(args: &low::Schedule, beside: &low::Beside) -> Result<Self, Failure> {
        let source = Source::new(&args.file);
        let named = |e: io::Error| source.failure(e);
        let mut reader: Box<dyn Read> = if source.is_standard_input() {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(&args.file).map_err(named)?)
        };
        let mut head = Vec::new();
        reader.by_ref().take(HEAD_LEN).read_to_end(&mut head).map_err(named)?;
        let kind = if is_workload(&head) {
            if let Some(path) = &beside.context {
                let path = path.display();
                return Err(source.failure(format!(
                    "it is a workload, which says all that a context does: --context {path}"
                )));
            }
            reader.read_to_end(&mut head).map_err(named)?;
            let input = Box::new(Input::parse(&source, &head, &args.workload, false)?);
            let sim = Box::new(input.scenario.simulate().map_err(Failure::input)?);
            Kind::Simulation { sim, end: Instant(input.scenario.duration.0), input }
        } else {
            // A file is read where it lies, anything else as it comes.
            let file = !source.is_standard_input() && args.file.is_file();
            let trace =
                if file { read::open_path(&args.file) } else { read::open(Cursor::new(head).chain(reader)) };
            let mut trace = trace.map_err(|e| source.failure(e))?;
            let first = trace.next().ok_or_else(|| source.failure("no events"))?;
            let first = first.map_err(|e| source.failure(e))?;
            Kind::Recording { trace: Box::new(trace), first }
        };
        let beside = beside.context.as_deref().map(context::Beside::read).transpose()?;
        Ok(Self { source, kind, beside })
    }

    /// The time of its first event; a simulation begins at 0.
    pub(crate) fn start(&self) -> Instant {
        match &self.kind {
            Kind::Recording { first, .. } => first.time,
            Kind::Simulation { .. } => Instant::ZERO,
        }
    }

    /// It has to be simulated first.
    pub(crate) fn is_simulation(&self) -> bool {
        matches!(self.kind, Kind::Simulation { .. })
    }

    /// From when until when the user wants to see it.
    pub(crate) fn times(
        &self,
        times: Option<(Option<low::Time>, Option<low::Time>)>,
    ) -> (Option<Instant>, Option<Instant>) {
        let time = |time: low::Time| match time {
            low::Time::Absolute(Nanos(ns)) => Instant(ns),
            low::Time::Relative(span) => self.start() + span,
        };
        let (from, to) = times.unwrap_or_default();
        (from.map(time), to.map(time))
    }

    /// What part of it the user wants to see.
    pub(crate) fn selection(&self, part: &low::Part) -> Selection {
        let (from, to) = self.times(part.time);
        Selection { from, to, cpus: part.cpu.clone(), pids: part.pid.clone(), comms: part.comm.clone() }
    }

    /// Shows all events in the order of time; then says what was missing.
    pub(crate) fn follow(
        self,
        visit: &mut dyn FnMut(&Moment<'_>) -> Result<(), Failure>,
    ) -> Result<Ending, Failure> {
        let ending = self.follow_silently(visit)?;
        ending.report_loss();
        Ok(ending)
    }

    /// The same, but says nothing of what was missing.
    pub(crate) fn follow_silently(
        self,
        visit: &mut dyn FnMut(&Moment<'_>) -> Result<(), Failure>,
    ) -> Result<Ending, Failure> {
        match self.kind {
            Kind::Recording { trace, first } => recording(self.source, *trace, first, self.beside, visit),
            Kind::Simulation { sim, end, input } => simulation(*sim, end, &input, visit),
        }
    }
}

fn recording(
    source: Source,
    mut trace: Trace<'static>,
    first: SchedEvent,
    beside: Option<context::Beside>,
    visit: &mut dyn FnMut(&Moment<'_>) -> Result<(), Failure>,
) -> Result<Ending, Failure> {
    let (start, mut end) = (first.time, first.time);
    let mut next = Some(Ok(first));
    while let Some(event) = next {
        let event = event.map_err(|e| source.failure(e))?;
        end = end.max(event.time);
        visit(&Moment { event: &event, names: trace.tasks(), sim: None, beside: beside.as_ref() })?;
        next = trace.next();
    }
    let (names, loss) = trace.into_parts();
    Ok(Ending {
        input: source.to_string(),
        groups: beside.as_ref().map(|beside| beside.groups(&names)),
        weights: beside.as_ref().map(context::Beside::weights).unwrap_or_default(),
        beside,
        names,
        start,
        end,
        loss: Some(loss),
        simulated: None,
    })
}

struct Visit<'v> {
    names: Names,
    visit: &'v mut dyn FnMut(&Moment<'_>) -> Result<(), Failure>,
}

impl Listener<Failure> for Visit<'_> {
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), Failure> {
        (self.visit)(&Moment { event, names: self.names.at(event, sim), sim: Some(sim), beside: None })
    }
}

fn simulation(
    mut sim: Sim,
    end: Instant,
    input: &Input,
    visit: &mut dyn FnMut(&Moment<'_>) -> Result<(), Failure>,
) -> Result<Ending, Failure> {
    let mut listener = Visit { names: Names::default(), visit };
    simulate::drive(&mut sim, end, input.scenario.watches(), &mut listener)?;
    let path = |task: TaskId| {
        let group = sim.scheduler().tasks()[task].group;
        (task, sim.workload().groups[group].path.clone())
    };
    Ok(Ending {
        input: input.scenario.file.clone(),
        names: listener.names.into_table(),
        start: Instant::ZERO,
        end: sim.now(),
        simulated: Some(simulated(input, &sim)),
        weights: weights(&sim),
        beside: None,
        groups: Some((0..sim.task_count()).map(TaskId::from_index).map(path).collect()),
        loss: None,
    })
}

fn weights(sim: &Sim) -> BTreeMap<String, Weight> {
    let weight = |(id, group): (_, &zerolag_core::group::Group)| {
        (sim.workload().groups[id].path.clone(), group.shares)
    };
    sim.scheduler().groups().iter().map(weight).collect()
}

fn simulated(input: &Input, sim: &Sim) -> Simulated {
    let setup = &input.scenario.setup;
    Simulated {
        kernel: setup.config.kernel.name(),
        machine: input.machine.clone().unwrap_or_else(|| "described by the file".to_owned()),
        cpus: setup.topology.cpu_count(),
        seed: setup.seed,
        nohz: sim.scheduler().nohz().counts.clone(),
    }
}

impl Ending {
    /// Says on standard error what was missing in a recording.
    fn report_loss(&self) {
        let Some(loss) = &self.loss else { return };
        let ms = |span: Nanos| span.0 as f64 / 1e6;
        eprintln!(
            "zerolag: {}: {} events of {} tasks; who runs is partly unknown for {:.3} ms at the beginning and \
             {:.3} ms at the end",
            self.input,
            loss.events,
            self.names.len(),
            ms(loss.head),
            ms(loss.tail)
        );
        for line in loss.to_string().lines() {
            eprintln!("zerolag: {}: {line}", self.input);
        }
    }
}
