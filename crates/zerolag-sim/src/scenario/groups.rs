// SPDX-License-Identifier: GPL-2.0-only
//! The cgroup tree: `[cgroup."/path"]` with the files of the cpu controller as keys.
//!
//! Groups above a path exist too, with default weight. Since a group is named by its path, it cannot be within
//! itself.

use zerolag_core::config::Config;
use zerolag_core::fair::bandwidth::Bandwidth;
use zerolag_core::group::Shares;
use zerolag_core::ids::GroupId;
use zerolag_core::kernel::Kernel;
use zerolag_core::latency::LatencyNice;
use zerolag_core::units::Nanos;

use super::attributes;
use super::error::{Fault, ScenarioError};
use super::section::{Entry, Section};
use crate::workload::{Limit, Workload};

/// Reads all groups.
pub(crate) fn read(
    root: &Section<'_>,
    config: &Config,
    workload: &mut Workload,
) -> Result<(), ScenarioError> {
    let Some(tree) = root.get("cgroup") else { return Ok(()) };
    for entry in tree.table("cgroup")?.entries() {
        let section = entry.table(format!("cgroup \"{}\"", entry.key))?;
        let group = declare(&entry, workload)?;
        let files = read_files(&section, config, None)?;
        section.finish()?;
        if group == GroupId::ROOT && files != GroupFiles::default() {
            return Err(entry.error(Fault::Value {
                key: entry.key.into(),
                found: "the root group with a weight".into(),
                accepted: "weights of other groups: the root group has none".into(),
                nearest: None,
            }));
        }
        let spec = &mut workload.groups[group];
        spec.shares = files.shares.unwrap_or(spec.shares);
        spec.idle |= files.idle == Some(true);
        spec.limit = files.limit;
        spec.latency_nice = files.latency_nice.unwrap_or_default();
    }
    Ok(())
}

/// What a group's files say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupFiles {
    pub(super) shares: Option<Shares>,
    pub(super) idle: Option<bool>,
    pub(super) limit: Option<Limit>,
    pub(super) latency_nice: Option<LatencyNice>,
}

/// Reads the files of a group, whose limit was `before`.
pub(super) fn read_files(
    section: &Section<'_>,
    config: &Config,
    before: Option<Limit>,
) -> Result<GroupFiles, ScenarioError> {
    let weight = section.integer("cpu.weight", 1..=10_000)?;
    let shares = section.integer("cpu.shares", 2..=1 << 18)?;
    if weight.is_some() && shares.is_some() {
        let scope = section.scope.clone();
        return Err(section.error(Fault::Both { scope, first: "cpu.weight", second: "cpu.shares" }));
    }
    let limit = read_limit(section, config, before)?;
    let latency_nice = section.get("cpu.latency.nice");
    let latency_nice = latency_nice.map(|e| attributes::latency_nice(&e, config)).transpose()?;
    let idle = section.integer("cpu.idle", 0..=1)?.map(|i| i == 1);
    let shares = weight
        .and_then(|w| Shares::from_weight(w as u64))
        .or_else(|| shares.map(|s| Shares::clamped(s as u64)));
    Ok(GroupFiles { shares, idle, limit, latency_nice })
}

/// `cpu.max`: microseconds of CPU time, or `max`, in each so many microseconds. What is not said stays as it was
/// before, as when one of the files is written.
fn read_limit(
    section: &Section<'_>,
    config: &Config,
    before: Option<Limit>,
) -> Result<Option<Limit>, ScenarioError> {
    let (entry, burst) = (section.get("cpu.max"), section.get("cpu.max.burst"));
    let Some(first) = entry.as_ref().or(burst.as_ref()) else { return Ok(None) };
    if config.variants.bandwidth.is_none() {
        let limits = |k: &Kernel| k.config(1).is_some_and(|c| c.variants.bandwidth.is_some());
        let having: Vec<&str> = Kernel::ALL.into_iter().filter(limits).map(Kernel::name).collect();
        let why =
            format!("here Linux {} has no CFS bandwidth; these have: {}", config.kernel, having.join(", "));
        return Err(first.error(Fault::Sense(format!("'{}': {why}", first.key))));
    }
    let mut limit = match (before, &entry) {
        (Some(limit), _) => limit,
        (None, Some(_)) => Limit { quota: None, period: Bandwidth::PERIOD_DEFAULT, burst: Nanos::ZERO },
        (None, None) => return Err(first.error(Fault::Sense("'cpu.max.burst' without 'cpu.max'".into()))),
    };
    let accepted = "\"QUOTA PERIOD\" in microseconds, as in \"25000 100000\", or \"max\"";
    if let Some(entry) = &entry {
        let words: Vec<&str> = entry.text()?.split_whitespace().collect();
        let micros = |word: &str| {
            word.parse::<u64>().ok().map(Nanos::from_micros).ok_or_else(|| entry.wrong(accepted))
        };
        let (quota, period) = match words.as_slice() {
            [quota] => (*quota, limit.period),
            [quota, period] => (*quota, micros(period)?),
            _ => return Err(entry.wrong(accepted)),
        };
        limit.period = period;
        limit.quota = if quota == "max" { None } else { Some(micros(quota)?) };
    }
    if let Some(burst) = &burst {
        limit.burst = Nanos::from_micros(burst.integer(0..=i64::from(u32::MAX))? as u64);
    }
    Bandwidth::check(limit.quota, limit.period, limit.burst)
        .map_err(|e| first.wrong(format_args!("{accepted}; {e}")))?;
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
