// SPDX-License-Identifier: GPL-2.0-only
//! The files that `--out` writes. Each appears whole or not at all.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use zerolag_core::ids::TaskId;
use zerolag_sim::workload::rtapp::{Record, RtApp};
use zerolag_study::report::Report;

use crate::failure::Failure;
use crate::file;

/// Writes `run.json` and, if there was one, what an rt-app file's threads recorded.
pub(super) fn write(dir: &Path, report: &Report, rtapp: Option<(&RtApp, &Record)>) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|e| file::failure(dir, &e))?;
    put(dir, "run.json", &format!("{:#}\n", report.to_json()))?;
    if let Some((app, record)) = rtapp {
        for log in &record.logs {
            put(dir, &log.file_name(&app.global.log_basename), &log.to_string())?;
        }
        let name = |task: TaskId| report.tasks.get(&task).map_or("?", |t| t.name.as_str());
        let mut markers = String::new();
        for marker in &record.markers {
            let (name, id, cpu) = match marker.by {
                Some((task, cpu)) => (name(task), task.0 + 1, cpu.0),
                None => ("rt-app", 0, 0),
            };
            let (s, us) = (marker.time.0 / 1_000_000_000, marker.time.0 / 1_000 % 1_000_000);
            _ = writeln!(markers, "{name}-{id} [{cpu:03}] {s}.{us:06}: tracing_mark_write: {}", marker.text);
        }
        if !markers.is_empty() {
            put(dir, "markers.txt", &markers)?;
        }
    }
    Ok(())
}

fn put(dir: &Path, name: &str, text: &str) -> Result<(), Failure> {
    file::put(&dir.join(name), text)
}
