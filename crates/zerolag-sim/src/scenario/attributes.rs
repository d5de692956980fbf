// SPDX-License-Identifier: GPL-2.0-only
//! How tasks are scheduled, as files say it: `cgroup`, `cpus`, `nice`, `policy`, `slice`, `timer_slack`,
//! `latency_nice`.

use zerolag_core::config::Config;
use zerolag_core::latency::{LatencyError, LatencyNice};
use zerolag_core::nice::{Nice, Policy};

use super::error::{Fault, ScenarioError};
use super::section::{Entry, Section};
use crate::workload::{Attributes, Workload};

/// What `policy` may be.
const POLICIES: &str = "normal, batch, idle, fifo:N or rr:N with a priority N from 1 to 99";

/// Reads the attributes of a table. A group that it names must be declared.
pub(crate) fn read(
    section: &Section<'_>,
    config: &Config,
    cpus: usize,
    w: &Workload,
) -> Result<Attributes, ScenarioError> {
    let timer_slack = section.duration("timer_slack")?;
    Ok(Attributes { timer_slack, ..read_changeable(section, config, cpus, w)? })
}

/// Reads those that somebody else can change.
pub(super) fn read_changeable(
    section: &Section<'_>,
    config: &Config,
    cpus: usize,
    w: &Workload,
) -> Result<Attributes, ScenarioError> {
    Ok(Attributes {
        nice: section.integer("nice", -20..=19)?.and_then(Nice::new),
        policy: section.get("policy").map(|e| policy(&e)).transpose()?,
        latency_nice: section.get("latency_nice").map(|e| latency_nice(&e, config)).transpose()?,
        ..read_placement(section, cpus, w)?
    })
}

/// A latency nice level. Where the kernel has none, everybody has 0.
pub(super) fn latency_nice(entry: &Entry<'_>, config: &Config) -> Result<LatencyNice, ScenarioError> {
    let level = entry.integer(-20..=19)?;
    let level = LatencyNice::new(level).expect("levels are from -20 to 19");
    if level != LatencyNice::ZERO && !config.variants.latency_nice {
        let why = LatencyError::NotInKernel { kernel: config.kernel };
        return Err(entry.error(Fault::Sense(format!("'{}': {why}", entry.key))));
    }
    Ok(level)
}

/// Reads those that say where a task is and how long its requests are.
pub(super) fn read_placement(
    section: &Section<'_>,
    cpus: usize,
    w: &Workload,
) -> Result<Attributes, ScenarioError> {
    Ok(Attributes {
        group: section.get("cgroup").map(|e| super::groups::find(&e, w)).transpose()?,
        affinity: section.get("cpus").map(|e| e.cpus(cpus)).transpose()?,
        slice: section.get("slice").map(|e| e.some_time()).transpose()?,
        ..Attributes::default()
    })
}

/// What one does not say is as the other says.
pub(crate) fn fill_in(attributes: &mut Attributes, other: &Attributes) {
    let a = attributes;
    a.nice = a.nice.or(other.nice);
    a.policy = a.policy.or(other.policy);
    a.latency_nice = a.latency_nice.or(other.latency_nice);
    a.slice = a.slice.or(other.slice);
    a.affinity = a.affinity.take().or_else(|| other.affinity.clone());
    a.group = a.group.or(other.group);
    a.timer_slack = a.timer_slack.or(other.timer_slack);
}

fn policy(entry: &Entry<'_>) -> Result<Policy, ScenarioError> {
    let text = entry.text()?;
    let priority = |n: &str| n.parse::<u8>().ok().filter(|p| (1..=99).contains(p));
    let policy = match text.split_once(':') {
        None => match text {
            "normal" | "other" => Some(Policy::Normal),
            "batch" => Some(Policy::Batch),
            "idle" => Some(Policy::Idle),
            _ => None,
        },
        Some(("fifo", n)) => priority(n).map(Policy::Fifo),
        Some(("rr", n)) => priority(n).map(Policy::RoundRobin),
        Some(_) => None,
    };
    policy.ok_or_else(|| entry.wrong_name(POLICIES, ["normal", "other", "batch", "idle", "fifo:", "rr:"]))
}
