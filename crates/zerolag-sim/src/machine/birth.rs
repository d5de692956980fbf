// SPDX-License-Identifier: GPL-2.0-only
//! Tasks are started, fork, and end.

use std::sync::Arc;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId, Id, TaskId};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::task::TaskSpec;
use zerolag_core::units::Nanos;

use super::Machine;
use super::task::{Birth, Doing, Task, TimerState};
use crate::rng::{Purpose, Stream};
use crate::workload::{Attributes, TIMER_SLACK_DEFAULT, TemplateId};

impl Machine {
    /// Starts the `n`-th of the workload's tasks.
    pub(super) fn start(&mut self, n: u32) {
        let start = &self.workload.starts[n as usize];
        let template = start.template;
        let arguments = start.arguments.as_ref().unwrap_or(&self.workload.templates[template].arguments);
        let arguments: Arc<[u32]> = arguments.as_slice().into();
        let attributes = &self.workload.templates[template].attributes;
        let affinity = attributes.affinity.clone().unwrap_or_else(|| CpuSet::first_n(self.cpus.len()));
        let affinity = self.possible(affinity);
        let forced = self.forced(start.cpu, &affinity);
        let cpu = forced.unwrap_or_else(|| self.first_allowed(&affinity));
        let spec = TaskSpec {
            cpu,
            group: attributes.group.unwrap_or(GroupId::ROOT),
            nice: attributes.nice.unwrap_or(Nice::ZERO),
            policy: attributes.policy.unwrap_or(Policy::Normal),
            latency_nice: attributes.latency_nice.unwrap_or(LatencyNice::ZERO),
            slice: attributes.slice,
            // Nobody is put elsewhere who may go nowhere else.
            affinity: forced.map_or_else(|| affinity.clone(), CpuSet::single),
        };
        let slack = attributes.timer_slack.unwrap_or(TIMER_SLACK_DEFAULT);
        let task = self.bear(None, spec, template, arguments, slack, Birth::Start(n));
        self.set_free(forced, task, affinity);
    }

    /// The running task starts one from this template, which has what the template does not say from it.
    pub(super) fn fork(&mut self, cpu: CpuId, parent: TaskId, template: TemplateId) {
        let n = self.forks[template];
        self.forks[template] += 1;
        let code = &self.workload.templates[template];
        if let Some(app) = code.numbered {
            self.thread_numbers.insert(TaskId::from_index(self.tasks.len()), self.workload.numbered[app]);
            self.workload.numbered[app] += 1;
        }
        let arguments = match code.arguments.as_slice() {
            [] => Arc::clone(&self.tasks[parent].arguments),
            own => own.into(),
        };
        let Attributes { nice, policy, latency_nice, slice, affinity, group, timer_slack } = &code.attributes;
        let of_parent = &self.scheduler.tasks()[parent];
        let entity = &self.scheduler.entities()[of_parent.entity];
        let affinity = self.possible(affinity.clone().unwrap_or_else(|| of_parent.affinity.clone()));
        let forced = self.forced(code.fork_cpu, &affinity);
        let spec = TaskSpec {
            cpu: forced.unwrap_or(if affinity.contains(cpu) { cpu } else { self.first_allowed(&affinity) }),
            group: group.unwrap_or(of_parent.group),
            nice: nice.unwrap_or(of_parent.nice),
            policy: policy.unwrap_or(of_parent.policy),
            latency_nice: latency_nice.unwrap_or(of_parent.latency_nice),
            slice: slice.or_else(|| entity.custom_slice.then_some(entity.slice)),
            affinity: forced.map_or_else(|| affinity.clone(), CpuSet::single),
        };
        let slack = timer_slack.unwrap_or(self.tasks[parent].timer_slack);
        let task = self.bear(Some(parent), spec, template, arguments, slack, Birth::Fork(n));
        self.set_free(forced, task, affinity);
        self.occupy(cpu, self.costs.wakeup);
    }

    /// The CPU on which a task that may run on these is to start.
    fn forced(&self, cpu: Option<CpuId>, affinity: &CpuSet) -> Option<CpuId> {
        cpu.filter(|&cpu| affinity.contains(cpu) && self.scheduler.online().contains(cpu))
    }

    /// A task that could only start on the forced CPU may go where it may.
    fn set_free(&mut self, forced: Option<CpuId>, task: TaskId, affinity: CpuSet) {
        if let Some(cpu) = forced {
            self.scheduler.at(self.now).set_affinity(cpu, task, affinity);
            self.take_effects();
        }
    }

    /// Where a task may run that is meant to run on these: everywhere if none of them is online, as the kernel
    /// has it.
    fn possible(&self, affinity: CpuSet) -> CpuSet {
        if affinity.intersects(self.scheduler.online()) { affinity } else { CpuSet::first_n(self.cpus.len()) }
    }

    /// The first of them that is online.
    fn first_allowed(&self, affinity: &CpuSet) -> CpuId {
        affinity.first_and(self.scheduler.online()).expect("a possible affinity has an online CPU")
    }

    fn bear(
        &mut self,
        parent: Option<TaskId>,
        spec: TaskSpec,
        template: TemplateId,
        arguments: Arc<[u32]>,
        timer_slack: Nanos,
        birth: Birth,
    ) -> TaskId {
        let cpu = spec.cpu;
        let program = Arc::clone(&self.workload.templates[template].program);
        let task = self.tasks.push(Task {
            loops: vec![0; program.loop_depth()].into(),
            timers: vec![TimerState::default(); program.own_timers()].into(),
            program,
            arguments,
            pc: 0,
            stage: 0,
            doing: Doing::Program,
            left: Nanos::ZERO,
            until: self.now,
            count: 0,
            waiting_for: None,
            waiting_since: self.now,
            next_in_queue: None,
            stream: Stream::new(self.seed, Purpose::Task, self.tasks.len() as u64),
            epoch: self.now,
            timer_slack,
            cpu: None,
            template,
            birth,
            alive: true,
        });
        self.alive += 1;
        self.stats.forks += 1;
        let known_as = self.scheduler.at(self.now).fork(parent, spec);
        debug_assert_eq!(known_as, task, "scheduler and machine number tasks alike");
        self.scheduler.at(self.now).wake_new(cpu, task);
        self.take_effects();
        task
    }

    pub(super) fn exit(&mut self, cpu: CpuId, task: TaskId) {
        let t = &mut self.tasks[task];
        t.alive = false;
        (t.loops, t.timers) = (Box::default(), Box::default());
        self.alive -= 1;
        self.stats.exits += 1;
        self.scheduler.at(self.now).exit(cpu);
        self.after_switch(cpu);
    }

    /// How many tasks there have been.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// A task's name: as it was started, or the template's with the number of the fork.
    pub(crate) fn name(&self, id: TaskId) -> String {
        let task = &self.tasks[id];
        let template = &self.workload.templates[task.template].name;
        match task.birth {
            Birth::Start(n) => self.workload.starts[n as usize].name.as_ref().unwrap_or(template).clone(),
            Birth::Fork(n) => match self.thread_numbers.get(&id) {
                Some(thread) => format!("{template}-{thread}-{n:04}"),
                None => format!("{template}-{n:04}"),
            },
        }
    }

    /// Which template a task was made from.
    pub(crate) fn template_of(&self, task: TaskId) -> TemplateId {
        self.tasks[task].template
    }
}
