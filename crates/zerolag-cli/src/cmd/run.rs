// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run`: runs a workload and says what each task and group got.

mod dumps;
mod files;

use std::collections::BTreeMap;
use std::io::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::Conservation;
use zerolag_sim::note::Note;
use zerolag_sim::scenario::Watches;
use zerolag_sim::sim::{Observer, Sim, Stop};
use zerolag_sim::workload::rtapp;
use zerolag_trace::metrics::{Metrics, Summary};

use crate::args::high::workload::Input;
use crate::args::low;
use crate::failure::Failure;
use crate::guard::Guard;
use crate::report::{Dumped, End, Report, TaskName};
use crate::simulate::{self, Listener, Names};
use crate::trace::TraceFile;
use crate::watch;

/// Runs the workload.
pub(crate) fn run(args: &low::Run, out: &mut dyn Write) -> Result<(), Failure> {
    let input = Input::read(&args.file, &args.workload, args.out.is_some())?;
    let mut sim = input.scenario.simulate().map_err(Failure::input)?;
    let dumps = dumps::take(&args.dumps, &sim, Instant(input.scenario.duration.0))?;
    if args.watch {
        return watch::watch(sim, input.end()?);
    }
    let watched = input.app.as_ref().filter(|_| args.out.is_some());
    let rtapp = watched.map(|(app, compiled)| rtapp::Observer::new(app, compiled));
    let (end, watches) = (Instant(input.scenario.duration.0), input.scenario.watches());
    let guard = args.check.then(|| Guard::new(&input.scenario));
    let trace = args.trace.as_ref().map(|path| TraceFile::create(path, args.trace_format, &args.counters));
    let trace = trace.transpose()?;
    let (metrics, conservation) = (Metrics::new(), Conservation::new(sim.scheduler()));
    let mut listeners = Listeners { metrics, conservation, rtapp, guard, names: Names::default(), trace };
    let watches = simulate::drive(&mut sim, end, watches, &mut listeners)?;
    let Listeners { mut metrics, mut conservation, rtapp, trace, .. } = listeners;
    trace.map(TraceFile::finish).transpose()?;
    metrics.advance(sim.now());
    conservation.advance(sim.now());
    let record = rtapp.map(|o| o.finish(sim.now(), sim.stop().is_none(), |task| sim.task_name(task)));

    let report = report(&input, &sim, Seen { summary: metrics.summary(), conservation, watches, dumps });
    if let Some(dir) = &args.out {
        files::write(dir, &report, watched.map(|(app, _)| app).zip(record.as_ref()))?;
    }
    if args.json {
        writeln!(out, "{:#}", report.to_json())?;
    } else {
        report.dumps.iter().try_for_each(|dump| write!(out, "{dump}"))?;
        report.write_text(out)?;
    }
    out.flush()?;
    verdict(sim.stop())
}

/// Everybody who wants to know what happens.
struct Listeners<'a> {
    metrics: Metrics,
    conservation: Conservation,
    rtapp: Option<rtapp::Observer<'a>>,
    guard: Option<Guard>,
    names: Names,
    trace: Option<TraceFile>,
}

impl Listener for Listeners<'_> {
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), Failure> {
        self.metrics.feed(event);
        self.conservation.event(event, sim.scheduler());
        if let Some(guard) = &mut self.guard {
            guard.feed(event);
            let breach =
                |breach| Failure::Invariant(format!("{breach}\nto see it again: {}", crate::rerun()));
            guard.look(sim).map_err(breach)?;
        }
        let Some(trace) = &mut self.trace else { return Ok(()) };
        trace.event(event, self.names.at(event, sim), Some(sim))
    }

    fn note(&mut self, note: &Note) {
        if let Some(rtapp) = &mut self.rtapp {
            rtapp.note(note);
        }
    }
}

/// What was seen of a run.
struct Seen {
    summary: Summary,
    conservation: Conservation,
    watches: Watches,
    dumps: Vec<Dumped>,
}

fn report(input: &Input, sim: &Sim, seen: Seen) -> Report {
    let name = |index| {
        let task = TaskId::from_index(index);
        let group = sim.scheduler().tasks()[task].group;
        let name = TaskName {
            name: sim.task_name(task),
            template: sim.workload().templates[sim.template_of(task)].name.clone(),
            group: sim.workload().groups[group].path.clone(),
        };
        (task, name)
    };
    let setup = &input.scenario.setup;
    Report {
        input: input.scenario.file.clone(),
        kernel: setup.config.kernel.name(),
        machine: input.machine.clone(),
        cpus: setup.topology.cpu_count(),
        seed: setup.seed,
        duration: Nanos(sim.now().0),
        end: match sim.stop() {
            None if !seen.watches.wants_more() => End::Models,
            None => End::Duration,
            Some(Stop::Finished) => End::Finished,
            Some(Stop::Deadlock(_)) => End::Deadlock,
            Some(Stop::Livelock { .. }) => End::Livelock,
        },
        tasks: (0..sim.task_count()).map(name).collect::<BTreeMap<_, _>>(),
        summary: seen.summary,
        conservation: seen.conservation,
        models: seen.watches.finish(sim.now()),
        dumps: seen.dumps,
    }
}

/// A run that got stuck has failed.
fn verdict(stop: Option<&Stop>) -> Result<(), Failure> {
    match stop {
        None | Some(Stop::Finished) => Ok(()),
        Some(Stop::Deadlock(waits)) => {
            let waits: Vec<_> = waits.iter().map(|wait| format!("\n  {wait}")).collect();
            Err(Failure::Check(format!("deadlock: nothing will ever happen again{}", waits.concat())))
        }
        Some(Stop::Livelock { name, at, .. }) => Err(Failure::Check(format!(
            "task {name} goes on and on without time passing (at operation {at} of its program)"
        ))),
    }
}
