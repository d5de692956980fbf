// SPDX-License-Identifier: GPL-2.0-only
//! What `zerolag soak` is told.

use std::path::PathBuf;

use clap::Args;
use zerolag_core::kernel::Kernel;

/// Arguments of `zerolag soak`.
#[derive(Debug, Args)]
#[command(after_help = PHASES)]
pub(crate) struct Soak {
    /// The seed of the first configuration; the next has the next seed.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How long to go on, in hours of wall time (0.1 is six minutes).
    #[arg(long, value_name = "H", default_value_t = 1.0, value_parser = hours, conflicts_with = "cases")]
    pub(crate) hours: f64,
    /// Stop after so many configurations instead; then the same command prints the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cases: Option<u64>,
    /// Draw only these kernels; by default all that there are.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = super::kernel())]
    pub(crate) kernel: Vec<Kernel>,
    /// How many configurations to run at a time. By default as many as there are CPUs.
    #[arg(long, value_name = "N", value_parser = super::at_least(1, 1024))]
    pub(crate) jobs: Option<usize>,
    /// Where scenarios that show a fault are written, shrunk, as soak-SEED.toml.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// How many runs shrinking one of them may take.
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub(crate) shrink: usize,
    /// Write the scenarios of the first N seeds as they are drawn to --out, and run nothing.
    #[arg(long, value_name = "N", conflicts_with_all = ["hours", "cases"])]
    pub(crate) draw: Option<u64>,
}

const PHASES: &str = "\
Each configuration is a machine, a kernel with features and tunables, groups with weights and quotas, tasks
that run, sleep, wait for each other and end, and changes to all of that. While things change, no invariant
may break; when they no longer do, whoever waits has to get its turn within what the policy promises.

A fault ends with exit code 3, a scenario that shows it, and the command that runs it: zerolag run FILE --check.

  zerolag soak --hours 0.02             a minute or so
  zerolag soak --seed 7 --cases 1       one configuration again";

fn hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if hours > 0.0 && hours <= 10_000.0 => Ok(hours),
        _ => Err("a number of hours above 0, at most 10000".into()),
    }
}
