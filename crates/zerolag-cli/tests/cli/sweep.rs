// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag sweep`, undisturbed and killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{kill, kills, refusal, run, stdout};

const SCENARIO: &str = "machine = \"2cpu\"\nduration = \"50ms\"\n\n[[workload]]\nname = \"x\"\ncount = 5\n\
    program = \"forever { run exponential(2ms); sleep exponential(1ms) }\"\n";
const SWEEP: &str = "scenario = \"s.toml\"\nseeds = 3\n\n[[axis]]\nkey = \"kernel\"\nvalues = [\"6.1\", \"6.12\"]\n\n\
    [[axis]]\nkey = \"workload:x:count\"\nfrom = 2\nto = 6\nsteps = 3\n";

/// A directory with a sweep in it, and what it takes to run it there.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("s.toml"), SCENARIO).unwrap();
        fs::write(dir.path().join("sweep.toml"), SWEEP).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The arguments of a run of the sweep into this store.
    fn sweep(&self, store: &str, more: &[&str]) -> Vec<String> {
        let head = ["sweep".to_owned(), self.text("sweep.toml"), "--store".into(), self.text(store)];
        head.into_iter().chain(more.iter().map(|&s| s.to_owned())).collect()
    }

    /// Runs it and returns what it prints.
    fn printed(&self, store: &str, more: &[&str]) -> String {
        let args = self.sweep(store, more);
        let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refusal(&self, store: &str, more: &[&str]) -> String {
        let args = self.sweep(store, more);
        refusal(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

#[test]
fn points_are_summed_up() {
    let place = Place::new();
    let text = place.printed("a", &["--metric", "x share", "--jobs", "2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("KERNEL  WORKLOAD:X:COUNT  METRIC"), "{text}");
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[1].split_whitespace().take(6).collect::<Vec<_>>(), ["6.1", "2", "x", "share", "%", "3"]);

    let again = place.printed("a", &["--resume", "--json", "--metric", "x share"]);
    let report: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(report["schema"], "zerolag.sweep/1");
    assert_eq!(report["points"].as_array().unwrap().len(), 6);
    assert_eq!(report["points"][5]["choices"]["workload:x:count"], "6");
}

#[test]
fn shards_that_are_merged_are_the_whole() {
    let place = Place::new();
    let whole = place.printed("whole", &["--csv", "-", "--jobs", "1"]);
    assert_eq!(whole.matches(",x share,%,neither,").count(), 18);
    for part in ["3/4", "1/4", "2/4", "4/4"] {
        place.printed(&part.replace('/', "-"), &["--shard", part, "--jobs", "2"]);
    }
    let parts = ["4-4", "2-4", "1-4", "3-4"].map(|p| place.text(p));
    let merge = |target: &str, parts: &[&str]| {
        let args = ["sweep", "merge", target].iter().chain(parts).copied().collect::<Vec<_>>();
        let output = run(&[&args[..], &["--csv", "-"]].concat());
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| parts[i].as_str());
    let (code, merged, _) = merge(&place.text("merged"), &[a, b, c, d, a]);
    assert_eq!((code, merged == whole), (Some(0), true));

    // Overlap is fine where it is the same, and refused where it is not.
    let (code, _, complaint) = merge(&place.text("merged"), &[a]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("exists already"), "{complaint}");
    fs::write(place.path("s.toml"), SCENARIO.replace("50ms", "60ms")).unwrap();
    place.printed("other", &["--shard", "1/4"]);
    let (code, _, _) = merge(&place.text("both"), &[c, &place.text("other")]);
    assert_eq!(code, Some(0), "another scenario makes other cases");
    let (code, _, complaint) = merge(&place.text("none"), &[a, &place.text("nowhere")]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("nowhere does not exist"), "{complaint}");
    assert!(!place.path("none").exists());
}

#[test]
fn killed_at_any_time_nothing_is_lost_or_done_twice() {
    let place = Place::new();
    fs::write(place.path("sweep.toml"), SWEEP.replace("seeds = 3", "seeds = 40")).unwrap();
    let undisturbed = place.printed("undisturbed", &["--csv", "-"]);
    let store = kill(kills(), Duration::from_millis(60), |store| {
        place.sweep(&format!("k{store}"), &["--resume", "--jobs", "2"])
    });
    assert_eq!(place.printed(&format!("k{store}"), &["--resume", "--csv", "-"]), undisturbed);
}

#[test]
fn a_store_that_is_there_already_or_cannot_be_written_is_left_alone() {
    let place = Place::new();
    let rows = place.printed("a", &["--csv", "-"]);
    assert!(place.refusal("a", &[]).contains("--resume goes on"));
    assert_eq!(place.printed("a", &["--resume", "--csv", "-"]), rows);
    assert!(place.refusal("a", &["--shard", "5/4"]).contains("I/N"));

    // Root may write anything; a directory in the way stops root as well.
    fs::create_dir(place.path("d")).unwrap();
    assert!(place.refusal("d", &["--resume"]).contains("is not a result store"));
    let read_only = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
        fs::OpenOptions::new().append(true).open(path).is_err()
    };
    if read_only(&place.path("a")) {
        assert!(place.refusal("a", &["--resume"]).contains("read-only"));
    }
}

#[test]
fn a_sweep_that_makes_no_sense_leaves_no_store() {
    let place = Place::new();
    fs::write(place.path("sweep.toml"), "scenario = \"s.toml\"\nseeds = 2\n").unwrap();
    assert!(place.refusal("a", &[]).contains("there are no points"));
    fs::write(place.path("sweep.toml"), SWEEP.replace("6.12", "7.0")).unwrap();
    assert!(place.refusal("a", &[]).contains("kernel = 7.0"));
    assert!(!place.path("a").exists());
    assert!(refusal(&["sweep"]).contains("Usage: zerolag sweep"));
}

#[test]
fn the_examples_for_clusters_say_what_the_command_takes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cluster");
    let slurm = fs::read_to_string(docs.join("slurm.sh")).unwrap();
    assert!(slurm.starts_with("#!/bin/bash") && slurm.contains("#SBATCH --array=1-"), "{slurm}");
    let kubernetes = fs::read_to_string(docs.join("kubernetes.yaml")).unwrap();
    assert!(kubernetes.contains("completionMode: Indexed"), "{kubernetes}");
    let help = stdout(&["sweep", "--help"]);
    for text in [slurm, kubernetes] {
        for option in text.split_whitespace().filter(|w| w.starts_with("--shard") || w.starts_with("--store"))
        {
            assert!(help.contains(option.split('=').next().unwrap()), "{option}");
        }
    }
}

#[test]
fn the_slurm_example_is_a_shell_script() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cluster/slurm.sh");
    let checked = std::process::Command::new("bash").arg("-n").arg(script).status().unwrap();
    assert!(checked.success());
}
