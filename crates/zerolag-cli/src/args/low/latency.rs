// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag latency`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use zerolag_trace::analyses::Perf;
use zerolag_trace::analyses::latency::Key;

use super::{Beside, Part, Schedule};

/// Arguments of `zerolag latency`.
#[derive(Debug, Args)]
#[command(after_help = LATENCY_EXAMPLES)]
pub(crate) struct Latency {
    /// One line for each task, rather than for each name.
    #[arg(short, long)]
    pub(crate) pids: bool,
    /// What to sort by, the largest first.
    #[arg(short, long, value_name = "KEY", value_delimiter = ',', default_value = "avg,max,switch,runtime",
          value_parser = key())]
    pub(crate) sort: Vec<Key>,
    /// Whose rules decide what a task does that is preempted inside the kernel: it waits, or (perf 6.1) it
    /// sleeps.
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    pub(crate) perf: PerfVersion,
    /// Print JSON instead of a table (schema zerolag.latency/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) beside: Beside,
    #[command(flatten)]
    pub(crate) schedule: Schedule,
}

const LATENCY_EXAMPLES: &str = "\
Examples:
  zerolag latency perf.data -p                        # as perf sched latency -p
  zerolag latency trace.txt.gz --time +1,+2 -s max    # one second of it, the longest delay first
  zerolag latency scenarios/groups.toml               # of a simulated schedule
  diff <(perf sched latency) <(zerolag latency perf.data --perf 6.1)";

/// A version of perf.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PerfVersion {
    /// What the words mean.
    Latest,
    /// perf of Linux 6.1 and before.
    #[value(name = "6.1")]
    V6_1,
}

impl From<PerfVersion> for Perf {
    fn from(version: PerfVersion) -> Self {
        match version {
            PerfVersion::Latest => Self::Latest,
            PerfVersion::V6_1 => Self::V6_1,
        }
    }
}

const KEYS: [(&str, Key); 4] =
    [("avg", Key::Avg), ("max", Key::Max), ("switch", Key::Switch), ("runtime", Key::Runtime)];

fn key() -> impl TypedValueParser<Value = Key> {
    PossibleValuesParser::new(KEYS.map(|(name, _)| name)).map(|name| {
        let found = KEYS.iter().find(|(known, _)| *known == name);
        found.expect("only names of keys get through").1
    })
}
