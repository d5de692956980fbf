// SPDX-License-Identifier: GPL-2.0-only
//! How long something takes: always the same, or drawn from a named distribution.
//!
//! A distribution's parameters are integers, so that programs can be compared and written down; only drawing
//! computes with floating point, through `libm`, whose results do not depend on the computer.

use zerolag_core::units::Nanos;

use crate::rng::Stream;

/// A length of work or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this.
    Exactly(Nanos),
    /// Drawn anew each time from a distribution of the program (see
    /// [`ProgramBuilder::distribution`](crate::program::ProgramBuilder::distribution)).
    Drawn(DistributionId),
}

impl From<Nanos> for Length {
    fn from(span: Nanos) -> Self {
        Self::Exactly(span)
    }
}

/// The number of a distribution within its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistributionId(pub u16);

/// How random lengths are spread. All lengths are at least 0 and rounded down to whole nanoseconds.
///
/// | name | parameters | mean | for |
/// |---|---|---|---|
/// | uniform | `min`, `max` | (min + max) / 2 | usleep jitter |
/// | steps | `min`, `max`, `step` | about (min + max) / 2 | the same by a coarse clock |
/// | exponential | `mean` | mean | arrivals that know nothing of each other |
/// | normal | `mean`, `deviation` | mean (unless cut at 0) | noise around a period |
/// | log-normal | `median`, `sigma` | median · e^(σ²/2) | service and compile times |
/// | pareto | `min`, `alpha` | min · α/(α−1) for α > 1 | heavy tails |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Every length from `min` to `max`, both included, equally often.
    Uniform {
        /// The shortest.
        min: Nanos,
        /// The longest, at least `min`.
        max: Nanos,
    },
    /// Of the lengths `min`, `min + step`, ... up to `max`, each equally often.
    Steps {
        /// The shortest.
        min: Nanos,
        /// None is longer; at least `min`.
        max: Nanos,
        /// From one to the next; at least 1 ns.
        step: Nanos,
    },
    /// Exponential, without memory.
    Exponential {
        /// The average.
        mean: Nanos,
    },
    /// Normal, cut at 0.
    Normal {
        /// The average.
        mean: Nanos,
        /// The standard deviation.
        deviation: Nanos,
    },
    /// The logarithm is normal.
    LogNormal {
        /// Half of all lengths are shorter.
        median: Nanos,
        /// Standard deviation of the logarithm, in thousandths.
        sigma_milli: u32,
    },
    /// Pareto (power law).
    Pareto {
        /// The shortest.
        min: Nanos,
        /// The exponent, in thousandths; at least 1.
        alpha_milli: u32,
    },
}

impl Distribution {
    /// Draws a length.
    pub fn draw(&self, stream: &mut Stream) -> Nanos {
        match *self {
            Self::Uniform { min, max } => {
                Nanos(min.0 + stream.below(max.saturating_sub(min).0.saturating_add(1)))
            }
            Self::Steps { min, max, step } => {
                let steps = max.saturating_sub(min).0 / step.0.max(1);
                Nanos(min.0 + step.0 * stream.below(steps.saturating_add(1)))
            }
            // Inverse of the distribution function 1 - e^(-t/mean); 1 - u is as uniform as u.
            Self::Exponential { mean } => nanos(-libm::log(stream.unit()) * mean.0 as f64),
            Self::Normal { mean, deviation } => {
                nanos(mean.0 as f64 + standard_normal(stream) * deviation.0 as f64)
            }
            Self::LogNormal { median, sigma_milli } => {
                let sigma = f64::from(sigma_milli) / 1000.0;
                nanos(libm::exp(sigma * standard_normal(stream)) * median.0 as f64)
            }
            Self::Pareto { min, alpha_milli } => {
                let alpha = f64::from(alpha_milli) / 1000.0;
                nanos(min.0 as f64 * libm::pow(stream.unit(), -1.0 / alpha))
            }
        }
    }

    /// True if every length drawn is 0.
    pub fn is_always_zero(&self) -> bool {
        match *self {
            Self::Uniform { max, .. } | Self::Steps { max, .. } => max == Nanos::ZERO,
            Self::Exponential { mean } => mean == Nanos::ZERO,
            Self::Normal { mean, deviation } => mean == Nanos::ZERO && deviation == Nanos::ZERO,
            Self::LogNormal { median, .. } => median == Nanos::ZERO,
            Self::Pareto { min, .. } => min == Nanos::ZERO,
        }
    }
}

/// Rounds down; below 0 is 0, too long is the longest (`as` saturates).
fn nanos(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

/// Box and Muller's transform, of which one half is thrown away: a stream then has the same position after
/// every draw, whatever was drawn before.
fn standard_normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(stream.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * stream.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    const MS: u64 = 1_000_000;

    fn sorted_sample(d: Distribution) -> Vec<u64> {
        let mut stream = Stream::new(42, Purpose::Task, 0);
        let mut sample: Vec<u64> = (0..20_000).map(|_| d.draw(&mut stream).0).collect();
        sample.sort_unstable();
        sample
    }

    fn mean(sample: &[u64]) -> u64 {
        sample.iter().sum::<u64>() / sample.len() as u64
    }

    fn within_percent(got: u64, want: u64, percent: u64) -> bool {
        got.abs_diff(want) * 100 <= want * percent
    }

    #[test]
    fn uniform_lengths_fill_their_range() {
        let s = sorted_sample(Distribution::Uniform { min: Nanos(2 * MS), max: Nanos(4 * MS) });
        assert!(s[0] >= 2 * MS && s[s.len() - 1] <= 4 * MS);
        assert!(within_percent(mean(&s), 3 * MS, 1));
        let mut steps = sorted_sample(Distribution::Steps {
            min: Nanos(2 * MS),
            max: Nanos(3 * MS),
            step: Nanos(MS / 3),
        });
        steps.dedup();
        assert_eq!(steps, [2_000_000, 2_333_333, 2_666_666, 2_999_999]);
        let one = Distribution::Uniform { min: Nanos(5), max: Nanos(5) };
        assert_eq!(sorted_sample(one)[0], 5);
    }

    #[test]
    fn exponential_lengths_have_their_mean_and_median() {
        let s = sorted_sample(Distribution::Exponential { mean: Nanos(10 * MS) });
        assert!(within_percent(mean(&s), 10 * MS, 3));
        // ln 2 of the mean.
        assert!(within_percent(s[s.len() / 2], 6_931_472, 3));
    }

    #[test]
    fn normal_lengths_have_their_spread() {
        let s = sorted_sample(Distribution::Normal { mean: Nanos(10 * MS), deviation: Nanos(MS) });
        assert!(within_percent(mean(&s), 10 * MS, 1));
        // One deviation above the mean lies the 84.13th percentile.
        assert!(within_percent(s[s.len() * 8413 / 10_000], 11 * MS, 1));
    }

    #[test]
    fn log_normal_lengths_have_their_median_and_tail() {
        let s = sorted_sample(Distribution::LogNormal { median: Nanos(10 * MS), sigma_milli: 500 });
        assert!(within_percent(s[s.len() / 2], 10 * MS, 3));
        assert!(within_percent(s[s.len() * 8413 / 10_000], 16_487_213, 3));
    }

    #[test]
    fn pareto_lengths_start_at_their_minimum() {
        let s = sorted_sample(Distribution::Pareto { min: Nanos(MS), alpha_milli: 2000 });
        assert!(s[0] >= MS);
        // The median is min * 2^(1/alpha).
        assert!(within_percent(s[s.len() / 2], 1_414_214, 2));
    }

    #[test]
    fn no_parameters_overflow() {
        let mut stream = Stream::new(1, Purpose::Task, 0);
        for d in [
            Distribution::Uniform { min: Nanos(0), max: Nanos(u64::MAX) },
            Distribution::Steps { min: Nanos(0), max: Nanos(u64::MAX), step: Nanos(1) },
            Distribution::Exponential { mean: Nanos(u64::MAX) },
            Distribution::Normal { mean: Nanos(0), deviation: Nanos(u64::MAX) },
            Distribution::LogNormal { median: Nanos(u64::MAX), sigma_milli: u32::MAX },
            Distribution::Pareto { min: Nanos(u64::MAX), alpha_milli: 1 },
        ] {
            for _ in 0..100 {
                d.draw(&mut stream);
            }
        }
    }
}
