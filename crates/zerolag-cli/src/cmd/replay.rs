// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag replay`: runs what a recording shows under a scheduler, says how far the two are apart, and what
//! would have happened if something had been different.

mod change;
mod figures;
mod print;
mod recording;
mod verdict;

use std::fs;
use std::io::Write;
use std::path::Path;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Nanos;
use zerolag_sim::replay::{self, Context, Options};
use zerolag_sim::scenario::Overrides;
use zerolag_sim::sim::{Sim, Stop};
use zerolag_trace::metrics::{Metrics, Summary};

use crate::args::high::{Source, machine, settings};
use crate::args::low;
use crate::failure::Failure;

use change::Change;
use figures::Comparison;
use recording::Recording;

/// Replays the recording.
pub(crate) fn run(args: &low::Replay, out: &mut dyn Write) -> Result<(), Failure> {
    if args.duration == Some(Nanos::ZERO) {
        return Err(Failure::input("--duration: a replay of no time shows nothing"));
    }
    let changes = Change::all(args)?;
    let recording = Recording::read(&Source::new(&args.trace), args.duration)?;
    let cpus = recording.history.cpu_count();
    let options = Options { duration: args.duration };
    let replay =
        |context: &Context| replay::Replay::new(&recording.history, &recording.tasks, context, options);

    let base = as_asked(args, cpus)?;
    let replayed = replay(&base);
    for remark in &replayed.remarks {
        eprintln!("zerolag: {}: {remark}", recording.name);
    }
    let mut comparison = Comparison::new(&recording, &replayed, &simulate(&replayed)?);
    if is_changed_as_a_whole(args) {
        let unchanged = replay(&context(args, cpus, &Overrides::default())?);
        comparison.add_as_recorded(&unchanged, &simulate(&unchanged)?);
    }
    for change in &changes {
        let mut context = match change.overrides(args)? {
            Some(overrides) => with_settings(args, context(args, cpus, &overrides)?)?,
            None => base.clone(),
        };
        change.apply(&mut context)?;
        let changed = replay(&context);
        comparison.add_what_if(change.to_string(), &changed, &simulate(&changed)?);
    }
    if args.json {
        writeln!(out, "{:#}", comparison.to_json())?;
    } else {
        comparison.write_text(out)?;
    }
    Ok(())
}

fn is_changed_as_a_whole(args: &low::Replay) -> bool {
    args.kernel.len() == 1 || args.machine.is_some() || !args.settings.is_empty()
}

/// What is known beside the recording, with what the command line changes as a whole.
fn as_asked(args: &low::Replay, cpus: usize) -> Result<Context, Failure> {
    let kernel = if let [kernel] = args.kernel[..] { Some(kernel) } else { None };
    let machine = args.machine.as_deref().map(machine).transpose()?;
    let overrides = Overrides { kernel, machine, ..Overrides::default() };
    with_settings(args, context(args, cpus, &overrides)?)
}

fn with_settings(args: &low::Replay, mut context: Context) -> Result<Context, Failure> {
    for assignment in &args.settings {
        settings::apply(&mut context.setup, assignment)?;
        context.has_costs |= assignment.trim_start().starts_with("costs");
    }
    Ok(context)
}

/// What is known beside the recording, which shows so many CPUs.
fn context(args: &low::Replay, cpus: usize, overrides: &Overrides) -> Result<Context, Failure> {
    let Some(path) = &args.context else {
        return Context::unknown(overrides, cpus).map_err(Failure::input);
    };
    let source = Source::new(path);
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    let files = |name: &str| fs::read(beside.join(name));
    replay::context::read(&source.to_string(), &source.read()?, overrides, &files, Some(cpus))
        .map_err(Failure::input)
}

/// Runs it to its end. Figures are those from the beginning of the recording on.
fn simulate(replay: &replay::Replay) -> Result<(Sim, Summary), Failure> {
    let mut sim = replay.simulate().map_err(Failure::input)?;
    let mut metrics = Metrics::new();
    let begin = replay.begin();
    let stop = sim.run_until(replay.end(), &mut |event: &SchedEvent| {
        if event.time >= begin {
            metrics.feed(event);
        }
    });
    if let Some(Stop::Livelock { name, at, .. }) = stop {
        return Err(Failure::Check(format!(
            "task {name} goes on and on without time passing (at operation {at} of its program)"
        )));
    }
    metrics.advance(replay.end());
    Ok((sim, metrics.summary()))
}
