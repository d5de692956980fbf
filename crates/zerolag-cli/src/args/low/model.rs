// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag schbench …` and the other workload models: a subcommand for each, made from the list of models.
//!
//! The tool's own options and ours may be mixed. Ours are long and are none of the tools'; there is no `-h`,
//! which is an option of some tools. What comes after `--` is the tool's in any case.

use std::error;
use std::ffi::OsString;

use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use zerolag_core::kernel::Kernel;
use zerolag_sim::workload::models::{self, Kind};

use super::kernel;

/// Arguments of a model's command.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) kind: &'static Kind,
    pub(crate) args: ModelArgs,
}

/// What is said to all models alike.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ModelArgs {
    /// The kernel whose scheduler runs it.
    #[arg(long, value_name = "K", default_value = "6.12", value_parser = kernel())]
    pub(crate) kernel: Kernel,
    /// The machine it runs on: a name, Ncpu for N equal CPUs, or a file (see `zerolag topology`).
    #[arg(long, value_name = "MACHINE", default_value = "2cpu")]
    pub(crate) machine: String,
    /// Where chance comes from, if the model leaves anything to it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Set a feature (on or off), a tunable or cost (a time with a unit, or a number), hz (100, 250, 300,
    /// 1000), or costs (ideal, x86-server). May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Print JSON instead of what the tool prints (schema zerolag.benchmark/1, see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
    /// Print help.
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// The tool's own options, see below.
    #[arg(value_name = "TOOL'S OPTIONS")]
    pub(crate) options: Vec<String>,
}

fn command(kind: &Kind) -> Command {
    let examples = kind.examples_help("zerolag");
    ModelArgs::augment_args(Command::new(kind.name))
        .about(kind.about)
        .after_help(format!("{}\nExamples:\n{examples}", kind.options_help()))
}

impl Subcommand for Model {
    fn augment_subcommands(cmd: Command) -> Command {
        cmd.subcommands(models::ALL.iter().map(command))
    }

    fn augment_subcommands_for_update(cmd: Command) -> Command {
        Self::augment_subcommands(cmd)
    }

    fn has_subcommand(name: &str) -> bool {
        models::by_name(name).is_ok()
    }
}

impl FromArgMatches for Model {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let unknown = |e: &dyn error::Error| clap::Error::raw(clap::error::ErrorKind::InvalidSubcommand, e);
        let Some((name, matches)) = matches.subcommand() else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let kind = models::by_name(name).map_err(|e| unknown(&e))?;
        Ok(Self { kind, args: ModelArgs::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The command line of a model with our options before a `--` and the tool's after it; any other command line
/// as it is.
pub(crate) fn sorted(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut sorted: Vec<OsString> = words.by_ref().take(2).collect();
    let named = sorted.get(1).and_then(|name| name.to_str()).and_then(|name| models::by_name(name).ok());
    let Some(kind) = named else { return sorted.into_iter().chain(words).collect() };
    let command = command(kind);
    let mut theirs = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            theirs.extend(words.by_ref());
        } else if let Some((takes_value, attached)) = ours(&command, &word) {
            sorted.push(word);
            sorted.extend(words.by_ref().take(usize::from(takes_value && !attached)));
        } else {
            theirs.push(word);
        }
    }
    sorted.push("--".into());
    sorted.extend(theirs);
    sorted
}

/// If the word is one of our options: whether that takes a value, and whether it is in the word.
fn ours(command: &Command, word: &OsString) -> Option<(bool, bool)> {
    let long = word.to_str()?.strip_prefix("--")?;
    let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
    Some((arg.get_action().takes_values(), attached))
}
