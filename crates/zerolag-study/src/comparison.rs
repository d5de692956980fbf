// SPDX-License-Identifier: GPL-2.0-only
//! Cases side by side: for each figure what each case has, and how it differs from the first.
//!
//! | verdict | when |
//! |---|---|
//! | same | all runs of both have the same figure |
//! | better, worse, more, less | the rank sum test finds less than one chance in twenty that both are drawn alike; or neither case varies at all, and they differ |
//! | not significant | it does not |
//! | single | there is only one run on a side: nothing can be said of chance |
//!
//! With dozens of figures, one in twenty is "significant" by chance alone: what matters should have been named
//! before, or hold for other seeds too.

pub mod json;

use zerolag_sim::workload::model::Better;

use crate::case::Sealed;
use crate::stats::rank_sum::{self, RankSum};
use crate::stats::welch::{self, Welch};
use crate::stats::{Interval, Sample, bootstrap};
use crate::store::{Kind, Store, StoreError};

/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// What is less likely than this by chance is significant.
pub const SIGNIFICANT: f64 = 0.05;

/// A figure in all cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which figure.
    pub kind: Kind,
    /// What each case has; nothing where it has no such figure.
    pub cells: Vec<Option<Cell>>,
}

/// A figure in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The figures of all runs.
    pub sample: Sample,
    /// How they differ from the first case's; nothing there, or if the first case has none.
    pub versus: Option<Versus>,
}

/// How a case differs from the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// The difference of the means, in percent of the first; nothing if that is 0.
    pub percent: Option<f64>,
    /// The bootstrap interval of that.
    pub interval: Option<Interval>,
    /// Welch's test, and the interval of the difference itself.
    pub welch: Option<Welch>,
    /// The rank sum test.
    pub rank_sum: RankSum,
    /// What to make of it.
    pub verdict: Verdict,
}

/// What to make of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is none.
    Same,
    /// It is for the better.
    Better,
    /// It is for the worse.
    Worse,
    /// It is more, of something of which that is neither.
    More,
    /// It is less, of something of which that is neither.
    Less,
    /// It may be chance.
    NotSignificant,
    /// There is one run of a case.
    Single,
}

impl Verdict {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::More => "more",
            Self::Less => "less",
            Self::NotSignificant => "not significant",
            Self::Single => "single",
        }
    }

    fn of(better: Better, first: &Sample, other: &Sample, rank_sum: &RankSum) -> Self {
        let varies = |s: &Sample| s.min() != s.max();
        let alike = !varies(first) && !varies(other);
        if alike && first.mean() == other.mean() {
            return Self::Same;
        }
        if first.len().min(other.len()) < 2 {
            return Self::Single;
        }
        if !alike && rank_sum.p >= SIGNIFICANT {
            return Self::NotSignificant;
        }
        // Ranks decide, so they also say which way: a mean may be the work of one run.
        let more = rank_sum.u * 2.0 < (first.len() * other.len()) as f64;
        match (better, more) {
            (Better::Lower, false) | (Better::Higher, true) => Self::Better,
            (Better::Lower, true) | (Better::Higher, false) => Self::Worse,
            (Better::Neither, true) => Self::More,
            (Better::Neither, false) => Self::Less,
        }
    }
}

impl Versus {
    /// How `other` differs from `first`.
    pub fn new(better: Better, first: &Sample, other: &Sample) -> Self {
        let percent = |from: f64, to: f64| (to - from) / from.abs() * 100.0;
        let rank_sum = rank_sum::test(first, other);
        Self {
            percent: Some(percent(first.mean(), other.mean())).filter(|p| p.is_finite()),
            interval: bootstrap::interval(&[first, other], CONFIDENCE, |m| percent(m[0], m[1])),
            welch: welch::test(first, other, CONFIDENCE),
            rank_sum,
            verdict: Verdict::of(better, first, other, &rank_sum),
        }
    }
}

/// All figures that `wanted` picks, in all cases with these seeds.
///
/// # Errors
/// If the store cannot be read.
pub fn compare(
    store: &Store,
    cases: &[Sealed],
    seeds: &[u64],
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Row>, StoreError> {
    let mut kinds: Vec<Kind> = Vec::new();
    for case in cases {
        for kind in store.kinds(case)? {
            if wanted(&kind.name) && !kinds.iter().any(|k| k.name == kind.name) {
                kinds.push(kind);
            }
        }
    }
    let mut runs = Vec::new();
    for case in cases {
        let figures = seeds.iter().map(|&seed| store.figures(case, seed));
        let figures = figures.collect::<Result<Vec<_>, _>>()?;
        runs.push(figures.into_iter().flatten().map(|(_, figures)| figures).collect::<Vec<_>>());
    }
    let row = |kind: Kind| {
        let sample = |case: usize| {
            Sample::new(runs[case].iter().filter_map(|figures| figures.get(&kind.name)).copied().collect())
        };
        let first = sample(0);
        let cell = |case: usize| {
            let sample = sample(case)?;
            let versus = first.as_ref().filter(|_| case > 0);
            let versus = versus.map(|first| Versus::new(kind.better, first, &sample));
            Some(Cell { sample, versus })
        };
        Row { cells: (0..cases.len()).map(cell).collect(), kind }
    };
    Ok(kinds.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(better: Better, first: &[f64], other: &[f64]) -> Verdict {
        Versus::new(better, &Sample::new(first.to_vec()).unwrap(), &Sample::new(other.to_vec()).unwrap())
            .verdict
    }

    #[test]
    fn verdicts_follow_ranks_and_the_way_that_is_better() {
        let (few, many) = ([1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]);
        assert_eq!(verdict(Better::Lower, &few, &many), Verdict::Worse);
        assert_eq!(verdict(Better::Higher, &few, &many), Verdict::Better);
        assert_eq!(verdict(Better::Neither, &few, &many), Verdict::More);
        assert_eq!(verdict(Better::Lower, &many, &few), Verdict::Better);
        assert_eq!(verdict(Better::Neither, &many, &few), Verdict::Less);
        assert_eq!(verdict(Better::Lower, &few, &[2.5, 1.5, 3.5, 4.5, 5.5]), Verdict::NotSignificant);
        // Three against three cannot be significant, however far apart: 2 ways of 20.
        assert_eq!(verdict(Better::Lower, &few[..3], &many[..3]), Verdict::NotSignificant);
    }

    #[test]
    fn what_never_varies_needs_no_test() {
        assert_eq!(verdict(Better::Lower, &[3.0; 2], &[2.0; 2]), Verdict::Better);
        assert_eq!(verdict(Better::Lower, &[3.0; 2], &[3.0; 2]), Verdict::Same);
        assert_eq!(verdict(Better::Lower, &[3.0], &[2.0]), Verdict::Single);
        assert_eq!(verdict(Better::Lower, &[3.0], &[3.0]), Verdict::Same);
    }

    #[test]
    fn percent_of_nothing_is_nothing() {
        let (zero, some) = (Sample::new(vec![0.0, 0.0]).unwrap(), Sample::new(vec![1.0, 2.0]).unwrap());
        let versus = Versus::new(Better::Lower, &zero, &some);
        assert_eq!((versus.percent, versus.interval), (None, None));
    }
}
