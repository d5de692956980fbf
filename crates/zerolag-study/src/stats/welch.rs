// SPDX-License-Identifier: GPL-2.0-only
//! Welch's test of two means (B. L. Welch, The generalization of "Student's" problem when several different
//! population variances are involved, Biometrika 34, 1947).

use super::special::{student_both_tails, student_quantile};
use super::{Interval, Sample};

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The difference of the means over its standard error.
    pub t: f64,
    /// Degrees of freedom, by Satterthwaite's approximation.
    pub df: f64,
    /// How likely a difference at least as large is between samples of the same mean.
    pub p: f64,
    /// The confidence interval of the difference, second mean less first.
    pub interval: Interval,
}

/// Tests whether the means differ; `confidence` as 0.95. Nothing if there are fewer than two figures on a side
/// or none of them varies.
pub fn test(a: &Sample, b: &Sample, confidence: f64) -> Option<Welch> {
    let variance = |s: &Sample| s.deviation() * s.deviation() / s.len() as f64;
    let (va, vb) = (variance(a), variance(b));
    let error = libm::sqrt(va + vb);
    if a.len() < 2 || b.len() < 2 || error == 0.0 {
        return None;
    }
    let part = |v: f64, s: &Sample| v * v / (s.len() - 1) as f64;
    let df = (va + vb) * (va + vb) / (part(va, a) + part(vb, b));
    let difference = b.mean() - a.mean();
    let t = difference / error;
    let half = student_quantile(1.0 - confidence, df) * error;
    let interval = Interval { low: difference - half, high: difference + half };
    Some(Welch { t, df, p: student_both_tails(t, df), interval })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::sleep;
    use super::*;

    #[test]
    fn students_own_data_give_what_r_prints() {
        // t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, p-value = 0.07939,
        // 95 percent confidence interval: -3.3654832 0.2054832 (of the first mean less the second).
        let (a, b) = sleep();
        let welch = test(&a, &b, 0.95).unwrap();
        assert!((welch.t - 1.8608).abs() < 5e-5);
        assert!((welch.df - 17.776).abs() < 5e-4);
        assert!((welch.p - 0.07939).abs() < 5e-6);
        assert!((welch.interval.low - -0.205_483_2).abs() < 1e-6);
        assert!((welch.interval.high - 3.365_483_2).abs() < 1e-6);
    }

    #[test]
    fn what_does_not_vary_cannot_be_tested() {
        let same = Sample::new(vec![1.0; 5]).unwrap();
        assert_eq!(test(&same, &Sample::new(vec![2.0; 5]).unwrap(), 0.95), None);
        assert_eq!(test(&same, &Sample::new(vec![2.0]).unwrap(), 0.95), None);
    }
}
