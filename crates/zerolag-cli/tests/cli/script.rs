// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag script`.

use std::io::Write;
use std::process::Stdio;

use expect_test::expect;

use crate::support::{refusal, zerolag};

/// Runs a script from standard input; returns the exit code, what is printed, and what is complained about.
fn script(text: &[u8], args: &[&str]) -> (Option<i32>, String, String) {
    let mut child = zerolag(&[&["script", "-"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refused script is not read to its end.
    let _ = child.stdin.take().unwrap().write_all(text);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const TWO_TASKS: &[u8] = b"clock 1000000\ntask 1\nfork 1\ntask 2\nfork 2\nresched\nsleep\nwake 1\n";

#[test]
fn standard_input_is_run_as_a_script() {
    let (code, out, complaint) = script(TWO_TASKS, &[]);
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    expect![[r#"
        E 1 t=1000000 cpu=0 task 1 ret=0 curr=-1 nr=0
        E 2 t=1000000 cpu=0 fork 1 ret=0 curr=-1 nr=1
        E 3 t=1000000 cpu=0 task 2 ret=0 curr=-1 nr=1
        E 4 t=1000000 cpu=0 fork 2 ret=0 curr=-1 nr=1
        E 5 t=1000000 cpu=0 resched ret=2 curr=1 nr=0
        E 6 t=1000000 cpu=0 sleep ret=0 curr=2 nr=0
        E 7 t=1000000 cpu=0 wake 1 ret=1 curr=2 nr=0
    "#]]
    .assert_eq(&without_hashes(&out));
}

#[test]
fn the_modes_print_more_or_nothing() {
    let lines = |mode| script(TWO_TASKS, &[mode]).1.lines().count();
    assert_eq!(lines("--hash"), 7);
    assert_eq!(lines("--quiet"), 0);
    assert!(lines("--full") > 7 * 2);
    assert_eq!(lines("--full"), lines("--fullest"));
}

#[test]
fn debug_prints_what_the_kernels_files_would_say() {
    let text = [TWO_TASKS, b"debug\ndebug 2\n"].concat();
    let (code, out, complaint) = script(&text, &["--quiet"]);
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    assert!(out.starts_with("# cpu#0\n#   .nr_running                    : 2\n"), "{out}");
    assert!(out.contains("\n# T2 (2, #threads: 1)\n# -----"), "{out}");
    let (code, _, complaint) = script(b"clock 1\ndebug 3\n", &[]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("line 2: there is no task 3"), "{complaint}");
}

#[test]
fn a_bad_line_is_named_and_ends_the_run() {
    let (code, _, complaint) = script(b"clock 1\nslep\n", &[]);
    assert_eq!(code, Some(2));
    expect![[r#"
        zerolag: standard input: line 2: unknown word 'slep' (did you mean 'sleep'?): slep
    "#]]
    .assert_eq(&complaint);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(script(b"clock 1\n\xff\xfe\n", &[]).0, Some(2));
}

#[test]
fn a_missing_file_is_named() {
    let complaint = refusal(&["script", "no/such.script"]);
    assert!(complaint.starts_with("zerolag: no/such.script: "), "{complaint}");
}

#[test]
fn two_modes_at_once_are_refused() {
    refusal(&["script", "-", "--full", "--quiet"]);
}

fn without_hashes(out: &str) -> String {
    out.lines().map(|l| l.split(" h=").next().unwrap().to_owned() + "\n").collect()
}
