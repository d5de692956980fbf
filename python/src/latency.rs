// SPDX-License-Identifier: GPL-2.0-only
//! Times from wake-up to running, as columns.

use zerolag_trace::metrics::Distribution;

use crate::columns::{Column, Table};

/// How many there are, and percentiles. What does not exist is not a number.
pub(crate) fn figures(all: &[&Distribution]) -> Table {
    let us = |ns: u64| ns as f64 / 1e3;
    let quantile =
        |q: f64| Column::F64(all.iter().map(|d| d.quantile(q).map_or(f64::NAN, |time| us(time.0))).collect());
    vec![
        ("wakeups", Column::I64(all.iter().map(|d| d.len() as i64).collect())),
        ("wakeup_p50_us", quantile(0.5)),
        ("wakeup_p90_us", quantile(0.9)),
        ("wakeup_p95_us", quantile(0.95)),
        ("wakeup_p99_us", quantile(0.99)),
        ("wakeup_p999_us", quantile(0.999)),
        (
            "wakeup_max_us",
            Column::F64(all.iter().map(|d| d.max().map_or(f64::NAN, |time| us(time.0))).collect()),
        ),
    ]
}

/// Bins of histograms: from, to (both included), count.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    from: Vec<i64>,
    to: Vec<i64>,
    count: Vec<i64>,
}

impl Bins {
    /// Adds those of a distribution. Returns how many they are.
    pub(crate) fn add(&mut self, distribution: &Distribution) -> usize {
        let bins = distribution.bins();
        for bin in &bins {
            self.from.push(bin.from.0 as i64);
            self.to.push(bin.to.0 as i64);
            self.count.push(bin.count as i64);
        }
        bins.len()
    }

    pub(crate) fn into_table(self) -> Table {
        vec![
            ("from_ns", Column::I64(self.from)),
            ("to_ns", Column::I64(self.to)),
            ("count", Column::I64(self.count)),
        ]
    }
}
