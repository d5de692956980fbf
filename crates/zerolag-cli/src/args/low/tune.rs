// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag tune`. The same options are in `python/zerolag/_tune/command.py`, which does the work; a test compares
//! them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `zerolag tune`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Tune {
    /// What may be set, and what is to come of it (TOML, see docs/tuning.md).
    pub(crate) file: PathBuf,
    /// Where the search is written as it goes. By default NAME.journal in the current directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Where the runs of the confirmation go (SQLite, see docs/store.md). By default NAME.sqlite.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Runs at a time. By default as many as there are CPUs. The answer does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Help another process with its search, and no more.
    #[arg(long)]
    pub(crate) search_only: bool,
    /// Also draw the front to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON instead of a table (schema zerolag.tune/1, see docs/tuning.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the commands that set candidate N of the front on a Linux machine, and nothing else.
    #[arg(long, value_name = "N")]
    pub(crate) commands: Option<NonZeroUsize>,
}

const HELP: &str = "\
The search is Optuna's, so this starts `python3 -m zerolag tune` with the Python package:
  pip install 'zerolag[tune]'          or in a clone: pip install '.[tune]'

It is written to the journal as it goes: whoever is killed, the same command goes on, and several processes, on
several machines that share the file, search together. Exit codes: 0 a candidate is confirmed, 1 none is, 2 bad
input.

Examples:
  zerolag tune scenarios/tunings/quiet-service.toml --svg front.svg
  zerolag tune scenarios/tunings/quiet-service.toml --search-only &    # helps the other, here or elsewhere
  zerolag tune scenarios/tunings/quiet-service.toml --commands 17 > apply.sh";
