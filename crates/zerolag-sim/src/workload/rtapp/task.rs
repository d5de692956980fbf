// SPDX-License-Identifier: GPL-2.0-only
//! Tasks and their phases.

use zerolag_core::units::Nanos;

use super::error::Problem;
use super::events::{self, Owner};
use super::fields::{Failure, Reader, Scope, bad_value, int};
use super::spec::{Phase, Placement, Policy, Repeat, Scheduling, Task};
use super::{Mode, attributes, keys};
use crate::workload::json::{Member, Object};

/// Most threads that a file may create at start.
pub(super) const THREADS_MAX: u64 = 100_000;

/// Reads `tasks`, of which each name may come once.
pub(super) fn read_all(reader: &mut Reader, tasks: Scope<'_>, default: Policy) -> Result<Vec<Task>, Failure> {
    let mut read: Vec<Task> = Vec::with_capacity(tasks.members.len());
    let mut names = std::collections::BTreeMap::new();
    for member in tasks.members {
        if let Some(first) = names.insert(member.key.as_str(), member.key_at) {
            let problem = Problem::Duplicate { key: member.key.clone(), scope: tasks.name.into(), first };
            return Err((member.key_at, problem));
        }
        read.push(task(reader, member, default)?);
        let threads: u64 = read.iter().map(|task| u64::from(task.instances)).sum();
        if threads > THREADS_MAX {
            let problem = Problem::TooMany { what: "threads", count: threads, max: THREADS_MAX };
            return Err((member.key_at, problem));
        }
    }
    Ok(read)
}

/// Reads a thread object (`parse_task_data()`).
fn task(reader: &mut Reader, member: &Member, default: Policy) -> Result<Task, Failure> {
    let name = format!("task '{}'", member.key);
    let members = member.value.as_object().ok_or_else(|| bad_value(member, "an object"))?;
    let scope = Scope { members, at: member.key_at, name: &name, mode: reader.mode };
    let phases_member = scope.get("phases");
    if let (Some(_), Mode::Strict) = (phases_member, reader.mode) {
        refuse_events(scope)?;
    }
    scope.check_keys(&[keys::TASK, keys::PHASE], phases_member.is_none())?;

    let scheduling = attributes::task(reader, scope, default)?;
    let placement = placement(reader, scope)?;
    let delay = Nanos::from_micros(scope.natural("delay")?.unwrap_or(0).into());
    let instances = scope.natural("instance")?.unwrap_or(1);
    let mut owner = Owner { name: &member.key, own_timers: Vec::new() };
    let mut context = Context { policy: scheduling.policy, group: placement.taskgroup.clone() };
    let (repeat, phases) = match phases_member {
        Some(phases) => {
            let objects = phases.value.as_object().filter(|phases| !phases.is_empty());
            let objects = objects.ok_or_else(|| bad_value(phases, "an object of at least one phase"))?;
            context.check(scope, None)?;
            let phases = several_phases(reader, objects, &mut owner, &mut context)?;
            // Without end by default. Any negative number is never reached by counting up.
            let repeat = match scope.get("loop") {
                Some(member) => repeat(member, reader.mode, Repeat::Times(0))?,
                None => Repeat::Forever,
            };
            (repeat, phases)
        }
        None => {
            let phase = only_phase(reader, scope, &mut owner)?;
            context.check(scope, None)?;
            // Its loop is the phase's, which is gone through once.
            let repeat = if scope.get("loop").is_some() { Repeat::Times(1) } else { Repeat::Forever };
            (repeat, vec![phase])
        }
    };
    Ok(Task {
        name: member.key.clone(),
        at: member.key_at,
        instances,
        delay,
        repeat,
        scheduling,
        placement,
        phases,
        own_timers: owner.own_timers,
    })
}

/// Where a task or phase may run; counts the groups.
fn placement(reader: &mut Reader, scope: Scope<'_>) -> Result<Placement, Failure> {
    let placement = attributes::placement(scope)?;
    if let Some(group) = &placement.taskgroup {
        reader.groups.insert(group.clone());
        let (count, max) = (reader.groups.len(), attributes::GROUPS_MAX);
        if count > max {
            let problem = Problem::TooMany { what: "task groups", count: count as u64, max: max as u64 };
            return Err((scope.at, problem));
        }
    }
    Ok(placement)
}

/// Events beside phases are not even looked at by rt-app. `runtime` may stand there: it is an attribute.
fn refuse_events(scope: Scope<'_>) -> Result<(), Failure> {
    let is_attribute = |key: &str| key == "runtime" || keys::GLOBAL.contains(&key);
    let stray =
        scope.members.iter().find(|member| keys::event(&member.key).is_some() && !is_attribute(&member.key));
    stray.map_or(Ok(()), |member| {
        let problem = Problem::EventBesidePhases { key: member.key.clone(), scope: scope.name.into() };
        Err((member.key_at, problem))
    })
}

/// Policy and group in force while phases are read in order. A group needs a fair policy
/// (`check_taskgroup_policy_dep()`).
struct Context {
    policy: Policy,
    group: Option<String>,
}

impl Context {
    fn check(&mut self, scope: Scope<'_>, phase: Option<&Phase>) -> Result<(), Failure> {
        if let Some(phase) = phase {
            self.policy = phase.scheduling.map_or(self.policy, |change| change.policy);
            self.group = phase.placement.taskgroup.clone().or_else(|| self.group.take());
        }
        match &self.group {
            Some(group) if !self.policy.is_fair() => {
                let (scope_name, policy) = (scope.name.to_string(), self.policy.name());
                Err((scope.at, Problem::GroupPolicy { scope: scope_name, group: group.clone(), policy }))
            }
            _ => Ok(()),
        }
    }
}

fn several_phases(
    reader: &mut Reader,
    objects: &Object,
    owner: &mut Owner<'_>,
    context: &mut Context,
) -> Result<Vec<Phase>, Failure> {
    let mut phases = Vec::with_capacity(objects.len());
    for member in objects {
        let name = format!("phase '{}' of task '{}'", member.key, owner.name);
        let members = member.value.as_object().ok_or_else(|| bad_value(member, "an object"))?;
        let scope = Scope { members, at: member.key_at, name: &name, mode: reader.mode };
        scope.check_keys(&[keys::PHASE], true)?;
        let phase = Phase {
            name: member.key.clone(),
            repeat: phase_repeat(reader, scope)?,
            scheduling: attributes::phase(reader, scope, context.policy)?,
            placement: placement(reader, scope)?,
            events: events::read(reader, scope, owner)?,
        };
        context.check(scope, Some(&phase))?;
        phases.push(phase);
    }
    Ok(phases)
}

/// The events of a task without `phases`. Attributes and placement are the task's.
fn only_phase(reader: &mut Reader, scope: Scope<'_>, owner: &mut Owner<'_>) -> Result<Phase, Failure> {
    let none: Option<Scheduling> = None;
    Ok(Phase {
        name: String::new(),
        repeat: phase_repeat(reader, scope)?,
        scheduling: none,
        placement: Placement::default(),
        events: events::read(reader, scope, owner)?,
    })
}

/// A phase's loop: once by default. 0 is never reached by counting up from 1, so it means without end, too.
fn phase_repeat(reader: &mut Reader, scope: Scope<'_>) -> Result<Repeat, Failure> {
    let Some(member) = scope.get("loop") else { return Ok(Repeat::Times(1)) };
    if member.value.as_int() == Some(0) {
        reader.remark(member.key_at, "loop: 0 means without end here, as -1 does");
    }
    repeat(member, reader.mode, Repeat::Forever)
}

fn repeat(member: &Member, mode: Mode, zero: Repeat) -> Result<Repeat, Failure> {
    match int(member, mode)? {
        0 => Ok(zero),
        times @ 1.. => Ok(Repeat::Times(times.unsigned_abs())),
        -1 => Ok(Repeat::Forever),
        _ if mode == Mode::Compatible => Ok(Repeat::Forever),
        _ => Err(bad_value(member, "a number of times, or -1 for without end")),
    }
}
