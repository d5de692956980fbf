// SPDX-License-Identifier: GPL-2.0-only
//! Schedules written for other tools.

mod counters;

use std::path::Path;

use zerolag_core::event::SchedEvent;
use zerolag_sim::sim::Sim;
use zerolag_trace::TaskTable;
use zerolag_trace::write::{EventWriter, Ftrace, PerfScript, Perfetto};

use crate::args::low::{self, Format};
use crate::failure::Failure;
use crate::file::NewFile;
use counters::Counters;

/// How names of files end, and what is in them.
const ENDINGS: [(&str, Format); 7] = [
    (".perf", Format::PerfScript),
    (".perf.txt", Format::PerfScript),
    (".ftrace", Format::Ftrace),
    (".ftrace.txt", Format::Ftrace),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".perfetto", Format::Perfetto),
];

/// A trace that is being written.
pub(crate) struct TraceFile {
    file: NewFile,
    writer: Writer,
    counters: Counters,
}

/// Writes to memory; the file takes that over in pieces.
enum Writer {
    PerfScript(PerfScript<Vec<u8>>),
    Ftrace(Ftrace<Vec<u8>>),
    Perfetto(Box<Perfetto<Vec<u8>>>),
}

impl Writer {
    fn as_dyn(&mut self) -> &mut dyn EventWriter {
        match self {
            Self::PerfScript(writer) => writer,
            Self::Ftrace(writer) => writer,
            Self::Perfetto(writer) => writer.as_mut(),
        }
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        match self {
            Self::PerfScript(writer) => writer.get_mut(),
            Self::Ftrace(writer) => writer.get_mut(),
            Self::Perfetto(writer) => writer.get_mut(),
        }
    }
}

impl TraceFile {
    /// Begins a trace.
    pub(crate) fn create(
        path: &Path,
        format: Option<Format>,
        counters: &low::Counters,
    ) -> Result<Self, Failure> {
        let name = path.to_string_lossy();
        let named = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|&(_, format)| format);
        let Some(format) = format.or(named) else {
            let endings = ENDINGS.map(|(ending, _)| ending).join(", ");
            return Err(Failure::Input(format!(
                "{name}: the name does not say the format of the trace; names end in {endings}, or say \
                 perf-script, ftrace or perfetto"
            )));
        };
        let counters = Counters::new(&counters.counters);
        if format != Format::Perfetto && !counters.is_empty() {
            return Err(Failure::Input(format!("{name}: only perfetto traces have counters")));
        }
        let file = NewFile::create(path)?;
        let writer = match format {
            Format::PerfScript => Writer::PerfScript(PerfScript::new(Vec::new())),
            Format::Ftrace => Writer::Ftrace(Ftrace::new(Vec::new())),
            Format::Perfetto => Writer::Perfetto(Box::new(Perfetto::new(Vec::new()))),
        };
        Ok(Self { file, writer, counters })
    }

    /// Writes an event, and values that have changed if they can be asked for.
    pub(crate) fn event(
        &mut self,
        event: &SchedEvent,
        names: &TaskTable,
        sim: Option<&Sim>,
    ) -> Result<(), Failure> {
        self.writer.as_dyn().event(event, names).expect(MEMORY);
        if let (Writer::Perfetto(writer), Some(sim)) = (&mut self.writer, sim) {
            self.counters.sample(event, names, sim, writer).expect(MEMORY);
        }
        self.drain()
    }

    /// Puts the trace in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.writer.as_dyn().finish().expect(MEMORY);
        self.drain()?;
        self.file.finish()
    }

    fn drain(&mut self) -> Result<(), Failure> {
        use std::io::Write;
        let Self { file, writer, .. } = self;
        let buffer = writer.buffer();
        let outcome = file.write_all(buffer);
        buffer.clear();
        outcome.map_err(|e| self.file.failure(e))
    }
}

const MEMORY: &str = "memory takes anything";
