// SPDX-License-Identifier: GPL-2.0-only
//! Copies the domains of one root domain, and nothing that they do not refer to, into other arenas.
//!
//! Domains are built apart with all levels, then moved over without those that were taken out; a partition
//! that a rebuild does not change is moved over from the old domains the same way. Ids are given anew, in the
//! order in which CPUs, from the first up, refer to things.

use alloc::collections::BTreeMap;

use super::levels::Spans;
use super::{Domain, DomainStates, Domains, Ring, SchedGroup};
use crate::cpu_set::CpuSet;
use crate::ids::{CapacityId, CpuId, DomainId, Id, RootId, SchedGroupId, SharedId, SpanId};

/// The domains being put together.
pub(super) struct Bed {
    pub(super) spans: Spans,
    pub(super) domains: Domains,
    pub(super) states: DomainStates,
}

/// New ids by old.
#[derive(Default)]
struct Moved {
    domains: BTreeMap<DomainId, DomainId>,
    groups: BTreeMap<SchedGroupId, SchedGroupId>,
    capacities: BTreeMap<CapacityId, CapacityId>,
    shared: BTreeMap<SharedId, SharedId>,
    /// By where they start.
    rings: BTreeMap<u32, u32>,
}

impl Bed {
    pub(super) fn new(cpus: usize) -> Self {
        Self {
            spans: Spans::default(),
            domains: Domains::without_domains(cpus),
            states: DomainStates::default(),
        }
    }

    /// The finished domains.
    pub(super) fn finish(mut self) -> (Domains, DomainStates) {
        self.domains.spans = self.spans.sets;
        (self.domains, self.states)
    }

    /// Takes over a root domain.
    pub(super) fn plant(&mut self, root: RootId, from: &Domains, states: &DomainStates) {
        let new_root = self.domains.roots.push(from.roots[root].clone());
        let mut moved = Moved::default();
        let cpus: &CpuSet = &from.roots[root].span;
        for cpu in cpus.iter() {
            // Parents and children refer to each other, so ids come first.
            let next = self.domains.domains.len();
            for (i, old) in from.chain(cpu).enumerate() {
                moved.domains.insert(old, DomainId::from_index(next + i));
            }
            for old in from.chain(cpu) {
                let state = states.domains[old].clone();
                let domain = self.domain(&from.domains[old], from, states, &mut moved);
                self.domains.domains.push(domain);
                self.states.domains.push(state);
            }
            let mut shortcuts = from.cpus[cpu].clone();
            for domain in [
                &mut shortcuts.base,
                &mut shortcuts.llc,
                &mut shortcuts.numa,
                &mut shortcuts.asym_packing,
                &mut shortcuts.asym_cpucapacity,
            ] {
                *domain = domain.map(|d| moved.domains[&d]);
            }
            shortcuts.shared = shortcuts.shared.map(|s| moved.shared[&s]);
            shortcuts.root = Some(new_root);
            self.domains.cpus[cpu] = shortcuts;
        }
    }

    fn domain(&mut self, old: &Domain, from: &Domains, states: &DomainStates, moved: &mut Moved) -> Domain {
        let start = match moved.rings.get(&old.ring.start) {
            Some(&start) => start,
            None => self.ring(old.ring, from, states, moved),
        };
        let states = |old: SharedId| states.shared[old].clone();
        let shared = old
            .shared
            .map(|old| *moved.shared.entry(old).or_insert_with(|| self.states.shared.push(states(old))));
        Domain {
            span: self.span(old.span, from),
            parent: old.parent.map(|d| moved.domains[&d]),
            child: old.child.map(|d| moved.domains[&d]),
            ring: Ring { start, ..old.ring },
            shared,
            ..old.clone()
        }
    }

    /// Where the ring starts now.
    fn ring(&mut self, old: Ring, from: &Domains, states: &DomainStates, moved: &mut Moved) -> u32 {
        let start = self.domains.rings.len() as u32;
        moved.rings.insert(old.start, start);
        for &group in &from.rings[old.start as usize..(old.start + old.len) as usize] {
            let new = match moved.groups.get(&group) {
                Some(&new) => new,
                None => self.group(group, from, states, moved),
            };
            self.domains.rings.push(new);
        }
        start
    }

    fn group(
        &mut self,
        id: SchedGroupId,
        from: &Domains,
        states: &DomainStates,
        moved: &mut Moved,
    ) -> SchedGroupId {
        let old = &from.groups[id];
        let capacities = &mut self.states.capacities;
        let capacity = *moved
            .capacities
            .entry(old.capacity)
            .or_insert_with(|| capacities.push(states.capacities[old.capacity].clone()));
        let (span, balance) = (self.span(old.span, from), self.span(old.balance, from));
        let new = self.domains.groups.push(SchedGroup { span, capacity, balance, ..*old });
        moved.groups.insert(id, new);
        new
    }

    fn span(&mut self, old: SpanId, from: &Domains) -> SpanId {
        self.spans.intern(from.spans[old].clone())
    }
}

/// The root domain that has exactly these CPUs.
pub(super) fn root_of(domains: &Domains, cpus: &CpuSet) -> Option<RootId> {
    let first: CpuId = cpus.first()?;
    let root = domains.cpus[first].root?;
    (domains.roots[root].span == *cpus).then_some(root)
}
