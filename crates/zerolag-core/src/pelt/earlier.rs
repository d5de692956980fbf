// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking before 5.7.
//!
//! A queue keeps two loads: of everybody who is or was there, and of those who are queued. The second takes
//! the place of the runnable time of today, in the same fields of [`SchedAvg`]. Use is scaled by the CPU's
//! capacity as it accumulates.
//!
//! Up to 4.11 time was taken in three steps: to the end of the period, whole periods, the rest. The sum of
//! whole periods was looked up, `sum(n) = 1024 (y + y^2 + ... + y^n)`, and rounding differs from the one step
//! of later kernels.
//!
//! Source: kernel/sched/fair.c, `__update_load_avg()`, 4.6 and 4.11; `___update_load_sum()` and
//! `___update_load_avg()`, 4.12 and 4.17.

use super::{HALF_LIFE_PERIODS, LOAD_AVG_MAX, Sample, SchedAvg, UNIT_SHIFT, decay};
use crate::units::{Capacity, Instant};
use crate::variants::LoadTracking;

/// `sum(n)` for n = 0 to 32, each from the one before: `(sum(n-1) + 1024) y`, truncated.
const FULL_PERIODS: [u32; 33] = [
    0, 1002, 1982, 2941, 3880, 4798, 5697, 6576, 7437, 8279, 9103, 9909, 10698, 11470, 12226, 12966, 13690,
    14398, 15091, 15769, 16433, 17082, 17718, 18340, 18949, 19545, 20128, 20698, 21256, 21802, 22336, 22859,
    23371,
];
/// From so many periods on the sum is its limit.
const LIMIT_PERIODS: u64 = 345;

/// Weights that turn sums into averages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Of the load.
    pub(crate) load: u64,
    /// Of the load of what is queued.
    pub(crate) runnable: u64,
}

impl Scale {
    /// Sums are weighted already.
    pub(crate) const NONE: Self = Self { load: 1, runnable: 1 };
}

/// `sum(periods)`: whole half-lives first, as `sum(n + 32) = sum(n) / 2 + sum(32)`, then the rest.
/// `half_lives` = the rest may be nothing; else it is 1 to 32, and rounding differs.
fn full_periods(periods: u64, half_lives: bool) -> u64 {
    if periods >= LIMIT_PERIODS {
        return u64::from(LOAD_AVG_MAX);
    }
    let down_to = HALF_LIFE_PERIODS - u64::from(half_lives && periods > HALF_LIFE_PERIODS);
    let mut half_lives = 0;
    let mut left = periods;
    while left > down_to {
        half_lives = half_lives / 2 + FULL_PERIODS[32];
        left -= HALF_LIFE_PERIODS;
    }
    decayed(u64::from(half_lives), left) + u64::from(FULL_PERIODS[left as usize])
}

/// As [`decay`]; no period leaves the value as it is.
fn decayed(value: u64, periods: u64) -> u64 {
    if periods == 0 { value } else { decay(value, periods) }
}

impl SchedAvg {
    /// The divider of the kernel's time.
    pub(crate) const fn earlier_divider(&self, tracking: LoadTracking) -> u64 {
        match tracking {
            LoadTracking::WeightedInSteps { .. } | LoadTracking::Weighted => LOAD_AVG_MAX as u64,
            LoadTracking::RunnableWeight | LoadTracking::RunnableTime => self.divider() as u64,
        }
    }

    /// Takes the time since the last update into the sums, and if a period ended, derives the averages from
    /// them. Returns whether one did.
    pub(crate) fn update_earlier(
        &mut self,
        tracking: LoadTracking,
        now: Instant,
        sample: Sample,
        scale: Scale,
        capacity: Capacity,
    ) -> bool {
        let elapsed_ns = now.0.wrapping_sub(self.last_update_time.0);
        if (elapsed_ns as i64) < 0 {
            self.last_update_time = now;
            return false;
        }
        let units = elapsed_ns >> UNIT_SHIFT;
        if units == 0 {
            return false;
        }
        let ended = if let LoadTracking::WeightedInSteps { half_lives } = tracking {
            self.last_update_time = now;
            self.take_in_steps(units, sample, capacity, half_lives)
        } else {
            self.last_update_time.0 += units << UNIT_SHIFT;
            self.take_scaled(units, sample, capacity)
        };
        if ended {
            let divider = self.earlier_divider(tracking);
            self.load_avg = scale.load.wrapping_mul(self.load_sum) / divider;
            self.runnable_avg = scale.runnable.wrapping_mul(self.runnable_sum) / divider;
            self.util_avg = u64::from(self.util_sum) / divider;
        }
        ended
    }

    fn add_scaled(&mut self, contrib: u64, sample: Sample, capacity: Capacity) {
        self.load_sum = self.load_sum.wrapping_add(sample.load.wrapping_mul(contrib));
        self.runnable_sum = self.runnable_sum.wrapping_add(sample.runnable.wrapping_mul(contrib));
        if sample.running {
            self.util_sum = self.util_sum.wrapping_add((contrib * u64::from(capacity.0)) as u32);
        }
    }

    fn decay_sums(&mut self, periods: u64) {
        self.load_sum = decay(self.load_sum, periods);
        self.runnable_sum = decay(self.runnable_sum, periods);
        self.util_sum = decay(u64::from(self.util_sum), periods) as u32;
    }

    fn take_in_steps(&mut self, units: u64, sample: Sample, capacity: Capacity, half_lives: bool) -> bool {
        let mut left = units;
        let counted = u64::from(self.period_contrib);
        let ended = units + counted >= 1024;
        if ended {
            self.period_contrib = 0;
            self.add_scaled(1024 - counted, sample, capacity);
            left -= 1024 - counted;
            let periods = left / 1024;
            left %= 1024;
            self.decay_sums(periods + 1);
            self.add_scaled(full_periods(periods, half_lives), sample, capacity);
        }
        self.add_scaled(left, sample, capacity);
        self.period_contrib += left as u32;
        ended
    }

    fn take_scaled(&mut self, units: u64, sample: Sample, capacity: Capacity) -> bool {
        let total = units + u64::from(self.period_contrib);
        let (periods, rest) = (total / 1024, total % 1024);
        let mut contrib = units;
        if periods > 0 {
            self.decay_sums(periods);
            let d1 = decay(u64::from(1024 - self.period_contrib), periods);
            let d2 = u64::from(LOAD_AVG_MAX) - decay(u64::from(LOAD_AVG_MAX), periods) - 1024;
            contrib = d1 + d2 + rest;
        }
        self.period_contrib = rest as u32;
        self.add_scaled(contrib, sample, capacity);
        periods > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weight 1024, all capacities full: (step ns, queued, running) and what comes of it.
    type Row = (u64, bool, bool, (u64, u32, u64, u32, u64, u64));

    #[track_caller]
    fn check(tracking: LoadTracking, rows: &[Row]) {
        let mut avg = SchedAvg::default();
        let mut now = 0;
        for &(step_ns, queued, running, expected) in rows {
            now += step_ns;
            let sample = Sample { load: if queued { 1024 } else { 0 }, runnable: 0, running };
            avg.update_earlier(tracking, Instant(now), sample, Scale::NONE, Capacity::FULL);
            let a = &avg;
            let state =
                (a.last_update_time.0, a.period_contrib, a.load_sum, a.util_sum, a.load_avg, a.util_avg);
            assert_eq!(state, expected, "at {now} ns");
        }
    }

    #[test]
    fn worked_example_of_4_11() {
        #[rustfmt::skip]
        check(LoadTracking::WeightedInSteps { half_lives: true }, &[
            (1_000_000, true, true, (1_000_000, 976, 999_424, 999_424, 0, 0)),
            (500_000, true, true, (1_500_000, 440, 1_476_667, 1_476_667, 30, 30)),
            (4_000_000, true, false, (5_500_000, 250, 5_170_076, 1_354_109, 108, 28)),
            (10_000_000, true, true, (15_500_000, 799, 13_340_197, 10_200_123, 279, 213)),
            (3_333_333, false, false, (18_833_333, 982, 12_500_882, 9_558_370, 261, 200)),
            (33_554_432, false, false, (52_387_765, 982, 6_250_440, 4_779_184, 130, 100)),
            (7_777_777, true, true, (60_165_542, 385, 12_420_201, 11_183_027, 260, 234)),
            (1023, true, true, (60_165_542, 385, 12_420_201, 11_183_027, 260, 234)),
            (1024, true, true, (60_167_589, 386, 12_421_225, 11_184_051, 260, 234)),
            (100_000_000, true, true, (160_167_589, 762, 44_065_751, 43_907_718, 922, 919)),
        ]);
    }

    #[test]
    fn worked_example_of_4_12() {
        #[rustfmt::skip]
        check(LoadTracking::Weighted, &[
            (1_000_000, true, true, (999_424, 976, 999_424, 999_424, 0, 0)),
            (500_000, true, true, (1_499_136, 440, 1_475_672, 1_475_672, 30, 30)),
            (4_000_000, true, false, (5_499_904, 251, 5_167_597, 1_353_197, 108, 28)),
            (10_000_000, true, true, (15_499_264, 800, 13_334_156, 10_195_371, 279, 213)),
            (3_333_333, false, false, (18_832_384, 983, 12_495_221, 9_553_917, 261, 200)),
            (33_554_432, false, false, (52_386_816, 983, 6_247_609, 4_776_957, 130, 100)),
            (7_777_777, true, true, (60_165_120, 387, 12_414_424, 11_177_758, 260, 234)),
            (1023, true, true, (60_166_144, 388, 12_415_448, 11_178_782, 260, 234)),
            (1024, true, true, (60_167_168, 389, 12_416_472, 11_179_806, 260, 234)),
            (100_000_000, true, true, (160_166_912, 765, 44_046_204, 43_888_236, 922, 919)),
        ]);
    }

    #[test]
    fn the_table_of_full_periods_is_its_own_recurrence() {
        // Truncated at each step; y as the kernel's tools compute it.
        let y = |v: u64| (u128::from(v) * 978_572_062_087_700 / 1_000_000_000_000_000) as u64;
        for n in 1..33 {
            assert_eq!(u64::from(FULL_PERIODS[n]), y(u64::from(FULL_PERIODS[n - 1]) + 1024), "entry {n}");
        }
        for half_lives in [false, true] {
            assert_eq!(full_periods(345, half_lives), u64::from(LOAD_AVG_MAX));
            assert!(full_periods(344, half_lives) < u64::from(LOAD_AVG_MAX));
            assert_eq!(full_periods(32, half_lives), 23_371);
        }
        assert_eq!((full_periods(64, false), full_periods(64, true)), (35_055, 35_056));
    }
}
