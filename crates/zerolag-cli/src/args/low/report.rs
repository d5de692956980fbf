// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag report`.

use std::path::PathBuf;

use clap::Args;
use zerolag_core::kernel::Kernel;

use super::{Beside, Workload, kernel};

/// Arguments of `zerolag report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct Report {
    /// Recordings, workloads (which are run), or what `zerolag run --json` printed (of which there are only
    /// tables); several are compared.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The page to write: one file that needs nothing else; it appears whole or not at all.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write each plot as an SVG file to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Write each plot as a PNG file to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) png: Option<PathBuf>,
    /// Run each workload under each of these kernels.
    #[arg(long, value_name = "K1,K2", value_delimiter = ',', value_parser = kernel(), conflicts_with = "kernel")]
    pub(crate) kernels: Vec<Kernel>,
    #[command(flatten)]
    pub(crate) beside: Beside,
    #[command(flatten, next_help_heading = "For workloads")]
    pub(crate) workload: Workload,
}

const REPORT_HELP: &str = "\
The page has a timeline of each CPU (zoom and search, with keyboard or mouse), latencies, shares against
weights, lag and load over time, balancing, and tables. Lag, load and balancing are known of simulated
schedules only.

Examples:
  zerolag report perf.data -o report.html
  zerolag report scenarios/groups.toml --kernels 6.1,6.12 -o report.html
  zerolag report before.dat after.dat -o report.html --svg plots --png plots";
