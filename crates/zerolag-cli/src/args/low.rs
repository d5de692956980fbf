// SPDX-License-Identifier: GPL-2.0-only
//! What the user typed, word for word: no file is opened and nothing is looked up here.
//!
//! Help, manual pages and shell completions are all made from these definitions. Every help text gives the
//! unit and the default.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use zerolag_core::kernel::Kernel;

/// The Linux fair scheduler as a laboratory: run workloads on it, replay traces, ask what if.
#[derive(Debug, Parser)]
#[command(name = "zerolag", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the run failed a check, 2 bad input, 3 internal error.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an event script and print the scheduler's state after each event.
    Script(Script),
    /// Show which features a kernel's scheduler has, their defaults, and the first and last known kernel with each.
    Features(Features),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write manual pages, one for each command.
    Man(Man),
}

/// Arguments of `zerolag script`.
#[derive(Debug, Args)]
pub(crate) struct Script {
    /// The script, in the language of oracle/FORMAT.md; - is standard input.
    pub(crate) file: PathBuf,
    /// The kernel whose scheduler runs it.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
    #[command(flatten)]
    pub(crate) output: ScriptOutput,
}

/// How much `zerolag script` prints.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ScriptOutput {
    /// Print a line with a hash of the state for each event (the default).
    #[arg(long)]
    pub(crate) hash: bool,
    /// Print a line for each event, then all of the state.
    #[arg(long)]
    pub(crate) full: bool,
    /// As --full, whatever mode the script asks for.
    #[arg(long)]
    pub(crate) fullest: bool,
    /// Print only what the script asks for with `show` and `dump`.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Arguments of `zerolag features`.
#[derive(Debug, Args)]
pub(crate) struct Features {
    /// The kernel to show.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
    /// Show what changed from one kernel to another instead.
    #[arg(long, num_args = 2, value_names = ["K1", "K2"], value_parser = kernel(), conflicts_with = "kernel")]
    pub(crate) diff: Option<Vec<Kernel>>,
    /// Print JSON instead of a table (schema zerolag.features/1 or zerolag.features-diff/1).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `zerolag completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for.
    pub(crate) shell: Shell,
}

/// Arguments of `zerolag man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory to write to; it is made if it is not there.
    pub(crate) dir: PathBuf,
}

/// Reads the name of a kernel.
fn kernel() -> impl TypedValueParser<Value = Kernel> {
    PossibleValuesParser::new(Kernel::ALL.map(Kernel::name))
        .map(|name| Kernel::by_name(&name).expect("only names of kernels get through"))
}
