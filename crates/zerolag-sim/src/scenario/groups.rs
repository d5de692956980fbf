// SPDX-License-Identifier: GPL-2.0-only
//! The cgroup tree: `[cgroup."/path"]` with the files of the cpu controller as keys.
//!
//! Groups above a path exist too, with default weight. Since a group is named by its path, it cannot be within
//! itself.

use zerolag_core::fair::bandwidth::Bandwidth;
use zerolag_core::group::Shares;
use zerolag_core::ids::GroupId;
use zerolag_core::units::Nanos;

use super::error::{Fault, ScenarioError};
use super::section::{Entry, Section};
use crate::workload::{Limit, Workload};

/// Reads all groups.
pub(crate) fn read(root: &Section<'_>, workload: &mut Workload) -> Result<(), ScenarioError> {
    let Some(tree) = root.get("cgroup") else { return Ok(()) };
    for entry in tree.table("cgroup")?.entries() {
        let section = entry.table(format!("cgroup \"{}\"", entry.key))?;
        let group = declare(&entry, workload)?;
        let weight = read_weight(&section)?;
        section.finish()?;
        if group == GroupId::ROOT && weight != Weight::default() {
            return Err(entry.error(Fault::Value {
                key: entry.key.into(),
                found: "the root group with a weight".into(),
                accepted: "weights of other groups: the root group has none".into(),
                nearest: None,
            }));
        }
        if let Some(shares) = weight.shares {
            workload.groups[group].shares = shares;
        }
        workload.groups[group].idle |= weight.idle == Some(true);
        workload.groups[group].limit = weight.limit;
    }
    Ok(())
}

/// What a group's files say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) shares: Option<Shares>,
    pub(crate) idle: Option<bool>,
    pub(crate) limit: Option<Limit>,
}

/// Reads the files of a group.
pub(crate) fn read_weight(section: &Section<'_>) -> Result<Weight, ScenarioError> {
    let weight = section.integer("cpu.weight", 1..=10_000)?;
    let shares = section.integer("cpu.shares", 2..=1 << 18)?;
    if weight.is_some() && shares.is_some() {
        let scope = section.scope.clone();
        return Err(section.error(Fault::Both { scope, first: "cpu.weight", second: "cpu.shares" }));
    }
    let limit = read_limit(section)?;
    let idle = section.integer("cpu.idle", 0..=1)?.map(|i| i == 1);
    let shares = weight
        .and_then(|w| Shares::from_weight(w as u64))
        .or_else(|| shares.map(|s| Shares::clamped(s as u64)));
    Ok(Weight { shares, idle, limit })
}

/// `cpu.max`: microseconds of CPU time, or `max`, in each so many microseconds, else 100000.
fn read_limit(section: &Section<'_>) -> Result<Option<Limit>, ScenarioError> {
    let burst = section.integer("cpu.max.burst", 0..=i64::from(u32::MAX))?.unwrap_or(0) as u64;
    let Some(entry) = section.get("cpu.max") else { return Ok(None) };
    let accepted = "\"QUOTA PERIOD\" in microseconds, as in \"25000 100000\", or \"max\"";
    let words: Vec<&str> = entry.text()?.split_whitespace().collect();
    let micros =
        |word: &str| word.parse::<u64>().ok().map(Nanos::from_micros).ok_or_else(|| entry.wrong(accepted));
    let (quota, period) = match words.as_slice() {
        [quota] => (*quota, Bandwidth::PERIOD_DEFAULT),
        [quota, period] => (*quota, micros(period)?),
        _ => return Err(entry.wrong(accepted)),
    };
    let quota = if quota == "max" { None } else { Some(micros(quota)?) };
    let limit = Limit { quota, period, burst: Nanos::from_micros(burst) };
    Bandwidth::check(limit.quota, limit.period, limit.burst)
        .map_err(|e| entry.wrong(format_args!("{accepted}; {e}")))?;
    Ok(Some(limit))
}

/// The group whose path is the entry's key, made if need be.
fn declare(entry: &Entry<'_>, workload: &mut Workload) -> Result<GroupId, ScenarioError> {
    let path = entry.key;
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let is_path = path == "/" || path.starts_with('/') && parts.iter().all(|p| !p.is_empty());
    if !is_path || parts.iter().any(|&p| p == "." || p == "..") {
        return Err(entry.error(Fault::Value {
            key: "cgroup".into(),
            found: format!("'{path}'"),
            accepted: "paths from the root group, as in \"/a/b\"".into(),
            nearest: None,
        }));
    }
    Ok(workload.group(path))
}

/// The declared group that the entry's value names.
pub(crate) fn find(entry: &Entry<'_>, workload: &Workload) -> Result<GroupId, ScenarioError> {
    let path = entry.text()?;
    workload.group_by_path(path).ok_or_else(|| {
        let paths: Vec<&str> = workload.groups.iter().map(|(_, g)| g.path.as_str()).collect();
        let accepted = format!("a group declared by [cgroup.\"/path\"]: {}", paths.join(", "));
        entry.wrong_name(accepted, paths)
    })
}
