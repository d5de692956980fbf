// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag replay`: runs what a recording shows under a scheduler, says how far the two are apart, and what
//! would have happened if something had been different.

mod change;
mod figures;
mod print;
mod recording;
mod verdict;

use std::io::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::Nanos;
use zerolag_sim::replay::{self, Context, Options};
use zerolag_sim::scenario::Overrides;
use zerolag_sim::sim::{Sim, Stop};
use zerolag_trace::TaskTable;
use zerolag_trace::metrics::{Metrics, Summary};

use crate::args::high::{Source, machine, settings};
use crate::args::low;
use crate::failure::Failure;
use crate::trace::TraceFile;

use change::Change;
use figures::{Comparison, Replayed};
use recording::Recording;

/// Replays the recording.
pub(crate) fn run(args: &low::Replay, out: &mut dyn Write) -> Result<(), Failure> {
    if args.duration == Some(Nanos::ZERO) {
        return Err(Failure::input("--duration: a replay of no time shows nothing"));
    }
    let changes = Change::all(args)?;
    let recording = Recording::read(&Source::new(&args.recording), args.duration)?;
    let cpus = recording.history.cpu_count();
    let counters = low::Counters::default();
    let trace = args.trace.as_ref().map(|path| TraceFile::create(path, args.trace_format, &counters));
    let mut trace = trace.transpose()?;
    let mut replay = |context: &Context| -> Result<Replayed, Failure> {
        let mut once = |repetition| {
            let options = Options { duration: args.duration, repetition };
            let replay = replay::Replay::new(&recording.history, &recording.tasks, context, options);
            let run = simulate(&replay, trace.take().map(|file| Writing::new(file, &recording, &replay)))?;
            Ok::<_, Failure>(Replayed::new(replay, &run, recording.has_wakeups))
        };
        let mut first = once(0)?;
        for repetition in 1..args.repeat {
            first.repeat(once(repetition)?);
        }
        Ok(first)
    };

    let base = as_asked(args, cpus)?;
    let replayed = replay(&base)?;
    for remark in &replayed.replay.remarks {
        eprintln!("zerolag: {}: {remark}", recording.name);
    }
    let mut comparison = Comparison::new(&recording, &replayed);
    if is_changed_as_a_whole(args) {
        comparison.add_as_recorded(&replay(&context(args, cpus, &Overrides::default())?)?);
    }
    for change in &changes {
        let mut context = match change.overrides(args)? {
            Some(overrides) => with_settings(args, context(args, cpus, &overrides)?)?,
            None => base.clone(),
        };
        change.apply(&mut context)?;
        comparison.add_what_if(change.to_string(), &replay(&context)?);
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
    match &args.context {
        Some(path) => crate::context::read(path, overrides, cpus),
        None => Context::unknown(overrides, cpus).map_err(Failure::input),
    }
}

/// A replay that is written to a file as if it had been recorded.
struct Writing<'r> {
    file: TraceFile,
    names: TaskTable,
    recording: &'r Recording,
    replay: &'r replay::Replay,
}

impl<'r> Writing<'r> {
    fn new(file: TraceFile, recording: &'r Recording, replay: &'r replay::Replay) -> Self {
        Self { file, names: TaskTable::new(), recording, replay }
    }

    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), Failure> {
        for task in (self.names.len()..sim.task_count()).map(TaskId::from_index) {
            let recorded = &self.recording.tasks[self.replay.recorded(sim, task)];
            let added = self.names.add(recorded.pid, &recorded.comm);
            if let Some(info) = self.names.get_mut(added) {
                info.prio = recorded.prio;
            }
        }
        let time = self.recording.history.first() + event.time.saturating_since(self.replay.begin());
        self.file.event(&SchedEvent { time, ..*event }, &self.names, None)
    }
}

/// Runs it to its end. Figures are those from the beginning of the recording on.
fn simulate(replay: &replay::Replay, mut writing: Option<Writing<'_>>) -> Result<(Sim, Summary), Failure> {
    let mut sim = replay.simulate().map_err(Failure::input)?;
    let mut metrics = Metrics::new();
    let begin = replay.begin();
    let mut heard = Vec::new();
    while sim.step(replay.end(), &mut |event: &SchedEvent| heard.push(*event)) {
        for event in heard.drain(..).filter(|event| event.time >= begin) {
            metrics.feed(&event);
            if let Some(writing) = &mut writing {
                writing.event(&event, &sim)?;
            }
        }
    }
    if let Some(writing) = writing {
        writing.file.finish()?;
    }
    if let Some(Stop::Livelock { name, at, .. }) = sim.stop() {
        return Err(Failure::Check(format!(
            "task {name} goes on and on without time passing (at operation {at} of its program)"
        )));
    }
    metrics.advance(replay.end());
    Ok((sim, metrics.summary()))
}
