// SPDX-License-Identifier: GPL-2.0-only
//! Confidence intervals by drawing from the samples again (B. Efron, Bootstrap methods: another look at the
//! jackknife, Annals of Statistics 7, 1979): the percentile method.
//!
//! It asks for no distribution, but a handful of figures cannot show what lies beyond them: with fewer than
//! ten the interval is too narrow.

use zerolag_sim::rng::{Purpose, Stream};

use super::{Interval, Sample, quantile};

/// How often is drawn. The ends of a 95 % interval rest on 25 of these each.
pub const DRAWS: usize = 1000;

/// The interval of `statistic`, computed from the means of samples that are drawn anew from each of `samples`.
/// Nothing if there are fewer than two figures in one of them, or the statistic is no number.
pub fn interval(samples: &[&Sample], confidence: f64, statistic: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    if samples.iter().any(|s| s.len() < 2) {
        return None;
    }
    // The same figures always give the same interval.
    let mut chance = Stream::new(0, Purpose::Study, samples.len() as u64);
    let mut means = vec![0.0; samples.len()];
    let mut drawn = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        for (mean, sample) in means.iter_mut().zip(samples) {
            let n = sample.len();
            let sum: f64 = (0..n).map(|_| sample.sorted()[chance.below(n as u64) as usize]).sum();
            *mean = sum / n as f64;
        }
        drawn.push(statistic(&means));
    }
    if drawn.iter().any(|d| !d.is_finite()) {
        return None;
    }
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval { low: quantile(&drawn, tail), high: quantile(&drawn, 1.0 - tail) })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::sleep;
    use super::*;

    #[test]
    fn of_students_data_it_is_near_the_one_that_assumes_a_normal_distribution() {
        let (a, b) = sleep();
        let found = interval(&[&a, &b], 0.95, |m| m[1] - m[0]).unwrap();
        // Welch's is -0.205 to 3.365; the bootstrap's is narrower by about sqrt(9/10) and the tails of t.
        assert!((found.low - 0.02).abs() < 0.2 && (found.high - 3.15).abs() < 0.2, "{found:?}");
        assert_eq!(interval(&[&a, &b], 0.95, |m| m[1] - m[0]), Some(found));
    }

    #[test]
    fn it_covers_the_truth_about_as_often_as_it_says() {
        let mut chance = Stream::new(5, Purpose::Study, 0);
        let covered = (0..400).filter(|_| {
            let sample = Sample::new((0..20).map(|_| chance.unit()).collect()).unwrap();
            let found = interval(&[&sample], 0.95, |m| m[0]).unwrap();
            found.low <= 0.5 && 0.5 <= found.high
        });
        let covered = covered.count();
        assert!((360..=395).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn a_single_figure_has_no_interval() {
        let one = Sample::new(vec![1.0]).unwrap();
        assert_eq!(interval(&[&one], 0.95, |m| m[0]), None);
    }
}
