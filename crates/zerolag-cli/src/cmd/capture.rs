// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag capture`: what a recording does not carry, from the machine on which it is made.

use std::io::Write;

use crate::args::low;
use crate::failure::Failure;

/// Runs on machines that have no zerolag: any POSIX shell will do.
const SCRIPT: &str = include_str!("capture/context.sh");

/// Prints the script.
pub(crate) fn run(args: &low::Capture, out: &mut dyn Write) -> Result<(), Failure> {
    debug_assert!(args.script, "nothing else can be asked for yet");
    Ok(out.write_all(SCRIPT.as_bytes())?)
}
