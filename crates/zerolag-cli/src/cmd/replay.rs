// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag replay`: runs what a recording shows under a scheduler, says how far the two are apart, and what
//! would have happened if something had been different.

mod print;

use std::io::Write;
use std::num::NonZeroU32;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::units::Nanos;
use zerolag_study::replay::{Change, ChangeError, Heard, Recording, ReplayError, Request};
use zerolag_trace::TaskTable;
use zerolag_trace::read;

use crate::args::high::{Source, implemented};
use crate::args::low;
use crate::failure::Failure;
use crate::file::NewFile;
use crate::trace::TraceFile;

use print::Text;

/// Replays the recording.
pub(crate) fn run(args: &low::Replay, out: &mut dyn Write) -> Result<(), Failure> {
    let request = Request {
        context: args.context.as_deref().map(crate::context::open).transpose()?,
        kernel: if let [kernel] = args.kernel[..] { Some(kernel) } else { None },
        machine: args.machine.clone(),
        settings: args.settings.clone(),
        repeat: NonZeroU32::new(args.repeat).unwrap_or(NonZeroU32::MIN),
        changes: changes(args)?,
    };
    let recording = read(&Source::new(&args.recording), args.duration)?;
    if let Some(path) = &args.events {
        let mut file = NewFile::create(path)?;
        request.script(&recording, |text| file.write_all(text.as_bytes()).map_err(|e| file.failure(e)))?;
        file.finish()?;
    }
    let counters = low::Counters::default();
    let trace = args.trace.as_ref().map(|path| TraceFile::create(path, args.trace_format, &counters));
    let mut writing = trace.transpose()?.map(|file| Writing::new(file, &recording));
    let comparison = request.run(&recording, |heard| match &mut writing {
        Some(writing) if heard.number == 0 => writing.event(heard),
        _ => Ok::<_, Failure>(()),
    })?;
    writing.map(|writing| writing.file.finish()).transpose()?;
    for remark in &comparison.remarks {
        eprintln!("zerolag: {}: {remark}", recording.name);
    }
    if args.json {
        writeln!(out, "{:#}", comparison.to_json())?;
    } else {
        Text(&comparison).write(out)?;
    }
    Ok(())
}

/// What the command line wants to be tried by itself.
fn changes(args: &low::Replay) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    if args.kernel.len() > 1 {
        for &kernel in &args.kernel {
            changes.push(Change::Kernel(implemented(kernel)?));
        }
    }
    changes.extend(args.cpus.iter().map(|&n| Change::Cpus(n)));
    let weights = args.weights.iter().map(|text| Change::weight(text));
    let nices = args.nices.iter().map(|text| Change::nice(text));
    let slices = args.slices.iter().map(|text| Change::slice(text));
    for change in weights.chain(nices).chain(slices) {
        changes.push(change?);
    }
    Ok(changes)
}

/// A replay that is written to a file as if it had been recorded.
struct Writing<'r> {
    file: TraceFile,
    names: TaskTable,
    recording: &'r Recording,
}

impl<'r> Writing<'r> {
    fn new(file: TraceFile, recording: &'r Recording) -> Self {
        Self { file, names: TaskTable::new(), recording }
    }

    fn event(&mut self, heard: Heard<'_>) -> Result<(), Failure> {
        let Heard { replay, event, sim, .. } = heard;
        for task in (self.names.len()..sim.task_count()).map(TaskId::from_index) {
            let recorded = &self.recording.tasks[replay.recorded(sim, task)];
            let added = self.names.add(recorded.pid, &recorded.comm);
            if let Some(info) = self.names.get_mut(added) {
                info.prio = recorded.prio;
            }
        }
        let time = self.recording.history.first() + event.time.saturating_since(replay.begin());
        self.file.event(&SchedEvent { time, ..*event }, &self.names, None)
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        Self::input(format_args!("--{error}"))
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Livelock(..) => Self::Check(error.to_string()),
            ReplayError::Change(error) => error.into(),
            ReplayError::Setting(_) => Self::input(format_args!("--{error}")),
            _ => Self::input(error),
        }
    }
}

/// Reads the recording, or so much of its beginning. What is odd about it is told on standard error.
fn read(source: &Source, duration: Option<Nanos>) -> Result<Recording, Failure> {
    let trace = match source.is_standard_input() {
        true => read::open(std::io::stdin()),
        false => read::open_path(source.path()),
    };
    let trace = trace.map_err(|e| source.failure(e))?;
    let recording = Recording::read(source.to_string(), trace, duration, &mut || true);
    let recording = recording.map_err(|e| source.failure(e))?;
    for remark in &recording.remarks {
        eprintln!("zerolag: {source}: {remark}");
    }
    Ok(recording)
}
