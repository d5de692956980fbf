// SPDX-License-Identifier: GPL-2.0-only
//! Putting a model's tasks, and what they share, into a workload.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId};
use zerolag_core::nice::{Nice, Policy};

use super::model::Place;
use super::{Attributes, Start, Template, TemplateId, Workload};
use crate::program::{Program, ProgramBuilder, SharedProgram};
use crate::resource::{ChannelId, ChannelSpec, Named, RosterId, SemaphoreId, SemaphoreSpec};

/// Somebody who puts tasks where the model runs.
#[derive(Debug)]
pub(super) struct Cast<'w, 'm> {
    pub(super) workload: &'w mut Workload,
    pub(super) place: Place<'m>,
}

impl<'w, 'm> Cast<'w, 'm> {
    pub(super) fn new(workload: &'w mut Workload, place: &Place<'m>) -> Self {
        Self { workload, place: *place }
    }

    /// Code with arguments of its own, or without arguments: then a task that is forked with it has those of
    /// its parent.
    pub(super) fn part(
        &mut self,
        name: &str,
        program: impl Into<SharedProgram>,
        arguments: Vec<u32>,
    ) -> TemplateId {
        self.part_with(name, program, arguments, Attributes::default())
    }

    /// The same for tasks that are not scheduled like all others.
    pub(super) fn part_with(
        &mut self,
        name: &str,
        program: impl Into<SharedProgram>,
        arguments: Vec<u32>,
        attributes: Attributes,
    ) -> TemplateId {
        let attributes = Attributes { group: Some(self.place.group), ..attributes };
        let (name, program) = (name.into(), program.into());
        self.workload.template(Template {
            name,
            numbered: None,
            program,
            arguments,
            attributes,
            fork_cpu: None,
        })
    }

    /// A kernel thread of a CPU, which is nobody's: in the root group, of normal policy, whatever the model's tasks
    /// are. It is there when the model starts.
    pub(super) fn kernel_thread(&mut self, name: &str, program: Program, cpu: CpuId) {
        let attributes = Attributes {
            nice: Some(Nice::ZERO),
            policy: Some(Policy::Normal),
            affinity: Some(CpuSet::single(cpu)),
            group: Some(GroupId::ROOT),
            ..Attributes::default()
        };
        let template = self.workload.template(Template { attributes, ..Template::new(name, program) });
        self.start(template);
    }

    /// A task that is there when the model starts.
    pub(super) fn start(&mut self, part: TemplateId) {
        self.workload.start(Start { at: self.place.start, ..Start::new(part) });
    }

    /// A count that tasks raise and lower.
    pub(super) fn counter(&mut self, name: impl Into<String>) -> SemaphoreId {
        self.workload.semaphores.push(SemaphoreSpec { name: name.into(), initial: 0, max: u32::MAX })
    }

    pub(super) fn roster(&mut self, name: impl Into<String>) -> RosterId {
        self.workload.rosters.push(Named { name: name.into() })
    }

    pub(super) fn channel(&mut self, spec: ChannelSpec) -> ChannelId {
        self.workload.channels.push(spec)
    }

    /// So many numbers of marks, from the one returned on.
    pub(super) fn marks(&mut self, count: u32) -> u32 {
        let first = self.workload.marks;
        self.workload.marks += count;
        first
    }
}

/// The program; those of models have balanced loops in which time passes or something is waited for.
pub(super) fn built(program: &ProgramBuilder) -> Program {
    program.build().expect("loops are balanced and wait for something")
}
