// SPDX-License-Identifier: GPL-2.0-only
//! How many tasks of each group are runnable on each memory node, over pieces of time: the figures
//! `PATH on node N at T`, where a scenario asks for them (`runnable_per_node`). `T` is the end of a piece, and
//! the figure the mean over it.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::Sim;
use zerolag_sim::workload::model::Metric;

/// Follows a run; tell it every event, in order.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    piece: Nanos,
    /// Where each task is runnable, and since when.
    at: Vec<Option<(CpuId, Instant)>>,
    spans: Vec<Span>,
}

/// A task was runnable on a CPU.
#[derive(Clone, Copy, Debug)]
struct Span {
    task: TaskId,
    cpu: CpuId,
    from: Instant,
    to: Instant,
}

impl Nodes {
    pub(crate) fn new(piece: Nanos) -> Self {
        Self { piece, at: Vec::new(), spans: Vec::new() }
    }

    pub(crate) fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                self.put(task, Some(target), event.time);
            }
            EventKind::Migrate { task, to, .. } if self.place(task).is_some() => {
                self.put(task, Some(to), event.time);
            }
            EventKind::Switch { prev: Some(task), prev_state, .. } if !prev_state.is_runnable() => {
                self.put(task, None, event.time);
            }
            _ => {}
        }
    }

    fn place(&self, task: TaskId) -> Option<(CpuId, Instant)> {
        self.at.get(task.index()).copied().flatten()
    }

    fn put(&mut self, task: TaskId, cpu: Option<CpuId>, now: Instant) {
        if let Some((cpu, from)) = self.place(task) {
            self.spans.push(Span { task, cpu, from, to: now });
        }
        if task.index() >= self.at.len() {
            self.at.resize(task.index() + 1, None);
        }
        self.at[task.index()] = cpu.map(|cpu| (cpu, now));
    }

    /// The run is over.
    pub(crate) fn finish(mut self, sim: &Sim) -> Vec<Metric> {
        let now = sim.now();
        for task in (0..self.at.len()).map(TaskId::from_index) {
            self.put(task, None, now);
        }
        let topology = sim.scheduler().topology();
        let pieces = (now.0 / self.piece.0) as usize;
        let mut sums: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
        for span in &self.spans {
            let group = sim.scheduler().tasks()[span.task].group;
            let nodes = sums
                .entry(&sim.workload().groups[group].path)
                .or_insert_with(|| vec![vec![0; pieces]; topology.nodes().len()]);
            let node = &mut nodes[topology.node_of(span.cpu).index()];
            let mut from = span.from.0;
            while from < span.to.0 {
                let at = from / self.piece.0;
                let to = span.to.0.min((at + 1) * self.piece.0);
                // What is left of a piece at the end of the run is no piece.
                if let Some(sum) = node.get_mut(at as usize) {
                    *sum += to - from;
                }
                from = to;
            }
        }
        let mut metrics = Vec::new();
        for (path, nodes) in sums {
            for (node, pieces) in nodes.iter().enumerate() {
                for (sum, end) in pieces.iter().zip(1..) {
                    let seconds = (self.piece.0 * end) as f64 / 1e9;
                    let name = format!("{path} on node {node} at {seconds} s");
                    metrics.push(Metric::neutral(name, "tasks", *sum as f64 / self.piece.0 as f64));
                }
            }
        }
        metrics
    }
}

/// What a figure of this kind is of, from its name: group, node, seconds.
pub(crate) fn parse(name: &str) -> Option<(&str, usize, f64)> {
    let (path, rest) = name.split_once(" on node ")?;
    let (node, time) = rest.split_once(" at ")?;
    Some((path, node.parse().ok()?, time.strip_suffix(" s")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_sim::scenario::{Overrides, read};

    /// Two hogs on one node, of which one ends after a second and a half.
    #[test]
    fn tasks_are_counted_where_and_while_they_are_runnable() {
        let text = "machine = \"numa4x48\"\nduration = \"2s\"\n[cgroup.\"/g\"]\n\
                    [[workload]]\nname = \"a\"\ncgroup = \"/g\"\ncpus = \"48\"\nprogram = \"run 1500ms\"\n\
                    [[workload]]\nkind = \"hog\"\nname = \"b\"\ncgroup = \"/g\"\ncpus = \"49\"\n";
        let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = read("t", text.as_bytes(), &Overrides::default(), &files).unwrap();
        let mut sim = scenario.simulate().unwrap();
        let mut nodes = Nodes::new(Nanos::from_secs(1));
        let node = sim.scheduler().topology().node_of(CpuId(48)).index();
        sim.run_until(Instant(scenario.duration.0), &mut |e: &SchedEvent| nodes.event(e));
        let metrics = nodes.finish(&sim);
        assert_eq!(metrics.len(), 8);
        let value = |name: String| metrics.iter().find(|m| m.name == name).unwrap().value;
        assert!((value(format!("/g on node {node} at 1 s")) - 2.0).abs() < 0.001);
        assert!((value(format!("/g on node {node} at 2 s")) - 1.5).abs() < 0.001);
        assert_eq!(metrics.iter().filter(|m| m.value > 0.0).count(), 2);
        assert_eq!(parse("/g on node 3 at 0.5 s"), Some(("/g", 3, 0.5)));
        assert_eq!(parse("/g share"), None);
    }
}
