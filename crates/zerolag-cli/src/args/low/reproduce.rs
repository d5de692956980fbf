// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag reproduce`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use zerolag_study::reproduce::library;

use super::study::Means;

/// Arguments of `zerolag reproduce`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Reproduce {
    /// Which experiments. By default all of them.
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(library::NAMES))]
    pub(crate) names: Vec<String>,
    /// How many seeds each case is run with, instead of what the experiment says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) repeat: Option<u64>,
    /// Print JSON instead of tables (schema zerolag.reproduce/1, see docs/json.md).
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown instead of plain tables, as in docs/reproduction.md.
    #[arg(long)]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) means: Means,
}

const HELP: &str = "\
Each row is a published figure: PUBLISHED as it was, SIMULATED from the means over all seeds with its bootstrap
interval (CI95), and the BAND in which it has to be, written down before the experiment was first run. A row
is 'reproduced', 'not reproduced', or 'not simulable' for a reason that is given.

Examples:
  zerolag reproduce eevdf
  zerolag reproduce --json --store reproduce.sqlite
  zerolag reproduce --markdown > docs/reproduction.md";
