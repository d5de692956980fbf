// SPDX-License-Identifier: GPL-2.0-only
//! Making groups and changing their weight.
//!
//! Source: kernel/sched/fair.c, `alloc_fair_sched_group()`, `online_fair_sched_group()`,
//! `sched_group_set_shares()`, `sched_group_set_idle()`, 6.12.

use alloc::vec::Vec;

use crate::entity::{Entity, Owner};
use crate::fair::bandwidth::Bandwidth;
use crate::fair::queue::CfsRq;
use crate::group::{Group, GroupError, GroupOnCpu, Shares};
use crate::ids::{CpuId, EntityId, GroupId, TaskId};
use crate::latency::{LatencyError, LatencyNice};
use crate::nice::{LoadWeight, Nice, WEIGHT_IDLE};
use crate::scheduler::Scheduler;
use crate::units::{Instant, Weight};
use crate::variants::{GroupReweight, Propagation};

impl Scheduler {
    /// A new group below `parent`, with the default shares.
    pub fn add_group(&mut self, now: Instant, parent: GroupId) -> GroupId {
        self.at(now);
        let group = GroupId(self.groups.len() as u32);
        let cpus: Vec<CpuId> = self.cpus.ids().collect();
        let mut per_cpu = Vec::with_capacity(cpus.len());
        for &cpu in &cpus {
            let above = self.groups[parent].on(cpu);
            let queue = self.queues.push(CfsRq::new(cpu, group, Some(above.queue)));
            let load = LoadWeight { weight: Nice::ZERO.load().weight, inverse: 0 };
            let mut entity = Entity::new(Owner::Group(group), above.queue, load);
            entity.parent = above.entity;
            entity.depth = above.entity.map_or(0, |p| self.entities[p].depth + 1);
            entity.my_queue = Some(queue);
            if !self.config.variants.load.invariant_clock {
                entity.set_first_load(&self.config.variants.load);
            }
            if self.config.variants.latency_nice {
                entity.slice = self.config.tunables.base_slice;
            }
            let entity = self.entities.push(entity);
            self.queues[queue].entity = Some(entity);
            per_cpu.push(GroupOnCpu { queue, entity: Some(entity) });
        }
        self.groups.push(Group {
            parent: Some(parent),
            shares: Weight::NICE_0,
            load_avg: 0,
            idle: false,
            latency_nice: LatencyNice::ZERO,
            bandwidth: Bandwidth::unlimited(),
            children: Vec::new(),
            per_cpu,
        });
        self.groups[parent].children.push(group);
        self.listed.push(group);
        if !self.config.variants.pelt {
            return group;
        }
        for cpu in cpus {
            if self.config.variants.load.propagation == Propagation::Never {
                break;
            }
            self.update_clock(cpu);
            let place = self.groups[group].on(cpu);
            if let Some(se) = place.entity {
                self.attach_entity(se);
            }
            self.inherit_throttle(place.queue);
        }
        group
    }

    /// Sets a group's shares.
    pub fn set_shares(&mut self, now: Instant, group: GroupId, shares: Shares) -> Result<(), GroupError> {
        self.at(now);
        if group == GroupId::ROOT {
            return Err(GroupError::IsRoot);
        }
        if self.groups[group].idle {
            return Err(GroupError::IsIdle);
        }
        self.change_shares(group, shares.weight());
        Ok(())
    }

    /// Makes a group idle or ordinary (`cpu.idle`). Either way its shares are reset.
    pub fn set_idle(&mut self, now: Instant, group: GroupId, idle: bool) -> Result<(), GroupError> {
        self.at(now);
        if group == GroupId::ROOT {
            return Err(GroupError::IsRoot);
        }
        if self.groups[group].idle == idle {
            return Ok(());
        }
        self.groups[group].idle = idle;
        for cpu in self.cpus.ids() {
            self.change_idle_counts(group, cpu, idle);
        }
        let weight = if idle { Weight::from_table(WEIGHT_IDLE) } else { Weight::NICE_0 };
        self.change_shares(group, weight);
        Ok(())
    }

    /// Sets a group's latency nice (`cpu.latency.nice`). Those of its entities that are queued keep the
    /// deadlines they have.
    pub fn set_group_latency_nice(
        &mut self,
        now: Instant,
        group: GroupId,
        level: LatencyNice,
    ) -> Result<(), LatencyError> {
        self.at(now);
        if !self.config.variants.latency_nice {
            return Err(LatencyError::NotInKernel { kernel: self.config.kernel });
        }
        if group == GroupId::ROOT {
            return Err(LatencyError::IsRoot);
        }
        if self.groups[group].latency_nice == level {
            return Ok(());
        }
        self.groups[group].latency_nice = level;
        let slice = level.request(self.config.tunables.base_slice);
        for cpu in self.cpus.ids() {
            if let Some(se) = self.groups[group].on(cpu).entity {
                self.set_slice_in_place(se, slice);
            }
        }
        Ok(())
    }

    fn change_shares(&mut self, group: GroupId, shares: Weight) {
        if self.groups[group].shares == shares {
            return;
        }
        self.groups[group].shares = shares;
        if self.config.variants.group_reweight == GroupReweight::ByDomain {
            return self.spread_whole_shares(group);
        }
        for cpu in self.cpus.ids() {
            self.update_clock(cpu);
            let mut at = self.groups[group].on(cpu).entity;
            while let Some(se) = at {
                self.refresh_group_entity(se);
                at = self.entities[se].parent;
            }
        }
    }

    /// The group's queue on one CPU becomes idle, or ceases to be: its tasks now count as idle above, or no
    /// longer do.
    fn change_idle_counts(&mut self, group: GroupId, cpu: CpuId, idle: bool) {
        let place = self.groups[group].on(cpu);
        self.queues[place.queue].idle = idle;
        let Some(se) = place.entity else { return };
        if self.entities[se].on_rq {
            let above = &mut self.queues[self.entities[se].queue];
            above.idle_nr = if idle { above.idle_nr + 1 } else { above.idle_nr - 1 };
        }
        let queue = &self.queues[place.queue];
        let ordinary = queue.h_nr_queued - queue.idle_h_nr;
        let mut at = Some(se);
        while let Some(se) = at.filter(|&se| self.entities[se].on_rq) {
            let queue = &mut self.queues[self.entities[se].queue];
            queue.idle_h_nr = if idle { queue.idle_h_nr + ordinary } else { queue.idle_h_nr - ordinary };
            if queue.idle {
                break;
            }
            at = self.entities[se].parent;
        }
    }

    /// The queue and entity that stand for `group` on `cpu`.
    pub fn group_on(&self, group: GroupId, cpu: CpuId) -> GroupOnCpu {
        self.groups[group].on(cpu)
    }

    /// The entity of a task that is alive.
    pub fn entity_of(&self, task: TaskId) -> EntityId {
        self.tasks[task].entity
    }
}
