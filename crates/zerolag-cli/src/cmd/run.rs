// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run`: runs a workload and says what each task and group got.

mod drive;
mod files;

use std::collections::BTreeMap;
use std::io::Write;

use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::{Setup, Sim, Stop};
use zerolag_sim::workload::Workload;
use zerolag_sim::workload::rtapp::{self, Compiled, RtApp};

use crate::args::high::{self, Source, settings};
use crate::args::low;
use crate::failure::Failure;
use crate::report::{End, Report, TaskName};

use drive::Outcome;

/// How long a run takes if neither the file nor the user says.
const DURATION_DEFAULT: Nanos = Nanos::from_secs(10);

/// Runs the workload.
pub(crate) fn run(args: &low::Run, out: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::new(&args.file);
    let setup = setup(args)?;
    let (app, compiled, workload) = read(args, &source, &setup)?;
    let duration = args.duration.or(app.global.duration).unwrap_or(DURATION_DEFAULT);
    if duration == Nanos::ZERO {
        return Err(source.failure("a run of no time shows nothing; give a --duration"));
    }
    let mut sim = Sim::new(setup, workload).map_err(|e| source.failure(e))?;
    let mut observer = args.out.is_some().then(|| rtapp::Observer::new(&app, &compiled));
    let outcome = drive::drive(&mut sim, Instant(duration.0), observer.as_mut());

    let report = report(args, &source, &sim, outcome);
    if let Some(dir) = &args.out {
        files::write(dir, &report, observer.as_ref().map(|o| (&app, o)))?;
    }
    if args.json {
        writeln!(out, "{:#}", report.to_json())?;
    } else {
        report.write_text(out)?;
    }
    out.flush()?;
    verdict(sim.stop())
}

fn setup(args: &low::Run) -> Result<Setup, Failure> {
    let machine = high::machine(&args.machine)?;
    let config = high::config(args.kernel, machine.cpu_count())?;
    let mut setup = Setup { seed: args.seed, ..Setup::new(machine, config) };
    for assignment in &args.settings {
        settings::apply(&mut setup, assignment)?;
    }
    Ok(setup)
}

fn read(args: &low::Run, source: &Source, setup: &Setup) -> Result<(RtApp, Compiled, Workload), Failure> {
    let mode = if args.rtapp_compat { rtapp::Mode::Compatible } else { rtapp::Mode::Strict };
    let text = source.read()?;
    let app = rtapp::read(&source.to_string(), &text, mode, rtapp::SuspendName::default())
        .map_err(Failure::input)?;
    let mut workload = Workload::new();
    let options = rtapp::Options { observe: args.out.is_some(), ..rtapp::Options::default() };
    let compiled = rtapp::add(&app, &mut workload, &setup.topology, &options).map_err(Failure::input)?;
    for remark in app.remarks.iter().chain(&compiled.remarks) {
        eprintln!("zerolag: {source}:{}: {}", remark.at, remark.text);
    }
    Ok((app, compiled, workload))
}

fn report(args: &low::Run, source: &Source, sim: &Sim, outcome: Outcome) -> Report {
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
    Report {
        input: source.to_string(),
        kernel: args.kernel.name(),
        machine: args.machine.clone(),
        cpus: sim.scheduler().cpus().len(),
        seed: args.seed,
        duration: Nanos(sim.now().0),
        end: match sim.stop() {
            None => End::Duration,
            Some(Stop::Finished) => End::Finished,
            Some(Stop::Deadlock(_)) => End::Deadlock,
            Some(Stop::Livelock { .. }) => End::Livelock,
        },
        tasks: (0..sim.task_count()).map(name).collect::<BTreeMap<_, _>>(),
        summary: outcome.summary,
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
