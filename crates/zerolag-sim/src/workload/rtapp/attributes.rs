// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling attributes and placement of tasks and phases.
//!
//! A task's attributes hold from its start. A phase's hold from the time it is entered until another phase has
//! some of its own: an absent attribute is one that does not change, but for the CPUs, which fall back to the
//! task's.

use zerolag_core::units::Nanos;

use super::error::Problem;
use super::fields::{Failure, Reader, Scope, bad_value, int, word};
use super::spec::{Placement, Policy, Scheduling};
use crate::workload::json::Member;

/// Greatest value of a utilisation clamp.
const UTIL_MAX: u32 = 1024;

/// Priority of real-time tasks that name none.
const PRIORITY_DEFAULT: i32 = 10;

/// Most task groups of a file (`max_nbr_tgs`).
pub(super) const GROUPS_MAX: usize = 32;

/// Attributes that a task begins with (`parse_sched_data()` with a default policy).
pub(super) fn task(reader: &mut Reader, scope: Scope<'_>, default: Policy) -> Result<Scheduling, Failure> {
    let policy = scope.get("policy").map_or(Ok(default), |member| word(member, &Policy::NAMES))?;
    let mut scheduling = common(scope, policy)?;
    scheduling.priority = Some(priority(scope, policy)?.unwrap_or(default_priority(policy)));
    // The keys of old files, where `runtime` was no event yet.
    if scheduling.runtime == Nanos::ZERO {
        scheduling.runtime = micros(scope, "runtime")?.unwrap_or_default();
        if let (true, Some(member)) =
            (scheduling.runtime > Nanos::ZERO && policy.is_fair(), scope.get("runtime"))
        {
            reader.remark(
                member.key_at,
                "runtime: in a task it also sets the slice (as 'dl-runtime' does); in a phase it is only an event",
            );
        }
    }
    if scheduling.period == Nanos::ZERO {
        scheduling.period = micros(scope, "period")?.unwrap_or(scheduling.runtime);
    }
    if scheduling.deadline == Nanos::ZERO {
        scheduling.deadline = micros(scope, "deadline")?.unwrap_or(scheduling.period);
    }
    check_deadline(scope, scheduling)?;
    Ok(scheduling)
}

/// Attributes that change when a phase is entered, if any do; `current` is the policy in force there.
pub(super) fn phase(
    reader: &mut Reader,
    scope: Scope<'_>,
    current: Policy,
) -> Result<Option<Scheduling>, Failure> {
    let named = scope.get("policy").map(|member| word(member, &Policy::NAMES)).transpose()?;
    let policy = named.unwrap_or(current);
    let mut scheduling = common(scope, policy)?;
    scheduling.priority = priority(scope, policy)?.or(named.map(default_priority));
    let changes = scheduling.priority.is_some()
        || scheduling.runtime > Nanos::ZERO
        || scheduling.period > Nanos::ZERO
        || scheduling.deadline > Nanos::ZERO
        || scheduling.util_min.is_some()
        || scheduling.util_max.is_some();
    if let (None, true, Some(member)) = (scheduling.priority, policy.is_fair(), scope.get("dl-runtime")) {
        reader.remark(
            member.key_at,
            "dl-runtime: in a phase without 'priority' or 'policy' rt-app does not set the slice",
        );
    }
    if !changes {
        return Ok(None);
    }
    check_deadline(scope, scheduling)?;
    Ok(Some(scheduling))
}

/// What tasks and phases read alike.
fn common(scope: Scope<'_>, policy: Policy) -> Result<Scheduling, Failure> {
    let runtime = micros(scope, "dl-runtime")?.unwrap_or_default();
    let period = micros(scope, "dl-period")?.unwrap_or(runtime);
    let deadline = micros(scope, "dl-deadline")?.unwrap_or(period);
    let clamp = |key| {
        let Some(member) = scope.get(key) else { return Ok(None) };
        match int(member, scope.mode)? {
            -1 => Ok(None),
            value => match u32::try_from(value) {
                Ok(value @ 0..=UTIL_MAX) => Ok(Some(value)),
                _ => Err(bad_value(member, "0 to 1024, or -1 for no change")),
            },
        }
    };
    let (util_min, util_max) = (clamp("util_min")?, clamp("util_max")?);
    Ok(Scheduling { policy, priority: None, runtime, deadline, period, util_min, util_max })
}

fn default_priority(policy: Policy) -> i32 {
    match policy {
        Policy::RoundRobin | Policy::Fifo => PRIORITY_DEFAULT,
        _ => 0,
    }
}

/// The priority, within the range that its policy allows. rt-app finds out when it applies it, and ends.
fn priority(scope: Scope<'_>, policy: Policy) -> Result<Option<i32>, Failure> {
    let Some(member) = scope.get("priority") else { return Ok(None) };
    let value = int(member, scope.mode)?;
    let (range, accepted) = match policy {
        Policy::Other | Policy::Batch | Policy::Idle => (-20..=19, "nice -20 to 19"),
        Policy::RoundRobin | Policy::Fifo => (1..=99, "1 to 99"),
        Policy::Deadline => return Ok(Some(value)),
    };
    if range.contains(&value) {
        return Ok(Some(value));
    }
    Err(bad_value(member, format!("{accepted} with policy {}", policy.name())))
}

/// A reservation must be possible: the kernel refuses a budget of 0 and one that does not fit in the deadline,
/// or a deadline beyond the period.
fn check_deadline(scope: Scope<'_>, scheduling: Scheduling) -> Result<(), Failure> {
    let Scheduling { policy, runtime, deadline, period, .. } = scheduling;
    let possible = Nanos::ZERO < runtime && runtime <= deadline && deadline <= period;
    if policy != Policy::Deadline || possible {
        return Ok(());
    }
    let us = |span: Nanos| span.0 / 1000;
    let problem = Problem::Value {
        key: "dl-runtime".into(),
        found: format!("{} with dl-deadline {} and dl-period {}", us(runtime), us(deadline), us(period)),
        accepted: "0 < dl-runtime <= dl-deadline <= dl-period".into(),
    };
    Err((scope.get("dl-runtime").map_or(scope.at, |member| member.value.at), problem))
}

fn micros(scope: Scope<'_>, key: &str) -> Result<Option<Nanos>, Failure> {
    Ok(scope.natural(key)?.map(|us| Nanos::from_micros(us.into())))
}

/// Where a task or phase may run.
pub(super) fn placement(scope: Scope<'_>) -> Result<Placement, Failure> {
    Ok(Placement {
        cpus: scope.numbers("cpus")?,
        nodes_membind: scope.numbers("nodes_membind")?,
        taskgroup: scope.get("taskgroup").map(taskgroup).transpose()?.flatten(),
    })
}

/// The path of a group without needless slashes; an empty one is none.
fn taskgroup(member: &Member) -> Result<Option<String>, Failure> {
    let accepted = "a path beginning with '/', or \"\" for none";
    let path = member.value.as_text().ok_or_else(|| bad_value(member, accepted))?;
    if path.is_empty() {
        return Ok(None);
    }
    let below = path.strip_prefix('/').ok_or_else(|| bad_value(member, accepted))?;
    let parts: Vec<_> = below.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err(bad_value(member, "a path without '.' and '..'"));
    }
    Ok(Some(format!("/{}", parts.join("/"))))
}
