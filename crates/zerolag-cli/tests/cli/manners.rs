// SPDX-License-Identifier: GPL-2.0-only
//! What every command owes: help, exit codes, and a quiet end when nobody reads on.

use std::io::Read;
use std::process::Stdio;

use crate::support::{refusal, run, stdout, zerolag};

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    // Descriptions that go on on a second line are indented further.
    let lines = list.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    lines.map(|l| l.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

#[test]
fn every_command_explains_itself() {
    let commands = commands();
    assert!(commands.len() >= 3, "{commands:?}");
    for name in commands {
        let help = stdout(&[&name, "--help"]);
        assert!(help.contains("Usage: zerolag "), "{name}: {help}");
    }
}

#[test]
fn no_command_and_an_unknown_one_are_bad_input() {
    assert!(refusal(&[]).contains("Usage: zerolag"));
    assert!(refusal(&["feature"]).contains("'features'"));
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(stdout(&["completions", shell]).contains("zerolag"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let dir = tempfile::tempdir().unwrap();
    stdout(&["man", dir.path().to_str().unwrap()]);
    assert!(dir.path().join("zerolag.1").is_file());
    for name in commands() {
        assert!(dir.path().join(format!("zerolag-{name}.1")).is_file(), "{name}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("man");
    let complaint = refusal(&["man", below.to_str().unwrap()]);
    assert!(complaint.contains(below.to_str().unwrap()), "{complaint}");
}

#[test]
fn a_reader_that_stops_reading_is_no_failure() {
    let mut child =
        zerolag(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_same_command_twice_prints_the_same_bytes() {
    assert_eq!(run(&["features", "--json"]), run(&["features", "--json"]));
}
