// SPDX-License-Identifier: GPL-2.0-only
//! What is known of a recording beside it, from a context file: groups and their weights, tasks' groups, nice
//! levels and CPUs.

use std::collections::BTreeMap;
use std::path::Path;

use zerolag_core::cpu_set::{CPUS_MAX, CpuSet};
use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{GroupId, Id, TaskId};
use zerolag_core::nice::{Nice, Policy, WEIGHT_IDLE};
use zerolag_core::units::Weight;
use zerolag_sim::replay::Context;
use zerolag_sim::scenario::Overrides;
use zerolag_study::replay::{ContextFile, recorded};
use zerolag_trace::TaskTable;
use zerolag_trace::tasks::TaskInfo;

use crate::args::high::Source;
use crate::failure::Failure;

/// Opens a context file.
pub(crate) fn open(path: &Path) -> Result<ContextFile, Failure> {
    let source = Source::new(path);
    Ok(ContextFile::new(source.to_string(), source.read()?, path))
}

/// The weight of a task whose kernel priority a recording shows, if it is a fair one.
pub(crate) fn recorded_weight(info: &TaskInfo) -> Option<Weight> {
    let nice = info.prio.and_then(|prio| Nice::new(i64::from(prio) - 120));
    nice.map(|nice| nice.load().weight)
}

/// A context, asked about the tasks of a recording.
#[derive(Debug)]
pub(crate) struct Beside(Context);

impl Beside {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        open(path)?.read(&Overrides::default(), CPUS_MAX).map(Self).map_err(Failure::input)
    }

    /// The path of each task's group.
    pub(crate) fn groups(&self, names: &TaskTable) -> BTreeMap<TaskId, String> {
        let path = |(task, info): (TaskId, &TaskInfo)| {
            let group = self.0.of(&recorded(info)).group.unwrap_or(GroupId::ROOT);
            (task, self.0.groups[group].path.clone())
        };
        names.iter().map(path).collect()
    }

    /// The CPUs that a task may use, if that is said.
    pub(crate) fn affinity(&self, info: &TaskInfo) -> Option<CpuSet> {
        self.0.of(&recorded(info)).affinity
    }

    /// The weight of each group, by its path.
    pub(crate) fn weights(&self) -> BTreeMap<String, Weight> {
        let weight = |idle, shares: Weight| if idle { Weight::from_table(WEIGHT_IDLE) } else { shares };
        self.0.groups.iter().map(|(_, g)| (g.path.clone(), weight(g.idle, g.shares.weight()))).collect()
    }

    /// The weight of a task by its policy and nice level: what the context says of them, else the recording.
    pub(crate) fn weight(&self, info: &TaskInfo) -> Option<Weight> {
        let said = self.0.of(&recorded(info));
        match said.policy {
            Some(policy) if !policy.is_fair() => None,
            Some(Policy::Idle) => Some(Weight::from_table(WEIGHT_IDLE)),
            _ => said.nice.map_or_else(|| recorded_weight(info), |nice| Some(nice.load().weight)),
        }
    }
}

/// Which CPUs tasks may use, told anew whenever a task appears or takes another name.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// By task, the name under which it was looked up.
    looked_up: Vec<String>,
}

impl Bindings {
    /// The task of an event that was not looked up yet, and the CPUs that it may use; none = all.
    pub(crate) fn news(
        &mut self,
        event: &SchedEvent,
        names: &TaskTable,
        beside: &Beside,
    ) -> Option<(TaskId, Option<CpuSet>)> {
        let task = match event.kind {
            EventKind::Switch { next, .. } => next?,
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => task,
            _ => return None,
        };
        let info = names.get(task)?;
        if self.looked_up.len() <= task.index() {
            self.looked_up.resize(task.index() + 1, String::new());
        }
        let known = &mut self.looked_up[task.index()];
        if *known == info.comm {
            return None;
        }
        known.clone_from(&info.comm);
        Some((task, beside.affinity(info)))
    }
}
