// SPDX-License-Identifier: GPL-2.0-only
//! What can be said of a workload, whichever command runs it.

use clap::Args;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;

use super::kernel;
use crate::args::high::settings::span;

/// How a workload is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Workload {
    /// The kernel whose scheduler runs it. By default what the file says, else 6.12.
    #[arg(long, value_name = "K", value_parser = kernel())]
    pub(crate) kernel: Option<Kernel>,
    /// The machine it runs on: a name, Ncpu for N equal CPUs, or a file (see `zerolag topology show --help`). By default
    /// what the file says, for an rt-app file 2cpu.
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Simulated time after which the run ends, with a unit (for example 500ms). By default what the file
    /// says, for an rt-app file that does not, 10s. The run also ends when all tasks have.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) duration: Option<Nanos>,
    /// Where chance comes from, if the workload leaves anything to it. By default what the file says, else 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Set a feature (on or off), a tunable or cost (a time with a unit, or a number), hz (100, 250, 300,
    /// 1000), or costs (ideal, x86-server). May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Read an rt-app file as rt-app's own parser does: unknown keys are ignored, of duplicate keys the last
    /// counts.
    #[arg(long)]
    pub(crate) rtapp_compat: bool,
}
