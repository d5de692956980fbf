// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs, iterated in ascending order, read and printed in the kernel's list syntax (`0-3,8`).

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use fixedbitset::FixedBitSet;

use crate::ids::{CpuId, Id};

/// The greatest number of CPUs a machine may have.
pub const CPUS_MAX: usize = 8192;

/// A set of CPUs.
///
/// Two sets are equal if they have the same members, however they came about.
#[derive(Clone, Default)]
pub struct CpuSet(FixedBitSet);

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// CPUs 0 to `count - 1`.
    pub fn first_n(count: usize) -> Self {
        let mut bits = FixedBitSet::with_capacity(count);
        bits.insert_range(..);
        Self(bits)
    }

    /// The set with this one member.
    pub fn single(cpu: CpuId) -> Self {
        let mut set = Self::new();
        set.insert(cpu);
        set
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: CpuId) {
        self.0.grow_and_insert(cpu.index());
    }

    /// Takes a CPU out.
    pub fn remove(&mut self, cpu: CpuId) {
        if cpu.index() < self.0.len() {
            self.0.remove(cpu.index());
        }
    }

    /// Takes all CPUs out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// True if the CPU is a member.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(cpu.index())
    }

    /// True if there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_clear()
    }

    /// Number of members (`cpumask_weight()`).
    pub fn len(&self) -> usize {
        self.0.count_ones(..)
    }

    /// The member with the lowest number.
    pub fn first(&self) -> Option<CpuId> {
        self.0.minimum().map(CpuId::from_index)
    }

    /// The member with the highest number.
    pub fn last(&self) -> Option<CpuId> {
        self.0.maximum().map(CpuId::from_index)
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.0.ones().map(CpuId::from_index)
    }

    /// Members in ascending order from `start` on, then from the lowest up to just before `start`
    /// (`for_each_cpu_wrap()`).
    pub fn iter_wrap(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let s = start.index();
        self.0
            .ones()
            .filter(move |&c| c >= s)
            .chain(self.0.ones().take_while(move |&c| c < s))
            .map(CpuId::from_index)
    }

    /// Members of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.0.intersect_with(&other.0);
        set
    }

    /// Members of either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.0.union_with(&other.0);
        set
    }

    /// Members of this set that are not in the other.
    #[must_use]
    pub fn and_not(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.0.difference_with(&other.0);
        set
    }

    /// True if the sets have a member in common.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// True if every member is in `other` too.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl PartialEq for CpuSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for CpuSet {}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<It: IntoIterator<Item = CpuId>>(cpus: It) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    /// The kernel's list syntax: runs joined by commas, the empty set as nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|c| c.0).peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.peek() == Some(&(last + 1)) {
                last += 1;
                cpus.next();
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Why a CPU list could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuListError {
    /// The part of the list that is wrong.
    pub found: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for CpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CPU list: {} in '{}' (accepted: numbers and ranges up to {}, as in 0-3,8)",
            self.reason,
            self.found,
            CPUS_MAX - 1
        )
    }
}

impl core::error::Error for CpuListError {}

impl FromStr for CpuSet {
    type Err = CpuListError;

    /// Reads the kernel's list syntax: `0-3,8,10-11`. An empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let fail = |found: &str, reason| CpuListError { found: found.into(), reason };
        let number = |part: &str| match part.trim().parse::<usize>() {
            Ok(n) if n < CPUS_MAX => Ok(n),
            Ok(_) => Err(fail(part, "CPU number too large")),
            Err(_) => Err(fail(part, "not a CPU number")),
        };
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        for part in text.trim().split(',') {
            let (first, last) = match part.split_once('-') {
                Some((a, b)) => (number(a)?, number(b)?),
                None => (number(part)?, number(part)?),
            };
            if last < first {
                return Err(fail(part, "range runs backwards"));
            }
            set.0.grow(last + 1);
            set.0.insert_range(first..last + 1);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn lists_survive_a_round_trip() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-7,100"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_lists_are_refused() {
        for text in ["x", "3-1", "1,,2", "-1", "99999", "1-"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn iteration_wraps_from_the_start_cpu() {
        let set: CpuSet = "0-2,5".parse().unwrap();
        let order: Vec<u32> = set.iter_wrap(CpuId(2)).map(|c| c.0).collect();
        assert_eq!(order, [2, 5, 0, 1]);
    }

    #[test]
    fn equality_ignores_storage_length() {
        let mut a = CpuSet::first_n(100);
        for c in 4..100 {
            a.remove(CpuId(c));
        }
        assert_eq!(a, CpuSet::first_n(4));
    }
}
