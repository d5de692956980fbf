// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag convert`, and what is said of a trace to be written.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::schedule::times;
use super::{Time, Workload};

/// Arguments of `zerolag convert`.
#[derive(Debug, Args)]
#[command(after_help = CONVERT_HELP)]
pub(crate) struct Convert {
    /// A recording, or a workload, which is run; told apart by content. - is standard input.
    pub(crate) input: PathBuf,
    /// The file to write; it appears whole or not at all. - is standard output.
    pub(crate) output: PathBuf,
    /// The format to write; by default the one that the output's name says.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
    /// Only from one time to another, see `zerolag timehist --help`.
    #[arg(long, value_name = "FROM,TO", value_parser = times)]
    pub(crate) time: Option<(Option<Time>, Option<Time>)>,
    #[command(flatten)]
    pub(crate) counters: Counters,
    #[command(flatten, next_help_heading = "If IN is a workload")]
    pub(crate) workload: Workload,
}

const CONVERT_HELP: &str = "\
Formats, and the names by which they are told: perf-script (*.perf, *.perf.txt), ftrace (*.ftrace,
*.ftrace.txt), perfetto (*.pftrace, *.perfetto-trace). Ticks and balancing have no tracepoint and are left
out.

Examples:
  zerolag convert perf.data out.pftrace                  # for ui.perfetto.dev
  zerolag convert trace.dat - --to perf-script | less
  zerolag convert scenarios/groups.toml out.pftrace --counters task.lag,cpu.running";

/// What a trace can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// As perf script prints it.
    PerfScript,
    /// As the trace file of tracefs has it.
    Ftrace,
    /// Perfetto's protobuf.
    Perfetto,
}

/// Which values of a simulated schedule to write along.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Counters {
    /// Tracks of values over time, in Perfetto traces of simulated schedules: what kind of thing and which of
    /// its values (task, cpu: all of them). Virtual times and lags are in virtual nanoseconds.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) counters: Vec<Counter>,
}

/// A value over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counter {
    /// All values of tasks.
    Task,
    /// All values of CPUs.
    Cpu,
    /// How much virtual service a task had.
    #[value(name = "task.vruntime")]
    TaskVruntime,
    /// What it is owed: its queue's virtual time less its vruntime.
    #[value(name = "task.lag")]
    TaskLag,
    /// The virtual time by which its request should be served.
    #[value(name = "task.deadline")]
    TaskDeadline,
    /// Its load average.
    #[value(name = "task.load")]
    TaskLoad,
    /// Its utilisation.
    #[value(name = "task.util")]
    TaskUtil,
    /// The load average of the CPU's fair queue.
    #[value(name = "cpu.load")]
    CpuLoad,
    /// Its utilisation.
    #[value(name = "cpu.util")]
    CpuUtil,
    /// Tasks that run or wait there.
    #[value(name = "cpu.running")]
    CpuRunning,
}
