// SPDX-License-Identifier: GPL-2.0-only
//! The groups of each domain, in the order in which its CPU looks at them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::build::Build;
use super::{DomainFlags, GroupCapacity, Ring, SchedGroup};
use crate::cpu_set::CpuSet;
use crate::ids::{CapacityId, CpuId, DomainId, SchedGroupId, SpanId};

/// Groups made so far.
#[derive(Default)]
struct Made {
    /// Who shares capacity with whom: the level and CPU that the capacity belongs to, with the balance mask.
    capacities: BTreeMap<(usize, CpuId), (CapacityId, SpanId)>,
    /// The balance mask of a span seen at a level.
    masks: BTreeMap<(usize, SpanId), CpuSet>,
    cores: BTreeMap<SpanId, u32>,
}

impl Build<'_> {
    /// Gives every domain its ring of groups.
    pub(super) fn build_groups(&mut self) {
        let mut made = Made::default();
        let cpus: Vec<CpuId> = self.partition.iter().collect();
        for &cpu in &cpus {
            for level in 0..self.chains[cpu].len() {
                let domain = &self.out.domains[self.chains[cpu][level]];
                // All CPUs of the span link the same groups; the last one to do so decides the order.
                if !domain.flags.contains(DomainFlags::OVERLAP)
                    && self.spans.sets[domain.span].last() == Some(cpu)
                {
                    self.disjoint_ring(cpu, level, &mut made);
                }
            }
        }
        for &cpu in &cpus {
            for level in 0..self.chains[cpu].len() {
                let id = self.chains[cpu][level];
                if self.out.domains[id].flags.contains(DomainFlags::OVERLAP) {
                    self.out.domains[id].ring = if self.input.rules.overlaps_from_first {
                        self.ring_from_first(cpu, id, &mut made)
                    } else {
                        let groups = self.overlapping_groups(cpu, id, &mut made);
                        self.link(&groups)
                    };
                }
            }
        }
    }

    fn link(&mut self, groups: &[SchedGroupId]) -> Ring {
        let start = self.out.rings.len() as u32;
        self.out.rings.extend_from_slice(groups);
        Ring { start, len: groups.len() as u32, first: 0 }
    }

    /// Links the groups of a level that divides the CPUs, in the order `cpu` meets them going round from
    /// itself, and enters the ring for each CPU of the span at its own group.
    fn disjoint_ring(&mut self, cpu: CpuId, level: usize, made: &mut Made) {
        let span = self.spans.sets[self.out.domains[self.chains[cpu][level]].span].clone();
        let mut covered = CpuSet::new();
        let mut groups = Vec::new();
        for i in span.iter_wrap(cpu) {
            if covered.contains(i) {
                continue;
            }
            let (part, flags) = self.part_below(i, level);
            let owner = self.spans.sets[part].first().expect("a domain has CPUs");
            let group = self.group(part, flags, (level, owner), part, made);
            covered.insert_all(&self.spans.sets[part]);
            groups.push(group);
        }
        let ring = self.link(&groups);
        for (first, &group) in (0u32..).zip(&groups) {
            for member in self.spans.sets[self.out.groups[group].span].iter() {
                self.out.domains[self.chains[member][level]].ring = Ring { first, ..ring };
            }
        }
    }

    /// What the domain of a level consists of from the CPU's point of view: the domain below, or itself.
    fn part_below(&mut self, cpu: CpuId, level: usize) -> (SpanId, DomainFlags) {
        match level.checked_sub(1) {
            Some(below) => {
                let child = &self.out.domains[self.chains[cpu][below]];
                (child.span, child.flags)
            }
            None => (self.spans.intern(CpuSet::single(cpu)), DomainFlags::empty()),
        }
    }

    /// The groups of a domain across nodes: going round from the CPU itself, each CPU not yet covered adds the
    /// domain below as that CPU sees it.
    fn overlapping_groups(&mut self, cpu: CpuId, id: DomainId, made: &mut Made) -> Vec<SchedGroupId> {
        let domain = &self.out.domains[id];
        let level = domain.depth as usize;
        let span = self.spans.sets[domain.span].clone();
        let mut covered = CpuSet::new();
        let mut groups = Vec::new();
        for i in span.iter_wrap(cpu) {
            // Where the tree is of unequal depth, the CPU may not have this level.
            if covered.contains(i) || self.chains[i].len() <= level {
                continue;
            }
            let level = self.level_that_fits(i, level, &span);
            let group = self.group_seen_from(i, level, made);
            covered.insert_all(&self.spans.sets[self.out.groups[group].span]);
            groups.push(group);
        }
        groups
    }

    /// The same in the old way: going up from the first CPU of the span. Who may balance for a group is said where
    /// its capacity is, which all groups that begin with the same CPU share, and stays as it was said first. The
    /// domain's CPU looks first at the group that it balances for, else at the first that it is in.
    fn ring_from_first(&mut self, cpu: CpuId, id: DomainId, made: &mut Made) -> Ring {
        let domain = &self.out.domains[id];
        let level = domain.depth as usize;
        let span = self.spans.sets[domain.span].clone();
        let with_level: CpuSet = span.iter().filter(|&i| self.chains[i].len() > level).collect();
        let mut covered = CpuSet::new();
        let mut groups = Vec::new();
        let mut first = None;
        for i in with_level.iter() {
            if covered.contains(i) {
                continue;
            }
            let (part, flags) = self.part_below(i, level);
            let mask = self.spans.sets[part].iter().filter(|&c| with_level.contains(c)).collect();
            let balance = self.spans.intern(mask);
            let group = self.group(part, flags, (level, i), balance, made);
            let mask = &self.spans.sets[self.out.groups[group].balance];
            if first.is_none() && self.spans.sets[part].contains(cpu) || mask.first() == Some(cpu) {
                first = Some(groups.len() as u32);
            }
            covered.insert_all(&self.spans.sets[part]);
            groups.push(group);
        }
        Ring { first: first.unwrap_or(0), ..self.link(&groups) }
    }

    /// The level whose part below, as seen from `cpu`, lies within the span.
    ///
    /// That is `level` itself unless some nodes are three hops apart. Then it is the first lower one that
    /// fits, and below that the lowest of the levels that span the same: the others will be taken out, and a
    /// group must not share capacity with what is no longer there (`find_descended_sibling()`).
    fn level_that_fits(&self, cpu: CpuId, level: usize, span: &CpuSet) -> usize {
        let at = |level: usize| self.out.domains[self.chains[cpu][level]].span;
        let fits = |level: usize| level == 0 || self.spans.sets[at(level - 1)].is_subset(span);
        if fits(level) {
            return level;
        }
        let mut level = (0..level).rev().find(|&l| fits(l)).expect("level 0 fits");
        while level > 0 && at(level - 1) == at(level) {
            level -= 1;
        }
        level
    }

    /// The group that a CPU's domain of this level starts with.
    fn group_seen_from(&mut self, cpu: CpuId, level: usize, made: &mut Made) -> SchedGroupId {
        let (part, flags) = match level {
            0 => (self.out.domains[self.chains[cpu][0]].span, DomainFlags::empty()),
            _ => self.part_below(cpu, level),
        };
        let mask = self.balance_mask(level, part, made);
        // On distances that contradict each other nobody may see the group. The kernel warns and goes on with
        // memory that is not its own; here the whole group may balance.
        let mask = if mask.is_empty() { self.spans.sets[part].clone() } else { mask };
        let owner = mask.first().expect("not empty");
        let balance = self.spans.intern(mask);
        self.group(part, flags, (level, owner), balance, made)
    }

    /// The CPUs whose own domain of this level starts with the group (`build_balance_mask()`).
    fn balance_mask(&self, level: usize, part: SpanId, made: &mut Made) -> CpuSet {
        let sees_it = |cpu: &CpuId| {
            let chain = &self.chains[*cpu];
            level > 0 && chain.len() > level && self.out.domains[chain[level - 1]].span == part
        };
        let mask = || self.spans.sets[part].iter().filter(sees_it).collect();
        made.masks.entry((level, part)).or_insert_with(mask).clone()
    }

    fn group(
        &mut self,
        part: SpanId,
        flags: DomainFlags,
        owner: (usize, CpuId),
        balance: SpanId,
        made: &mut Made,
    ) -> SchedGroupId {
        let span = &self.spans.sets[part];
        let weight = span.len() as u32;
        let (capacity, balance) = *made
            .capacities
            .entry(owner)
            .or_insert_with(|| (self.states.capacities.push(GroupCapacity::of_full_cpus(weight)), balance));
        let topology = self.input.topology;
        let starts_core = |cpu: &CpuId| topology.core(*cpu).first_and(span) == Some(*cpu);
        let cores = *made.cores.entry(part).or_insert_with(|| span.iter().filter(starts_core).count() as u32);
        self.out.groups.push(SchedGroup { span: part, weight, cores, flags, capacity, balance })
    }
}
