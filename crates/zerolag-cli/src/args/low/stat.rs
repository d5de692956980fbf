// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag stat`.

use clap::{Args, ValueEnum};

use super::{Beside, Part, Schedule};

/// Arguments of `zerolag stat`.
#[derive(Debug, Args)]
#[command(after_help = STAT_HELP)]
pub(crate) struct Stat {
    /// What to sort tasks by, the largest first (names and appearance: the first first).
    #[arg(short, long, value_name = "KEY", default_value = "appearance")]
    pub(crate) sort: Sort,
    /// Of how many tasks, those that waited longest, to say who ran meanwhile.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) rivals: usize,
    /// Print JSON instead of tables (schema zerolag.stat/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) beside: Beside,
    #[command(flatten)]
    pub(crate) schedule: Schedule,
}

const STAT_HELP: &str = "\
CPU_MS is CPU time, SHARE that of one CPU. VOLUNTARY and PREEMPTED say how often a task gave the CPU up or
lost it. WAKEUPS counts wake-ups that were answered by a CPU, P50_US to MAX_US the time from wake-up to
running, in microseconds; WAIT_MS is all the time that a task was ready and did not run. With --cpu, tasks
are left out that did not run on those CPUs; the figures of the others stay those of the whole machine.

Examples:
  zerolag stat perf.data --sort wait --rivals 10
  zerolag stat trace.txt --time +1,+2 --comm schbench-worker --json
  zerolag stat scenarios/groups.toml --kernel 6.1";

/// What tasks are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The order in which they appeared.
    Appearance,
    /// Names.
    Name,
    /// CPU time.
    Cpu,
    /// Time spent ready but not running.
    Wait,
    /// How often they got a CPU.
    Switches,
    /// How often they were moved.
    Migrations,
    /// The 99th percentile from wake-up to running.
    P99,
    /// The longest time from wake-up to running.
    Max,
}
