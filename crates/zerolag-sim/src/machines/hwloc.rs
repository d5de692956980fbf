// SPDX-License-Identifier: GPL-2.0-only
//! Machines from hwloc's XML (`lstopo --of xml`), versions 1 to 3.
//!
//! Objects are nested (machine, package, cache, core, PU), but each also says which CPUs it has, and that is
//! what is read. A PU is a CPU. Memory nodes are nested too in version 1 and stand beside the caches in later
//! ones; distances were relative to a base and are absolute now.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};
use zerolag_core::cpu_set::{CPUS_MAX, CpuSet};
use zerolag_core::ids::CpuId;
use zerolag_core::topology::{Level, NODES_MAX, Topology, TopologyError};

use super::error::{MachineError, MachineFault, Place};
use super::list::{MASK, parse_mask};
use super::parts::Parts;

/// The greatest number of XML elements and texts; a machine of 8192 CPUs has some 60 for each CPU.
const ELEMENTS_MAX: u32 = 2_000_000;

/// The machine that the text describes; `name` is used in errors.
pub(super) fn machine(name: &str, text: &str) -> Result<Topology, MachineError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|e| {
        let place = match e {
            // The text ends too early: that is where.
            roxmltree::Error::UnexpectedEndOfStream | roxmltree::Error::UnclosedRootNode => {
                Place { line: text.matches('\n').count() as u32 + 1, column: 0 }
            }
            _ => Place { line: e.pos().row, column: e.pos().col },
        };
        MachineFault::Xml(e).at(name, place)
    })?;
    let reader = Reader { name, document: &document };
    let parts = reader.parts()?;
    parts.machine().map_err(|e| {
        let place = reader.place_of(&e);
        MachineFault::from(e).at(name, place)
    })
}

struct Reader<'a> {
    name: &'a str,
    document: &'a Document<'a>,
}

/// A memory node: its number, its CPUs, and whether it is the kind of memory that CPUs call their own.
struct Memory {
    os_index: u32,
    cpus: CpuSet,
    is_main: bool,
}

/// The CPUs of the objects of a level so far.
#[derive(Default)]
struct Before {
    all: CpuSet,
    each: Vec<CpuSet>,
}

impl Reader<'_> {
    fn parts(&self) -> Result<Parts, MachineError> {
        let root = self.document.root_element();
        if root.tag_name().name() != "topology" {
            let found = root.tag_name().name();
            return Err(self.value(root, "the outermost element", found, "topology, as hwloc writes it"));
        }
        let mut parts = Parts::default();
        let objects = || self.elements("object");
        for pu in objects().filter(|o| kind(*o) == "PU") {
            let cpu = self.number(pu, "os_index")?;
            if cpu as usize >= CPUS_MAX {
                return Err(self.value(pu, "os_index", &cpu.to_string(), "0 to 8191"));
            }
            parts.online.insert(CpuId(cpu));
        }
        let Some(last) = parts.online.last() else {
            return Err(MachineFault::Missing("no object of type PU in it").in_file(self.name));
        };
        parts.cpus = last.0 as usize + 1;
        for machine in objects().filter(|o| kind(*o) == "Machine" && o.has_attribute("complete_cpuset")) {
            let complete = self.cpuset(machine, "complete_cpuset")?;
            parts.cpus = parts.cpus.max(complete.last().map_or(0, |cpu| cpu.0 as usize + 1));
        }
        let mut memories = Vec::new();
        let mut caches = Vec::new();
        let (mut cores, mut packages) = (Before::default(), Before::default());
        for object in objects() {
            match kind(object) {
                "Core" => {
                    self.is_alone(&mut cores, &parts.online, object, Level::Core)?;
                    self.share(&mut parts, object, |n| &mut n.core)?;
                }
                "Package" | "Socket" => {
                    self.is_alone(&mut packages, &parts.online, object, Level::Package)?;
                    self.share(&mut parts, object, |n| &mut n.package)?;
                }
                "Group" if object.attribute("subtype") == Some("Cluster") => {
                    self.share(&mut parts, object, |n| &mut n.cluster)?;
                }
                "NUMANode" => memories.push(self.memory(object)?),
                kind if object.attribute("subtype") != Some("MemorySideCache") => {
                    if let Some(level) = self.cache_level(object, kind)? {
                        caches.push((level, self.cpuset(object, "cpuset")?));
                    }
                }
                _ => {}
            }
        }
        assign_caches(&mut parts, caches);
        self.assign_nodes(&mut parts, memories)?;
        self.capacities(&mut parts)?;
        Ok(parts)
    }

    /// The level of a data cache; nothing if the object is no such cache.
    fn cache_level(&self, object: Node<'_, '_>, kind: &str) -> Result<Option<u32>, MachineError> {
        match kind {
            "Cache" if object.attribute("cache_type") != Some("2") => self.number(object, "depth").map(Some),
            "Cache" => Ok(None),
            // L1Cache to L5Cache; L1iCache is for instructions.
            _ => {
                Ok(kind.strip_prefix('L').and_then(|k| k.strip_suffix("Cache")).and_then(|k| k.parse().ok()))
            }
        }
    }

    /// A CPU is in one object of the level only; `before` are those that came earlier.
    fn is_alone(
        &self,
        before: &mut Before,
        online: &CpuSet,
        object: Node<'_, '_>,
        level: Level,
    ) -> Result<(), MachineError> {
        let cpus = self.cpuset(object, "cpuset")?.and(online);
        if let Some(cpu) = cpus.iter_and(&before.all).next() {
            let first = before.each.iter().position(|set| set.contains(cpu)).unwrap_or(0);
            let error = TopologyError::InTwo { level, cpu, first, second: before.each.len() };
            return Err(MachineFault::from(error).at(self.name, self.place(object)));
        }
        before.all.insert_all(&cpus);
        before.each.push(cpus);
        Ok(())
    }

    /// Makes the CPUs of an object neighbours.
    fn share(
        &self,
        parts: &mut Parts,
        object: Node<'_, '_>,
        of: fn(&mut super::parts::Neighbours) -> &mut Option<CpuSet>,
    ) -> Result<(), MachineError> {
        let cpus = self.cpuset(object, "cpuset")?;
        for cpu in cpus.iter_and(&parts.online) {
            *of(parts.neighbours.entry(cpu).or_default()) = Some(cpus.clone());
        }
        Ok(())
    }

    fn memory(&self, object: Node<'_, '_>) -> Result<Memory, MachineError> {
        Ok(Memory {
            os_index: self.number(object, "os_index")?,
            cpus: self.cpuset(object, "cpuset")?,
            is_main: matches!(object.attribute("subtype"), None | Some("DRAM")),
        })
    }

    /// A CPU is of one node only, though hwloc may say that several memories are near it: its own is main
    /// memory before other kinds, the one of the fewest CPUs, the one with the lowest number.
    fn assign_nodes(&self, parts: &mut Parts, mut memories: Vec<Memory>) -> Result<(), MachineError> {
        if memories.len() > NODES_MAX {
            let (root, found) = (self.document.root_element(), memories.len().to_string());
            return Err(self.value(root, "the number of memory nodes", &found, "at most 1024"));
        }
        memories.sort_by_key(|m| m.os_index);
        let own = |cpu: CpuId| {
            let near = memories.iter().enumerate().filter(|(_, m)| m.cpus.contains(cpu));
            near.min_by_key(|(_, m)| (!m.is_main, m.cpus.len(), m.os_index)).map(|(i, _)| i)
        };
        let mut nodes = vec![CpuSet::new(); memories.len()];
        for cpu in parts.online.iter() {
            if let Some(node) = own(cpu) {
                nodes[node].insert(cpu);
            }
        }
        let kept: Vec<usize> = (0..nodes.len()).filter(|&i| !nodes[i].is_empty()).collect();
        parts.nodes = kept.iter().map(|&i| nodes[i].clone()).collect();
        let numbers: Vec<u32> = memories.iter().map(|m| m.os_index).collect();
        let position: BTreeMap<u32, usize> =
            kept.iter().enumerate().map(|(position, &i)| (numbers[i], position)).collect();
        for (from, to, distance) in self.distances(&numbers)? {
            if let (Some(&from), Some(&to)) = (position.get(&from), position.get(&to))
                && from != to
            {
                parts.distances.push((from, to, distance));
            }
        }
        Ok(())
    }

    /// Distances between memory nodes by their numbers, as far as the file has them.
    fn distances(&self, numbers: &[u32]) -> Result<Vec<(u32, u32, u32)>, MachineError> {
        let is_latency = |d: &Node<'_, '_>| {
            let kind: u32 = d.attribute("kind").and_then(|k| k.parse().ok()).unwrap_or(0);
            d.attribute("type") == Some("NUMANode")
                && d.attribute("indexing") == Some("os")
                && (d.attribute("name") == Some("NUMALatency") || kind & KIND_LATENCY != 0)
        };
        if let Some(table) = self.elements("distances2").find(is_latency) {
            let ids: Vec<u32> = self.words(table, "indexes")?;
            let values: Vec<u32> = self.words(table, "u64values")?;
            return self.table(table, &ids, &values);
        }
        for table in self.elements("distances") {
            let values = self.relative_distances(table)?;
            if values.len() == numbers.len() * numbers.len() {
                return self.table(table, numbers, &values);
            }
        }
        Ok(Vec::new())
    }

    fn table(
        &self,
        element: Node<'_, '_>,
        ids: &[u32],
        values: &[u32],
    ) -> Result<Vec<(u32, u32, u32)>, MachineError> {
        if values.len() != ids.len() * ids.len() {
            let found = format!("{} values for {} nodes", values.len(), ids.len());
            return Err(self.value(element, "the table of distances", &found, "one for each pair of nodes"));
        }
        let pairs = ids.iter().flat_map(|&from| ids.iter().map(move |&to| (from, to)));
        Ok(pairs.zip(values).map(|((from, to), &distance)| (from, to, distance)).collect())
    }

    /// Version 1: factors of a base, `latency_base`.
    fn relative_distances(&self, table: Node<'_, '_>) -> Result<Vec<u32>, MachineError> {
        let base = self.decimal(table, "latency_base")?;
        let values = table.children().filter(|c| c.has_tag_name("latency"));
        values.map(|v| Ok((self.decimal(v, "value")? * base).round() as u32)).collect()
    }

    /// Computing power by kind of CPU, where Linux told hwloc.
    fn capacities(&self, parts: &mut Parts) -> Result<(), MachineError> {
        for kind in self.elements("cpukind") {
            let capacity = kind.children().find(|c| c.attribute("name") == Some("LinuxCapacity"));
            if let Some(info) = capacity {
                let capacity = self.number(info, "value")?;
                if !(1..=CAPACITY_MAX).contains(&capacity) {
                    return Err(self.value(info, "LinuxCapacity", &capacity.to_string(), "1 to 1024"));
                }
                let cpus = self.cpuset(kind, "cpuset")?;
                parts.capacities.extend(cpus.iter_and(&parts.online).map(|cpu| (cpu, capacity)));
            }
        }
        Ok(())
    }

    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Node<'_, '_>> {
        self.document.descendants().filter(move |n| n.has_tag_name(tag))
    }

    /// Numbers separated by blanks in all child elements of this name.
    fn words(&self, element: Node<'_, '_>, tag: &str) -> Result<Vec<u32>, MachineError> {
        let texts = element.children().filter(|c| c.has_tag_name(tag)).filter_map(|c| c.text());
        let words = texts.flat_map(str::split_whitespace);
        words.map(|w| w.parse().map_err(|_| self.value(element, tag, w, "numbers"))).collect()
    }

    fn attribute<'n>(&self, object: Node<'n, '_>, attribute: &'static str) -> Result<&'n str, MachineError> {
        object.attribute(attribute).ok_or_else(|| {
            let object_kind = object.attribute("type").unwrap_or(object.tag_name().name());
            let fault = MachineFault::MissingAttribute { object: object_kind.into(), attribute };
            fault.at(self.name, self.place(object))
        })
    }

    fn number(&self, object: Node<'_, '_>, attribute: &'static str) -> Result<u32, MachineError> {
        let text = self.attribute(object, attribute)?;
        text.parse().map_err(|_| self.value(object, attribute, text, "a number"))
    }

    fn decimal(&self, object: Node<'_, '_>, attribute: &'static str) -> Result<f64, MachineError> {
        let text = self.attribute(object, attribute)?;
        let number = text.parse().ok().filter(|n: &f64| n.is_finite());
        number.ok_or_else(|| self.value(object, attribute, text, "a decimal number"))
    }

    fn cpuset(&self, object: Node<'_, '_>, attribute: &'static str) -> Result<CpuSet, MachineError> {
        let text = self.attribute(object, attribute)?;
        parse_mask(text).ok_or_else(|| self.value(object, attribute, text, MASK))
    }

    fn value(&self, node: Node<'_, '_>, what: &str, found: &str, accepted: &'static str) -> MachineError {
        let fault = MachineFault::Value { what: what.into(), found: found.into(), accepted };
        fault.at(self.name, self.place(node))
    }

    /// The CPU that an error is about.
    fn place_of(&self, error: &TopologyError) -> Place {
        let cpu = match *error {
            TopologyError::InTwo { cpu, .. }
            | TopologyError::LeftOut { cpu, .. }
            | TopologyError::NotNested { a: cpu, .. } => cpu,
            _ => return Place::default(),
        };
        let is = |o: &Node<'_, '_>| {
            kind(*o) == "PU" && o.attribute("os_index").and_then(|n| n.parse().ok()) == Some(cpu.0)
        };
        self.elements("object").find(is).map_or(Place::default(), |pu| self.place(pu))
    }

    fn place(&self, node: Node<'_, '_>) -> Place {
        let position = self.document.text_pos_at(node.range().start);
        Place { line: position.row, column: position.col }
    }
}

/// What the biggest CPU has.
const CAPACITY_MAX: u32 = 1024;

/// `HWLOC_DISTANCES_KIND_MEANS_LATENCY`.
const KIND_LATENCY: u32 = 1 << 2;

fn kind<'n>(object: Node<'n, '_>) -> &'n str {
    object.attribute("type").unwrap_or("")
}

/// The last-level cache of a CPU is its highest; its second level is a cluster if nothing else is.
fn assign_caches(parts: &mut Parts, mut caches: Vec<(u32, CpuSet)>) {
    caches.sort_by_key(|(level, _)| *level);
    for (level, cpus) in caches {
        for cpu in cpus.iter_and(&parts.online) {
            let neighbours = parts.neighbours.entry(cpu).or_default();
            neighbours.llc = Some(cpus.clone());
            if level == 2 && neighbours.cluster.is_none() {
                neighbours.cluster = Some(cpus.clone());
            }
        }
    }
}
