// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag tune`: starts the Python package, which has the search.

use std::process::{Command, Stdio};

use crate::args::low;
use crate::failure::Failure;

const PYTHON: &str = "python3";

/// Starts it and ends as it ends.
pub(crate) fn run(args: &low::Tune) -> Result<(), Failure> {
    let found = Command::new(PYTHON)
        .args(["-c", "import zerolag; print(zerolag.__version__)"])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            Failure::input(format_args!("zerolag tune needs {PYTHON}, which cannot be started: {e}"))
        })?;
    let theirs = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    if !found.status.success() {
        let why = String::from_utf8_lossy(&found.stderr);
        let why = why.lines().last().unwrap_or_default();
        return Err(Failure::input(format_args!(
            "zerolag tune needs the Python package zerolag, which {PYTHON} does not have ({why}): \
             pip install 'zerolag[tune]', or in a clone pip install '.[tune]'"
        )));
    }
    if theirs != zerolag_study::VERSION {
        let ours = zerolag_study::VERSION;
        return Err(Failure::input(format_args!(
            "{PYTHON} has the package zerolag {theirs}; this is zerolag {ours}, and versions are not mixed"
        )));
    }
    let mut command = Command::new(PYTHON);
    command.args(["-m", "zerolag", "tune"]).arg(&args.file);
    for (option, file) in [("--journal", &args.journal), ("--store", &args.store), ("--svg", &args.svg)] {
        if let Some(file) = file {
            command.arg(option).arg(file);
        }
    }
    for (option, number) in [("--jobs", args.jobs), ("--commands", args.commands)] {
        if let Some(number) = number {
            command.arg(option).arg(number.to_string());
        }
    }
    for (option, wanted) in [("--search-only", args.search_only), ("--json", args.json)] {
        if wanted {
            command.arg(option);
        }
    }
    Err(become_it(command))
}

#[cfg(unix)]
fn become_it(mut command: Command) -> Failure {
    use std::os::unix::process::CommandExt;
    Failure::input(format_args!("{PYTHON} cannot be started: {}", command.exec()))
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> Failure {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(e) => Failure::input(format_args!("{PYTHON} cannot be started: {e}")),
    }
}
