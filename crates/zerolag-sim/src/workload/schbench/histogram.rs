// SPDX-License-Identifier: GPL-2.0-only
//! schbench's histogram, which it has from fio.
//!
//! Values are counted in groups of 256 buckets. The first two groups hold the values 0 to 511 exactly; each
//! further one holds an octave, in buckets twice as wide as those of the group before:
//!
//! ```text
//! value   0 ... 255 256 ... 511 512 ...... 1023 1024 ..... 2047 2048 ...
//! group   |    0    |    1     |     2         |      3        |   4 ...
//! width        1          1          2                4            8
//! ```
//!
//! A bucket stands for the middle of its range, which is why figures printed by schbench above 511 are odd, or
//! 2 more than a multiple of 4, and so on. There are 19 groups; whatever is too great goes into the last
//! bucket, from 2^26 µs on.

/// Buckets in a group.
const GROUP: u32 = 1 << GROUP_BITS;
const GROUP_BITS: u32 = 8;
/// Number of buckets (`PLAT_NR`).
const BUCKETS: usize = 19 << GROUP_BITS;

/// Counts of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    samples: u64,
    max: u32,
    min: u32,
    /// A minimum of 0 means that there is none yet. It was not so before 2020, and the minimum always 0.
    finds_min: bool,
}

/// A percentile: the value, and how many samples lie between the one before it and this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// Middle of the bucket in which it lies.
    pub value: u32,
    /// Samples in this band.
    pub samples: u64,
}

impl Histogram {
    /// An empty histogram. `finds_min` says whether it keeps the least value, or has 0 for it as old versions
    /// did, which took the zero they began with for one.
    pub fn new(finds_min: bool) -> Self {
        Self { counts: vec![0; BUCKETS], samples: 0, max: 0, min: 0, finds_min }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u32) {
        self.max = self.max.max(value);
        if self.finds_min && (self.min == 0 || value < self.min) {
            self.min = value;
        }
        self.counts[bucket(value)] += 1;
        self.samples += 1;
    }

    /// Counts a value, unless it is 0: schbench takes no notice of latencies below a microsecond.
    pub fn add_latency(&mut self, us: u64) {
        if us > 0 {
            self.add(u32::try_from(us).unwrap_or(u32::MAX));
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.finds_min);
    }

    /// Number of values.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The least value; see [`Histogram::new`].
    pub fn min(&self) -> u32 {
        self.min
    }

    /// The greatest value.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The percentiles of a rising list: for each the first bucket up to which there are at least so many
    /// values. In an empty histogram that is the first of all.
    pub fn percentiles<const N: usize>(&self, list: [f64; N]) -> [Percentile; N] {
        let mut found = [Percentile { value: 0, samples: 0 }; N];
        let (mut next, mut sum, mut before) = (0, 0, 0);
        for (index, count) in self.counts.iter().enumerate() {
            sum += count;
            // Computed as the tool does, in double precision and in this order: 99.9 % of 1000 is a little
            // more than 999.
            while next < N && sum as f64 >= list[next] / 100.0 * self.samples as f64 {
                found[next] = Percentile { value: middle(index as u32), samples: sum - before };
                before = sum;
                next += 1;
            }
            if next == N {
                break;
            }
        }
        found
    }
}

/// The bucket of a value (`plat_val_to_idx()`).
fn bucket(value: u32) -> usize {
    let width_bits = (value | 1).ilog2().saturating_sub(GROUP_BITS);
    let index = if width_bits == 0 { value } else { (width_bits << GROUP_BITS) + (value >> width_bits) };
    (index as usize).min(BUCKETS - 1)
}

/// The value that a bucket stands for (`plat_idx_to_val()`).
fn middle(index: u32) -> u32 {
    let width_bits = (index >> GROUP_BITS).saturating_sub(1);
    if width_bits == 0 {
        return index;
    }
    // The middle of a bucket two wide lies half a unit above the truncated one.
    let within = index % GROUP;
    ((GROUP + within) << width_bits) + (1 << width_bits) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(value: u32) -> u32 {
        let mut h = Histogram::new(true);
        h.add(value);
        h.percentiles([50.0])[0].value
    }

    #[test]
    fn values_are_shown_as_schbench_shows_them() {
        for (value, figure) in [
            (0, 0),
            (1, 1),
            (511, 511),
            (512, 513),
            (513, 513),
            (1000, 1001),
            (1023, 1023),
            (1024, 1026),
            (1856, 1858),
            (1859, 1858),
            (2300, 2300),
            (2302, 2300),
            (13100, 13104),
            (16864, 16864 - 16864 % 64 + 32),
            ((1 << 26) - 1, 67043328),
            (1 << 26, 67043328),
            (u32::MAX, 67043328),
        ] {
            assert_eq!(shown(value), figure, "{value}");
        }
    }

    #[test]
    fn percentiles_say_how_many_samples_lie_between_them() {
        let mut h = Histogram::new(true);
        (1..=1000).for_each(|v| h.add(v.min(500)));
        let [p20, p50, p99, p999] = h.percentiles([20.0, 50.0, 99.0, 99.9]);
        assert_eq!((p20.value, p20.samples), (200, 200));
        assert_eq!((p50.value, p50.samples), (500, 800));
        assert_eq!((p99.value, p99.samples), (500, 0));
        assert_eq!((p999.value, p999.samples), (500, 0));
        assert_eq!((h.samples(), h.min(), h.max()), (1000, 1, 500));
    }

    #[test]
    fn an_empty_histogram_shows_zeros() {
        let h = Histogram::new(true);
        assert_eq!(h.percentiles([50.0, 99.0]), [Percentile { value: 0, samples: 0 }; 2]);
        assert_eq!((h.min(), h.max()), (0, 0));
    }

    #[test]
    fn old_versions_have_no_minimum() {
        let mut h = Histogram::new(false);
        h.add_latency(7);
        h.add_latency(0);
        assert_eq!((h.min(), h.max(), h.samples()), (0, 7, 1));
    }

    proptest! {
        /// The plain twin: ranges written down one after the other.
        #[test]
        fn a_value_lies_in_its_bucket(value in 0u32..1 << 26) {
            let (mut start, mut width, mut index) = (0, 1, 0);
            while value >= start + 256 * width {
                start += 256 * width;
                index += 256;
                width = if start < 512 { 1 } else { start / 256 };
            }
            let k = (value - start) / width;
            prop_assert_eq!(bucket(value), (index + k) as usize);
            prop_assert_eq!(shown(value), start + k * width + width / 2);
        }
    }
}
