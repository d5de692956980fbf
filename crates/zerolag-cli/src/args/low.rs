// SPDX-License-Identifier: GPL-2.0-only
//! What the user typed, word for word: no file is opened and nothing is looked up here.
//!
//! Help, manual pages and shell completions are all made from these definitions. Every help text gives the
//! unit and the default.

mod capture;
mod compare;
mod convert;
mod explain;
mod hunt;
mod latency;
mod model;
mod replay;
mod report;
mod reproduce;
mod schedule;
mod soak;
mod stat;
pub(crate) mod study;
mod sweep;
mod timehist;
mod tune;
mod workload;

pub(crate) use capture::Capture;
pub(crate) use compare::Compare;
pub(crate) use convert::{Convert, Counter, Counters, Format};
pub(crate) use explain::Explain;
pub(crate) use hunt::{Badness, Hunt};
pub(crate) use latency::Latency;
pub(crate) use model::{Model, sorted};
pub(crate) use replay::Replay;
pub(crate) use report::Report;
pub(crate) use reproduce::Reproduce;
pub(crate) use schedule::{Beside, Part, Schedule, Time};
pub(crate) use soak::Soak;
pub(crate) use stat::{Sort, Stat};
pub(crate) use sweep::{Sweep, SweepCommand, SweepMerge};
pub(crate) use timehist::Timehist;
pub(crate) use tune::Tune;
pub(crate) use workload::Workload;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;
use zerolag_sim::pattern::Pattern;
use zerolag_sim::script::Build;

use super::high::dump::dump;

/// The Linux fair scheduler as a laboratory: run workloads on it, replay traces, ask what if.
#[derive(Debug, Parser)]
#[command(name = "zerolag", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 the run failed a check, 2 bad input, 3 an invariant is broken.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload and show what each task and group got.
    Run(Run),
    /// Run workloads, or variants of one, with many seeds, and say how they differ and how sure that is.
    Compare(Compare),
    /// Run a scenario at many points of a space of choices and keep the results in one file.
    Sweep(Sweep),
    /// Look for settings that reach what is wanted, confirm the best with other seeds, and say how to set them.
    Tune(Tune),
    /// Replay a recording and show what was measured beside what is simulated.
    Replay(Replay),
    /// Run experiments that were published, and print published and simulated figures side by side.
    Reproduce(Reproduce),
    /// Get what a recording does not carry from the machine on which it is made.
    Capture(Capture),
    /// Run an event script and print the scheduler's state after each event.
    Script(Script),
    /// Show how long tasks waited for a CPU, as perf sched latency does.
    Latency(Latency),
    /// Show each time that a task left a CPU, as perf sched timehist does.
    Timehist(Timehist),
    /// Show what each task, group and CPU of a schedule got, and who ran while tasks waited.
    Stat(Stat),
    /// Say why tasks waited: who ran, how they stood to each other, and what would have helped.
    Explain(Explain),
    /// Write a recording, or a simulated schedule, in the format of another tool.
    Convert(Convert),
    /// Write a page that shows schedules: timelines, latencies, shares, lags, balancing.
    Report(Report),
    /// Show which features and tunables a kernel's scheduler has, and their defaults; of features also the first
    /// and the last known kernel with each.
    Features(Features),
    /// Show machines: their cores, caches and nodes, and the scheduling domains built on them.
    Topology(Topology),
    #[command(flatten)]
    Model(Model),
    /// Run configurations drawn at random until one of them breaks an invariant, and shrink it.
    Soak(Soak),
    /// Search for the workload with which a kernel does worst on a machine, and shrink it.
    Hunt(Hunt),
    /// Measure what a decision costs, in the loops of the reference's bench mode.
    #[command(hide = true)]
    Bench(Bench),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write manual pages, one for each command.
    Man(Man),
}

/// Arguments of `zerolag run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_COLUMNS)]
pub(crate) struct Run {
    /// The workload: a scenario (TOML) or an rt-app file (JSON), told apart by content; - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) workload: Workload,
    /// Also write the schedule to this file, as perf-script, ftrace or perfetto; see `zerolag convert --help`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The format of the trace; by default the one that its name says.
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    #[command(flatten)]
    pub(crate) counters: Counters,
    /// Also write what the scheduler is asked to do to this file, as an event script that `zerolag script` and the
    /// kernel's own code (oracle/) can run. Of Linux 6.1 and later.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// At this time, print the run queues as /sys/kernel/debug/sched/debug shows them; with a task's name or
    /// pattern after a colon (1s:hog-*), /proc/PID/sched of the tasks that it matches and that have not
    /// ended. In the layout of 6.1 or 6.12, without schedstats. May be given several times.
    #[arg(long = "dump", value_name = "TIME[:TASK]", value_parser = dump)]
    pub(crate) dumps: Vec<Dump>,
    /// Show the run in the terminal, to be played, stepped and wound back, instead of its figures.
    #[arg(long, conflicts_with_all = ["json", "out", "trace", "events"])]
    pub(crate) watch: bool,
    /// Print JSON instead of tables (schema zerolag.run/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Check every invariant of the scheduler and of its schedule after each event (slow); the first that breaks
    /// ends the run with exit code 3.
    #[arg(long)]
    pub(crate) check: bool,
    /// Also write results to this directory: run.json and, for rt-app files, each thread's log and the
    /// trace markers.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// What `--dump` asks for.
#[derive(Clone, Debug)]
pub(crate) struct Dump {
    /// When.
    pub(crate) at: Nanos,
    /// Which tasks; nothing = the run queues.
    pub(crate) tasks: Option<Pattern>,
}

const RUN_COLUMNS: &str = "\
CPU_MS is CPU time, SHARE that of one CPU. VOLUNTARY and PREEMPTED say how often a task gave the CPU up or
lost it. WAKEUPS counts wake-ups that were answered by a CPU, P50_US to MAX_US the time from wake-up to
running, in microseconds. Of groups with a limit, PERIODS to BURST_MS are the counters of cpu.stat.

Examples:
  zerolag run scenarios/groups.toml --set base_slice=1ms
  zerolag run scenarios/video-player.json --machine juno-r2 --json
  zerolag run scenarios/groups.toml --dump 500ms --dump 500ms:web-*";

/// Arguments of `zerolag script`.
#[derive(Debug, Args)]
pub(crate) struct Script {
    /// The script, in the language of oracle/FORMAT.md; - is standard input.
    pub(crate) file: PathBuf,
    /// The kernel whose scheduler runs it; with bw added, quotas can be set and bandwidth is printed.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = build())]
    pub(crate) kernel: Build,
    /// Write out what each line gives at once, for a program that decides by it what the next line is.
    #[arg(long)]
    pub(crate) flush: bool,
    /// Look at every invariant of the scheduler after each line; one that breaks ends the run with exit code 3.
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: ScriptOutput,
}

/// How much `zerolag script` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ScriptOutput {
    /// Print a line with a hash of the state for each event (the default).
    #[arg(long)]
    pub(crate) hash: bool,
    /// Print a line for each event, then all of the state.
    #[arg(long)]
    pub(crate) full: bool,
    /// As --full, whatever mode the script asks for.
    #[arg(long)]
    pub(crate) fullest: bool,
    /// Print only what the script asks for with `show` and `dump`.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Arguments of `zerolag features`.
#[derive(Debug, Args)]
pub(crate) struct Features {
    /// The kernel to show.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
    /// Show what changed from one kernel to another instead.
    #[arg(long, num_args = 2, value_names = ["K1", "K2"], value_parser = kernel(), conflicts_with = "kernel")]
    pub(crate) diff: Option<Vec<Kernel>>,
    /// Print JSON instead of a table (schema zerolag.features/1 or zerolag.features-diff/1).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `zerolag topology`.
#[derive(Debug, Args)]
pub(crate) struct Topology {
    /// What to do with a machine.
    #[command(subcommand)]
    pub(crate) what: TopologyCommand,
}

/// What to do with a machine.
#[derive(Debug, Subcommand)]
pub(crate) enum TopologyCommand {
    /// List the machines that have a name.
    List,
    /// Show a machine core by core: what shares a cache, a node, a package; distances and capacities.
    #[command(after_help = TOPOLOGY_SHOW)]
    Show(TopologyShow),
    /// Show the scheduling domains that a kernel builds on a machine: levels, flags, groups, weights.
    #[command(after_help = TOPOLOGY_DOMAINS)]
    Domains(TopologyDomains),
    /// Write a machine as TOML, in the form that is also read.
    #[command(after_help = TOPOLOGY_IMPORT)]
    Import(TopologyImport),
}

/// How machines are named, after some examples.
macro_rules! machine_help {
    ($examples:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n",
            "\
MACHINE is a name (see `zerolag topology list`), Ncpu or ncpu:N for N equal CPUs that share
everything, or a file or directory, told apart by content:
  hwloc XML          lstopo --of xml > machine.xml
  Linux's own files  cd /sys/devices &&
                       tar czf ~/machine.tgz system/cpu system/node $(ls -d cpu_*/cpus 2>/dev/null)
                     (what tar says of files that shrink or cannot be read does not matter)
  a directory        /sys, or such an archive unpacked
  TOML               what `zerolag topology import` writes"
        )
    };
}

const TOPOLOGY_SHOW: &str =
    machine_help!("  zerolag topology show ivb-ep\n  zerolag topology show machine.xml --json\n");
const TOPOLOGY_DOMAINS: &str = machine_help!(
    "  zerolag topology domains hybrid-16\n  zerolag topology domains numa8-32 --kernel 6.1 --json\n"
);
const TOPOLOGY_IMPORT: &str =
    machine_help!("  zerolag topology import machine.xml -o machine.toml\n  zerolag topology import /sys\n");

/// Arguments of `zerolag topology show`.
#[derive(Debug, Args)]
pub(crate) struct TopologyShow {
    /// The machine: a name, or a file or directory.
    pub(crate) machine: String,
    /// Print JSON (schema zerolag.topology/2, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `zerolag topology domains`.
#[derive(Debug, Args)]
pub(crate) struct TopologyDomains {
    /// The machine: a name, or a file or directory.
    pub(crate) machine: String,
    /// The kernel that builds them.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
    /// Print JSON (schema zerolag.domains/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `zerolag topology import`.
#[derive(Debug, Args)]
pub(crate) struct TopologyImport {
    /// The machine: a file or directory, or a name.
    pub(crate) machine: String,
    /// The file to write; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `zerolag bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Numbers of tasks, at least 2 each.
    #[arg(default_values_t = [2, 16, 128, 1024, 8192], value_parser = at_least(2, 1 << 20))]
    pub(crate) tasks: Vec<usize>,
    /// How many groups the tasks are below the root.
    #[arg(long, default_value_t = 0, value_parser = at_least(0, 64))]
    pub(crate) depth: usize,
    /// Measure on so many CPUs instead, with three tasks for each, all at the root.
    #[arg(long, value_name = "N", value_parser = at_least(1, 1024), conflicts_with_all = ["tasks", "depth"])]
    pub(crate) cpus: Option<usize>,
    /// With --cpus: how many nodes they are in.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1, 64), requires = "cpus")]
    pub(crate) nodes: usize,
    /// Steps of each kind per repetition; there are seven.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) iterations: u32,
    /// The kernel whose scheduler is measured.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
}

/// Arguments of `zerolag completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for.
    pub(crate) shell: Shell,
}

/// Arguments of `zerolag man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory to write to; it is made if it is not there.
    pub(crate) dir: PathBuf,
}

/// Reads the name of a kernel.
fn kernel() -> impl TypedValueParser<Value = Kernel> {
    PossibleValuesParser::new(Kernel::ALL.map(Kernel::name))
        .map(|name| Kernel::by_name(&name).expect("only names of kernels get through"))
}

/// Reads the name of a kernel, or of a build of it with CFS bandwidth.
fn build() -> impl TypedValueParser<Value = Build> {
    PossibleValuesParser::new(Build::names())
        .map(|name| Build::by_name(&name).expect("only names of builds get through"))
}

/// Reads a number within bounds.
fn at_least(least: u64, most: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(least..=most).map(|n| n as usize)
}
