// SPDX-License-Identifier: GPL-2.0-only
//! What `zerolag hunt` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;

use crate::args::high::settings::span;

/// Arguments of `zerolag hunt`.
#[derive(Debug, Args)]
#[command(after_help = HOW)]
pub(crate) struct Hunt {
    /// What is to be as bad as possible.
    #[arg(long, value_enum)]
    pub(crate) metric: Badness,
    /// The kernel under which it is.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = super::kernel())]
    pub(crate) kernel: Kernel,
    /// Look for what is worse than under this kernel, and count the difference only.
    #[arg(long, value_name = "K", value_parser = super::kernel())]
    pub(crate) against: Option<Kernel>,
    /// The machine: a name, or Ncpu for N equal CPUs.
    #[arg(long, value_name = "MACHINE", default_value = "2cpu")]
    pub(crate) machine: String,
    /// Where chance comes from.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many configurations to try.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = super::at_least(1, 100_000_000))]
    pub(crate) runs: usize,
    /// How long a configuration is looked at, after the first 400 ms.
    #[arg(long, value_name = "TIME", default_value = "600ms", value_parser = span)]
    pub(crate) time: Nanos,
    /// How many of the worst, each of another kind, to keep, shrink and show.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = super::at_least(1, 100))]
    pub(crate) keep: usize,
    /// Where they are written, as hunt-METRIC-1.toml and so on.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

/// A figure of a run, the more the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Badness {
    /// The longest time any task waited for a CPU, in milliseconds.
    Starvation,
    /// The greatest difference in CPU time between equal tasks of a workload that never sleep, in percent of a CPU.
    ShareError,
    /// CPU time that idle CPUs could have given to tasks that waited elsewhere, in percent of all CPUs.
    Wasted,
    /// The greatest 99.9th percentile of wake-up latency of a task, in milliseconds.
    P999,
}

const HOW: &str = "\
All tasks are equal and may run anywhere, or all on the same memory nodes, in groups of equal weight, so
that what is found is the scheduler's doing. Half of what is tried is drawn anew, half is a mutant of one of
the worst so far, of which some of each kind are kept: bound to nodes or not, in groups or not, with CPUs that
go and come back or not, with tasks that sleep or not. A figure is the lesser one of two seeds. What is left
of a case when it has been shrunk says what it takes, and its figure under every other kernel who has the
fault and who has not. The same command finds the same.

  zerolag hunt --metric wasted --machine square-16 --kernel 6.12
  zerolag hunt --metric p999 --machine ivb-ep --kernel 4.11unpatched --against 4.11";
