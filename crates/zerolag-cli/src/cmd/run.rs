// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run`: runs a workload and says what each task and group got.

mod dumps;
mod files;

use std::io::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::sim::{Sim, Stop};
use zerolag_sim::workload::rtapp;
use zerolag_study::follow::Listener;
use zerolag_study::report::Watcher;

use crate::args::high::workload::Input;
use crate::args::low;
use crate::failure::Failure;
use crate::file::NewFile;
use crate::guard::Guard;
use crate::report::text;
use crate::simulate::{self, Names};
use crate::trace::TraceFile;
use crate::watch;

/// Runs the workload.
pub(crate) fn run(args: &low::Run, out: &mut dyn Write) -> Result<(), Failure> {
    let input = Input::read(&args.file, &args.workload, args.out.is_some())?;
    let scenario = &input.scenario;
    let mut sim = match args.events {
        None => scenario.simulate().map_err(Failure::input)?,
        Some(_) => scenario.simulate_recorded().map_err(Failure::input)?,
    };
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
    let script = args.events.as_deref().map(NewFile::create).transpose()?;
    let watcher = Watcher::new(&sim);
    let mut listeners = Listeners { watcher, rtapp, guard, names: Names::default(), trace, script };
    let watches = simulate::drive(&mut sim, end, watches, &mut listeners)?;
    let Listeners { watcher, rtapp, trace, script, .. } = listeners;
    trace.map(TraceFile::finish).transpose()?;
    script.map(NewFile::finish).transpose()?;
    let record = rtapp.map(|o| o.finish(sim.now(), sim.stop().is_none(), |task| sim.task_name(task)));

    let report = watcher.finish(&input.scenario, input.machine.clone(), &sim, watches, dumps);
    if let Some(dir) = &args.out {
        files::write(dir, &report, watched.map(|(app, _)| app).zip(record.as_ref()))?;
    }
    if args.json {
        writeln!(out, "{:#}", report.to_json())?;
    } else {
        report.dumps.iter().try_for_each(|dump| write!(out, "{dump}"))?;
        text::write(&report, out)?;
    }
    out.flush()?;
    verdict(sim.stop())
}

/// Everybody who wants to know what happens.
struct Listeners<'a> {
    watcher: Watcher,
    rtapp: Option<rtapp::Observer<'a>>,
    guard: Option<Guard>,
    names: Names,
    trace: Option<TraceFile>,
    /// The event script.
    script: Option<NewFile>,
}

impl Listener<Failure> for Listeners<'_> {
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), Failure> {
        self.watcher.event(event, sim);
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

    fn stepped(&mut self, sim: &mut Sim) -> Result<(), Failure> {
        let Some(file) = &mut self.script else { return Ok(()) };
        let text = sim.take_script().map_err(Failure::input)?;
        file.write_all(text.as_bytes()).map_err(|e| file.failure(e))
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
