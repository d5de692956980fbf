// SPDX-License-Identifier: GPL-2.0-only
//! The figures of a task, or of several added up, as cells of a table.

use zerolag_trace::metrics::{Percentiles, TaskFigures};

use super::text::{ms, us};

/// Headings of latencies.
pub(crate) const LATENCIES: [&str; 7] =
    [">WAKEUPS", ">P50_US", ">P90_US", ">P95_US", ">P99_US", ">P99.9_US", ">MAX_US"];

/// Headings of figures.
pub(crate) const COLUMNS: [&str; 12] = [
    ">CPU_MS",
    ">SHARE",
    ">VOLUNTARY",
    ">PREEMPTED",
    ">MIGRATIONS",
    LATENCIES[0],
    LATENCIES[1],
    LATENCIES[2],
    LATENCIES[3],
    LATENCIES[4],
    LATENCIES[5],
    LATENCIES[6],
];

/// What stands below the headings; `share` is of one CPU's time.
pub(crate) fn cells(f: &TaskFigures, share: f64) -> Vec<String> {
    let counts = [
        ms(f.run()),
        format!("{:.2}%", 100.0 * share),
        f.voluntary.to_string(),
        f.preempted.to_string(),
        f.migrations.to_string(),
    ];
    counts.into_iter().chain(latencies(f.wakeup.percentiles())).collect()
}

/// What stands below the headings of latencies.
pub(crate) fn latencies(percentiles: Option<Percentiles>) -> Vec<String> {
    let Some(p) = percentiles else {
        return std::iter::once("0".to_owned()).chain(std::iter::repeat_n("-".to_owned(), 6)).collect();
    };
    vec![p.n.to_string(), us(p.p50), us(p.p90), us(p.p95), us(p.p99), us(p.p999), us(p.max)]
}
