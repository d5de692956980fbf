// SPDX-License-Identifier: GPL-2.0-only
//! Statistics of small samples: what was measured, how sure it is, and whether two samples differ.
//!
//! * [`Sample`]: mean, standard deviation, median, quantiles.
//! * [`welch`]: whether two means differ, without assuming equal variances; its confidence interval.
//! * [`rank_sum`]: the test of Wilcoxon, Mann and Whitney, exact where samples are small and have no ties. It
//!   assumes nothing about how the figures are distributed, and tails are never normal; so this is the test that
//!   decides what is called significant.
//! * [`bootstrap`]: confidence intervals of anything, by drawing from the samples again.
//!
//! Everything is arithmetic of IEEE doubles in a fixed order, with the functions of `libm`: the same figures
//! give the same bytes on every computer.

pub mod bootstrap;
pub mod rank_sum;
mod special;
pub mod welch;

/// Figures of one kind, from several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
    mean: f64,
    deviation: f64,
}

impl Sample {
    /// A sample of these figures; nothing if there are none or one of them is no number.
    pub fn new(mut figures: Vec<f64>) -> Option<Self> {
        if figures.is_empty() || figures.iter().any(|f| !f.is_finite()) {
            return None;
        }
        figures.sort_by(f64::total_cmp);
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        // All alike have no deviation, whatever their sum was rounded to.
        let alike = figures.first() == figures.last();
        let mean = if alike { figures[0] } else { mean };
        let squares: f64 = figures.iter().map(|f| (f - mean) * (f - mean)).sum();
        let deviation = if alike { 0.0 } else { libm::sqrt(squares / (n - 1.0)) };
        Some(Self { sorted: figures, mean, deviation })
    }

    /// The figures, from the least to the greatest.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Never: there is at least one.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The mean.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation, by `n - 1`; 0 for a single figure.
    pub const fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The standard deviation in percent of the mean; nothing if that is 0.
    pub fn deviation_percent(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.deviation / self.mean.abs() * 100.0)
    }

    /// The least figure.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The greatest figure.
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// The median.
    pub fn median(&self) -> f64 {
        quantile(&self.sorted, 0.5)
    }
}

/// The `q`-quantile of sorted figures, interpolated between neighbours (definition 7 of Hyndman and Fan).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let below = at as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

#[cfg(test)]
pub(crate) mod vectors {
    //! Published samples.

    use super::Sample;

    /// Hours of sleep gained with two drugs by ten patients (Student, The probable error of a mean, Biometrika
    /// 6, 1908); in R as `sleep`.
    pub(crate) fn sleep() -> (Sample, Sample) {
        (
            Sample::new(vec![0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]).unwrap(),
            Sample::new(vec![1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]).unwrap(),
        )
    }

    /// Permeability of membranes at term and at 12 to 26 weeks (Hollander and Wolfe, Nonparametric Statistical
    /// Methods, 1973, page 69); in R in the examples of `wilcox.test`.
    pub(crate) fn permeability() -> (Sample, Sample) {
        (
            Sample::new(vec![0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]).unwrap(),
            Sample::new(vec![1.15, 0.88, 0.90, 0.74, 1.21]).unwrap(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_summed_up() {
        let sample = Sample::new(vec![4.0, 2.0, 9.0, 5.0]).unwrap();
        assert_eq!((sample.mean(), sample.min(), sample.max(), sample.median()), (5.0, 2.0, 9.0, 4.5));
        assert!((sample.deviation() - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let alike = Sample::new(vec![0.1; 7]).unwrap();
        assert_eq!((alike.mean(), alike.deviation()), (0.1, 0.0));
        assert_eq!(Sample::new(vec![]), None);
        assert_eq!(Sample::new(vec![1.0, f64::NAN]), None);
    }

    #[test]
    fn quantiles_are_those_of_r() {
        // quantile(c(1, 2, 3, 4, 10), c(0, .1, .5, .75, 1))
        let sorted = [1.0, 2.0, 3.0, 4.0, 10.0];
        for (q, value) in [(0.0, 1.0), (0.1, 1.4), (0.5, 3.0), (0.75, 4.0), (1.0, 10.0)] {
            assert!((quantile(&sorted, q) - value).abs() < 1e-12, "{q}");
        }
    }
}
