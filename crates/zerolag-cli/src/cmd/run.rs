// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run`: runs a workload and says what each task and group got.

mod drive;
mod files;

use std::collections::BTreeMap;
use std::io::Write;

use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::{Sim, Stop};
use zerolag_sim::workload::rtapp;

use crate::args::high::workload::Input;
use crate::args::low;
use crate::failure::Failure;
use crate::report::{End, Report, TaskName};

use drive::Outcome;

/// Runs the workload.
pub(crate) fn run(args: &low::Run, out: &mut dyn Write) -> Result<(), Failure> {
    let input = Input::read(args, args.out.is_some())?;
    let mut sim = input.scenario.simulate().map_err(Failure::input)?;
    let watched = input.app.as_ref().filter(|_| args.out.is_some());
    let mut observer = watched.map(|(app, compiled)| rtapp::Observer::new(app, compiled));
    let (end, watches) = (Instant(input.scenario.duration.0), input.scenario.watches());
    let outcome = drive::drive(&mut sim, end, watches, observer.as_mut());

    let record = observer.map(|o| o.finish(sim.now(), sim.stop().is_none(), |task| sim.task_name(task)));

    let report = report(&input, &sim, outcome);
    if let Some(dir) = &args.out {
        files::write(dir, &report, watched.map(|(app, _)| app).zip(record.as_ref()))?;
    }
    if args.json {
        writeln!(out, "{:#}", report.to_json())?;
    } else {
        report.write_text(out)?;
    }
    out.flush()?;
    verdict(sim.stop())
}

fn report(input: &Input, sim: &Sim, outcome: Outcome) -> Report {
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
            None if outcome.over => End::Models,
            None => End::Duration,
            Some(Stop::Finished) => End::Finished,
            Some(Stop::Deadlock(_)) => End::Deadlock,
            Some(Stop::Livelock { .. }) => End::Livelock,
        },
        tasks: (0..sim.task_count()).map(name).collect::<BTreeMap<_, _>>(),
        summary: outcome.summary,
        models: outcome.models,
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
