// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag compare`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;

use super::kernel;
use super::study::{Means, Shown};
use crate::args::high::settings::span;

/// Arguments of `zerolag compare`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Compare {
    /// Workloads: scenarios (TOML) or rt-app files (JSON). The first one is what others are compared with.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Vary something: kernel, machine, duration, set:NAME, cgroup:PATH:KEY or workload:NAME:KEY. May be given
    /// several times; then all combinations are run, each kernel with those settings that it has.
    #[arg(long, value_name = "KEY=VALUE,VALUE…")]
    pub(crate) vary: Vec<String>,
    /// How many seeds each is run with.
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) repeat: NonZeroUsize,
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=1 << 62))]
    pub(crate) seed: u64,
    /// The kernel whose scheduler runs all of them. By default what each file says, else 6.12.
    #[arg(long, value_name = "K", value_parser = kernel())]
    pub(crate) kernel: Option<Kernel>,
    /// The machine all of them run on: a name, Ncpu for N equal CPUs, or a file.
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Simulated time after which each run ends, with a unit (for example 500ms).
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) duration: Option<Nanos>,
    /// Set a feature, tunable or cost for all of them, as in `zerolag run`. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Print JSON instead of a table (schema zerolag.compare/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) means: Means,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

const HELP: &str = "\
Columns: MEAN over all seeds and STD, the standard deviation, in percent of it. DIFF is the difference of the
means from case A in percent, CI95 its bootstrap confidence interval, P the rank sum test's (Mann-Whitney):
how likely a difference like this is by chance. Where P is 0.05 or more the verdict is 'not significant'; of
many figures, one in twenty is significant by chance alone. Figures that are 0 everywhere are left out.

Examples:
  zerolag compare scenarios/batch-and-service.toml --vary kernel=6.1,6.12
  zerolag compare scenarios/groups.toml --vary kernel=6.1,6.12 --vary set:base_slice=1ms,3ms
  zerolag compare scenarios/groups.toml --vary set:base_slice=1ms,3ms,9ms --metric '*wake-up*' --repeat 20
  zerolag compare before.toml after.toml --jobs 4 --store results.sqlite --csv results.csv";
