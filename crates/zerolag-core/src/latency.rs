// SPDX-License-Identifier: GPL-2.0-only
//! Latency nice: how much a task or a group minds waiting, as proposed in March 2023.
//!
//! It says nothing about how much CPU time somebody gets, only in what portions: the request length is
//!
//! ```text
//!     slice = base_slice * 1024 / weight of that nice level
//! ```
//!
//! so that one level is worth a factor of about 1.25, as with nice. Short requests have early deadlines.
//! Mainline took another way in the end, slices that are asked for in nanoseconds (6.12).
//!
//! The two interfaces refuse what is out of range differently:
//!
//! | | out of range | else |
//! |---|---|---|
//! | `sched_setattr()` | `EINVAL` | `EINVAL` if the structure is too small to have the field |
//! | `cpu.latency.nice` | `ERANGE`, before anything else | `EINVAL` for the root group |
//!
//! Source: "sched: EEVDF using latency-nice", 28 March 2023, patches 1 to 3 and 13.

use core::fmt;

use crate::kernel::Kernel;
use crate::nice::Nice;
use crate::units::Nanos;

/// A latency nice level, -20 (least latency) to 19 (does not mind).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LatencyNice(Nice);

/// `struct sched_attr` has the field from this size on, in bytes.
const ATTR_SIZE: u32 = 60;

impl LatencyNice {
    /// The default level.
    pub const ZERO: Self = Self(Nice::ZERO);

    /// The level with this number, or nothing outside -20 to 19.
    pub const fn new(level: i64) -> Option<Self> {
        match Nice::new(level) {
            Some(nice) => Some(Self(nice)),
            None => None,
        }
    }

    /// From what `sched_setattr()` is given: the size of the structure and the field.
    pub const fn from_attr(size: u32, level: i32) -> Result<Self, LatencyError> {
        if size < ATTR_SIZE {
            return Err(LatencyError::AttrTooSmall { size });
        }
        match Self::new(level as i64) {
            Some(nice) => Ok(nice),
            None => Err(LatencyError::AttrOutOfRange { level }),
        }
    }

    /// From what is written to `cpu.latency.nice`.
    pub const fn from_file(level: i64) -> Result<Self, LatencyError> {
        match Self::new(level) {
            Some(nice) => Ok(nice),
            None => Err(LatencyError::FileOutOfRange { level }),
        }
    }

    /// The number, -20 to 19.
    pub const fn get(self) -> i32 {
        self.0.get()
    }

    /// As `/proc/PID/sched` shows it, 100 to 139.
    pub const fn priority(self) -> u32 {
        (self.0.get() + 120) as u32
    }

    /// The length of a request.
    pub const fn request(self, base_slice: Nanos) -> Nanos {
        Nanos((base_slice.0 << 10) / self.0.table_weight())
    }
}

impl fmt::Debug for LatencyNice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency {:?}", self.0)
    }
}

impl fmt::Display for LatencyNice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a latency nice was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LatencyError {
    /// `sched_setattr()`: not -20 to 19.
    AttrOutOfRange {
        /// What was asked for.
        level: i32,
    },
    /// `sched_setattr()`: the structure ends before the field.
    AttrTooSmall {
        /// Its size in bytes.
        size: u32,
    },
    /// `cpu.latency.nice`: not -20 to 19.
    FileOutOfRange {
        /// What was written.
        level: i64,
    },
    /// The root group has none.
    IsRoot,
    /// Only the series of March 2023 has it.
    NotInKernel {
        /// The kernel that was asked.
        kernel: Kernel,
    },
}

impl LatencyError {
    /// The error number that the kernel returns, positive.
    pub const fn errno(self) -> i32 {
        const EINVAL: i32 = 22;
        const ERANGE: i32 = 34;
        match self {
            Self::FileOutOfRange { .. } => ERANGE,
            Self::AttrOutOfRange { .. }
            | Self::AttrTooSmall { .. }
            | Self::IsRoot
            | Self::NotInKernel { .. } => EINVAL,
        }
    }
}

impl fmt::Display for LatencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttrOutOfRange { level } => write!(f, "latency nice {level} is not in -20 to 19"),
            Self::FileOutOfRange { level } => write!(f, "latency nice {level} is not in -20 to 19"),
            Self::AttrTooSmall { size } => {
                write!(f, "sched_attr of {size} bytes has no latency nice; {ATTR_SIZE} are needed")
            }
            Self::IsRoot => f.write_str("the root group has no latency nice"),
            Self::NotInKernel { kernel } => {
                write!(f, "Linux {kernel} has no latency nice; {} has", Kernel::EevdfRfc)
            }
        }
    }
}

impl core::error::Error for LatencyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t23_levels_become_request_lengths() {
        let request = |level| LatencyNice::new(level).unwrap().request(Nanos(750_000)).0;
        assert_eq!([-20, -1, 0, 1, 19].map(request), [8652, 601_409, 750_000, 936_585, 51_200_000]);
        let request = |level| LatencyNice::new(level).unwrap().request(Nanos(3_000_000)).0;
        assert_eq!([-20, -19, 0, 19].map(request), [34_609, 42_812, 3_000_000, 204_800_000]);
    }

    #[test]
    fn t24_a_write_to_the_file_may_be_out_of_range() {
        assert_eq!(LatencyNice::from_file(20).unwrap_err().errno(), 34);
        assert_eq!(LatencyNice::from_file(-21).unwrap_err().errno(), 34);
        assert_eq!(LatencyNice::from_file(19).unwrap().get(), 19);
    }

    #[test]
    fn t25_an_attribute_may_be_out_of_range_or_missing() {
        assert_eq!(LatencyNice::from_attr(60, 20).unwrap_err().errno(), 22);
        assert_eq!(LatencyNice::from_attr(56, 0).unwrap_err(), LatencyError::AttrTooSmall { size: 56 });
        assert_eq!(LatencyNice::from_attr(56, 0).unwrap_err().errno(), 22);
        assert_eq!(LatencyNice::from_attr(60, -20).unwrap().priority(), 100);
    }
}
