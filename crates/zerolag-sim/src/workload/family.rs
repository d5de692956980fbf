// SPDX-License-Identifier: GPL-2.0-only
//! Watching some of a machine's tasks: their CPU time, and how long they wait for a CPU after being woken.

use std::collections::BTreeMap;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::sample::Sample;

/// Tasks that have been named, and everybody they have forked since.
#[derive(Clone, Debug, Default)]
pub(super) struct Family {
    members: BTreeMap<TaskId, Member>,
    /// From wake-up to running.
    pub(super) waits: Sample,
}

#[derive(Clone, Debug, Default)]
struct Member {
    cpu: Nanos,
    woken: Option<Instant>,
}

impl Family {
    /// This task is one of them from here on.
    pub(super) fn add(&mut self, task: TaskId) {
        self.members.entry(task).or_default();
    }

    pub(super) fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Fork { parent: Some(parent), child } if self.members.contains_key(&parent) => {
                self.add(child);
            }
            EventKind::Wakeup { task, .. } => {
                if let Some(member) = self.members.get_mut(&task) {
                    member.woken.get_or_insert(event.time);
                }
            }
            EventKind::Switch { next: Some(next), .. } => {
                if let Some(woken) = self.members.get_mut(&next).and_then(|member| member.woken.take()) {
                    self.waits.add(event.time.saturating_since(woken));
                }
            }
            EventKind::Runtime { task, ran } => {
                if let Some(member) = self.members.get_mut(&task) {
                    member.cpu += ran;
                }
            }
            _ => {}
        }
    }

    /// CPU time of each, in the order in which they came into being.
    pub(super) fn cpu(&self) -> impl Iterator<Item = Nanos> {
        self.members.values().map(|member| member.cpu)
    }

    /// CPU time of all.
    pub(super) fn total_cpu(&self) -> Nanos {
        self.cpu().fold(Nanos::ZERO, |sum, cpu| sum + cpu)
    }
}
