// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs, iterated in ascending order, read and printed in the kernel's list syntax (`0-3,8`).
//!
//! Placement and balancing iterate over sets of hundreds of CPUs, so iteration goes a machine word at a time
//! and never allocates: also around the end ([`CpuSet::iter_wrap`]) and over an intersection
//! ([`CpuSet::iter_and`]).

use alloc::string::String;
use core::cmp::Ordering;
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

    /// Members from `start` on, in ascending order.
    pub fn iter_from(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        Members::over(self.0.as_slice(), None, start)
    }

    /// Members in ascending order from `start` on, then from the lowest up to just before `start`
    /// (`for_each_cpu_wrap()`).
    pub fn iter_wrap(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        self.iter_from(start).chain(self.iter().take_while(move |&c| c < start))
    }

    /// Members of both sets in ascending order (`for_each_cpu_and()`).
    pub fn iter_and<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = CpuId> + 'a {
        Members::over(self.0.as_slice(), Some(other.0.as_slice()), CpuId(0))
    }

    /// Members of both sets, in the order of [`CpuSet::iter_wrap`].
    pub fn iter_and_wrap<'a>(&'a self, other: &'a Self, start: CpuId) -> impl Iterator<Item = CpuId> + 'a {
        Members::over(self.0.as_slice(), Some(other.0.as_slice()), start)
            .chain(self.iter_and(other).take_while(move |&c| c < start))
    }

    /// Number of members of both sets (`cpumask_weight_and()`).
    pub fn len_and(&self, other: &Self) -> usize {
        self.0.intersection_count(&other.0)
    }

    /// The member of both sets with the lowest number (`cpumask_first_and()`).
    pub fn first_and(&self, other: &Self) -> Option<CpuId> {
        self.iter_and(other).next()
    }

    /// Adds all members of `other`.
    pub fn insert_all(&mut self, other: &Self) {
        self.0.union_with(&other.0);
    }

    /// Takes all members of `other` out.
    pub fn remove_all(&mut self, other: &Self) {
        self.0.difference_with(&other.0);
    }

    /// Keeps only the members that are in `other` too.
    pub fn retain_all(&mut self, other: &Self) {
        self.0.intersect_with(&other.0);
    }

    /// Members of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.0.intersect_with(&other.0);
        set
    }

    /// Becomes the intersection of two others, in the memory that it has.
    pub(crate) fn become_and(&mut self, one: &Self, other: &Self) {
        self.become_same(one);
        self.retain_all(other);
    }

    /// Becomes equal to another set, in the memory that it has.
    pub(crate) fn become_same(&mut self, other: &Self) {
        self.clear();
        self.insert_all(other);
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

impl Ord for CpuSet {
    /// By the members in ascending order, as words are ordered by their letters: `{} < {0} < {0-1} < {1}`.
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Walks over the bits of a set, or of the intersection of two, a word at a time.
struct Members<'a> {
    bits: &'a [usize],
    /// The second set, if it is an intersection.
    mask: Option<&'a [usize]>,
    word: usize,
    /// Bits of the current word not yet visited.
    left: usize,
}

impl<'a> Members<'a> {
    fn over(bits: &'a [usize], mask: Option<&'a [usize]>, start: CpuId) -> Self {
        let word = start.index() / usize::BITS as usize;
        let mut members = Self { bits, mask, word, left: 0 };
        members.left = members.load(word) & (usize::MAX << (start.index() % usize::BITS as usize));
        members
    }

    fn load(&self, word: usize) -> usize {
        let bits = self.bits.get(word).copied().unwrap_or(0);
        match self.mask {
            Some(mask) => bits & mask.get(word).copied().unwrap_or(0),
            None => bits,
        }
    }
}

impl Iterator for Members<'_> {
    type Item = CpuId;

    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        while self.left == 0 {
            self.word += 1;
            if self.word >= self.bits.len() {
                return None;
            }
            self.left = self.load(self.word);
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(CpuId::from_index(self.word * usize::BITS as usize + bit))
    }
}

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

    /// Every kind of iteration against its plain meaning, around word boundaries.
    #[test]
    fn iteration_agrees_with_filtering() {
        let all: Vec<CpuId> = (0..200).map(CpuId).collect();
        let a: CpuSet = all.iter().copied().filter(|c| c.0 % 3 == 0 || c.0 > 190).collect();
        let b: CpuSet = all.iter().copied().filter(|c| c.0 % 2 == 0 && c.0 < 150).collect();
        let both: Vec<CpuId> = all.iter().copied().filter(|&c| a.contains(c) && b.contains(c)).collect();
        assert_eq!(a.iter_and(&b).collect::<Vec<_>>(), both);
        assert_eq!(b.iter_and(&a).collect::<Vec<_>>(), both);
        assert_eq!(a.len_and(&b), both.len());
        for start in [0, 1, 62, 63, 64, 65, 127, 128, 149, 199, 250, 1000].map(CpuId) {
            let (before, after): (Vec<CpuId>, Vec<CpuId>) = a.iter().partition(|&c| c < start);
            assert_eq!(a.iter_from(start).collect::<Vec<_>>(), after);
            assert_eq!(a.iter_wrap(start).collect::<Vec<_>>(), [after, before].concat());
            let (before, after): (Vec<CpuId>, Vec<CpuId>) = both.iter().partition(|&&c| c < start);
            assert_eq!(a.iter_and_wrap(&b, start).collect::<Vec<_>>(), [after, before].concat());
        }
    }

    #[test]
    fn sets_are_ordered_like_words() {
        let sets: Vec<CpuSet> = ["", "0", "0-1", "1", "64"].map(|s| s.parse().unwrap()).into();
        assert!(sets.is_sorted());
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
