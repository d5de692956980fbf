// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag script`: runs an event script and prints what the reference prints.

use std::io::Write;

use zerolag_sim::script::{self, EachLine, Output, RunError};

use crate::args::high::{self, Source};
use crate::args::low;
use crate::failure::Failure;

/// Runs the script.
pub(crate) fn run(args: &low::Script, mut out: &mut dyn Write) -> Result<(), Failure> {
    high::implemented(args.kernel.kernel)?;
    let output = match args.output {
        low::ScriptOutput { full: true, .. } => Output::Full,
        low::ScriptOutput { fullest: true, .. } => Output::Fullest,
        low::ScriptOutput { quiet: true, .. } => Output::Quiet,
        _ => Output::Hash,
    };
    let source = Source::new(&args.file);
    let input = source.open()?;
    let each_line = EachLine { flush: args.flush, check: args.check };
    script::run_with(args.kernel, output, each_line, input, &mut out).map_err(|e| match e {
        RunError::Script(error) => source.failure(error),
        RunError::Io(error) => error.into(),
        unsound @ RunError::Unsound { .. } => {
            Failure::Invariant(format!("{unsound}\nto see it again: {}", crate::rerun()))
        }
    })
}
