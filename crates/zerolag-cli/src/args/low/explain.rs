// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag explain`.

use std::path::PathBuf;

use clap::Args;

use super::schedule::time;
use super::{Beside, Time, Workload};

/// Arguments of `zerolag explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct Explain {
    /// A workload (scenario or rt-app file), which is run, or a recording as for `zerolag stat`; told apart by
    /// content. - is standard input, for workloads only: recordings are read twice.
    pub(crate) file: PathBuf,
    /// Only waits of tasks with this name; * stands for any characters.
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// The wait at this time, or the next one: seconds, or a time with a unit; with a + in front, from the first
    /// event on.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "task", conflicts_with = "worst")]
    pub(crate) at: Option<Time>,
    /// The longest waits, so many.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) worst: usize,
    /// Print JSON instead of text (schema zerolag.explain/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) beside: Beside,
    #[command(flatten, next_help_heading = "If FILE is a workload")]
    pub(crate) workload: Workload,
}

const EXPLAIN_HELP: &str = "\
Lag is what a task or group is owed in its queue: virtual time less its vruntime. Deadlines are counted from
the queue's virtual time. Who is eligible (lag not negative) and has the earliest deadline is picked; who runs
may be protected until its request is served.

A recording shows who ran while a task waited, which CPUs were idle, and how the wait ended. It shows neither
lags nor what would have helped.

Examples:
  zerolag explain scenarios/groups.toml --worst 3
  zerolag explain scenarios/groups.toml --task b-light --at 1.5s
  zerolag explain scenarios/video-player.json --kernel 6.1 --task 'audio*'
  zerolag explain perf.data --task worker --worst 3 --context context.toml";
