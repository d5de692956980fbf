// SPDX-License-Identifier: GPL-2.0-only
//! Runs the built command.

use std::env;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

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

/// How many kills make a test: twelve, or `ZEROLAG_KILLS` (see docs/store.md).
pub(crate) fn kills() -> usize {
    env::var("ZEROLAG_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

/// Kills, at random moments of their first `within`, commands that go on where the one before was killed, until there
/// were so many kills. `command` makes the arguments of one that writes to the store of this number; the last one
/// that was written to is returned. Whoever has ended by itself was not killed, and the next begins anew.
pub(crate) fn kill(kills: usize, within: Duration, command: impl Fn(usize) -> Vec<String>) -> usize {
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut store, mut n) = (0, 0);
    while n < kills {
        // Xorshift: good enough for spreading kills over the time that the work takes.
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let args = command(store);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut child = zerolag(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(chance % within.as_micros() as u64));
        child.kill().unwrap();
        if child.wait().unwrap().code().is_some() { store += 1 } else { n += 1 }
    }
    store
}
