// SPDX-License-Identifier: GPL-2.0-only
//! Distribution functions that the tests need.

/// The probability that a normal figure is further from 0 than `z`, on either side.
pub(super) fn normal_both_tails(z: f64) -> f64 {
    libm::erfc(z.abs() / core::f64::consts::SQRT_2)
}

/// The probability that Student's t with `df` degrees of freedom is further from 0 than `t`, on either side.
///
/// With x = df / (df + t²) it is I_x(df/2, 1/2), the regularised incomplete beta function.
pub(super) fn student_both_tails(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The `t` that Student's t with `df` degrees of freedom exceeds, on either side, with probability `p`.
pub(super) fn student_quantile(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_both_tails(high, df) > p && high < 1e12 {
        high *= 2.0;
    }
    // Each step halves the interval: after 100 it has no width.
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if student_both_tails(middle, df) > p { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

/// I_x(a, b), by its continued fraction (DLMF 8.17.22), which converges fast for x < (a + 1) / (a + b + 2);
/// beyond, I_x(a, b) = 1 - I_{1-x}(b, a).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - ln_beta) / a;
    front / fraction(x, a, b)
}

/// 1 + d1/(1 + d2/(1 + …)), from the front (Lentz's method: two running ratios that must not become 0).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let some = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for n in 1..500 {
        let m = f64::from(n / 2);
        let coefficient = if n % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / some(1.0 + coefficient * d);
        c = some(1.0 + coefficient / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_has_its_well_known_points() {
        for (z, p) in [(0.0, 1.0), (1.959_963_984_540_054, 0.05), (2.575_829_303_548_901, 0.01)] {
            assert!((normal_both_tails(z) - p).abs() < 1e-12);
        }
    }

    #[test]
    fn students_table_is_met() {
        // Critical values of Student's t, two-sided, as in every table of it.
        for (df, p, t) in [
            (1.0, 0.05, 12.706),
            (2.0, 0.05, 4.303),
            (5.0, 0.01, 4.032),
            (10.0, 0.05, 2.228),
            (18.0, 0.05, 2.101),
            (30.0, 0.10, 1.697),
            (120.0, 0.05, 1.980),
        ] {
            assert!((student_quantile(p, df) - t).abs() < 5e-4, "{df}");
        }
    }
}
