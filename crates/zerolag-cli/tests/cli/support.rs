// SPDX-License-Identifier: GPL-2.0-only
//! Runs the built command.

use std::process::{Command, Output, Stdio};

/// The command, not yet started.
pub(crate) fn zerolag(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zerolag"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    zerolag(args).output().expect("the command starts")
}

/// What it prints; it has to succeed, and say nothing else.
#[track_caller]
pub(crate) fn stdout(args: &[&str]) -> String {
    let output = run(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "zerolag {args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it complains about; it has to refuse its input, and print no result.
#[track_caller]
pub(crate) fn refusal(args: &[&str]) -> String {
    let output = run(args);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "zerolag {args:?}");
    String::from_utf8(output.stderr).unwrap()
}
