// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag completions` and `zerolag man`: what an installation puts beside the binary.

use std::fs;
use std::io::Write;

use clap::CommandFactory;

use crate::args::low::{Cli, Completions, Man};
use crate::failure::Failure;

/// Prints the completion script.
pub(crate) fn completions(args: &Completions, out: &mut dyn Write) -> Result<(), Failure> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "zerolag", &mut script);
    Ok(out.write_all(&script)?)
}

/// Writes `zerolag.1`, `zerolag-run.1` and so on.
pub(crate) fn man(args: &Man) -> Result<(), Failure> {
    let named = |e| Failure::input(format_args!("{}: {e}", args.dir.display()));
    fs::create_dir_all(&args.dir).map_err(named)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).map_err(named)
}
