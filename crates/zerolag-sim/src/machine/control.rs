// SPDX-License-Identifier: GPL-2.0-only
//! What comes from outside at given times: tasks are started, and things are changed.
//!
//! Of the same moment, starts come before changes, each in the order in which they were added.

use std::collections::VecDeque;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::domain::Partitions;
use zerolag_core::features::Feature;
use zerolag_core::group::Shares;
use zerolag_core::ids::{CpuId, GroupId, TaskId};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::units::{Instant, Nanos};

use super::{CONTROL, Machine};
use crate::pattern::Pattern;
use crate::queue::Rank;
use crate::tunable::Tunable;
use crate::workload::{Limit, Workload};

/// Something an administrator does to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Switches a scheduler feature.
    Feature {
        /// Which.
        feature: Feature,
        /// On or off.
        on: bool,
    },
    /// Sets a tunable.
    Tunable {
        /// Which.
        tunable: Tunable,
        /// To what, in its unit.
        value: u64,
    },
    /// Sets the shares of a group, if it is neither the root group nor idle.
    Shares {
        /// Which.
        group: GroupId,
        /// The shares.
        shares: Shares,
    },
    /// Makes a group idle or ordinary, if it is not the root group.
    Idle {
        /// Which.
        group: GroupId,
        /// Idle or not.
        idle: bool,
    },
    /// Limits the CPU time of a group, if the kernel can and it is not the root group.
    Bandwidth {
        /// Which.
        group: GroupId,
        /// How much; checked.
        limit: Limit,
    },
    /// Sets the latency nice of a group, if the kernel has it and it is not the root group.
    LatencyNice {
        /// Which.
        group: GroupId,
        /// The level.
        level: LatencyNice,
    },
    /// A CPU comes or goes. One that is there, or gone, already does not; nor does the last one go.
    Online {
        /// Which.
        cpu: CpuId,
        /// It comes.
        online: bool,
    },
    /// Divides the CPUs among root domains.
    Partitions(Partitions),
    /// Sets the level of a clock that no governor sets.
    Frequency {
        /// Which, in the order of [`Setup::frequencies`](crate::sim::Setup::frequencies).
        clock: usize,
        /// Which of its levels.
        level: usize,
    },
    /// Changes all living tasks whose name matches.
    Tasks {
        /// Which.
        pattern: Pattern,
        /// In what respect.
        change: TaskChange,
    },
}

/// A change of a task from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskChange {
    /// Its nice level.
    Nice(Nice),
    /// Its policy.
    Policy(Policy),
    /// Its request length; nothing = the base slice.
    Slice(Option<Nanos>),
    /// Its latency nice level, if the kernel has it.
    LatencyNice(LatencyNice),
    /// Where it may run. Contains a CPU of the machine.
    Affinity(CpuSet),
    /// Its group.
    Group(GroupId),
}

/// What is still to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agenda {
    /// Numbers of the workload's starts, by time.
    starts: VecDeque<(Instant, u32)>,
    changes: VecDeque<(Instant, Change)>,
}

impl Agenda {
    pub(super) fn new(workload: &Workload) -> Self {
        let mut starts: Vec<_> = workload.starts.iter().zip(0..).map(|(start, n)| (start.at, n)).collect();
        starts.sort_by_key(|&(at, _)| at);
        Self { starts: starts.into(), changes: VecDeque::new() }
    }

    fn due(&self) -> Option<Instant> {
        let times = [self.starts.front().map(|s| s.0), self.changes.front().map(|c| c.0)];
        times.into_iter().flatten().min()
    }

    /// Whether no more tasks will be started from outside.
    pub(super) fn is_done(&self) -> bool {
        self.starts.is_empty()
    }
}

impl Machine {
    /// The workload's groups get the same numbers in the scheduler.
    pub(super) fn make_groups(&mut self) {
        for (id, group) in self.workload.groups.iter() {
            let Some(parent) = group.parent else { continue };
            let made = self.scheduler.at(self.now).add_group(parent);
            debug_assert_eq!(made, id, "scheduler and workload number groups alike");
            // Neither the root group nor idle, so its shares can be set; and it can become idle.
            _ = self.scheduler.at(self.now).set_shares(id, group.shares);
            if group.idle {
                _ = self.scheduler.at(self.now).set_idle(id, true);
            }
        }
        for id in self.workload.groups.ids() {
            if let Some(limit) = self.workload.groups[id].limit {
                self.limit(id, limit);
            }
            let level = self.workload.groups[id].latency_nice;
            if level != LatencyNice::ZERO {
                _ = self.scheduler.at(self.now).set_group_latency_nice(id, level);
            }
        }
        self.take_effects();
    }

    fn limit(&mut self, group: GroupId, limit: Limit) {
        let Limit { quota, period, burst } = limit;
        // Limits have been checked, and who asks for one has a kernel that knows them.
        _ = self.scheduler.at(self.now).set_bandwidth(group, quota, period, burst);
    }

    /// Has something changed at a time that is not past, after what was already to be changed then.
    pub(crate) fn change_at(&mut self, at: Instant, change: Change) {
        let at = at.max(self.now);
        let place = self.control.changes.partition_point(|&(time, _)| time <= at);
        self.control.changes.insert(place, (at, change));
        self.set_control_timer();
    }

    pub(super) fn set_control_timer(&mut self) {
        match self.control.due() {
            Some(at) => self.queue.set(CONTROL, at, Rank::Control),
            None => self.queue.clear(CONTROL),
        }
    }

    pub(super) fn do_control(&mut self) {
        while let Some(&(at, n)) = self.control.starts.front()
            && at <= self.now
        {
            self.control.starts.pop_front();
            self.start(n);
        }
        while self.control.changes.front().is_some_and(|&(at, _)| at <= self.now) {
            if let Some((_, change)) = self.control.changes.pop_front() {
                self.change(&change);
            }
        }
        self.set_control_timer();
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Feature { feature, on } => self.scheduler.at(self.now).set_feature(*feature, *on),
            Change::Tunable { tunable, value } => self.scheduler.at(self.now).set_tunable(*tunable, *value),
            // An idle group's shares are fixed, as the kernel has it.
            Change::Shares { group, shares } => _ = self.scheduler.at(self.now).set_shares(*group, *shares),
            Change::Idle { group, idle } => _ = self.scheduler.at(self.now).set_idle(*group, *idle),
            Change::Bandwidth { group, limit } => self.limit(*group, *limit),
            Change::LatencyNice { group, level } => {
                _ = self.scheduler.at(self.now).set_group_latency_nice(*group, *level);
            }
            Change::Online { cpu, online } => self.set_online(*cpu, *online),
            Change::Partitions(partitions) => self.scheduler.at(self.now).set_partitions(partitions.clone()),
            Change::Frequency { clock, level } => self.set_level(*clock, *level),
            Change::Tasks { pattern, change } => {
                for task in self.tasks.ids() {
                    if self.tasks[task].alive && pattern.matches(&self.name(task)) {
                        self.change_task(task, change);
                    }
                }
            }
        }
        self.take_effects();
    }

    fn change_task(&mut self, task: TaskId, change: &TaskChange) {
        let now = self.now;
        match change {
            TaskChange::Nice(nice) => self.scheduler.at(now).set_nice(task, *nice),
            TaskChange::Policy(policy) => self.scheduler.at(now).set_policy(task, *policy),
            TaskChange::Slice(slice) => self.scheduler.at(now).set_slice(task, *slice),
            TaskChange::LatencyNice(level) => _ = self.scheduler.at(now).set_latency_nice(task, *level),
            TaskChange::Affinity(cpus) => {
                // Whoever does this sits on the CPU where the task is.
                let this_cpu = self.scheduler.tasks()[task].cpu;
                self.scheduler.at(now).set_affinity(this_cpu, task, cpus.clone());
            }
            TaskChange::Group(group) => self.scheduler.at(now).set_group(task, *group),
        }
        self.take_effects();
    }
}
