// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag explain`.

use std::path::PathBuf;

use clap::Args;

use super::schedule::time;
use super::{Time, Workload};

/// Arguments of `zerolag explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct Explain {
    /// The workload: a scenario (TOML) or an rt-app file (JSON); - is standard input. Only a simulation can be
    /// asked what would have happened otherwise; for recordings see `zerolag stat`.
    pub(crate) file: PathBuf,
    /// Only waits of tasks with this name; * stands for any characters.
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// The wait at this time, or the next one: seconds, or a time with a unit.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "task", conflicts_with = "worst")]
    pub(crate) at: Option<Time>,
    /// The longest waits, so many.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) worst: usize,
    /// Print JSON instead of text (schema zerolag.explain/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) workload: Workload,
}

const EXPLAIN_HELP: &str = "\
Lag is what a task or group is owed in its queue: virtual time less its vruntime. Deadlines are counted from
the queue's virtual time. Who is eligible (lag not negative) and has the earliest deadline is picked; who runs
may be protected until its request is served.

Examples:
  zerolag explain scenarios/groups.toml --worst 3
  zerolag explain scenarios/groups.toml --task b-light --at 1.5s
  zerolag explain scenarios/video-player.json --kernel 6.1 --task 'audio*'";
