// SPDX-License-Identifier: GPL-2.0-only
//! Per-entity load tracking: geometric averages of how runnable and how running something was.
//!
//! Time is cut into periods of 1024 units of 1024 ns. What happened in the period that lies `n` back counts
//! `y^n`, where `y^32 = 1/2`:
//!
//! ```text
//!        period_contrib            now
//!   |<----->|                       |
//!   ┊ d1 ┊         d2        ┊  d3  ┊        sum' = sum * y^p                     p periods end in between
//!   ┼────┼──────┼──────┼─────┼──────┤             + d1 * y^p                      rest of the old period
//!    old    whole periods      new                + 1024 * (y + ... + y^(p-1))    whole ones
//!                                                 + d3                            part of the new one
//! ```
//!
//! The largest value a sum can take is [`LOAD_AVG_MAX`], reached when everything in the past counted and
//! the current period is full. At offset `pc` into the current period it is `LOAD_AVG_MAX - 1024 + pc`,
//! which is the divider that turns a sum into an average.
//!
//! Properties, each checked by a test of that name:
//! * always running saturates at an average of 1024;
//! * half the sum is left after 32 periods;
//! * time is taken in whole units, and the remainder is kept for the next update.
//!
//! Source: kernel/sched/pelt.c and pelt.h of 6.1 and 6.12, which agree in all of this.

mod earlier;

pub(crate) use earlier::Scale;

use crate::units::Instant;

/// The limit of a sum: `1024 * (1 + y + y^2 + ...)` in the kernel's integer arithmetic.
pub const LOAD_AVG_MAX: u32 = 47742;
/// Number of periods after which a contribution has halved.
pub const HALF_LIFE_PERIODS: u64 = 32;
/// The least divider, at the very start of a period (`PELT_MIN_DIVIDER`).
pub const DIVIDER_MIN: u32 = LOAD_AVG_MAX - 1024;
/// A unit of time is 1024 ns.
const UNIT_SHIFT: u32 = 10;
/// Runnable and running time are kept with 10 more bits.
const CAPACITY_SHIFT: u32 = 10;

/// `floor((2^32 - 1) * y^n)` for n = 0 to 31 (`runnable_avg_yN_inv`).
const Y_POWER: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// The averages of one entity or of one run queue.
///
/// For an entity `load_sum` counts runnable time without weight; for a queue it is weighted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SchedAvg {
    /// PELT clock at the last update, in whole units; 0 = not attached to a queue.
    pub last_update_time: Instant,
    /// Weighted (queue) or plain (entity) runnable time.
    pub load_sum: u64,
    /// Time runnable, times how many were; 10 fractional bits. Before 5.7: load of what is queued.
    pub runnable_sum: u64,
    /// Time running; 10 fractional bits.
    pub util_sum: u32,
    /// Units of the current period that have already been counted, 0 to 1023.
    pub period_contrib: u32,
    /// Average load, in units of table weight.
    pub load_avg: u64,
    /// Average number of runnable tasks times 1024. Before 5.7: average load of what is queued.
    pub runnable_avg: u64,
    /// Average share of time running, times 1024.
    pub util_avg: u64,
    /// Estimate of the utilisation a task will have when it wakes up; see `util_est`.
    pub util_est: u32,
    /// The slow-moving half of that estimate in kernels that keep two (6.1 and before).
    pub util_est_ewma: u32,
}

/// What the last span of time counts as.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Weight for the load sum: 0 = not runnable, 1 for an entity, the queue's weight for a queue.
    pub load: u64,
    /// How many were runnable. Before 5.7: weight for the load of what is queued.
    pub runnable: u64,
    /// Whether it ran.
    pub running: bool,
}

impl Sample {
    /// Nobody runnable: everything only decays.
    pub const BLOCKED: Self = Self { load: 0, runnable: 0, running: false };
}

/// `value * y^periods` (`decay_load()`).
pub const fn decay(value: u64, periods: u64) -> u64 {
    Fade::over(periods).of(value)
}

/// What is left of a value after some periods: half for each half-life, and a fraction of that.
#[derive(Clone, Copy)]
struct Fade {
    half_lives: u32,
    /// In units of 2^-32.
    fraction: u32,
}

impl Fade {
    /// Over so many periods, `y^periods`.
    ///
    /// Even a multiple of 32 periods goes through the table, whose first entry is 2^32 - 1: the result is one
    /// less than the pure shift. The kernel does the same.
    #[inline]
    const fn over(periods: u64) -> Self {
        if periods > HALF_LIFE_PERIODS * 63 {
            return Self { half_lives: 0, fraction: 0 };
        }
        Self {
            half_lives: (periods / HALF_LIFE_PERIODS) as u32,
            fraction: Y_POWER[(periods % HALF_LIFE_PERIODS) as usize],
        }
    }

    #[inline]
    const fn of(self, value: u64) -> u64 {
        (((value >> self.half_lives) as u128 * self.fraction as u128) >> 32) as u64
    }

    /// The same where 64 bits are enough.
    #[inline]
    const fn of_short(self, value: u32) -> u32 {
        (((value as u64 >> self.half_lives) * self.fraction as u64) >> 32) as u32
    }
}

impl SchedAvg {
    /// What a sum is divided by to give an average: its greatest possible value at this point of the period.
    #[inline]
    pub const fn divider(&self) -> u32 {
        DIVIDER_MIN + self.period_contrib
    }

    /// Less than a unit of time has passed since the last update.
    #[inline]
    pub(crate) const fn is_current(&self, now: Instant) -> bool {
        now.0.wrapping_sub(self.last_update_time.0) < 1 << UNIT_SHIFT
    }

    /// True if nothing is left of the past.
    pub const fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.util_sum == 0 && self.runnable_sum == 0
    }

    /// Takes the time since the last update into the sums, and if a period ended, derives the averages from them.
    /// Returns whether one did. `weight` is the entity's weight in table units, 1 for a queue.
    #[inline]
    pub fn update(&mut self, now: Instant, sample: Sample, weight: u64) -> bool {
        !self.is_current(now) && self.advance(now, weight, sample.load, sample.runnable, sample.running)
    }

    /// The same when it is known that there is something to do; a sample's members one by one, in registers.
    ///
    /// A clock that ran backwards (a migration between CPUs) only resets the reference.
    fn advance(&mut self, now: Instant, weight: u64, load: u64, runnable: u64, running: bool) -> bool {
        let elapsed_ns = now.0.wrapping_sub(self.last_update_time.0);
        if (elapsed_ns as i64) < 0 {
            self.last_update_time = now;
            return false;
        }
        let units = elapsed_ns >> UNIT_SHIFT;
        self.last_update_time.0 += units << UNIT_SHIFT;
        let mut contrib = units as u32;
        let total = units + u64::from(self.period_contrib);
        let periods = total / 1024;
        let rest = (total % 1024) as u32;
        if periods > 0 {
            let fade = Fade::over(periods);
            self.load_sum = fade.of(self.load_sum);
            self.runnable_sum = fade.of(self.runnable_sum);
            self.util_sum = fade.of_short(self.util_sum);
            if load != 0 {
                // d1, d2, d3 of the picture above. The whole periods are the limit less what lies before
                // them: M - y^p M is 1024 (1 + ... + y^(p-1)), and the 1024 of p = 0 belongs to d3.
                let d1 = fade.of_short(1024 - self.period_contrib);
                let d2 = LOAD_AVG_MAX - fade.of_short(LOAD_AVG_MAX) - 1024;
                contrib = d1 + d2 + rest;
            }
        }
        self.period_contrib = rest;
        if load != 0 {
            self.load_sum = self.load_sum.wrapping_add(load * u64::from(contrib));
            self.runnable_sum += (runnable * u64::from(contrib)) << CAPACITY_SHIFT;
            if running {
                self.util_sum = self.util_sum.wrapping_add(contrib << CAPACITY_SHIFT);
            }
        }
        if periods > 0 {
            self.refresh(weight);
        }
        periods > 0
    }

    /// Derives the averages from the sums.
    #[inline]
    fn refresh(&mut self, weight: u64) {
        let divider = u64::from(self.divider());
        self.load_avg = weight.wrapping_mul(self.load_sum) / divider;
        self.runnable_avg = self.runnable_sum / divider;
        self.util_avg = u64::from(self.util_sum / divider as u32);
    }
}

/// Adds a signed change to an unsigned average; a result below zero becomes zero (`add_positive()`).
#[inline]
pub(crate) fn add_positive(value: u64, change: i64) -> u64 {
    let sum = value.wrapping_add(change as u64);
    if change < 0 && sum > value { 0 } else { sum }
}

/// Subtracts; a result below zero becomes zero (`sub_positive()`).
#[inline]
pub(crate) const fn sub_positive(value: u64, amount: u64) -> u64 {
    value.saturating_sub(amount)
}

/// A sum may not be less than its average times the least divider, or the next refresh would lower the
/// average. The kernel compares in 32 bits, so a weighted sum above 2^32 is cut off here as it is there.
#[inline]
pub(crate) const fn floor_sum(sum: u64, average: u64) -> u64 {
    let sum = sum as u32;
    let least = average.wrapping_mul(DIVIDER_MIN as u64) as u32;
    (if sum > least { sum } else { least }) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: Sample = Sample { load: 1, runnable: 1, running: true };
    const WAITING: Sample = Sample { load: 1, runnable: 1, running: false };

    #[test]
    fn the_table_is_the_power_series() {
        // y^32 = 1/2, so the square of entry 16 is about half of 2^64.
        let half = u128::from(Y_POWER[16]) * u128::from(Y_POWER[16]);
        assert!(half.abs_diff(1 << 63) < 1 << 33);
        for n in 0..31 {
            // each entry follows from its neighbour by y = 0.97857206...
            let next = u128::from(Y_POWER[n]) * 978_572_062_087_700 / 1_000_000_000_000_000;
            assert!(next.abs_diff(u128::from(Y_POWER[n + 1])) <= 2, "entry {n}");
        }
    }

    #[test]
    fn half_the_sum_is_left_after_32_periods() {
        assert_eq!(decay(47742, 32), 23870);
        assert_eq!(decay(47742, 1), 46718);
        assert_eq!(decay(47742, 1000), 0);
        assert_eq!(decay(u64::MAX, 2017), 0);
    }

    #[test]
    fn always_running_saturates_at_1024() {
        let mut avg = SchedAvg::default();
        let expected = [(1, 21), (2, 43), (4, 85), (8, 163), (32, 512), (64, 768), (128, 960), (345, 1024)];
        let mut at = 0;
        for (period, util) in expected {
            while at < period {
                at += 1;
                avg.update(Instant(at * 1024 * 1024), RUNNING, 1024);
            }
            assert_eq!(avg.util_avg, util, "after {period} periods");
        }
    }

    #[test]
    fn worked_example() {
        // (step ns, sample) -> (time, pc, load_sum, runnable_sum, util_sum, load, runnable, util)
        type Row = (u64, Sample, (u64, u32, u64, u64, u32, u64, u64, u64));
        #[rustfmt::skip]
        let rows: [Row; 12] = [
            (1_000_000, RUNNING, (999_424, 976, 976, 999_424, 999_424, 0, 0, 0)),
            (500_000, RUNNING, (1_499_136, 440, 1441, 1_475_672, 1_475_672, 31, 31, 31)),
            (4_000_000, WAITING, (5_499_904, 251, 5046, 5_167_597, 1_353_197, 110, 110, 28)),
            (10_000_000, RUNNING, (15_499_264, 800, 13_021, 13_334_156, 10_195_371, 280, 280, 214)),
            (3_333_333, Sample::BLOCKED, (18_832_384, 983, 12_201, 12_495_221, 9_553_917, 261, 261, 200)),
            (33_554_432, Sample::BLOCKED, (52_386_816, 983, 6099, 6_247_609, 4_776_957, 130, 130, 100)),
            (7_777_777, RUNNING, (60_165_120, 387, 12_121, 12_414_424, 11_177_758, 263, 263, 237)),
            (1023, RUNNING, (60_166_144, 388, 12_122, 12_415_448, 11_178_782, 263, 263, 237)),
            (1024, RUNNING, (60_167_168, 389, 12_123, 12_416_472, 11_179_806, 263, 263, 237)),
            (100_000_000, RUNNING, (160_166_912, 765, 43_013, 44_046_204, 43_888_236, 927, 927, 924)),
            (400_000_000, Sample::BLOCKED, (560_166_912, 222, 10, 11_229, 11_188, 0, 0, 0)),
            (2_200_000_000, Sample::BLOCKED, (2_760_167_424, 308, 0, 0, 0, 0, 0, 0)),
        ];
        let mut avg = SchedAvg::default();
        let mut now = 0;
        for (step_ns, sample, expected) in rows {
            now += step_ns;
            avg.update(Instant(now), sample, 1024);
            let a = &avg;
            let state = (
                a.last_update_time.0,
                a.period_contrib,
                a.load_sum,
                a.runnable_sum,
                a.util_sum,
                a.load_avg,
                a.runnable_avg,
                a.util_avg,
            );
            assert_eq!(state, expected, "at {now} ns");
        }
    }

    #[test]
    fn the_remainder_of_a_unit_is_kept() {
        let mut avg = SchedAvg::default();
        for step in 1..=2048_u64 {
            avg.update(Instant(step * 1000), RUNNING, 1024);
        }
        assert_eq!(avg.last_update_time.0, 2048 * 1000 / 1024 * 1024);
    }

    #[test]
    fn subtraction_and_floors_clamp() {
        assert_eq!(sub_positive(3, 5), 0);
        assert_eq!(add_positive(3, -5), 0);
        assert_eq!(add_positive(3, 5), 8);
        assert_eq!(floor_sum(10, 1), u64::from(DIVIDER_MIN));
        assert_eq!(floor_sum(1 << 32, 0), 0);
    }
}
