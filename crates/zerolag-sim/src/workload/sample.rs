// SPDX-License-Identifier: GPL-2.0-only
//! Times that were measured, and what they come to.

use zerolag_core::units::Nanos;

use super::model::Metric;

/// Times, all kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    ns: Vec<u64>,
}

impl Sample {
    pub(super) fn add(&mut self, time: Nanos) {
        self.ns.push(time.0);
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.ns.extend_from_slice(&other.ns);
    }

    pub(super) fn len(&self) -> usize {
        self.ns.len()
    }

    pub(super) fn mean_us(&self) -> f64 {
        let sum: u64 = self.ns.iter().sum();
        sum as f64 / 1e3 / self.ns.len().max(1) as f64
    }

    /// The least time that this share of all does not exceed, in microseconds; 0 of none.
    pub(super) fn percentiles_us<const N: usize>(&self, percent: [f64; N]) -> [f64; N] {
        let mut sorted = self.ns.clone();
        sorted.sort_unstable();
        percent.map(|p| {
            let rank = libm::ceil(p / 100.0 * sorted.len() as f64) as usize;
            sorted.get(rank.max(1) - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
        })
    }

    /// Figures called `what min`, `what mean`, `what p50` and so on, if anything was measured.
    pub(super) fn metrics(&self, what: &str) -> Vec<Metric> {
        if self.ns.is_empty() {
            return Vec::new();
        }
        let [min, p50, p90, p95, p99, p999, max] =
            self.percentiles_us([0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0]);
        let figures = [
            ("min", min),
            ("mean", self.mean_us()),
            ("p50", p50),
            ("p90", p90),
            ("p95", p95),
            ("p99", p99),
            ("p99.9", p999),
            ("max", max),
        ];
        figures.into_iter().map(|(name, us)| Metric::time(format!("{what} {name}"), "us", us)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let mut sample = Sample::default();
        assert_eq!(sample.percentiles_us([50.0]), [0.0]);
        assert!(sample.metrics("latency").is_empty());
        (1..=10).rev().for_each(|us| sample.add(Nanos::from_micros(us)));
        assert_eq!(sample.percentiles_us([0.0, 50.0, 51.0, 99.0, 100.0]), [1.0, 5.0, 6.0, 10.0, 10.0]);
        assert_eq!((sample.len(), sample.mean_us()), (10, 5.5));
    }
}
