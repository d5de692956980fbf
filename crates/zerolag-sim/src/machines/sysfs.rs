// SPDX-License-Identifier: GPL-2.0-only
//! Machines from Linux's own files below `/sys/devices/system/cpu` and `node`.

use std::collections::BTreeMap;

use zerolag_core::cpu_set::{CPUS_MAX, CpuSet};
use zerolag_core::ids::CpuId;
use zerolag_core::topology::{Level, Topology, TopologyError};

use super::error::{MachineError, MachineFault, Place};
use super::list::{MASK, parse_mask};
use super::parts::{Neighbours, Parts};
use super::tree::{HYBRID, SysTree};

const LIST: &str = "a list of CPUs as in 0-3,8";

/// The machine that the files describe.
pub(super) fn machine(tree: &SysTree) -> Result<Topology, MachineError> {
    let reader = Reader { tree };
    let parts = reader.parts()?;
    parts.machine().map_err(|e| {
        let files = files_of(&e).map_or(String::new(), |files| format!(": {files}"));
        MachineFault::from(e).in_file(format!("{}{files}", tree.origin))
    })
}

/// The files that contradict each other.
fn files_of(error: &TopologyError) -> Option<String> {
    match error {
        TopologyError::InTwo { level: Level::Node, .. }
        | TopologyError::LeftOut { level: Level::Node, .. } => Some("node/node*/cpulist".into()),
        TopologyError::Distance { .. } => Some("node/node*/distance".into()),
        TopologyError::InTwo { cpu, .. } | TopologyError::NotNested { a: cpu, .. } => {
            Some(format!("cpu/cpu{cpu}/topology"))
        }
        _ => None,
    }
}

struct Reader<'a> {
    tree: &'a SysTree,
}

impl Reader<'_> {
    fn parts(&self) -> Result<Parts, MachineError> {
        let known: CpuSet = self.cpu_numbers()?;
        let Some(last) = known.last() else {
            let missing = "no directory system/cpu/cpu0 or other CPU in it";
            return Err(MachineFault::Missing(missing).in_file(self.tree.origin.as_str()));
        };
        let mut parts = Parts { cpus: last.0 as usize + 1, online: self.online(&known)?, ..Parts::default() };
        for cpu in parts.online.iter() {
            let directory = format!("cpu/cpu{cpu}");
            let neighbours = Neighbours {
                core: self.any_set(&directory, &["topology/core_cpus", "topology/thread_siblings"])?,
                cluster: match self.any_set(&directory, &["topology/cluster_cpus"])? {
                    Some(cluster) => Some(cluster),
                    None => self.cache(&directory, Some(2))?,
                },
                llc: self.cache(&directory, None)?,
                package: self.any_set(&directory, &["topology/package_cpus", "topology/core_siblings"])?,
            };
            parts.neighbours.insert(cpu, neighbours);
            let path = format!("{directory}/cpu_capacity");
            if let Some(capacity) = self.number(&path)? {
                if !(1..=1024).contains(&capacity) {
                    return Err(self.fault(&path, "the capacity", &capacity.to_string(), "1 to 1024"));
                }
                parts.capacities.insert(cpu, capacity);
            }
        }
        if parts.capacities.is_empty() {
            self.hybrid_capacities(&mut parts)?;
        }
        self.nodes(&mut parts)?;
        Ok(parts)
    }

    /// CPUs that are there, online or not.
    fn cpu_numbers(&self) -> Result<CpuSet, MachineError> {
        let mut known = self.list("cpu/present")?.unwrap_or_default();
        for cpu in self.tree.numbers("cpu/cpu") {
            if cpu as usize >= CPUS_MAX {
                let (what, found) = ("its number".to_owned(), cpu.to_string());
                let fault = MachineFault::Value { what, found, accepted: "0 to 8191" };
                return Err(fault.in_file(format!("{}: cpu/cpu{cpu}", self.tree.origin)));
            }
            known.insert(CpuId(cpu));
        }
        Ok(known)
    }

    /// The list of online CPUs, or else those that do not say that they are offline.
    fn online(&self, known: &CpuSet) -> Result<CpuSet, MachineError> {
        if let Some(online) = self.list("cpu/online")? {
            return match online.and_not(known).first() {
                Some(cpu) => {
                    let there = "CPUs that have a directory";
                    Err(self.fault("cpu/online", "an online CPU", &cpu.to_string(), there))
                }
                None => Ok(online),
            };
        }
        let says = |cpu: &CpuId| self.tree.file(&format!("cpu/cpu{cpu}/online"));
        Ok(known.iter().filter(|cpu| says(cpu) != Some("0")).collect())
    }

    /// The set of CPUs in the first of these files that there is, as a list (`_list`) or a mask.
    fn any_set(&self, directory: &str, files: &[&str]) -> Result<Option<CpuSet>, MachineError> {
        for file in files {
            let path = format!("{directory}/{file}");
            if let Some(set) = self.list(&format!("{path}_list"))? {
                return Ok(Some(set));
            }
            if let Some(set) = self.mask(&path)? {
                return Ok(Some(set));
            }
        }
        Ok(None)
    }

    /// Who shares the CPU's cache of this level, or of its highest level.
    fn cache(&self, directory: &str, level: Option<u32>) -> Result<Option<CpuSet>, MachineError> {
        let mut found: Option<(u32, CpuSet)> = None;
        for index in 0..10 {
            let cache = format!("{directory}/cache/index{index}");
            let Some(this) = self.number(&format!("{cache}/level"))? else { continue };
            let is_better = match level {
                Some(level) => this == level,
                None => found.as_ref().is_none_or(|(best, _)| this > *best),
            };
            if !is_better || self.tree.file(&format!("{cache}/type")) == Some("Instruction") {
                continue;
            }
            let set = match self.list(&format!("{cache}/shared_cpu_list"))? {
                Some(set) => Some(set),
                None => self.mask(&format!("{cache}/shared_cpu_map"))?,
            };
            found = set.map(|set| (this, set)).or(found);
        }
        Ok(found.map(|(_, set)| set))
    }

    /// Intel's hybrid machines: the ratio of the highest performance that each kind of core has.
    fn hybrid_capacities(&self, parts: &mut Parts) -> Result<(), MachineError> {
        let mut kinds = Vec::new();
        for kind in HYBRID {
            let Some(cpus) = self.list(&format!("{kind}/cpus"))? else { continue };
            let mut highest = 0;
            for cpu in cpus.iter_and(&parts.online) {
                let level = self.number(&format!("cpu/cpu{cpu}/acpi_cppc/highest_perf"))?;
                highest = highest.max(level.unwrap_or(0));
            }
            kinds.push((cpus, highest));
        }
        let best = kinds.iter().map(|(_, level)| *level).max().unwrap_or(0);
        if kinds.iter().any(|(_, level)| *level == 0) {
            return Ok(());
        }
        for (cpus, level) in &kinds {
            let capacity = u64::from(*level) * 1024 / u64::from(best);
            parts.capacities.extend(cpus.iter_and(&parts.online).map(|cpu| (cpu, capacity as u32)));
        }
        Ok(())
    }

    fn nodes(&self, parts: &mut Parts) -> Result<(), MachineError> {
        let mut cpus_of: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for node in self.tree.numbers("node/node") {
            cpus_of.insert(node, self.node_cpus(node)?);
        }
        // CPUs link to their node too; a node that is offline has no directory of its own.
        for cpu in parts.online.iter() {
            for node in self.tree.numbers(&format!("cpu/cpu{cpu}/node")) {
                cpus_of.entry(node).or_default().insert(cpu);
            }
        }
        let all: Vec<u32> = cpus_of.keys().copied().collect();
        let everyone = CpuSet::first_n(parts.cpus);
        let mut kept = Vec::new();
        for (&number, cpus) in cpus_of.iter().filter(|(_, cpus)| cpus.intersects(&parts.online)) {
            // CPUs that are offline are in no list, but linked.
            let linked = self.tree.numbers(&format!("node/node{number}/cpu")).map(CpuId);
            let offline = linked.filter(|&cpu| everyone.contains(cpu) && !parts.online.contains(cpu));
            parts.nodes.push(cpus.and(&everyone).or(&offline.collect()));
            kept.push(number);
        }
        for (from, &number) in kept.iter().enumerate() {
            let path = format!("node/node{number}/distance");
            let Some(row) = self.tree.file(&path) else { continue };
            let row = self.distances(&path, row, &all)?;
            for (to, other) in kept.iter().enumerate().filter(|&(to, _)| to != from) {
                let missing = || self.fault(&path, "the row", "", "a distance for each node");
                let distance = *row.get(other).ok_or_else(missing)?;
                parts.distances.push((from, to, distance));
                // A node that is offline does not say how far the others are from it.
                if self.tree.file(&format!("node/node{other}/distance")).is_none() {
                    parts.distances.push((to, from, distance));
                }
            }
        }
        Ok(())
    }

    fn node_cpus(&self, node: u32) -> Result<CpuSet, MachineError> {
        match self.list(&format!("node/node{node}/cpulist"))? {
            Some(cpus) => Ok(cpus),
            None => Ok(self.mask(&format!("node/node{node}/cpumap"))?.unwrap_or_default()),
        }
    }

    /// The distances to all nodes. A row has one for each online node in order; where a node is online but
    /// not recorded, because it has neither CPUs nor memory, numbers of nodes are taken as positions.
    fn distances(&self, path: &str, row: &str, all: &[u32]) -> Result<BTreeMap<u32, u32>, MachineError> {
        let wrong = || self.fault(path, "the row", row, "numbers, one for each node");
        let values: Vec<u32> =
            row.split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        if values.len() == all.len() {
            return Ok(all.iter().copied().zip(values).collect());
        }
        match all.last() {
            Some(&last) if values.len() > last as usize => Ok((0..).zip(values).collect()),
            _ => Err(wrong()),
        }
    }

    fn list(&self, path: &str) -> Result<Option<CpuSet>, MachineError> {
        let read = |text: &str| text.parse().map_err(|_| self.fault(path, "the list", text, LIST));
        self.tree.file(path).map(read).transpose()
    }

    fn mask(&self, path: &str) -> Result<Option<CpuSet>, MachineError> {
        let read = |text| parse_mask(text).ok_or_else(|| self.fault(path, "the mask", text, MASK));
        self.tree.file(path).map(read).transpose()
    }

    fn number(&self, path: &str) -> Result<Option<u32>, MachineError> {
        let read = |text: &str| text.parse().map_err(|_| self.fault(path, "the value", text, "a number"));
        self.tree.file(path).map(read).transpose()
    }

    fn fault(&self, path: &str, what: &str, found: &str, accepted: &'static str) -> MachineError {
        let fault = MachineFault::Value { what: what.into(), found: found.into(), accepted };
        fault.at(format!("{}: {path}", self.tree.origin), Place { line: 1, column: 0 })
    }
}
