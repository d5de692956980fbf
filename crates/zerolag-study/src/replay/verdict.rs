// SPDX-License-Identifier: GPL-2.0-only
//! How far a replay is from the recording, so that a reader knows what to believe.

use std::fmt;

use serde_json::{Value, json};
use zerolag_core::units::Nanos;

use super::{Figures, Task};

/// Latencies of fewer wake-ups say little.
const WAKEUPS_MIN: u64 = 10;
/// A hundredth of one CPU.
const POINT: f64 = 0.01;

/// How far a replay is from the recording, so that a reader knows what to believe.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The largest difference of a share, simulated less measured, in points of one CPU.
    share_points: f64,
    /// Whose that is.
    task: String,
    /// Simulated over measured, of all tasks together.
    switches: Option<f64>,
    /// Simulated over measured: the median of those tasks that woke up often enough.
    p50: Option<f64>,
    p99: Option<f64>,
    /// How many tasks' measured shares are no further than a point from what the repetitions give, of how many;
    /// nothing if nothing was repeated.
    within: Option<(usize, usize)>,
}

impl Verdict {
    /// What comes out of replaying as recorded.
    pub fn of(tasks: &[Task], simulated: impl Fn(&Task) -> &Figures) -> Self {
        let off = |t: &&Task| simulated(t).share - t.measured.share;
        let worst = tasks.iter().max_by(|a, b| off(a).abs().total_cmp(&off(b).abs()));
        let sum = |of: &dyn Fn(&Task) -> u64| tasks.iter().map(of).sum::<u64>() as f64;
        let percentile = |q: f64| {
            let both = tasks.iter().map(|t| (&simulated(t).wakeup, &t.measured.wakeup));
            let often = both.filter(|(s, m)| s.len().min(m.len()) >= WAKEUPS_MIN);
            let mut ratios: Vec<f64> =
                often.filter_map(|(s, m)| ratio(s.quantile(q)?, m.quantile(q)?)).collect();
            ratios.sort_by(f64::total_cmp);
            ratios.get(ratios.len() / 2).copied()
        };
        let measured = sum(&|t| t.measured.switches);
        Self {
            share_points: worst.map_or(0.0, |t| 100.0 * off(&t)),
            task: worst.map_or_else(String::new, |t| format!("{} ({})", t.comm, t.pid)),
            switches: (measured > 0.0).then(|| sum(&|t| simulated(t).switches) / measured),
            p50: percentile(0.5),
            p99: percentile(0.99),
            within: tasks.iter().any(|t| !simulated(t).repeated.is_empty()).then(|| {
                let fits = |t: &&Task| {
                    simulated(t).range().is_some_and(|[least, _, most]| {
                        (least - POINT..=most + POINT).contains(&t.measured.share)
                    })
                };
                (tasks.iter().filter(fits).count(), tasks.len())
            }),
        }
    }

    /// As docs/json.md describes it.
    pub fn to_json(&self) -> Value {
        json!({
            "share_points": self.share_points,
            "task": self.task,
            "switches_ratio": self.switches,
            "p50_ratio": self.p50,
            "p99_ratio": self.p99,
            "within_repetitions": self.within.map(|(within, _)| within),
        })
    }
}

fn ratio(a: Nanos, b: Nanos) -> Option<f64> {
    (b > Nanos::ZERO).then(|| a.0 as f64 / b.0 as f64)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "As recorded, the replay is off by at most {:.1} points of share",
            self.share_points.abs()
        )?;
        if self.share_points.abs() >= 0.05 {
            write!(f, " ({})", self.task)?;
        }
        let ratios = [("switches", self.switches), ("wake-up p50", self.p50), ("wake-up p99", self.p99)];
        let known: Vec<String> =
            ratios.iter().filter_map(|(what, r)| Some(format!("{what} {:.2}", (*r)?))).collect();
        if !known.is_empty() {
            write!(f, "; simulated over measured: {}", known.join(", "))?;
        }
        write!(f, ". Smaller differences mean nothing.")?;
        if let Some((within, all)) = self.within {
            write!(
                f,
                "\nThe measured share of {within} of {all} tasks lies between the repetitions' least and most, or \
                 within a point of them; differences between these are chance."
            )?;
        }
        Ok(())
    }
}
