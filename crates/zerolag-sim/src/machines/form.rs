// SPDX-License-Identifier: GPL-2.0-only
//! Machines written down in TOML.
//!
//! ```toml
//! cpus = 16                        # how many; needed unless there is a base
//! base = "square-16"               # start from this preset
//! smt = 2                          # threads per core, adjacent CPU numbers
//! smt_split = true                 # first threads of all cores first, then the second threads
//! nodes = 2                        # the cores are divided among so many nodes
//! cluster = 2                      # so many cores share a second-level cache
//! llc = 8                          # so many CPUs share a last-level cache; else all of a node do
//! hierarchy = [12, 20, 32]         # distances: neighbour, group of four, beyond
//! distances = [[10, 21], [21, 10]] # or each by itself: from (row), to
//! cores = ["0,4", "1,5"]           # irregular machines: each core, ... as a list of CPUs
//! clusters = ["0-3"]
//! llcs = ["0-7", "8-15"]           # caches, nodes and packages must have all CPUs
//! node_cpus = ["0-7", "8-15"]
//! packages = ["0-15"]
//! capacity = [{ cpus = "8-15", value = 446 }]
//! offline = "3"
//! ```

use std::fmt::Write;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, IdVec, NodeId};
use zerolag_core::topology::{
    DISTANCE_LOCAL, DISTANCE_REMOTE, Level, Topology, TopologyBuilder, TopologyError,
};

use super::error::{MachineError, MachineFault, Place};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Form {
    base: Option<Spanned<String>>,
    cpus: Option<Spanned<usize>>,
    smt: Option<usize>,
    smt_split: bool,
    nodes: Option<usize>,
    cluster: Option<usize>,
    llc: Option<usize>,
    hierarchy: Option<[u32; 3]>,
    distances: Vec<Spanned<Vec<u32>>>,
    cores: Vec<Spanned<String>>,
    clusters: Vec<Spanned<String>>,
    llcs: Vec<Spanned<String>>,
    node_cpus: Vec<Spanned<String>>,
    packages: Vec<Spanned<String>>,
    capacity: Vec<CapacityOf>,
    offline: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapacityOf {
    cpus: Spanned<String>,
    value: u32,
}

/// The machine that the text describes; `name` is used in errors.
///
/// # Errors
/// If it is not the TOML above, or what it says makes no machine.
pub fn read(name: &str, text: &str) -> Result<Topology, MachineError> {
    let at = |span: Option<Range<usize>>| place(text, span);
    let form: Form = toml::from_str(text).map_err(|e| {
        let message = e.message().trim_end().to_owned();
        MachineFault::Toml(message).at(name, at(e.span()))
    })?;
    let set = |list: &Spanned<String>| {
        list.get_ref().parse::<CpuSet>().map_err(|e| {
            let fault = MachineFault::Value {
                what: "the list of cpus".into(),
                found: e.found,
                accepted: "numbers and ranges as in 0-3,8",
            };
            fault.at(name, at(Some(list.span())))
        })
    };
    let mut builder = TopologyBuilder::new();
    match (&form.base, &form.cpus) {
        (Some(base), _) => {
            builder
                .preset(base.get_ref())
                .map_err(|e| MachineFault::from(e).at(name, at(Some(base.span()))))?;
        }
        (None, None) => {
            return Err(MachineFault::Missing("no 'cpus' in it, and no 'base'").in_file(name));
        }
        (None, Some(_)) => {}
    }
    form.apply_shape(&mut builder);
    for level in LEVELS {
        for list in form.lists(level) {
            builder.set(level, set(list)?);
        }
    }
    for (from, row) in form.distances.iter().enumerate() {
        if row.get_ref().len() != form.distances.len() {
            let what = format!("row {from} of the distances");
            let found = format!("{} long", row.get_ref().len());
            let fault = MachineFault::Value { what, found, accepted: "as many as there are rows" };
            return Err(fault.at(name, at(Some(row.span()))));
        }
        for (to, &distance) in row.get_ref().iter().enumerate() {
            builder.distance_one_way(from, to, distance);
        }
    }
    for capacity in &form.capacity {
        builder.capacity(set(&capacity.cpus)?, capacity.value);
    }
    if let Some(offline) = &form.offline {
        builder.offline(&set(offline)?);
    }
    builder.build().map_err(|e| {
        let place = at(form.span_of(&e));
        MachineFault::from(e).at(name, place)
    })
}

const LEVELS: [Level; 5] = [Level::Core, Level::Cluster, Level::Llc, Level::Node, Level::Package];

impl Form {
    /// The lists of CPUs of a level.
    fn lists(&self, level: Level) -> &[Spanned<String>] {
        match level {
            Level::Core => &self.cores,
            Level::Cluster => &self.clusters,
            Level::Llc => &self.llcs,
            Level::Node => &self.node_cpus,
            Level::Package => &self.packages,
        }
    }

    /// The piece of the text that an error is about, if it is about a single one.
    fn span_of(&self, error: &TopologyError) -> Option<Range<usize>> {
        let has = |list: &Spanned<String>, cpu| {
            list.get_ref().parse::<CpuSet>().is_ok_and(|set: CpuSet| set.contains(cpu))
        };
        let of = |level, cpu| self.lists(level).iter().find(|list| has(list, cpu));
        let list = match *error {
            TopologyError::Empty { level, index } | TopologyError::InTwo { level, second: index, .. } => {
                self.lists(level).get(index)
            }
            TopologyError::LeftOut { level, .. } => self.lists(level).first(),
            TopologyError::NotNested { inner, outer, a, .. } => of(inner, a).or_else(|| of(outer, a)),
            TopologyError::NoSuchCpu { cpu, .. } => {
                let others = self.capacity.iter().map(|c| &c.cpus).chain(&self.offline);
                LEVELS.iter().flat_map(|&level| self.lists(level)).chain(others).find(|list| has(list, cpu))
            }
            TopologyError::Capacity { cpu, .. } => {
                self.capacity.iter().map(|c| &c.cpus).rfind(|list| has(list, cpu))
            }
            TopologyError::AllOffline => self.offline.as_ref(),
            TopologyError::CpuCount { .. } | TopologyError::PartialCore { .. } => {
                return self.cpus.as_ref().map(Spanned::span);
            }
            TopologyError::NoSuchNode { node: row, .. } | TopologyError::Distance { from: row, .. } => {
                return self.distances.get(row).map(Spanned::span);
            }
            _ => None,
        };
        list.map(Spanned::span)
    }

    /// What is said about the regular shape.
    fn apply_shape(&self, builder: &mut TopologyBuilder) {
        if let Some(cpus) = &self.cpus {
            builder.cpus(*cpus.get_ref());
        }
        if let Some(smt) = self.smt {
            builder.smt(smt, self.smt_split);
        }
        if let Some(nodes) = self.nodes {
            builder.nodes(nodes);
        }
        if let Some(cluster) = self.cluster {
            builder.cluster(cluster);
        }
        if let Some(llc) = self.llc {
            builder.llc(llc);
        }
        if let Some(hierarchy) = self.hierarchy {
            builder.hierarchy(hierarchy);
        }
    }
}

/// The text that [`read`] turns into this machine again.
pub fn write(topology: &Topology) -> String {
    let mut text = format!("cpus = {}\n", topology.cpu_count());
    let cores = || topology.cores().iter().map(|(_, cpus)| cpus);
    write_sets(&mut text, "cores", cores().filter(|core| core.len() > 1));
    let is_core = |cluster: &CpuSet| cores().any(|core| core == cluster);
    write_sets(&mut text, "clusters", topology.clusters().iter().map(|(_, s)| s).filter(|s| !is_core(s)));
    write_all(&mut text, "llcs", topology.llcs());
    write_all(&mut text, "node_cpus", topology.nodes());
    write_all(&mut text, "packages", topology.packages());
    write_distances(&mut text, topology);
    let mut capacities: Vec<(u32, CpuSet)> = Vec::new();
    for cpu in topology.cpus() {
        let value = topology.capacity(cpu).0;
        match capacities.iter_mut().find(|(v, _)| *v == value) {
            Some((_, cpus)) => cpus.insert(cpu),
            None => capacities.push((value, CpuSet::single(cpu))),
        }
    }
    if topology.is_asymmetric() || topology.capacity(CpuId(0)).0 != 1024 {
        let one = |(value, cpus): &(u32, CpuSet)| format!("    {{ cpus = \"{cpus}\", value = {value} }},\n");
        text += &format!("capacity = [\n{}]\n", capacities.iter().map(one).collect::<String>());
    }
    let offline = CpuSet::first_n(topology.cpu_count()).and_not(topology.online());
    if !offline.is_empty() {
        text += &format!("offline = \"{offline}\"\n");
    }
    text
}

fn write_all<I: zerolag_core::ids::Id>(text: &mut String, key: &str, sets: &IdVec<I, CpuSet>) {
    write_sets(text, key, sets.iter().map(|(_, set)| set));
}

fn write_sets<'a>(text: &mut String, key: &str, sets: impl Iterator<Item = &'a CpuSet>) {
    let lines: String = sets.map(|set| format!("    \"{set}\",\n")).collect();
    if !lines.is_empty() {
        let _ = write!(text, "{key} = [\n{lines}]\n");
    }
}

fn write_distances(text: &mut String, topology: &Topology) {
    let nodes: Vec<NodeId> = topology.nodes().ids().collect();
    let default = |a, b| if a == b { DISTANCE_LOCAL } else { DISTANCE_REMOTE };
    let is_default = |a: &NodeId| nodes.iter().all(|b| topology.distance(*a, *b) == default(*a, *b));
    if nodes.iter().all(is_default) {
        return;
    }
    *text += "distances = [\n";
    for &from in &nodes {
        let row: Vec<String> = nodes.iter().map(|&to| topology.distance(from, to).to_string()).collect();
        *text += &format!("    [{}],\n", row.join(", "));
    }
    *text += "]\n";
}

/// Line and column of the beginning of a piece of the text.
fn place(text: &str, span: Option<Range<usize>>) -> Place {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return Place::default() };
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
    Place { line, column }
}
