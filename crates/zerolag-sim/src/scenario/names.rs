// SPDX-License-Identifier: GPL-2.0-only
//! What a scenario's programs share, by name: `[barrier.NAME]`, `[semaphore.NAME]` and so on.
//!
//! Mutexes, conditions, rosters and timers exist once they are used. So do the others with default values,
//! unless they are declared; a barrier must be, since nobody can guess for how many it is.

use std::collections::BTreeMap;

use zerolag_core::ids::{Id, IdVec};

use super::error::{Fault, ScenarioError, nearest};
use super::section::Section;
use crate::resource::{
    BarrierId, BarrierSpec, ChannelId, ChannelSpec, ConditionId, DeviceId, DeviceSpec, MutexId, Named,
    RosterId, SemaphoreId, SemaphoreSpec, SpinLockId, SpinLockSpec, TimerId,
};
use crate::workload::{TemplateId, Workload};

/// How much a pipe holds unless told otherwise (16 pages).
const PIPE_BYTES: u32 = 65_536;
/// A device serves no more at a time.
const LANES_MAX: i64 = 4096;

/// Names and what they stand for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) templates: BTreeMap<String, TemplateId>,
    mutexes: BTreeMap<String, MutexId>,
    conditions: BTreeMap<String, ConditionId>,
    barriers: BTreeMap<String, BarrierId>,
    semaphores: BTreeMap<String, SemaphoreId>,
    channels: BTreeMap<String, ChannelId>,
    spin_locks: BTreeMap<String, SpinLockId>,
    rosters: BTreeMap<String, RosterId>,
    devices: BTreeMap<String, DeviceId>,
    timers: BTreeMap<String, TimerId>,
}

impl Names {
    /// Reads the declarations.
    pub(crate) fn declare(&mut self, root: &Section<'_>, w: &mut Workload) -> Result<(), ScenarioError> {
        for (name, s) in declared(root, "barrier")? {
            let accepted = "how many tasks it waits for, from 1";
            let parties = s.need("parties", accepted)?.integer(1..=i64::from(u32::MAX))? as u32;
            s.finish()?;
            self.barriers.insert(name.clone(), w.barriers.push(BarrierSpec { name, parties }));
        }
        for (name, s) in declared(root, "semaphore")? {
            let max = s.integer("max", 1..=i64::from(u32::MAX))?.map_or(u32::MAX, |n| n as u32);
            let initial = s.integer("initial", 0..=i64::from(max))?.unwrap_or(0) as u32;
            s.finish()?;
            self.semaphores.insert(name.clone(), w.semaphores.push(SemaphoreSpec { name, initial, max }));
        }
        for (name, s) in declared(root, "channel")? {
            let capacity = s.integer("capacity", 1..=1 << 30)?.map_or(PIPE_BYTES, |n| n as u32);
            let most = i64::from(capacity) - 1;
            let overhead = s.integer("overhead", 0..=most)?.unwrap_or(0) as u32;
            let refill_below = s.integer("refill_below", 0..=most)?.unwrap_or(most) as u32;
            s.finish()?;
            let spec = ChannelSpec { name: name.clone(), capacity, overhead, refill_below };
            self.channels.insert(name, w.channels.push(spec));
        }
        for (name, s) in declared(root, "spinlock")? {
            let per_cpu = s.boolean("per_cpu")?.unwrap_or(false);
            s.finish()?;
            self.spin_locks.insert(name.clone(), w.spin_locks.push(SpinLockSpec { name, per_cpu }));
        }
        for (name, s) in declared(root, "device")? {
            let lanes = s.integer("lanes", 1..=LANES_MAX)?.unwrap_or(1) as u32;
            s.finish()?;
            self.devices.insert(name.clone(), w.devices.push(DeviceSpec { name, lanes }));
        }
        Ok(())
    }

    pub(super) fn mutex(&mut self, name: &str, w: &mut Workload) -> MutexId {
        found_or_made(&mut self.mutexes, name, &mut w.mutexes, |name| Named { name })
    }

    pub(super) fn condition(&mut self, name: &str, w: &mut Workload) -> ConditionId {
        found_or_made(&mut self.conditions, name, &mut w.conditions, |name| Named { name })
    }

    pub(super) fn roster(&mut self, name: &str, w: &mut Workload) -> RosterId {
        found_or_made(&mut self.rosters, name, &mut w.rosters, |name| Named { name })
    }

    pub(super) fn timer(&mut self, name: &str, w: &mut Workload) -> TimerId {
        found_or_made(&mut self.timers, name, &mut w.timers, |name| Named { name })
    }

    pub(super) fn semaphore(&mut self, name: &str, w: &mut Workload) -> SemaphoreId {
        let spec = |name| SemaphoreSpec { name, initial: 0, max: u32::MAX };
        found_or_made(&mut self.semaphores, name, &mut w.semaphores, spec)
    }

    pub(super) fn channel(&mut self, name: &str, w: &mut Workload) -> ChannelId {
        let spec =
            |name| ChannelSpec { name, capacity: PIPE_BYTES, overhead: 0, refill_below: PIPE_BYTES - 1 };
        found_or_made(&mut self.channels, name, &mut w.channels, spec)
    }

    pub(super) fn spin_lock(&mut self, name: &str, w: &mut Workload) -> SpinLockId {
        let spec = |name| SpinLockSpec { name, per_cpu: false };
        found_or_made(&mut self.spin_locks, name, &mut w.spin_locks, spec)
    }

    pub(super) fn device(&mut self, name: &str, w: &mut Workload) -> DeviceId {
        found_or_made(&mut self.devices, name, &mut w.devices, |name| DeviceSpec { name, lanes: 1 })
    }

    pub(super) fn barrier(&self, name: &str) -> Result<BarrierId, Fault> {
        known(&self.barriers, name, "a barrier declared by [barrier.NAME]")
    }

    pub(super) fn template(&self, name: &str) -> Result<TemplateId, Fault> {
        known(&self.templates, name, "the name of a workload")
    }
}

fn declared<'t>(root: &Section<'t>, kind: &'static str) -> Result<Vec<(String, Section<'t>)>, ScenarioError> {
    let Some(entry) = root.get(kind) else { return Ok(Vec::new()) };
    let one = |e: super::section::Entry<'t>| Ok((e.key.to_owned(), e.table(format!("{kind} {}", e.key))?));
    entry.table(kind)?.entries().map(one).collect()
}

fn found_or_made<I: Id, T>(
    names: &mut BTreeMap<String, I>,
    name: &str,
    arena: &mut IdVec<I, T>,
    spec: impl FnOnce(String) -> T,
) -> I {
    *names.entry(name.to_owned()).or_insert_with_key(|name| arena.push(spec(name.clone())))
}

fn known<I: Copy>(names: &BTreeMap<String, I>, name: &str, what: &str) -> Result<I, Fault> {
    names.get(name).copied().ok_or_else(|| Fault::Program {
        found: format!("'{name}'"),
        accepted: match names.is_empty() {
            true => format!("{what} (there is none)"),
            false => format!("{what}: {}", names.keys().cloned().collect::<Vec<_>>().join(", ")),
        },
        nearest: nearest(name, names.keys().map(String::as_str)),
    })
}
