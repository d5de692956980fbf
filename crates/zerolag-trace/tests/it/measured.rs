// SPDX-License-Identifier: GPL-2.0-only
//! Our figures of recordings are those that an independent program measured on them.
//!
//! Reads each `NAME.perf.txt.gz` and the `NAME.json` beside it in `tests/data/measured`, or in the directory
//! that the environment variable `ZEROLAG_MEASURED` names:
//!
//! `ZEROLAG_MEASURED=DIR cargo test -p zerolag-trace --test it measured -- --nocapture`

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zerolag_core::units::Nanos;
use zerolag_trace::metrics::{Distribution, Metrics, TaskFigures};
use zerolag_trace::read::open;

/// The figures are rounded to tenths and thousandths; percentiles of many samples are good to a thousandth.
const ROUNDING: f64 = 0.06;
const PRECISION: f64 = 0.001;

#[test]
fn figures_are_those_measured_independently() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/measured");
    let dir = std::env::var_os("ZEROLAG_MEASURED").map_or(here, PathBuf::from);
    let mut recordings: Vec<PathBuf> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    recordings.retain(|path| json_beside(path).is_some_and(|json| json.exists()));
    recordings.sort();
    assert!(recordings.len() >= 2, "recordings in {}", dir.display());
    let mut differing = Vec::new();
    for path in recordings {
        let report = compare(&path);
        println!("{}: {} figures, {} differ", path.display(), report.figures, report.differing.len());
        assert!(report.figures >= 40, "{}", path.display());
        differing.extend(report.differing.into_iter().map(|d| format!("{}: {d}", path.display())));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

fn json_beside(recording: &Path) -> Option<PathBuf> {
    let name = recording.file_name()?.to_str()?.strip_suffix(".perf.txt.gz")?;
    Some(recording.with_file_name(format!("{name}.json")))
}

fn compare(recording: &Path) -> Report {
    let json: Value = serde_json::from_reader(File::open(json_beside(recording).unwrap()).unwrap()).unwrap();
    // Of a long run, a window is in the recording and was measured by itself.
    let measured = json.get("window").unwrap_or(&json);
    // The recording begins a little before the workload and ends a little after it.
    let first = measured["t_first_ns"].as_u64().unwrap();
    let last = first + (measured["span_ms"].as_f64().unwrap() * 1e6) as u64 + 500;

    let mut trace = open(File::open(recording).unwrap()).unwrap();
    let mut metrics = Metrics::new();
    for event in trace.by_ref() {
        let event = event.unwrap();
        if (first..=last).contains(&event.time.0) {
            metrics.feed(&event);
        }
    }
    let summary = metrics.summary();

    let mut report = Report::default();
    for task in measured["tasks"].as_array().unwrap() {
        let pid = u32::try_from(task["pid"].as_u64().unwrap()).unwrap();
        match trace.tasks().by_pid(pid).and_then(|id| summary.tasks.get(&id)) {
            Some(figures) => report.task(pid, task, figures),
            None => report.differing.push(format!("{pid} is missing")),
        }
    }
    report
}

#[derive(Default)]
struct Report {
    figures: usize,
    differing: Vec<String>,
}

impl Report {
    fn task(&mut self, pid: u32, want: &Value, got: &TaskFigures) {
        // Of a window, only the time between switches was measured.
        let windowed = want["run_stat_ms"].is_null();
        let run = if windowed { got.run_by_switches } else { got.run() };
        let slice = got.slice.percentiles();
        for (name, got) in [
            ("run_ms", ms(run)),
            ("run_switch_ms", ms(got.run_by_switches)),
            ("run_stat_ms", ms(got.run_by_charges)),
            ("switches_in", got.switches_in as f64),
            ("preempted", got.preempted as f64),
            ("migrations", got.migrations as f64),
            ("wakeups_to_idle", got.wakeups_to_idle as f64),
            ("slice_p50_ms", slice.map_or(0.0, |p| ms(p.p50))),
            ("slice_max_ms", slice.map_or(0.0, |p| ms(p.max))),
        ] {
            self.check(pid, name, &want[name], got);
        }
        for (cpu, run) in &got.per_cpu {
            self.check(pid, "percpu_ms", &want["percpu_ms"][cpu.to_string()], ms(*run));
        }
        self.distribution(pid, "wakeup_us", &want["wakeup_us"], &got.wakeup);
        self.distribution(pid, "waking_us", &want["waking_us"], &got.waking);
        self.distribution(pid, "preempt_delay_us", &want["preempt_delay_us"], &got.preempt_delay);
    }

    fn distribution(&mut self, pid: u32, name: &str, want: &Value, got: &Distribution) {
        self.check(pid, &format!("{name} n"), &want["n"], got.len() as f64);
        let Some(p) = got.percentiles() else { return };
        for (key, value) in [
            ("min", p.min),
            ("avg", p.mean),
            ("p50", p.p50),
            ("p90", p.p90),
            ("p99", p.p99),
            ("p999", p.p999),
            ("max", p.max),
        ] {
            self.check(pid, &format!("{name} {key}"), &want[key], value.0 as f64 / 1e3);
        }
    }

    fn check(&mut self, pid: u32, name: &str, want: &Value, got: f64) {
        let Some(want) = want.as_f64() else { return };
        self.figures += 1;
        if (want - got).abs() > ROUNDING.max(want * PRECISION) {
            self.differing.push(format!("{pid} {name}: measured {want}, ours {got}"));
        }
    }
}

fn ms(span: Nanos) -> f64 {
    span.0 as f64 / 1e6
}
