// SPDX-License-Identifier: GPL-2.0-only
//! `[[at]]`: what is changed while the machine runs.
//!
//! ```toml
//! [[at]]
//! time = "5s"
//! features = { NEXT_BUDDY = true }
//! tunables = { base_slice = "1ms" }
//! cgroup."/a" = { "cpu.weight" = 200 }   # or any other of a group's files
//! task = [{ match = "hog*", nice = 5 }]
//! offline = "3"                          # CPUs go, or come: online = "3"
//! partitions = ["0-1", "2-3"]            # CPUs are divided anew; isolated = "3"; neither is kept from before
//! frequency = [{ cpus = "0-3", level = 1000 }]   # MHz, of clocks that nobody else governs
//! ```
//!
//! A task none of whose CPUs is left when one goes offline may run anywhere from then on, as in the kernel.
//! Offline CPUs keep their partition for when they come back.

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId};
use zerolag_core::units::Instant;

use super::error::{Fault, ScenarioError};
use super::groups::GroupFiles;
use super::section::Section;
use super::{attributes, groups, setup};
use crate::frequency::Governor;
use crate::pattern::Pattern;
use crate::sim::{Change, Setup, TaskChange};
use crate::workload::{Attributes, Workload};

/// Reads all changes, in the order in which they are written.
pub(super) fn read(
    root: &Section<'_>,
    setup: &Setup,
    w: &Workload,
) -> Result<Vec<(Instant, Change)>, ScenarioError> {
    let (config, cpus) = (&setup.config, setup.topology.cpu_count());
    let mut all = Vec::new();
    let mut online = Online { now: setup.topology.online().clone(), at: Instant::ZERO };
    for section in root.sections("at")? {
        let at = Instant(section.need("time", "when, as in \"5s\"")?.duration()?.0);
        let mut changes = Vec::new();
        let features = setup::features(&section, config.kernel)?.into_iter();
        changes.extend(features.map(|(feature, on)| Change::Feature { feature, on }));
        let tunables = setup::tunables(&section, config.kernel)?.into_iter();
        changes.extend(tunables.map(|(tunable, value)| Change::Tunable { tunable, value }));
        read_groups(&section, config, w, &all, &mut changes)?;
        online.read(&section, at, cpus, &mut changes)?;
        changes.extend(setup::partitions(&section, cpus)?.map(Change::Partitions));
        read_frequencies(&section, setup, &mut changes)?;
        for task in section.sections("task")? {
            read_task(task, config, cpus, w, &mut changes)?;
        }
        if changes.is_empty() {
            let (scope, accepted) = (
                section.scope.clone(),
                "tables of changes; or features, tunables, cgroup, online, offline, partitions, isolated, frequency",
            );
            return Err(section.error(Fault::Missing { key: "task", scope, accepted: accepted.into() }));
        }
        section.finish()?;
        all.extend(changes.into_iter().map(|change| (at, change)));
    }
    check_starts(root, setup, w, &all)?;
    Ok(all)
}

/// A task cannot start where no CPU is online.
fn check_starts(
    root: &Section<'_>,
    setup: &Setup,
    w: &Workload,
    changes: &[(Instant, Change)],
) -> Result<(), ScenarioError> {
    let comes_and_goes = |(at, change): &(Instant, Change)| match change {
        Change::Online { cpu, online } => Some((*at, *cpu, *online)),
        _ => None,
    };
    let steps: Vec<(Instant, CpuId, bool)> = changes.iter().filter_map(comes_and_goes).collect();
    for start in &w.starts {
        let template = &w.templates[start.template];
        let Some(cpus) = &template.attributes.affinity else { continue };
        let mut online = setup.topology.online().clone();
        for &(_, cpu, comes) in steps.iter().filter(|(at, ..)| *at < start.at) {
            if comes { online.insert(cpu) } else { online.remove(cpu) }
        }
        if !cpus.intersects(&online) {
            let name = start.name.as_ref().unwrap_or(&template.name);
            let why = format!(
                "task {name} may only run on CPUs {{{cpus}}}, none of which is online when it starts, at {}",
                start.at
            );
            return Err(root.error(Fault::Sense(why)));
        }
    }
    Ok(())
}

/// Which CPUs are online, as the changes come.
struct Online {
    now: CpuSet,
    at: Instant,
}

impl Online {
    fn read(
        &mut self,
        section: &Section<'_>,
        at: Instant,
        cpus: usize,
        changes: &mut Vec<Change>,
    ) -> Result<(), ScenarioError> {
        for (key, coming) in [("online", true), ("offline", false)] {
            let Some(entry) = section.get(key) else { continue };
            if at < self.at {
                let why = "CPUs come and go in the order of the file: this is earlier than the last time";
                return Err(entry.error(Fault::Sense(why.into())));
            }
            self.at = at;
            let set = entry.cpus(cpus)?;
            if let Some(cpu) = set.iter().find(|&cpu| self.now.contains(cpu) == coming) {
                return Err(entry.error(Fault::Sense(format!("cpu {cpu} is {key} already"))));
            }
            for cpu in set.iter() {
                if coming {
                    self.now.insert(cpu);
                } else {
                    self.now.remove(cpu);
                }
                changes.push(Change::Online { cpu, online: coming });
            }
            if self.now.is_empty() {
                return Err(entry.error(Fault::Sense("the last CPU cannot go offline".into())));
            }
        }
        Ok(())
    }
}

fn read_frequencies(
    section: &Section<'_>,
    setup: &Setup,
    changes: &mut Vec<Change>,
) -> Result<(), ScenarioError> {
    let domains = setup.frequencies.domains();
    for change in section.sections("frequency")? {
        let entry = change.need("cpus", "the CPUs of a clock")?;
        let set = entry.cpus(setup.topology.cpu_count())?;
        let Some(clock) = domains.iter().position(|domain| domain.cpus == set) else {
            let known: Vec<String> = domains.iter().map(|domain| format!("\"{}\"", domain.cpus)).collect();
            let known = if known.is_empty() { "there are none".into() } else { known.join(", ") };
            return Err(entry.wrong(format_args!("the CPUs of a clock that the file declares: {known}")));
        };
        let level = change.need("level", "a frequency in MHz")?;
        if domains[clock].governor != Governor::Fixed {
            let why = format!("the clock of CPUs {set} is governed by {}", domains[clock].governor.name());
            return Err(level.error(Fault::Sense(why)));
        }
        changes.push(Change::Frequency { clock, level: setup::level_of(&level, &domains[clock])? });
        change.finish()?;
    }
    Ok(())
}

fn read_groups(
    section: &Section<'_>,
    config: &Config,
    w: &Workload,
    earlier: &[(Instant, Change)],
    changes: &mut Vec<Change>,
) -> Result<(), ScenarioError> {
    let limit_of = |group: GroupId| {
        let set = earlier.iter().rev().find_map(|(_, change)| match change {
            Change::Bandwidth { group: g, limit } if *g == group => Some(*limit),
            _ => None,
        });
        set.or(w.groups[group].limit)
    };
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
        let GroupFiles { shares, idle, limit, latency_nice } =
            groups::read_files(&files, config, limit_of(group))?;
        files.finish()?;
        changes.extend(idle.map(|idle| Change::Idle { group, idle }));
        changes.extend(shares.map(|shares| Change::Shares { group, shares }));
        changes.extend(limit.map(|limit| Change::Bandwidth { group, limit }));
        changes.extend(latency_nice.map(|level| Change::LatencyNice { group, level }));
    }
    Ok(())
}

fn read_task(
    section: Section<'_>,
    config: &Config,
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
    let Attributes { nice, policy, slice, affinity, group, timer_slack: _, latency_nice } =
        attributes::read_changeable(&section, config, cpus, w)?;
    let before = changes.len();
    let mut add = |change| changes.push(Change::Tasks { pattern: pattern.clone(), change });
    nice.map(TaskChange::Nice).into_iter().for_each(&mut add);
    policy.map(TaskChange::Policy).into_iter().for_each(&mut add);
    slice.map(|s| TaskChange::Slice(Some(s))).into_iter().for_each(&mut add);
    latency_nice.map(TaskChange::LatencyNice).into_iter().for_each(&mut add);
    affinity.map(TaskChange::Affinity).into_iter().for_each(&mut add);
    group.map(TaskChange::Group).into_iter().for_each(&mut add);
    if changes.len() == before {
        let (scope, accepted) =
            (section.scope.clone(), "a level; or policy, slice, latency_nice, cpus, cgroup".into());
        return Err(section.error(Fault::Missing { key: "nice", scope, accepted }));
    }
    section.finish()
}
