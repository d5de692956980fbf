// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag replay`: runs what a recording shows under a scheduler, and says how far the two are apart.

mod figures;
mod print;
mod recording;

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

use figures::Comparison;
use recording::Recording;

/// Replays the recording.
pub(crate) fn run(args: &low::Replay, out: &mut dyn Write) -> Result<(), Failure> {
    if args.duration == Some(Nanos::ZERO) {
        return Err(Failure::input("--duration: a replay of no time shows nothing"));
    }
    let recording = Recording::read(&Source::new(&args.trace), args.duration)?;
    let mut context = context(args, recording.history.cpu_count())?;
    for assignment in &args.settings {
        settings::apply(&mut context.setup, assignment)?;
        context.has_costs |= assignment.trim_start().starts_with("costs");
    }
    let options = Options { duration: args.duration };
    let replay = replay::Replay::new(&recording.history, &recording.tasks, &context, options);
    for remark in &replay.remarks {
        eprintln!("zerolag: {}: {remark}", recording.name);
    }
    let simulated = simulate(&replay)?;
    let comparison = Comparison::new(&recording, &replay, &simulated);
    if args.json {
        writeln!(out, "{:#}", comparison.to_json())?;
    } else {
        comparison.write_text(out)?;
    }
    Ok(())
}

/// What is known beside the recording, which shows so many CPUs.
fn context(args: &low::Replay, cpus: usize) -> Result<Context, Failure> {
    let machine = args.machine.as_deref().map(machine).transpose()?;
    let overrides = Overrides { kernel: args.kernel, machine, duration: None, seed: None };
    let Some(path) = &args.context else {
        return Context::unknown(&overrides, cpus).map_err(Failure::input);
    };
    let source = Source::new(path);
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    let files = |name: &str| fs::read(beside.join(name));
    replay::context::read(&source.to_string(), &source.read()?, &overrides, &files, Some(cpus))
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
