// SPDX-License-Identifier: GPL-2.0-only
//! Arguments of `zerolag replay`.

use std::path::PathBuf;

use clap::Args;
use zerolag_core::cpu_set::CPUS_MAX;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;

use super::{Format, kernel};
use crate::args::high::settings::span;

/// Arguments of `zerolag replay`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Replay {
    /// The recording: perf.data, perf script text, trace.dat, ftrace or trace-cmd text, Perfetto; each also
    /// packed by gzip or zstd; told apart by content. - is standard input.
    #[arg(value_name = "TRACE")]
    pub(crate) recording: PathBuf,
    /// What the recording cannot carry (TOML): kernel, tick rate, groups with weights and limits, and each
    /// task's group, CPUs, nice level, slice and policy. `zerolag capture` helps to get it.
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// The kernel whose scheduler replays it, by default what the context says, else 6.12. Several, as in
    /// 6.1,6.12, are each tried beside that.
    #[arg(long, value_name = "K,...", value_parser = kernel(), value_delimiter = ',')]
    pub(crate) kernel: Vec<Kernel>,
    /// The machine it is replayed on: a name, Ncpu for N equal CPUs, or a file (see `zerolag topology`). By
    /// default what the context says, else as many equal CPUs as the recording shows.
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Only so much of the recording's beginning, with a unit (for example 500ms).
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) duration: Option<Nanos>,
    /// Set a feature (on or off), a tunable or cost (a time with a unit, or a number), hz (100, 250, 300,
    /// 1000), or costs (ideal, x86-server; by default they are measured in the recording). May be given
    /// several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// What if this group of the context had another weight (1 to 10000, usually 100)? May be given several
    /// times, as may all that ask what if.
    #[arg(long = "weight", value_name = "GROUP=N")]
    pub(crate) weights: Vec<String>,
    /// What if tasks with such a name were as nice as this?
    #[arg(long = "nice", value_name = "PATTERN=N")]
    pub(crate) nices: Vec<String>,
    /// What if they asked for slices of this length (0.1 to 100 ms, with a unit)?
    #[arg(long = "slice", value_name = "PATTERN=TIME")]
    pub(crate) slices: Vec<String>,
    /// What if the machine had so many equal CPUs?
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=CPUS_MAX as i64))]
    pub(crate) cpus: Vec<u16>,
    /// Replay so many times, with ticks that come a few microseconds earlier or later, as they did in the
    /// recording, and show between which shares the replays come out: so much is chance.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeat: u32,
    /// Also write what is replayed as asked to this file, with the recording's pids and times; see
    /// `zerolag convert --help` for formats.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The format of the trace; by default the one that its name says.
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    /// Also write what the scheduler is asked to do in that replay to this file, as an event script that `zerolag
    /// script` and the kernel's own code (oracle/) can run. Of Linux 6.1 and later, at 250 Hz, if no task is a
    /// real-time one (a context can say so: policy = "normal").
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Print JSON instead of tables (schema zerolag.replay/2, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER: &str = "\
SHARE is CPU time over the time recorded: 100% is one CPU all the time. SWITCHES says how often a task got a
CPU, PREEMPTED how often it lost it while it could have run on. WAKEUPS counts wake-ups that were answered by
a CPU, P50_US to MAX_US the time from wake-up to running, in microseconds.

A single --kernel, --machine and all --set change the replay as a whole; beside it stands what was replayed
without them. Each --weight, --nice, --slice and --cpus, and each of several kernels, is tried by itself.

Examples:
  perf sched record -- sleep 5; zerolag replay perf.data
  zerolag replay perf.data --context context.toml --kernel 6.1,6.12
  zerolag replay perf.data --context context.toml --weight /batch=50 --nice 'worker*=5' --cpus 8
  zerolag replay perf.txt.gz --set base_slice=1ms --json";
