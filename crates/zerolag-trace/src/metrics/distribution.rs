// SPDX-License-Identifier: GPL-2.0-only
//! How a span of time is distributed over many occurrences.

use hdrhistogram::Histogram;
use zerolag_core::units::Nanos;

/// Up to this many samples are kept as they are; beyond, a histogram with three significant digits takes
/// over. Recordings have thousands of tasks with a handful of samples each, for which a histogram would be
/// both larger and less exact, and a few tasks with millions, which must not fill the memory.
const EXACT_MAX: usize = 1024;

/// Significant digits of the histogram: a percentile is off by at most 0.1 %.
const DIGITS: u8 = 3;

/// Samples of a span of time. Count, sum, minimum and maximum are always exact; percentiles up to 1024
/// samples, else to 0.1 %.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    samples: Samples,
    n: u64,
    sum: u128,
    min: Nanos,
    max: Nanos,
}

#[derive(Clone, Debug, PartialEq)]
enum Samples {
    Exact(Vec<u64>),
    Binned(Box<Histogram<u32>>),
}

impl Default for Distribution {
    fn default() -> Self {
        let samples = Samples::Exact(Vec::new());
        Self { samples, n: 0, sum: 0, min: Nanos(u64::MAX), max: Nanos::ZERO }
    }
}

impl Distribution {
    /// Adds one sample.
    pub fn record(&mut self, span: Nanos) {
        self.n += 1;
        self.sum += u128::from(span.0);
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        match &mut self.samples {
            Samples::Exact(samples) if samples.len() < EXACT_MAX => samples.push(span.0),
            Samples::Exact(_) => record(self.binned(), span.0),
            Samples::Binned(histogram) => record(histogram, span.0),
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.samples, &other.samples) {
            (Samples::Exact(mine), Samples::Exact(others)) if mine.len() + others.len() <= EXACT_MAX => {
                mine.extend_from_slice(others);
            }
            (_, Samples::Exact(others)) => others.iter().for_each(|&span| record(self.binned(), span)),
            (_, Samples::Binned(others)) => {
                self.binned().add(&**others).expect("a histogram that resizes itself holds any value");
            }
        }
        self.n += other.n;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of samples.
    pub const fn len(&self) -> u64 {
        self.n
    }

    /// True if there are no samples.
    pub const fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The largest sample; none if there are none.
    pub fn max(&self) -> Option<Nanos> {
        (self.n > 0).then_some(self.max)
    }

    /// The smallest sample; none if there are none.
    pub fn min(&self) -> Option<Nanos> {
        (self.n > 0).then_some(self.min)
    }

    /// The mean, rounded down; none if there are no samples.
    pub fn mean(&self) -> Option<Nanos> {
        let mean = self.sum.checked_div(u128::from(self.n))?;
        Some(Nanos(mean as u64))
    }

    /// The sum of all samples.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The `q`-quantile, `q` from 0 to 1: of the sorted samples, the one whose index is nearest to
    /// `q * (n - 1)`; none if there are none.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let last = self.n.checked_sub(1)?;
        let index = ((last as f64 * q.clamp(0.0, 1.0) + 0.5) as u64).min(last);
        Some(Nanos(match &self.samples {
            Samples::Exact(samples) => {
                let mut sorted = samples.clone();
                *sorted.select_nth_unstable(index as usize).1
            }
            // The histogram gives the value up to which `ceil(q * n)` samples lie; half a sample less than
            // the rank keeps that clear of rounding.
            Samples::Binned(histogram) => {
                let value = histogram.value_at_quantile((index as f64 + 0.5) / self.n as f64);
                value.clamp(self.min.0, self.max.0)
            }
        }))
    }

    /// How many samples are `span` or more.
    pub fn at_least(&self, span: Nanos) -> u64 {
        match &self.samples {
            Samples::Exact(samples) => samples.iter().filter(|&&sample| sample >= span.0).count() as u64,
            Samples::Binned(_) if span == Nanos::ZERO => self.n,
            Samples::Binned(histogram) => self.n - histogram.count_between(0, span.0 - 1),
        }
    }

    /// All samples as a histogram, in order. Up to 1024 samples each value has a bin of its own; beyond, bins
    /// are as wide as percentiles are inexact.
    pub fn bins(&self) -> Vec<Bin> {
        match &self.samples {
            Samples::Exact(samples) => {
                let mut sorted = samples.clone();
                sorted.sort_unstable();
                let bin =
                    |same: &[u64]| Bin { from: Nanos(same[0]), to: Nanos(same[0]), count: same.len() as u64 };
                sorted.chunk_by(|a, b| a == b).map(bin).collect()
            }
            Samples::Binned(histogram) => {
                let bin = |value: u64, count: u32| Bin {
                    from: Nanos(histogram.lowest_equivalent(value)),
                    to: Nanos(histogram.highest_equivalent(value)),
                    count: u64::from(count),
                };
                histogram.iter_recorded().map(|v| bin(v.value_iterated_to(), v.count_at_value())).collect()
            }
        }
    }

    /// The percentiles people quote.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |q| self.quantile(q);
        Some(Percentiles {
            n: self.n,
            min: self.min()?,
            mean: self.mean()?,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            max: self.max()?,
        })
    }

    /// The histogram, made from the exact samples if it is not there yet.
    fn binned(&mut self) -> &mut Histogram<u32> {
        if let Samples::Exact(samples) = &self.samples {
            let mut histogram = Histogram::new(DIGITS).expect("three digits are allowed");
            samples.iter().for_each(|&span| record(&mut histogram, span));
            self.samples = Samples::Binned(Box::new(histogram));
        }
        match &mut self.samples {
            Samples::Binned(histogram) => histogram,
            Samples::Exact(_) => unreachable!("it was replaced above"),
        }
    }
}

fn record(histogram: &mut Histogram<u32>, span: u64) {
    histogram.record(span).expect("a histogram that resizes itself holds any value");
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least span that counts here.
    pub from: Nanos,
    /// The greatest.
    pub to: Nanos,
    /// How many samples there are.
    pub count: u64,
}

/// A distribution in nine numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Number of samples.
    pub n: u64,
    /// The smallest.
    pub min: Nanos,
    /// The mean, rounded down.
    pub mean: Nanos,
    /// The median.
    pub p50: Nanos,
    /// 90 % are not larger.
    pub p90: Nanos,
    /// 95 % are not larger.
    pub p95: Nanos,
    /// 99 % are not larger.
    pub p99: Nanos,
    /// 99.9 % are not larger.
    pub p999: Nanos,
    /// The largest.
    pub max: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        samples.iter().for_each(|&s| distribution.record(Nanos(s)));
        distribution
    }

    /// The plain twin: sort and look.
    fn plain(samples: &[u64], q: f64) -> u64 {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * q + 0.5) as usize]
    }

    #[test]
    fn samples_above_a_bound_are_counted() {
        let few = of(&[1, 5, 5, 9]);
        assert_eq!([0, 1, 5, 6, 10].map(|span| few.at_least(Nanos(span))), [4, 4, 3, 1, 0]);
        let many = of(&(0..4000).collect::<Vec<_>>());
        assert_eq!([0, 1, 1000, 4000].map(|span| many.at_least(Nanos(span))), [4000, 3999, 3000, 0]);
    }

    #[test]
    fn no_samples_have_no_figures() {
        assert_eq!(Distribution::default().percentiles(), None);
        assert_eq!(Distribution::default().sum(), Nanos::ZERO);
    }

    proptest! {
        #[test]
        fn few_samples_are_exact(samples in proptest::collection::vec(any::<u64>(), 1..300), q in 0.0..1.0) {
            prop_assert_eq!(of(&samples).quantile(q).unwrap().0, plain(&samples, q));
        }

        #[test]
        fn bins_hold_all_samples_between_their_ends(
            samples in proptest::collection::vec(0u64..10_000_000, 0..3000),
        ) {
            let all = of(&samples);
            let bins = all.bins();
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), all.len());
            prop_assert!(bins.windows(2).all(|pair| pair[0].to < pair[1].from));
            for bin in bins {
                let inside = samples.iter().filter(|&&s| (bin.from.0..=bin.to.0).contains(&s)).count();
                prop_assert_eq!(inside as u64, bin.count);
                prop_assert!(bin.to.0 - bin.from.0 <= bin.from.0 / 1000);
            }
        }

        #[test]
        fn many_samples_are_good_to_a_thousandth(
            samples in proptest::collection::vec(0u64..10_000_000, 1025..3000),
            q in 0.0..1.0,
        ) {
            let (got, want) = (of(&samples).quantile(q).unwrap().0, plain(&samples, q));
            prop_assert!(got.abs_diff(want) <= want / 1000 + 1, "{got} instead of {want}");
        }

        #[test]
        fn merging_is_recording_together(
            a in proptest::collection::vec(0u64..10_000, 0..1500),
            b in proptest::collection::vec(0u64..10_000, 0..1500),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged.percentiles(), of(&[a, b].concat()).percentiles());
        }
    }
}
