// SPDX-License-Identifier: GPL-2.0-only
//! `[[at]]`: what is changed while the machine runs.
//!
//! ```toml
//! [[at]]
//! time = "5s"
//! features = { NEXT_BUDDY = true }
//! tunables = { base_slice = "1ms" }
//! cgroup."/a" = { "cpu.weight" = 200 }
//! task = [{ match = "hog*", nice = 5 }]
//! ```

use zerolag_core::config::Config;
use zerolag_core::ids::GroupId;
use zerolag_core::units::Instant;

use super::error::{Fault, ScenarioError};
use super::section::Section;
use super::{attributes, groups, setup};
use crate::pattern::Pattern;
use crate::sim::{Change, TaskChange};
use crate::workload::{Attributes, Workload};

/// Reads all changes, in the order in which they are written.
pub(super) fn read(
    root: &Section<'_>,
    config: &Config,
    cpus: usize,
    w: &Workload,
) -> Result<Vec<(Instant, Change)>, ScenarioError> {
    let mut all = Vec::new();
    for section in root.sections("at")? {
        let at = Instant(section.need("time", "when, as in \"5s\"")?.duration()?.0);
        let mut changes = Vec::new();
        let features = setup::features(&section, config.kernel)?.into_iter();
        changes.extend(features.map(|(feature, on)| Change::Feature { feature, on }));
        let tunables = setup::tunables(&section, config.policy)?.into_iter();
        changes.extend(tunables.map(|(tunable, value)| Change::Tunable { tunable, value }));
        read_groups(&section, w, &mut changes)?;
        for task in section.sections("task")? {
            read_task(task, cpus, w, &mut changes)?;
        }
        if changes.is_empty() {
            let (scope, accepted) =
                (section.scope.clone(), "tables of changes; or features, tunables, cgroup");
            return Err(section.error(Fault::Missing { key: "task", scope, accepted: accepted.into() }));
        }
        section.finish()?;
        all.extend(changes.into_iter().map(|change| (at, change)));
    }
    Ok(all)
}

fn read_groups(section: &Section<'_>, w: &Workload, changes: &mut Vec<Change>) -> Result<(), ScenarioError> {
    let Some(tree) = section.get("cgroup") else { return Ok(()) };
    for entry in tree.table("cgroup")?.entries() {
        let known = w.group_by_path(entry.key).filter(|&g| g != GroupId::ROOT);
        let group = known.ok_or_else(|| {
            let paths: Vec<&str> = w.groups.iter().map(|(_, g)| g.path.as_str()).skip(1).collect();
            entry.error(Fault::UnknownKey {
                key: entry.key.into(),
                scope: "declared groups".into(),
                nearest: super::error::nearest(entry.key, paths.iter().copied()),
                accepted: paths.join(", "),
            })
        })?;
        let files = entry.table(format!("cgroup \"{}\"", entry.key))?;
        let weight = groups::read_weight(&files)?;
        files.finish()?;
        changes.extend(weight.idle.map(|idle| Change::Idle { group, idle }));
        changes.extend(weight.shares.map(|shares| Change::Shares { group, shares }));
        changes.extend(weight.limit.map(|limit| Change::Bandwidth { group, limit }));
    }
    Ok(())
}

fn read_task(
    section: Section<'_>,
    cpus: usize,
    w: &Workload,
    changes: &mut Vec<Change>,
) -> Result<(), ScenarioError> {
    let entry = section.need("match", "names of tasks, as in \"hog*\"")?;
    let pattern = Pattern::new(entry.text()?);
    let known = w.templates.iter().map(|(_, t)| t.name.as_str());
    let started = w.starts.iter().filter_map(|s| s.name.as_deref());
    let names: Vec<&str> = known.chain(started).collect();
    if !names.iter().any(|name| pattern.matches(name)) {
        return Err(entry.wrong_name("names of tasks that exist, * standing for anything", names));
    }
    // `None`, not "default": a slice can be changed but not taken back by a file.
    let Attributes { nice, policy, slice, affinity, group, timer_slack: _, latency_nice: _ } =
        attributes::read_changeable(&section, cpus, w)?;
    let before = changes.len();
    let mut add = |change| changes.push(Change::Tasks { pattern: pattern.clone(), change });
    nice.map(TaskChange::Nice).into_iter().for_each(&mut add);
    policy.map(TaskChange::Policy).into_iter().for_each(&mut add);
    slice.map(|s| TaskChange::Slice(Some(s))).into_iter().for_each(&mut add);
    affinity.map(TaskChange::Affinity).into_iter().for_each(&mut add);
    group.map(TaskChange::Group).into_iter().for_each(&mut add);
    if changes.len() == before {
        let (scope, accepted) = (section.scope.clone(), "a level; or policy, slice, cpus, cgroup".into());
        return Err(section.error(Fault::Missing { key: "nice", scope, accepted }));
    }
    section.finish()
}
