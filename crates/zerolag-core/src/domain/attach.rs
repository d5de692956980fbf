// SPDX-License-Identifier: GPL-2.0-only
//! Takes out the levels that add nothing, and notes for each CPU where to find what.

use alloc::collections::BTreeMap;

use super::build::Build;
use super::{CpuDomains, Domain, DomainFlags, RootDomain, SharedState};
use crate::ids::{CpuId, DomainId, RootId, SharedId};

impl Build<'_> {
    /// Attaches the chains to the CPUs of the partition (`cpu_attach_domain()`), which becomes a root domain.
    pub(super) fn attach(&mut self) {
        let asymmetric =
            self.out.domains.iter().any(|(_, sd)| sd.flags.contains(DomainFlags::ASYM_CPUCAPACITY));
        let capacity = |cpu| self.input.topology.capacity(cpu).0;
        let root = self.out.roots.push(RootDomain {
            span: self.partition.clone(),
            asymmetric,
            clusters: false,
            max_capacity: self.partition.iter().map(capacity).max().unwrap_or(0),
        });
        let mut shared = BTreeMap::new();
        for cpu in self.partition.iter() {
            let base = self.drop_useless_levels(cpu);
            self.out.cpus[cpu].base = base;
            self.note_shortcuts(cpu, root, &mut shared);
            self.out.roots[root].clusters |= self.out.lowest(cpu, DomainFlags::CLUSTER).is_some();
        }
    }

    /// The lowest domain that is left.
    fn drop_useless_levels(&mut self, cpu: CpuId) -> Option<DomainId> {
        let base = self.chains[cpu][0];
        let mut low = base;
        while let Some(parent) = self.out.domains[low].parent {
            if self.adds_nothing(low, parent) {
                self.drop_parent(low, parent);
            } else {
                low = parent;
            }
        }
        if !is_degenerate(&self.out.domains[base]) {
            return Some(base);
        }
        let above = self.out.domains[base].parent?;
        self.out.domains[above].child = None;
        // The kernel means to clear the flags of all groups, but its loop ends after the first.
        let local = self.out.local_group(above);
        self.out.groups[local].flags = DomainFlags::empty();
        Some(above)
    }

    /// True if `parent` does nothing that the domain below does not (`sd_parent_degenerate()`).
    fn adds_nothing(&self, below: DomainId, parent: DomainId) -> bool {
        let (below, parent) = (&self.out.domains[below], &self.out.domains[parent]);
        if is_degenerate(parent) {
            return true;
        }
        let mut flags = parent.flags;
        if parent.ring.len == 1 {
            flags.remove(DomainFlags::NEEDS_GROUPS);
        }
        below.span == parent.span && below.flags.contains(flags)
    }

    fn drop_parent(&mut self, below: DomainId, parent: DomainId) {
        let grandparent = self.out.domains[parent].parent;
        let flags = self.out.domains[below].flags;
        self.out.domains[below].parent = grandparent;
        if let Some(grandparent) = grandparent {
            self.out.domains[grandparent].child = Some(below);
            if self.input.rules.group_flags_follow {
                let local = self.out.local_group(grandparent);
                self.out.groups[local].flags = flags;
            }
        }
        // The spans are the same, so the wish to spread out can move down.
        let prefers = self.out.domains[parent].flags & DomainFlags::PREFER_SIBLING;
        self.out.domains[below].flags.insert(prefers);
    }

    /// `update_top_cache_domain()`. `shared` has one entry for each last-level cache met, by its first CPU.
    fn note_shortcuts(&mut self, cpu: CpuId, root: RootId, shared: &mut BTreeMap<CpuId, SharedId>) {
        let out = &self.out;
        let first = |d: DomainId| out.span(d).first().expect("a domain has CPUs");
        let llc = out.highest(cpu, DomainFlags::SHARE_LLC);
        let llc_id = llc.map_or(cpu, first);
        let mut shortcuts = CpuDomains {
            base: out.cpus[cpu].base,
            llc,
            llc_size: llc.map_or(1, |d| out.domains[d].weight),
            llc_id,
            share_id: out.lowest(cpu, DomainFlags::CLUSTER).map_or(llc_id, first),
            shared: None,
            numa: out.lowest(cpu, DomainFlags::NUMA),
            asym_packing: out.highest(cpu, DomainFlags::ASYM_PACKING),
            asym_cpucapacity: out.lowest(cpu, DomainFlags::ASYM_CPUCAPACITY_FULL),
            root: Some(root),
        };
        if let Some(llc) = llc {
            // As many busy CPUs as the cache has in the machine, which is what the shortest interval is too.
            let nr_busy_cpus = self.out.domains[llc].min_interval_ms as i32;
            let states = &mut self.states.shared;
            let id = *shared.entry(llc_id).or_insert_with(|| {
                states.push(SharedState { nr_busy_cpus, has_idle_cores: false, nr_idle_scan: 0 })
            });
            self.out.domains[llc].shared = Some(id);
            shortcuts.shared = Some(id);
        }
        self.out.cpus[cpu] = shortcuts;
    }
}

/// True if the domain does nothing (`sd_degenerate()`).
fn is_degenerate(domain: &Domain) -> bool {
    let uses_groups = domain.ring.len > 1 && domain.flags.intersects(DomainFlags::NEEDS_GROUPS);
    domain.weight == 1 || !(uses_groups || domain.flags.contains(DomainFlags::WAKE_AFFINE))
}
