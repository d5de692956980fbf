// SPDX-License-Identifier: GPL-2.0-only
//! The rank sum test of two samples (H. B. Mann and D. R. Whitney, On a test of whether one of two random
//! variables is stochastically larger than the other, Annals of Mathematical Statistics 18, 1947).

use super::Sample;
use super::special::normal_both_tails;

/// Up to so many figures on both sides the distribution is counted out.
const EXACT_MAX: usize = 50;

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSum {
    /// In how many of all pairs the first sample's figure is the greater one; ties count half.
    pub u: f64,
    /// How likely a `u` at least as far from half of all pairs is if both samples are drawn alike.
    pub p: f64,
    /// Whether `p` was counted out, or taken from the normal approximation with corrections for ties and
    /// continuity.
    pub exact: bool,
}

/// Tests whether one sample tends to be greater.
pub fn test(a: &Sample, b: &Sample) -> RankSum {
    let (n, m) = (a.len(), b.len());
    let below = |x: f64| b.sorted().partition_point(|&y| y < x) as f64;
    let up_to = |x: f64| b.sorted().partition_point(|&y| y <= x) as f64;
    let u: f64 = a.sorted().iter().map(|&x| (below(x) + up_to(x)) / 2.0).sum();
    let ties = ties(a, b);
    if ties == 0.0 && n <= EXACT_MAX && m <= EXACT_MAX {
        return RankSum { u, p: exact(u, n, m), exact: true };
    }
    let (nf, mf) = (n as f64, m as f64);
    let all = nf + mf;
    let variance = nf * mf / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let distance = ((u - nf * mf / 2.0).abs() - 0.5).max(0.0);
    let p = if variance > 0.0 { normal_both_tails(distance / libm::sqrt(variance)) } else { 1.0 };
    RankSum { u, p, exact: false }
}

/// The sum of t³ - t over all groups of t equal figures.
fn ties(a: &Sample, b: &Sample) -> f64 {
    let mut all: Vec<f64> = a.sorted().iter().chain(b.sorted()).copied().collect();
    all.sort_by(f64::total_cmp);
    all.chunk_by(|x, y| x == y).map(|group| group.len() as f64).map(|t| t * t * t - t).sum()
}

/// Of all ways to lay out n + m figures in order, how many have a `u` as far from the middle.
///
/// The number of ways with U = u is a coefficient of the Gaussian binomial, a product of (1 - q^(m+i)) / (1 - q^i)
/// for i from 1 to n; both factors are applied to the coefficients in place. Doubles hold the counts: they are
/// exact up to 2^53, and beyond off by parts in 2^53, no more.
fn exact(u: f64, n: usize, m: usize) -> f64 {
    let mut ways = vec![0.0_f64; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..ways.len()).rev() {
            ways[at] -= ways[at - m - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    let all: f64 = ways.iter().sum();
    let lower = u.min((n * m) as f64 - u) as usize;
    let tail: f64 = ways[..=lower].iter().sum();
    (2.0 * tail / all).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{permeability, sleep};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hollander_and_wolfes_example_is_counted_out() {
        // wilcox.test(x, y, alternative = "greater"): W = 35, p-value = 0.1272; two-sided twice that.
        let (x, y) = permeability();
        let test = test(&x, &y);
        assert_eq!((test.u, test.exact), (35.0, true));
        assert!((test.p - 2.0 * 0.1272).abs() < 1e-4, "{}", test.p);
    }

    #[test]
    fn ties_go_by_the_normal_approximation() {
        // wilcox.test(extra ~ group, data = sleep): W = 25.5, p-value = 0.06933, with a warning about ties.
        let (a, b) = sleep();
        let test = test(&a, &b);
        assert_eq!((test.u, test.exact), (25.5, false));
        assert!((test.p - 0.06933).abs() < 5e-6, "{}", test.p);
    }

    #[test]
    fn mann_and_whitneys_table_is_met() {
        // Table I of their paper: the probability of a U not above the given one, in one tail.
        for (u, n, m, p) in
            [(0, 3, 3, 0.050), (2, 3, 4, 0.114), (4, 4, 5, 0.095), (2, 5, 5, 0.016), (7, 6, 6, 0.047)]
        {
            assert!((exact(f64::from(u), n, m) / 2.0 - p).abs() < 5.1e-4, "{u} {n} {m}");
        }
    }

    #[test]
    fn samples_that_are_all_alike_do_not_differ() {
        let same = Sample::new(vec![1.0; 5]).unwrap();
        assert_eq!(test(&same, &same).p, 1.0);
    }

    proptest! {
        /// The plain twin: lay out all ways and count.
        #[test]
        fn counting_is_laying_out(n in 1usize..6, m in 1usize..6, seed in 0usize..1000) {
            let u = seed % (n * m + 1);
            let us: Vec<usize> = (0u32..1 << (n + m))
                .filter(|set| set.count_ones() as usize == n)
                .map(|set| {
                    let first = |at: &usize| set >> at & 1 == 1;
                    (0..n + m).filter(first).map(|x| (0..x).filter(|y| !first(y)).count()).sum()
                })
                .collect();
            let lower = u.min(n * m - u);
            let tail = us.iter().filter(|&&other| other <= lower).count() as f64;
            let plain = (2.0 * tail / us.len() as f64).min(1.0);
            prop_assert!((exact(u as f64, n, m) - plain).abs() < 1e-12);
        }

        #[test]
        fn swapping_the_samples_changes_nothing(
            a in proptest::collection::vec(0.0..10.0, 1..60),
            b in proptest::collection::vec(0.0..10.0, 1..60),
        ) {
            let (a, b) = (Sample::new(a).unwrap(), Sample::new(b).unwrap());
            let (one, other) = (test(&a, &b), test(&b, &a));
            prop_assert!((one.p - other.p).abs() < 1e-9);
            prop_assert!((one.u + other.u - (a.len() * b.len()) as f64).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&one.p));
        }
    }
}
