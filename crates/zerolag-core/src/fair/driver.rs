// SPDX-License-Identifier: GPL-2.0-only
//! Drives a scheduler through events that make sense, for tests: whatever is asked for, something legal
//! happens.

use alloc::vec;
use alloc::vec::Vec;

use crate::cpu_set::CpuSet;
use crate::features::Feature;
use crate::group::Shares;
use crate::ids::{CpuId, EntityId, GroupId, QueueId, TaskId};
use crate::kernel::Kernel;
use crate::latency::LatencyNice;
use crate::nice::{Nice, Policy};
use crate::scheduler::Scheduler;
use crate::task::{TaskSpec, TaskState};
use crate::topology::TopologyBuilder;
use crate::units::{Instant, Nanos, VTime};
use proptest::prelude::*;

/// Something happens, to somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Pass { ns: u64 },
    Start { group: u8, nice: Nice },
    Wake { whom: u8 },
    Block,
    Exit,
    Tick,
    Schedule,
    Yield,
    SetNice { whom: u8, nice: Nice },
    SetSlice { whom: u8, us: u16 },
    SetPolicy { whom: u8, policy: Policy },
    SetLatencyNice { whom: u8, level: LatencyNice },
    SetGroupLatencyNice { group: u8, level: LatencyNice },
    SetGroup { whom: u8, group: u8 },
    AddGroup { below: u8 },
    SetShares { group: u8, shares: Shares },
    SetIdle { group: u8, idle: bool },
    Toggle { feature: Feature },
}

pub(crate) fn any_nice() -> impl Strategy<Value = Nice> {
    (-20_i64..20).prop_map(|n| Nice::new(n).unwrap())
}

fn any_latency_nice() -> impl Strategy<Value = LatencyNice> {
    (-20_i64..20).prop_map(|n| LatencyNice::new(n).unwrap())
}

/// Any step, the everyday ones more often.
pub(crate) fn any_step() -> impl Strategy<Value = Step> {
    use Step::*;
    let policy = prop::sample::select(vec![Policy::Normal, Policy::Batch, Policy::Idle, Policy::Fifo(3)]);
    let shares = (2_u64..262_144).prop_map(Shares::clamped);
    prop_oneof![
        12 => (0_u64..6_000_000).prop_map(|ns| Pass { ns }),
        4 => (any::<u8>(), any_nice()).prop_map(|(group, nice)| Start { group, nice }),
        10 => any::<u8>().prop_map(|whom| Wake { whom }),
        8 => Just(Block),
        1 => Just(Exit),
        10 => Just(Tick),
        12 => Just(Schedule),
        2 => Just(Yield),
        2 => (any::<u8>(), any_nice()).prop_map(|(whom, nice)| SetNice { whom, nice }),
        2 => (any::<u8>(), any::<u16>()).prop_map(|(whom, us)| SetSlice { whom, us }),
        1 => (any::<u8>(), policy).prop_map(|(whom, policy)| SetPolicy { whom, policy }),
        2 => (any::<u8>(), any_latency_nice()).prop_map(|(whom, level)| SetLatencyNice { whom, level }),
        1 => (any::<u8>(), any_latency_nice()).prop_map(|(group, level)| SetGroupLatencyNice { group, level }),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(whom, group)| SetGroup { whom, group }),
        1 => any::<u8>().prop_map(|below| AddGroup { below }),
        2 => (any::<u8>(), shares).prop_map(|(group, shares)| SetShares { group, shares }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(group, idle)| SetIdle { group, idle }),
        1 => prop::sample::select(Feature::ALL).prop_map(|feature| Toggle { feature }),
    ]
}

/// Where somebody stands in virtual time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) vruntime: u64,
    pub(crate) deadline: u64,
    pub(crate) nice: Nice,
}

/// A scheduler on one CPU, and where it stands in time.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    pub(crate) s: Scheduler,
    pub(crate) now: Instant,
}

pub(crate) const CPU: CpuId = CpuId(0);
const TASKS_MAX: usize = 20;
const GROUPS_MAX: usize = 8;

impl Driver {
    /// A machine of one CPU at rest.
    pub(crate) fn new(kernel: Kernel) -> Self {
        let topology = TopologyBuilder::new().build().unwrap();
        let config = kernel.config(1).unwrap();
        Self { s: Scheduler::without_domains(config, topology), now: Instant(1_000_000) }
    }

    /// A machine on whose root queue entities wait in given places; nobody runs.
    pub(crate) fn with_waiting(kernel: Kernel, places: &[Place]) -> (Self, QueueId, Vec<EntityId>) {
        let mut driver = Self::new(kernel);
        let q = driver.s.cpus[CPU].root;
        // Keys are small, as they are when a queue is used as it should be.
        driver.s.queues[q].anchor = VTime(places.first().map_or(0, |p| p.vruntime));
        let mut ids = Vec::new();
        for place in places {
            let se = driver.resting(place.nice);
            let s = &mut driver.s;
            let entity = &mut s.entities[se];
            (entity.vruntime, entity.deadline) = (VTime(place.vruntime), VTime(place.deadline));
            entity.on_rq = true;
            s.put_in_timeline(q, se);
            s.queues[q].load.0 += s.entities[se].weight.0;
            s.queues[q].nr_queued += 1;
            ids.push(se);
        }
        (driver, q, ids)
    }

    /// The entity of a new task that has not been woken.
    pub(crate) fn resting(&mut self, nice: Nice) -> EntityId {
        let task = self.fork(GroupId::ROOT, nice);
        self.s.entity_of(task)
    }

    pub(crate) fn pass(&mut self, span: Nanos) {
        self.now += span;
    }

    fn fork(&mut self, group: GroupId, nice: Nice) -> TaskId {
        let spec = TaskSpec {
            cpu: CPU,
            group,
            nice,
            policy: Policy::Normal,
            latency_nice: LatencyNice::ZERO,
            slice: None,
            affinity: CpuSet::single(CPU),
        };
        self.s.fork(self.now, None, spec)
    }

    /// A new task, awake.
    pub(crate) fn start(&mut self, group: GroupId, nice: Nice) -> TaskId {
        let task = self.fork(group, nice);
        self.s.wake_new(self.now, CPU, task);
        task
    }

    /// Switches if that is called for.
    pub(crate) fn schedule(&mut self) {
        self.s.schedule(self.now, CPU);
    }

    fn group(&self, which: u8) -> GroupId {
        GroupId(u32::from(which) % self.s.groups().len() as u32)
    }

    fn living(&self) -> Vec<TaskId> {
        let tasks = self.s.tasks();
        tasks.ids().filter(|&t| tasks[t].state != TaskState::Dead).collect()
    }

    /// Does what the step says with `task`, if there is anybody.
    fn with(&mut self, whom: u8, act: impl FnOnce(&mut Scheduler, Instant, TaskId)) {
        let living = self.living();
        if !living.is_empty() {
            act(&mut self.s, self.now, living[usize::from(whom) % living.len()]);
        }
    }

    pub(crate) fn step(&mut self, step: Step) {
        let now = self.now;
        match step {
            Step::Pass { ns } => self.pass(Nanos(ns)),
            Step::Start { group, nice } if self.living().len() < TASKS_MAX => {
                self.start(self.group(group), nice);
            }
            Step::Wake { whom } | Step::Start { group: whom, .. } => self.with(whom, |s, now, task| {
                s.wake(now, CPU, task, false);
            }),
            Step::Block => {
                self.s.block(now, CPU, false);
            }
            Step::Exit => {
                self.s.exit(now, CPU);
            }
            Step::Tick => {
                self.s.tick(now, CPU);
            }
            Step::Schedule => self.schedule(),
            Step::Yield => {
                self.s.yield_now(now, CPU);
            }
            Step::SetNice { whom, nice } => self.with(whom, |s, now, task| s.set_nice(now, task, nice)),
            Step::SetSlice { whom, us } => self.with(whom, |s, now, task| {
                let policy = s.tasks()[task].policy;
                let slice = Some(Nanos::from_micros(us.into())).filter(|&slice| slice != Nanos::ZERO);
                s.set_attributes(now, task, policy, slice);
            }),
            Step::SetPolicy { whom, policy } => {
                self.with(whom, |s, now, task| s.set_policy(now, task, policy))
            }
            Step::SetLatencyNice { whom, level } => self.with(whom, |s, now, task| {
                let _ = s.set_latency_nice(now, task, level);
            }),
            Step::SetGroupLatencyNice { group, level } => {
                let _ = self.s.set_group_latency_nice(now, self.group(group), level);
            }
            Step::SetGroup { whom, group } => {
                let group = self.group(group);
                self.with(whom, |s, now, task| s.set_group(now, task, group));
            }
            Step::AddGroup { below } if self.s.groups().len() < GROUPS_MAX => {
                self.s.add_group(now, self.group(below));
            }
            Step::SetShares { group, shares } => {
                let _ = self.s.set_shares(now, self.group(group), shares);
            }
            Step::SetIdle { group, idle } => {
                let _ = self.s.set_idle(now, self.group(group), idle);
            }
            Step::Toggle { feature } => {
                let config = self.s.config_mut();
                if feature.default_in(config.kernel).is_some() {
                    config.features.set(feature, !config.features.has(feature));
                }
            }
            Step::AddGroup { .. } => {}
        }
        while self.s.poll().is_some() {}
    }
}
