// SPDX-License-Identifier: GPL-2.0-only
//! What memory accesses and writes to devices cost, as work.
//!
//! All figures are assumed: round numbers of the usual order for a server CPU at about 3 GHz. They serve to
//! give such events a length at all; whoever cares measures their own machine.

use zerolag_core::units::Nanos;

use super::spec::{MemAccess, MemRun};

/// Costs of memory accesses. Times are picoseconds, so that bytes can have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCosts {
    /// A byte of a buffer filled at full speed (`mem`: `memset()`).
    pub fill_byte_ps: u64,
    /// A byte read or written on its own (`memrun`: one a cycle).
    pub access_byte_ps: u64,
    /// A byte written to a file: it is copied into the page cache.
    pub write_byte_ps: u64,
    /// A call of `write()`, which is all that writing to `/dev/null` costs.
    pub write_call_ps: u64,
    /// A step along pointers in random order in a buffer of at most so many bytes, by the cache that holds
    /// it; the last row holds for all greater ones.
    pub chase_ps: [(u64, u64); 4],
    /// A step along neighbouring pointers in a buffer greater than the first row's: the next line has been
    /// fetched ahead.
    pub chase_sequential_ps: u64,
}

impl Default for MemoryCosts {
    fn default() -> Self {
        Self {
            fill_byte_ps: 100,
            access_byte_ps: 333,
            write_byte_ps: 500,
            write_call_ps: 200_000,
            chase_ps: [(32 << 10, 1_500), (1 << 20, 4_500), (32 << 20, 20_000), (u64::MAX, 90_000)],
            chase_sequential_ps: 4_500,
        }
    }
}

impl MemoryCosts {
    /// `mem`.
    pub(super) fn fill(&self, bytes: u64) -> Nanos {
        from_ps(bytes.saturating_mul(self.fill_byte_ps))
    }

    /// `iorun`, in pieces as large as the buffer.
    pub(super) fn write(&self, bytes: u64, buffer_bytes: u32, device: &str) -> Nanos {
        let calls = bytes.div_ceil(buffer_bytes.into());
        let copying = if device == "/dev/null" { 0 } else { bytes.saturating_mul(self.write_byte_ps) };
        from_ps(copying.saturating_add(calls.saturating_mul(self.write_call_ps)))
    }

    /// `memrun`.
    pub(super) fn access(&self, run: &MemRun) -> Nanos {
        let each = match run.access {
            MemAccess::Read | MemAccess::Write => self.access_byte_ps,
            MemAccess::Chase { random, .. } => {
                let [nearest, ..] = self.chase_ps;
                let size = u64::from(run.size_bytes);
                let holds = |row: &&(u64, u64)| size <= row.0;
                let (_, step) = *self.chase_ps.iter().find(holds).unwrap_or(&nearest);
                if random { step } else { step.min(self.chase_sequential_ps.max(nearest.1)) }
            }
        };
        from_ps(run.count.saturating_mul(each))
    }
}

fn from_ps(ps: u64) -> Nanos {
    Nanos(ps / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_table() {
        let costs = MemoryCosts::default();
        assert_eq!(costs.fill(1 << 20), Nanos(104_857));
        assert_eq!(costs.write(10 << 20, 4 << 20, "/dev/null"), Nanos(600));
        assert_eq!(costs.write(1000, 4 << 20, "/tmp/x"), Nanos(700));
        let run =
            |access, size_bytes| costs.access(&MemRun { access, size_bytes, count: 1000, shared: None });
        assert_eq!(run(MemAccess::Read, 64), Nanos(333));
        let chase = |size, random| run(MemAccess::Chase { stride_bytes: 64, random }, size);
        assert_eq!(chase(32 << 10, true), Nanos(1_500));
        assert_eq!(chase((32 << 10) + 1, true), Nanos(4_500));
        assert_eq!(chase(u32::MAX, true), Nanos(90_000));
        assert_eq!(chase(u32::MAX, false), Nanos(4_500));
        assert_eq!(chase(1, false), Nanos(1_500));
    }
}
