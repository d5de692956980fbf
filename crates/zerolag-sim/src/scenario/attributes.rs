// SPDX-License-Identifier: GPL-2.0-only
//! How tasks are scheduled, as files say it: `cgroup`, `cpus`, `nice`, `policy`, `slice`, `timer_slack`.

use zerolag_core::nice::{Nice, Policy};

use super::error::ScenarioError;
use super::section::{Entry, Section};
use crate::workload::{Attributes, Workload};

/// What `policy` may be.
const POLICIES: &str = "normal, batch, idle, fifo:N or rr:N with a priority N from 1 to 99";

/// Reads the attributes of a table. A group that it names must be declared.
pub(crate) fn read(section: &Section<'_>, cpus: usize, w: &Workload) -> Result<Attributes, ScenarioError> {
    let timer_slack = section.duration("timer_slack")?;
    Ok(Attributes { timer_slack, ..read_without_slack(section, cpus, w)? })
}

/// Reads those that somebody else can change.
pub(super) fn read_without_slack(
    section: &Section<'_>,
    cpus: usize,
    w: &Workload,
) -> Result<Attributes, ScenarioError> {
    let group = match section.get("cgroup") {
        None => None,
        Some(entry) => Some(super::groups::find(&entry, w)?),
    };
    Ok(Attributes {
        group,
        affinity: section.get("cpus").map(|e| e.cpus(cpus)).transpose()?,
        nice: section.integer("nice", -20..=19)?.and_then(Nice::new),
        policy: section.get("policy").map(|e| policy(&e)).transpose()?,
        slice: section.get("slice").map(|e| e.some_time()).transpose()?,
        timer_slack: None,
    })
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
