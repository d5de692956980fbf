// SPDX-License-Identifier: GPL-2.0-only
//! Chance: one seed, and a stream of its own for each task and purpose, so that one more draw in one place
//! does not shift the draws in another.
//!
//! The generator is PCG XSL 128/64 (MCG) of the `rand_pcg` crate, whose output is fixed by its algorithm;
//! everything built on it here uses only portable arithmetic, so a seed means the same on every computer.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Pcg64Mcg);

/// What a stream is for. Together with a seed and a number it names the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The lengths a task draws.
    Task = 1,
    /// Drawing workloads.
    Workload = 2,
    /// Order of simultaneous events.
    Ties = 3,
    /// Choosing what to run, and weighing what came out.
    Study = 4,
}

impl Stream {
    /// The stream for `purpose` with this number, of those that belong to `seed`.
    pub fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let low = mix(seed ^ mix(purpose as u64));
        let high = mix(low ^ mix(number));
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `bound - 1`, or 0 if the bound is 0. The high half of a product is as good as a
    /// remainder and needs no division; its bias, below `bound / 2^64`, is beyond notice.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in the open interval from 0 to 1, of 53 random bits.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }
}

/// The finaliser of SplitMix64: spreads every input bit over all output bits.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_for_ever() {
        let mut s = Stream::new(1, Purpose::Task, 0);
        let first = [s.bits(), s.bits(), s.bits()];
        let mut again = Stream::new(1, Purpose::Task, 0);
        assert_eq!(first, [again.bits(), again.bits(), again.bits()]);
        assert_eq!(first[0], PINNED);
    }

    /// Recorded once: a change here changes every schedule with chance in it.
    const PINNED: u64 = 13_760_380_647_917_548_817;

    #[test]
    fn streams_differ_by_seed_purpose_and_number() {
        let first = |seed, purpose, number| Stream::new(seed, purpose, number).bits();
        let all = [
            first(1, Purpose::Task, 0),
            first(2, Purpose::Task, 0),
            first(1, Purpose::Workload, 0),
            first(1, Purpose::Task, 1),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn bounded_numbers_stay_below() {
        let mut s = Stream::new(7, Purpose::Task, 3);
        assert_eq!(s.below(0), 0);
        assert_eq!(s.below(1), 0);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[s.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn the_unit_interval_is_open() {
        let mut s = Stream::new(7, Purpose::Task, 4);
        assert!((0..1000).map(|_| s.unit()).all(|u| u > 0.0 && u < 1.0));
    }
}
