// SPDX-License-Identifier: GPL-2.0-only
//! Event scripts with what the kernels' own code printed for them (oracle/golden).

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use zerolag_sim::script::{self, Build, EachLine, Output};

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../oracle/golden").join(name)
}

/// Runs a script; says where it first prints something else than the kernel, if it does.
fn difference(build: Build, path: &Path) -> Option<String> {
    // What the 4.x references show by the way is an aid.
    let shows = !build.kernel.name().starts_with("4.");
    let is_state = |line: &&str| shows || !line.starts_with('#');
    let mut expected = String::new();
    let packed = File::open(path.with_extension("expect.gz")).expect("a script has an expected output");
    GzDecoder::new(packed).read_to_string(&mut expected).expect("expected output is packed text");
    let mut printed = Vec::new();
    let input = BufReader::new(File::open(path).unwrap());
    let check = EachLine { check: true, ..EachLine::default() };
    let end = script::run_with(build, Output::Full, check, input, &mut printed);
    let printed = String::from_utf8(printed).unwrap();
    let line =
        expected.lines().filter(is_state).zip(printed.lines().filter(is_state)).position(|(e, p)| e != p);
    match (line, end) {
        (Some(n), _) => Some(format!(
            "line {}\n  kernel:  {}\n  zerolag: {}",
            n + 1,
            expected.lines().filter(is_state).nth(n).unwrap(),
            printed.lines().filter(is_state).nth(n).unwrap()
        )),
        (None, Err(error)) => Some(error.to_string()),
        (None, Ok(()))
            if expected.lines().filter(is_state).count() != printed.lines().filter(is_state).count() =>
        {
            Some("other length".into())
        }
        (None, Ok(())) => None,
    }
}

/// The script says that it is for the kernel without the patch that the others of its directory are for.
fn is_unpatched(path: &Path) -> bool {
    let script = fs::read_to_string(path).unwrap();
    script.lines().nth(1).is_some_and(|line| line.starts_with("# kernel: ") && line.ends_with(" unpatched"))
}

/// All scripts of a directory give what the kernel gave, but those in `different` (DIFFERENCES.md says why),
/// which do not.
#[track_caller]
fn check(name: &str, different: &[&str]) {
    let build = Build::by_name(name).expect("a directory is named after a build");
    let mut scripts: Vec<_> = fs::read_dir(directory(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "script"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts in {name}");
    let mut surprises = String::new();
    for path in scripts {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let build = if is_unpatched(&path) {
            Build::by_name(&format!("{name}unpatched")).expect("a patched kernel has an unpatched one")
        } else {
            build
        };
        match (difference(build, &path), different.contains(&stem)) {
            (Some(how), false) => surprises += &format!("{name}/{stem}: {how}\n"),
            (None, true) => surprises += &format!("{name}/{stem}: equal now; take it off the list\n"),
            _ => {}
        }
    }
    assert!(surprises.is_empty(), "\n{surprises}");
}

#[test]
fn linux_6_1() {
    check("6.1", &[]);
}

#[test]
fn eevdf_of_march_2023() {
    check("eevdf-rfc", &[]);
}

#[test]
fn linux_6_12() {
    check("6.12", &[]);
}

#[test]
fn linux_6_1_and_6_12_with_bandwidth() {
    check("6.1bw", &[]);
    check("6.12bw", &[]);
}

#[test]
fn linux_6_18_with_bandwidth() {
    check("6.18bw", &[]);
}

#[test]
fn linux_6_18() {
    // 52: the fair server.
    check("6.18", &["52"]);
}

#[test]
fn linux_2_6_29() {
    check("2.6.29", &[]);
}

#[test]
fn linux_2_6_29_with_prefer_wakers() {
    check("2.6.29pw", &[]);
}

#[test]
fn linux_4_11() {
    check("4.11", &[]);
}

#[test]
fn linux_4_6() {
    check("4.6", &[]);
}

#[test]
fn linux_4_17() {
    check("4.17", &[]);
}

#[test]
fn linux_4_17_with_a_mask_of_stale_cpus() {
    check("4.17stale", &[]);
}
