// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag sweep`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use zerolag_study::study::Shard;

use super::study::{Means, Shown};

/// Arguments of `zerolag sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = HELP)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) merge: Option<SweepCommand>,
    /// What to run: a scenario, axes, seeds (TOML, see docs/sweep.md).
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Do one part of all runs: part I of N, counted from 1. Each part has a store of its own; `zerolag sweep
    /// merge` joins them.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(usize, usize)>,
    /// Print JSON instead of a table (schema zerolag.sweep/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) means: Means,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// What else can be done about sweeps.
#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Join the stores of shards in a new one.
    Merge(SweepMerge),
}

/// Arguments of `zerolag sweep merge`.
#[derive(Debug, Args)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct SweepMerge {
    /// The store to make.
    pub(crate) store: PathBuf,
    /// The stores to join. Runs that several have must be the same in all of them.
    #[arg(required = true)]
    pub(crate) shards: Vec<PathBuf>,
    /// Also write every run's figures to this file as comma-separated values; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

const HELP: &str = "\
Without --store results go to FILE with .sqlite for .toml (and .I-of-N before it), in this directory.

Columns: what was chosen at the point, then over all seeds N, MEAN, STD (standard deviation in percent of the
mean), MIN, MEDIAN, MAX. Figures that are 0 everywhere are left out.

Examples:
  zerolag sweep slices.toml --metric '*wake-up p99'
  zerolag sweep slices.toml --resume --csv slices.csv
  zerolag sweep slices.toml --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
  zerolag sweep merge slices.sqlite slices.*-of-16.sqlite --csv slices.csv";

const MERGE_HELP: &str = "\
Examples:
  zerolag sweep merge slices.sqlite slices.*-of-16.sqlite
  zerolag sweep slices.toml --store slices.sqlite --resume    # does what is missing, and shows the summary";

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|&(i, n)| Shard::new(i, n).is_some())
        .ok_or_else(|| "accepted: I/N, as in 3/16, with I from 1 to N".into())
}
