// SPDX-License-Identifier: GPL-2.0-only
//! What all commands that do many runs take alike.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// How many runs are done, and where their results go.
#[derive(Debug, Args)]
pub(crate) struct Means {
    /// Runs at a time. By default as many as there are CPUs. Results do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Keep results in this file (SQLite, see docs/store.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Go on from what is in the store: runs that are there are not done again.
    #[arg(long)]
    pub(crate) resume: bool,
}

/// What is shown of the results.
#[derive(Debug, Args)]
pub(crate) struct Shown {
    /// Only figures whose name matches, as in '*wake-up p99'. May be given several times.
    #[arg(long = "metric", value_name = "PATTERN")]
    pub(crate) metrics: Vec<String>,
    /// Also write every run's figures to this file as comma-separated values; - is standard output, instead of
    /// the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}
