// SPDX-License-Identifier: GPL-2.0-only
//! The `zerolag` command: the only part of the project with files, arguments and a standard output.
//!
//! Arguments go in two steps. [`args::low`] is what the user typed, one definition from which help, manual
//! pages and completions come as well; [`args::high`] turns words into things (a kernel, a machine, a
//! duration) or says what is wrong with them. Each command in [`cmd`] then is a short function that reads,
//! calls the libraries, and prints.

mod args;
mod cmd;
mod context;
mod explain;
mod failure;
mod file;
mod guard;
mod html;
mod report;
mod schedule;
mod simulate;
mod table;
mod trace;
mod watch;

use std::io::{self, BufWriter, Write};
use std::panic;
use std::process::ExitCode;

use clap::Parser;

use crate::args::low::{self, Cli};
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse_from(low::sorted(std::env::args_os()));
    // A panic is a broken invariant, never the input's fault: say how to see it again.
    let outcome = panic::catch_unwind(|| {
        let mut out = BufWriter::new(io::stdout().lock());
        cmd::run(cli, &mut out).and_then(|()| Ok(out.flush()?))
    });
    let failure = match outcome {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Broken { rerun: rerun() },
    };
    if !failure.is_broken_pipe() {
        eprintln!("zerolag: {failure}");
    }
    ExitCode::from(failure.exit_code())
}

/// The command line, quoted so that a shell reads it back as it was.
fn rerun() -> String {
    let quote = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::env::args_os().skip(1).map(|w| quote(w.to_string_lossy().into_owned()));
    std::iter::once("zerolag".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
