// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag timehist`.

use clap::Args;

use super::{Beside, Part, Schedule};

/// Arguments of `zerolag timehist`.
#[derive(Debug, Args)]
#[command(after_help = TIMEHIST_EXAMPLES)]
pub(crate) struct Timehist {
    /// Only the summary.
    #[arg(short, long)]
    pub(crate) summary: bool,
    /// The summary as well.
    #[arg(short = 'S', long, conflicts_with = "summary")]
    pub(crate) with_summary: bool,
    /// The state in which the task left its CPU.
    #[arg(long)]
    pub(crate) state: bool,
    /// The task that ran next.
    #[arg(short, long)]
    pub(crate) next: bool,
    /// Also a line for each wake-up.
    #[arg(short, long)]
    pub(crate) wakeups: bool,
    /// Also a line for each migration.
    #[arg(short = 'M', long)]
    pub(crate) migrations: bool,
    /// Print JSON instead of tables (schema zerolag.timehist/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) beside: Beside,
    #[command(flatten)]
    pub(crate) schedule: Schedule,
}

const TIMEHIST_EXAMPLES: &str = "\
Columns: time of the switch away from the task, CPU, the task; since its last such switch, the time off the
CPU (wait time), the part of it that it was ready (sch delay), and the time on the CPU (run time).

Examples:
  zerolag timehist perf.data                              # as perf sched timehist
  zerolag timehist trace.dat -s                           # only the summary
  zerolag timehist scenarios/groups.toml --time ,0.1 -wM  # the first 100 ms of a simulated schedule";
