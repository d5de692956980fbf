// SPDX-License-Identifier: GPL-2.0-only
//! The domains of one partition, all levels of them, before those that add nothing are taken out.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::levels::{self, LevelMap, Spans};
use super::partition::DomainInput;
use super::{Domain, DomainFlags, DomainLevel, DomainState, DomainStates, Domains, LoadIndexes, Ring};
use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, DomainId, IdVec, SpanId};
use crate::topology::Topology;

/// Domains under construction.
pub(super) struct Build<'a> {
    pub(super) input: &'a DomainInput<'a>,
    pub(super) partition: &'a CpuSet,
    pub(super) spans: Spans,
    pub(super) out: Domains,
    pub(super) states: DomainStates,
    /// For each CPU of the partition its domains by level, from the lowest up. CPUs may see fewer levels than
    /// others: the chain ends at the first domain that spans the partition.
    pub(super) chains: IdVec<CpuId, Vec<DomainId>>,
}

impl<'a> Build<'a> {
    /// Builds and attaches the domains of one partition.
    pub(super) fn partition(
        input: &'a DomainInput<'a>,
        partition: &'a CpuSet,
        forgot_nodes: bool,
        free: &impl Fn(CpuId) -> u32,
        cpu_capacity: &mut IdVec<CpuId, u32>,
    ) -> (Domains, DomainStates) {
        let cpus = input.topology.cpu_count();
        let mut build = Build {
            input,
            partition,
            spans: Spans::default(),
            out: Domains::without_domains(cpus),
            states: DomainStates::default(),
            chains: (0..cpus).map(|_| Vec::new()).collect(),
        };
        build.stack_levels(forgot_nodes);
        build.build_groups();
        if input.rules.numa_imbalance {
            build.allow_numa_imbalance();
        }
        build.out.spans = core::mem::take(&mut build.spans.sets);
        build.add_up_capacities(free, cpu_capacity);
        build.attach();
        (build.out, build.states)
    }

    /// A domain per CPU and level, up to the first that spans the partition.
    fn stack_levels(&mut self, forgot_nodes: bool) {
        let mut levels = levels::levels(self.input, self.partition, &mut self.spans);
        if forgot_nodes {
            levels.retain(|level| level.level <= DomainLevel::Cache);
        }
        let everyone = self.spans.intern(self.partition.clone());
        let mut asymmetry = Asymmetry::new(self.input, self.partition);
        for cpu in self.partition.iter() {
            for level in &levels {
                let domain = self.new_domain(cpu, level, &mut asymmetry);
                let reached = domain.span == everyone;
                let asymmetric = domain.flags.contains(DomainFlags::ASYM_CPUCAPACITY);
                let child = domain.child;
                let interval = if self.input.rules.fixed_levels { 1 } else { domain.min_interval_ms };
                let id = self.out.domains.push(domain);
                self.states.domains.push(DomainState::new(self.input.time.now, interval));
                self.chains[cpu].push(id);
                if let Some(child) = child {
                    let child = &mut self.out.domains[child];
                    child.parent = Some(id);
                    // Tasks are not spread over CPUs of different capacities.
                    if asymmetric {
                        child.flags.remove(DomainFlags::PREFER_SIBLING);
                    }
                }
                if reached {
                    break;
                }
            }
        }
    }

    /// The domain of a CPU at a level, its parameters derived from what its CPUs share (`sd_init()`).
    fn new_domain(&self, cpu: CpuId, level: &LevelMap, asymmetry: &mut Asymmetry<'_>) -> Domain {
        let rules = self.input.rules;
        let view = level.view(cpu);
        let mut flags = DomainFlags::BALANCE_NEWIDLE
            | DomainFlags::BALANCE_EXEC
            | DomainFlags::BALANCE_FORK
            | DomainFlags::WAKE_AFFINE
            | DomainFlags::PREFER_SIBLING
            | level.flags
            | asymmetry.of(view.span, &self.spans);
        let (imbalance_pct, cache_nice_tries, load_index) = match level.level {
            DomainLevel::Smt => (110, 0, (0, 0)),
            DomainLevel::Cluster | DomainLevel::Cache => {
                flags.set(DomainFlags::PREFER_SIBLING, rules.spread_within_cache);
                (117, 1, (2, 0))
            }
            DomainLevel::Package | DomainLevel::Node => (rules.imbalance_pct, 1, (2, 1)),
            DomainLevel::Numa { distance } => {
                flags.remove(DomainFlags::PREFER_SIBLING);
                flags.insert(DomainFlags::SERIALIZE | DomainFlags::OVERLAP);
                if distance > rules.reclaim_distance {
                    flags.remove(
                        DomainFlags::BALANCE_EXEC | DomainFlags::BALANCE_FORK | DomainFlags::WAKE_AFFINE,
                    );
                }
                (rules.imbalance_pct, 2, (3, 2))
            }
        };
        if rules.fixed_levels {
            return self.fixed_domain(cpu, level);
        }
        let (busy, idle) = if rules.load_indexes { load_index } else { (0, 0) };
        Domain {
            cpu,
            level: level.level,
            depth: self.chains[cpu].len() as u32,
            span: view.span,
            weight: self.spans.sets[view.span].len() as u32,
            flags,
            parent: None,
            child: self.chains[cpu].last().copied(),
            min_interval_ms: view.weight,
            max_interval_ms: 2 * view.weight,
            busy_factor: rules.busy_factor,
            imbalance_pct,
            cache_nice_tries,
            imb_numa_nr: 0,
            load_indexes: LoadIndexes { busy, idle, ..LoadIndexes::default() },
            shared: None,
            ring: Ring::default(),
        }
    }

    /// The same, where each level has constants (`SD_SIBLING_INIT` and so on).
    fn fixed_domain(&self, cpu: CpuId, level: &LevelMap) -> Domain {
        let view = level.view(cpu);
        let common = DomainFlags::BALANCE_EXEC
            | DomainFlags::BALANCE_FORK
            | DomainFlags::WAKE_AFFINE
            | DomainFlags::WAKE_BALANCE;
        let within = LoadIndexes { busy: 2, wake: 1, forkexec: 1, ..LoadIndexes::default() };
        #[rustfmt::skip]
        let (flags, intervals, busy_factor, imbalance_pct, cache_nice_tries, load_indexes) = match level.level {
            DomainLevel::Smt => (
                DomainFlags::BALANCE_NEWIDLE | DomainFlags::SHARE_CPUCAPACITY,
                (1, 2), 64, 110, 0, LoadIndexes::default(),
            ),
            DomainLevel::Cluster | DomainLevel::Cache => {
                (DomainFlags::SHARE_LLC, (1, 4), 64, 125, 1, within)
            }
            DomainLevel::Package => {
                (DomainFlags::empty(), (1, 4), 64, 125, 1, LoadIndexes { idle: 1, newidle: 2, ..within })
            }
            DomainLevel::Node | DomainLevel::Numa { .. } => (
                DomainFlags::SERIALIZE,
                (8, 32), 32, 125, 2, LoadIndexes { busy: 3, idle: 2, newidle: 2, wake: 1, forkexec: 1 },
            ),
        };
        Domain {
            cpu,
            level: level.level,
            depth: self.chains[cpu].len() as u32,
            span: view.span,
            weight: self.spans.sets[view.span].len() as u32,
            flags: common | flags,
            parent: None,
            child: self.chains[cpu].last().copied(),
            min_interval_ms: intervals.0,
            max_interval_ms: intervals.1,
            busy_factor,
            imbalance_pct,
            cache_nice_tries,
            imb_numa_nr: 0,
            load_indexes,
            shared: None,
            ring: Ring::default(),
        }
    }

    /// How many running tasks may stay on a node although another is idle (5.18).
    ///
    /// At the first level above the last-level cache: one for each cache of the domain, or an eighth of its
    /// CPUs if it has just one cache. Levels above allow that much times their size in units of the first
    /// NUMA level.
    fn allow_numa_imbalance(&mut self) {
        for cpu in self.partition.iter() {
            let chain = &self.chains[cpu];
            let (mut allowed, mut unit) = (0, 1);
            for (i, &id) in chain.iter().enumerate() {
                let sd = &self.out.domains[id];
                let child = i.checked_sub(1).map(|below| &self.out.domains[chain[below]]);
                let shares = |sd: &Domain| sd.flags.contains(DomainFlags::SHARE_LLC);
                let imbalance = match child {
                    Some(child) if !shares(sd) && shares(child) => {
                        let caches = sd.weight / child.weight;
                        allowed = if caches == 1 { sd.weight >> 3 } else { caches }.max(1);
                        let numa = chain[i + 1..]
                            .iter()
                            .map(|&above| &self.out.domains[above])
                            .find(|above| above.flags.contains(DomainFlags::NUMA));
                        unit = numa.unwrap_or(sd).weight;
                        allowed
                    }
                    _ => allowed * (sd.weight / unit).max(1),
                };
                self.out.domains[id].imb_numa_nr = imbalance;
            }
        }
    }

    /// The capacity of every group, from the CPUs up. A group is added up by the CPU that balances for it.
    ///
    /// CPUs are visited from the last to the first, and groups over overlapping domains go by what each CPU's
    /// capacity is at that moment. So on a machine of unequal CPUs that boots, CPUs not yet visited count as
    /// full; the kernel does the same.
    fn add_up_capacities(&mut self, free: &impl Fn(CpuId) -> u32, cpu_capacity: &mut IdVec<CpuId, u32>) {
        let cpus: Vec<CpuId> = self.partition.iter().collect();
        for &cpu in cpus.iter().rev() {
            for (i, &id) in self.chains[cpu].iter().enumerate() {
                if self.out.balance_cpu(self.out.local_group(id)) != cpu {
                    continue;
                }
                if i == 0 {
                    cpu_capacity[cpu] = free(cpu).max(1);
                }
                self.states.update_group_capacity(&self.out, id, self.input.time, |c| cpu_capacity[c]);
            }
        }
    }
}

/// Which spans have CPUs of different capacities.
struct Asymmetry<'a> {
    topology: &'a Topology,
    /// How many different capacities the partition has.
    kinds: usize,
    known: BTreeMap<SpanId, DomainFlags>,
}

impl<'a> Asymmetry<'a> {
    fn new(input: &DomainInput<'a>, partition: &CpuSet) -> Self {
        let kinds = if input.rules.asymmetry { kinds(input.topology, partition) } else { 1 };
        Self { topology: input.topology, kinds, known: BTreeMap::new() }
    }

    /// The flags that say so (`asym_cpu_capacity_classify()`).
    fn of(&mut self, span: SpanId, spans: &Spans) -> DomainFlags {
        if self.kinds == 1 {
            return DomainFlags::empty();
        }
        *self.known.entry(span).or_insert_with(|| match kinds(self.topology, &spans.sets[span]) {
            0 | 1 => DomainFlags::empty(),
            some if some < self.kinds => DomainFlags::ASYM_CPUCAPACITY,
            _ => DomainFlags::ASYM_CPUCAPACITY | DomainFlags::ASYM_CPUCAPACITY_FULL,
        })
    }
}

/// How many different capacities the CPUs have.
fn kinds(topology: &Topology, cpus: &CpuSet) -> usize {
    let mut capacities: Vec<_> = cpus.iter().map(|cpu| topology.capacity(cpu)).collect();
    capacities.sort_unstable();
    capacities.dedup();
    capacities.len()
}
