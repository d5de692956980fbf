// SPDX-License-Identifier: GPL-2.0-only
//! Arguments of `zerolag capture`.

use clap::Args;

/// Arguments of `zerolag capture`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Capture {
    /// Print a shell script that writes a context file: the kernel, tick rate, topology, groups with their
    /// weights and limits, and each task's group, CPUs, nice level, policy and slice.
    #[arg(long, required = true)]
    pub(crate) script: bool,
}

const AFTER: &str = "\
The script needs sh, awk and tar, and only reads. Run it where and while the workload runs; as root it sees
features and tunables as well.

Example:
  zerolag capture --script > capture.sh
  perf sched record -- sh -c 'sh capture.sh context.toml; sleep 10'
  zerolag replay perf.data --context context.toml";
