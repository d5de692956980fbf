// SPDX-License-Identifier: GPL-2.0-only
//! Quantities of scheduling, each with its own type.
//!
//! | type | what it counts | width and range |
//! |---|---|---|
//! | [`Instant`] | a point on a clock, nanoseconds since the machine was switched on | `u64`, 0 to 584 years |
//! | [`Nanos`] | a span of wall or CPU time in nanoseconds, never negative | `u64` |
//! | [`Jiffies`] | a point in time or a span, in ticks of the timer interrupt | `u64` |
//! | [`VTime`] | a point of virtual time | `u64`, **wraps**: order is the sign of the difference |
//! | [`VDelta`] | a span of virtual time, of either sign | `i64` |
//! | [`Weight`] | load weight, 1024 times the value of the nice table | `u64`, nice 0 = 1 048 576 |
//! | [`Capacity`] | computing power of a CPU, 1024 = the biggest | `u32`, 1 to 1024 |
//!
//! Virtual time advances by `wall * 1024 / weight`: for a nice-0 entity one virtual nanosecond is one
//! nanosecond of CPU.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// Nanoseconds in a millisecond.
pub const NSEC_PER_MSEC: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const NSEC_PER_SEC: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the machine was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// The moment the machine was switched on.
    pub const ZERO: Self = Self(0);
    /// Later than everything else; used as "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Time passed since `earlier`, or zero if `earlier` lies in the future.
    pub const fn saturating_since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;
    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Nanos;
    /// Time from `earlier` to `self`; panics in debug builds if `earlier` is later.
    fn sub(self, earlier: Self) -> Nanos {
        Nanos(self.0 - earlier.0)
    }
}

impl fmt::Display for Instant {
    /// Seconds with nine decimals, as perf and ftrace print them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / NSEC_PER_SEC, self.0 % NSEC_PER_SEC)
    }
}

/// A span of wall-clock or CPU time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(NSEC_PER_MSEC))
    }

    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(NSEC_PER_SEC))
    }

    /// The longer part of the difference, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    /// Panics in debug builds if the result would be negative.
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// A point in time or a span, counted in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Jiffies(pub u64);

impl Jiffies {
    /// So many milliseconds at `hz` ticks per second, rounded up (`msecs_to_jiffies()`).
    pub const fn from_millis(ms: u64, hz: u32) -> Self {
        Self(ms.saturating_mul(hz as u64).div_ceil(1_000))
    }
}

/// A point of virtual time. It wraps around at 2^64, so it has no `Ord`: ask [`VTime::before`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VTime(pub u64);

impl VTime {
    /// True if `self` comes strictly before `other` on the circle.
    #[inline]
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i64) < 0
    }

    /// The signed distance from `origin` to `self`.
    #[inline]
    pub const fn since(self, origin: Self) -> VDelta {
        VDelta(self.0.wrapping_sub(origin.0) as i64)
    }

    /// The earlier of the two.
    #[inline]
    pub const fn min(self, other: Self) -> Self {
        if other.before(self) { other } else { self }
    }

    /// The later of the two.
    #[inline]
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }
}

impl Add<VDelta> for VTime {
    type Output = Self;
    #[inline]
    fn add(self, span: VDelta) -> Self {
        Self(self.0.wrapping_add(span.0 as u64))
    }
}

impl Sub<VDelta> for VTime {
    type Output = Self;
    #[inline]
    fn sub(self, span: VDelta) -> Self {
        Self(self.0.wrapping_sub(span.0 as u64))
    }
}

impl AddAssign<VDelta> for VTime {
    #[inline]
    fn add_assign(&mut self, span: VDelta) {
        *self = *self + span;
    }
}

impl SubAssign<VDelta> for VTime {
    #[inline]
    fn sub_assign(&mut self, span: VDelta) {
        *self = *self - span;
    }
}

/// A span of virtual time, of either sign. Lag is one: positive means service is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VDelta(pub i64);

/// Bits by which a load weight is finer than the nice table (64-bit kernels, 4.7 and later).
pub const WEIGHT_SHIFT: u32 = 10;

/// Load weight in the kernel's internal resolution: 1024 times the value of the nice table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(pub u64);

impl Weight {
    /// The weight of a nice-0 task, and of a group with 1024 shares.
    pub const NICE_0: Self = Self(1024 << WEIGHT_SHIFT);

    /// From the unit of the nice table and of `cpu.shares`.
    pub const fn from_table(w: u64) -> Self {
        Self(w << WEIGHT_SHIFT)
    }

    /// To the unit of the nice table. A weight that is not zero stays at least 2, so that dividing by it
    /// and comparing with it remain meaningful (`scale_load_down()`, 6.x).
    #[inline]
    pub const fn down(self) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        let w = self.0 >> WEIGHT_SHIFT;
        if w < 2 { 2 } else { w }
    }
}

/// Computing power of a CPU relative to the biggest one of the machine, which has 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capacity(pub u32);

impl Capacity {
    /// The biggest CPU.
    pub const FULL: Self = Self(1024);
}

impl Default for Capacity {
    fn default() -> Self {
        Self::FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_is_ordered_around_the_wrap() {
        let a = VTime(u64::MAX - 9);
        let b = VTime(5);
        assert!(a.before(b) && !b.before(a));
        assert_eq!(b.since(a), VDelta(15));
        assert_eq!(a.min(b), a);
        assert_eq!(a.max(b), b);
    }

    #[test]
    fn a_scaled_down_weight_is_never_one() {
        assert_eq!(Weight(0).down(), 0);
        assert_eq!(Weight(1).down(), 2);
        assert_eq!(Weight(2047).down(), 2);
        assert_eq!(Weight(3 << 10).down(), 3);
        assert_eq!(Weight::NICE_0.down(), 1024);
    }

    #[test]
    fn instants_print_as_seconds() {
        extern crate alloc;
        assert_eq!(alloc::format!("{}", Instant(1_000_000_007)), "1.000000007");
    }
}
