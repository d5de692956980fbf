// SPDX-License-Identifier: GPL-2.0-only
//! Who competes with whom: each task and group among its siblings, what share of their weight it has, and what
//! share of their CPU time it got.
//!
//! Only those that always want to run get what their weight says; a task that sleeps lies below.

use std::collections::BTreeMap;

use zerolag_core::units::Nanos;
use zerolag_study::report::rows::ancestors;

use super::collect::Collected;

/// A task or group among its siblings.
pub(crate) struct Competitor {
    pub(crate) name: String,
    /// The group that it is in.
    pub(crate) parent: String,
    /// In units of the nice table.
    pub(crate) weight: u64,
    pub(crate) of_weight: f64,
    pub(crate) of_time: f64,
    pub(crate) ran: Nanos,
}

/// All tasks and groups that ran. In a recording all tasks are siblings unless its context says in which groups
/// they are.
pub(crate) fn competitors(run: &Collected) -> Vec<Competitor> {
    let root = "/".to_owned();
    let mut all = Vec::new();
    let mut groups: BTreeMap<String, Nanos> = BTreeMap::new();
    for (&task, figures) in &run.summary.tasks {
        let group = run.ending.groups.as_ref().and_then(|groups| groups.get(&task)).unwrap_or(&root);
        for path in ancestors(group).skip(1) {
            *groups.entry(path.to_owned()).or_default() += figures.run();
        }
        let (Some(weight), true) = (run.weights.tasks.get(&task), figures.run() > Nanos::ZERO) else {
            continue;
        };
        let names = &run.ending.names;
        all.push(Competitor {
            name: format!("{} {}", names.comm(task), names.pid(task).unwrap_or(0)),
            parent: group.clone(),
            weight: weight.down(),
            of_weight: 0.0,
            of_time: 0.0,
            ran: figures.run(),
        });
    }
    for (path, ran) in groups {
        let Some(weight) = run.weights.groups.get(&path).filter(|_| ran > Nanos::ZERO) else { continue };
        let parent =
            path.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent });
        let (name, parent) = (path.clone(), parent.to_owned());
        all.push(Competitor { name, parent, weight: weight.down(), of_weight: 0.0, of_time: 0.0, ran });
    }
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for c in &all {
        let (weight, ran) = sums.entry(c.parent.clone()).or_default();
        (*weight, *ran) = (*weight + c.weight, *ran + c.ran.0);
    }
    for c in &mut all {
        let (weight, ran) = sums[&c.parent];
        c.of_weight = c.weight as f64 / weight.max(1) as f64;
        c.of_time = c.ran.0 as f64 / ran.max(1) as f64;
    }
    all
}
