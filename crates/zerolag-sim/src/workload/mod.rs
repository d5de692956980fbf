// SPDX-License-Identifier: GPL-2.0-only
//! Workloads: everything that runs on a machine, as one value.
//!
//! A [`Workload`] holds the resources, the groups, the code ([`Template`]) and who starts it when
//! ([`Start`]). The models in the submodules, the scenario reader and the replay of recordings each *add* to
//! one, so that any of them can run side by side.
//!
//! ```
//! use zerolag_core::units::Nanos;
//! use zerolag_sim::program::{Op, ProgramBuilder};
//! use zerolag_sim::workload::{Start, Template, Workload};
//!
//! let mut workload = Workload::new();
//! let program = ProgramBuilder::new().op(Op::Run(Nanos::from_secs(1).into())).build().unwrap();
//! let hog = workload.template(Template::new("hog", program));
//! workload.start(Start::new(hog));
//! ```

mod cast;
mod check;
mod client_server;
mod cyclictest;
mod family;
pub mod hog;
mod hogs;
mod interactive;
pub mod json;
mod make;
mod medium;
mod messaging;
pub mod model;
pub mod models;
mod netperf;
pub mod options;
pub mod periodic;
mod ping_pong;
mod random;
pub mod rtapp;
mod sample;
pub mod schbench;
mod stress_ng;
mod tally;
mod unixbench;
mod volano;

use std::sync::Arc;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::group::Shares;
use zerolag_core::ids::{CpuId, GroupId, IdVec};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::units::{Instant, Nanos};

pub use check::WorkloadError;

use crate::program::{Program, SharedProgram};
use crate::resource::{
    AppId, BarrierId, BarrierSpec, ChannelId, ChannelSpec, ConditionId, DeviceId, DeviceSpec, MutexId, Named,
    RosterId, SemaphoreId, SemaphoreSpec, SpinLockId, SpinLockSpec, TimerId,
};

/// How late a fair task's timers may fire unless it says otherwise (`timer_slack_ns`: 50 µs).
pub const TIMER_SLACK_DEFAULT: Nanos = Nanos::from_micros(50);

/// The number of a template in its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateId(pub u32);

impl zerolag_core::ids::Id for TemplateId {
    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("an arena holds fewer than 2^32 elements"))
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What tasks are made from: code, name and attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The name of tasks started with it. A task forked from it is called `NAME-NNNN`, counting from 0000, or
    /// `NAME-THREAD-NNNN` in a program that numbers its threads.
    pub name: String,
    /// The program, if it numbers its threads.
    pub numbered: Option<AppId>,
    /// The code.
    pub program: SharedProgram,
    /// Numbers of resources that the program names by [`Ref::Argument`](crate::resource::Ref::Argument). A
    /// forked task without arguments has those of its parent.
    pub arguments: Vec<u32>,
    /// Its attributes.
    pub attributes: Attributes,
    /// On which CPU a task forked from it starts, if it may run there; else where the kernel puts it.
    pub fork_cpu: Option<CpuId>,
}

impl Template {
    /// A template without arguments and with default attributes.
    pub fn new(name: impl Into<String>, program: Program) -> Self {
        Self {
            name: name.into(),
            numbered: None,
            program: Arc::new(program),
            arguments: Vec::new(),
            attributes: Attributes::default(),
            fork_cpu: None,
        }
    }
}

/// How a task is scheduled. What is not given is as the parent has it, or if the machine itself starts the
/// task: nice 0, normal policy, latency nice 0, base slice, all CPUs, the root group, a slack of 50 µs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The nice level.
    pub nice: Option<Nice>,
    /// The policy.
    pub policy: Option<Policy>,
    /// The latency nice level; only kernels with latency nice look at it.
    pub latency_nice: Option<LatencyNice>,
    /// The request length.
    pub slice: Option<Nanos>,
    /// Where it may run.
    pub affinity: Option<CpuSet>,
    /// The group.
    pub group: Option<GroupId>,
    /// How late its timers may fire. Tasks of a real-time policy have no slack.
    pub timer_slack: Option<Nanos>,
}

/// A task that the machine itself starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The code.
    pub template: TemplateId,
    /// Its name, if other than the template's.
    pub name: Option<String>,
    /// Its arguments, if other than the template's.
    pub arguments: Option<Vec<u32>>,
    /// When it starts. Tasks that start at the same time start in the order in which they were added.
    pub at: Instant,
    /// On which CPU, if it may run there; else where the kernel puts it.
    pub cpu: Option<CpuId>,
}

impl Start {
    /// One task of this template, at the beginning.
    pub const fn new(template: TemplateId) -> Self {
        Self { template, name: None, arguments: None, at: Instant::ZERO, cpu: None }
    }
}

/// A group of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Its path from the root group, `/` alone for that one.
    pub path: String,
    /// The group it is in; nothing for the root group.
    pub parent: Option<GroupId>,
    /// Its shares.
    pub shares: Shares,
    /// It is idle (`cpu.idle`); then the shares do not count.
    pub idle: bool,
    /// How much CPU time it may use; nothing = as much as it gets.
    pub limit: Option<Limit>,
    /// How much it minds waiting (`cpu.latency.nice`); only kernels with latency nice look at it.
    pub latency_nice: LatencyNice,
}

impl GroupSpec {
    /// A group with this path in another, as one is made.
    const fn new(path: String, parent: Option<GroupId>) -> Self {
        Self {
            path,
            parent,
            shares: Shares::DEFAULT,
            idle: false,
            limit: None,
            latency_nice: LatencyNice::ZERO,
        }
    }
}

/// How much CPU time a group may use (`cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// CPU time in each period; nothing = unlimited.
    pub quota: Option<Nanos>,
    /// The period.
    pub period: Nanos,
    /// How much of the quota that was not used may be kept.
    pub burst: Nanos,
}

/// Everything that runs on a machine.
///
/// The first group is the root group. Tasks get the ids 0, 1, 2 … in the order in which they start, forked
/// ones when they are forked; see [`Workload::starts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The code.
    pub templates: IdVec<TemplateId, Template>,
    /// The tasks that the machine starts.
    pub starts: Vec<Start>,
    /// The groups.
    pub groups: IdVec<GroupId, GroupSpec>,
    /// Mutexes.
    pub mutexes: IdVec<MutexId, Named>,
    /// Conditions.
    pub conditions: IdVec<ConditionId, Named>,
    /// Barriers.
    pub barriers: IdVec<BarrierId, BarrierSpec>,
    /// Semaphores.
    pub semaphores: IdVec<SemaphoreId, SemaphoreSpec>,
    /// Channels.
    pub channels: IdVec<ChannelId, ChannelSpec>,
    /// Spin locks.
    pub spin_locks: IdVec<SpinLockId, SpinLockSpec>,
    /// Rosters.
    pub rosters: IdVec<RosterId, Named>,
    /// Devices.
    pub devices: IdVec<DeviceId, DeviceSpec>,
    /// Timers that tasks share.
    pub timers: IdVec<TimerId, Named>,
    /// Programs that number their threads: the number of the next one.
    pub numbered: IdVec<AppId, u32>,
    /// Numbers of [`Op::Mark`](crate::program::Op::Mark) given out so far: a model that uses marks takes as
    /// many as it needs, so that no other model's tasks report the same.
    pub marks: u32,
}

impl Default for Workload {
    fn default() -> Self {
        Self::new()
    }
}

impl Workload {
    /// A workload of nothing, with the root group.
    pub fn new() -> Self {
        let root = GroupSpec::new("/".into(), None);
        Self {
            templates: IdVec::new(),
            starts: Vec::new(),
            groups: IdVec::from_iter([root]),
            mutexes: IdVec::new(),
            conditions: IdVec::new(),
            barriers: IdVec::new(),
            semaphores: IdVec::new(),
            channels: IdVec::new(),
            spin_locks: IdVec::new(),
            rosters: IdVec::new(),
            devices: IdVec::new(),
            timers: IdVec::new(),
            numbered: IdVec::new(),
            marks: 0,
        }
    }

    /// Adds a template.
    pub fn template(&mut self, template: Template) -> TemplateId {
        self.templates.push(template)
    }

    /// Adds a task.
    pub fn start(&mut self, start: Start) {
        self.starts.push(start);
    }

    /// The group with this path, made with default shares together with those above it if it does not exist.
    /// The path starts at the root group, with or without a slash; empty parts do not count.
    pub fn group(&mut self, path: &str) -> GroupId {
        let mut at = GroupId::ROOT;
        let mut full = String::new();
        for part in path.split('/').filter(|p| !p.is_empty()) {
            full.push('/');
            full.push_str(part);
            at = self
                .group_by_path(&full)
                .unwrap_or_else(|| self.groups.push(GroupSpec::new(full.clone(), Some(at))));
        }
        at
    }

    /// The group with exactly this path, if there is one.
    pub fn group_by_path(&self, path: &str) -> Option<GroupId> {
        self.groups.iter().find(|(_, g)| g.path == path).map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests;
