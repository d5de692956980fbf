// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag tune`, as far as it is a matter of this program. The rest is tested from Python.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{stdout, zerolag};

/// Words that begin with two hyphens, up to what is no part of an option.
fn options(text: &str, before: &str) -> BTreeSet<String> {
    let option = |part: &str| part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
    text.split(&format!("{before}--")).skip(1).map(option).collect()
}

#[test]
fn the_package_takes_the_same_options() {
    let ours = stdout(&["tune", "--help"]);
    let ours = options(ours.split("Options:").nth(1).unwrap().split("The search is").next().unwrap(), " ");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/zerolag/_tune/command.py");
    let theirs = options(&fs::read_to_string(path).unwrap(), "add_argument(\"");
    let theirs: BTreeSet<String> = theirs.into_iter().chain(["help".into()]).collect();
    let multi_line = BTreeSet::from(["commands".to_owned()]);
    assert_eq!(ours, theirs.union(&multi_line).cloned().collect());
}

#[test]
fn a_python_without_the_package_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |stand_in: Option<&str>| {
        let python = dir.path().join("python3");
        _ = fs::remove_file(&python);
        if let Some(stand_in) = stand_in {
            symlink(stand_in, &python).unwrap();
        }
        let output = zerolag(&["tune", "t.toml"]).env("PATH", dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(None).contains("zerolag tune needs python3"));
    let error = refused(Some("/bin/sh"));
    assert!(error.contains("pip install 'zerolag[tune]'"), "{error}");
    // What it prints is taken for the version.
    let error = refused(Some("/bin/echo"));
    assert!(error.contains("; this is zerolag 0.1.0, and versions are not mixed"), "{error}");
}
