// SPDX-License-Identifier: GPL-2.0-only
//! A machine runs only workloads in which every number means something: this is where that is checked, once,
//! so that the machine itself need not.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::fair::bandwidth::{Bandwidth, BandwidthError};
use zerolag_core::ids::{Id, IdVec};

use super::{Attributes, Limit, TemplateId, Workload};
use crate::program::{Attribute, Op};
use crate::resource::{Ref, SemaphoreId, TimerRef};

/// Why a workload cannot run on a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A program refers to something that does not exist.
    #[error("task {task}, operation {at}: there is no {kind} number {number}")]
    Unknown {
        /// The template's name.
        task: String,
        /// The operation's position.
        at: usize,
        /// What kind of thing.
        kind: &'static str,
        /// Its number.
        number: u32,
    },
    /// A task has too few arguments for its program.
    #[error("task {task} has {found} arguments, but its program uses {needed}")]
    Arguments {
        /// The task's name.
        task: String,
        /// How many it has.
        found: usize,
        /// How many it must have.
        needed: usize,
    },
    /// A task may not run anywhere.
    #[error("task {task} may only run on CPUs {{{cpus}}}, but the machine has {count} (0 to {})", count - 1)]
    NoCpu {
        /// The task's name.
        task: String,
        /// Where it may run.
        cpus: CpuSet,
        /// Number of CPUs of the machine.
        count: usize,
    },
    /// A task is to start from a template that does not exist.
    #[error("there is no template number {0}")]
    NoTemplate(u32),
    /// A task is in a group that does not exist.
    #[error("task {task} is in group number {number}, which does not exist")]
    NoGroup {
        /// The task's name.
        task: String,
        /// The group's number.
        number: u32,
    },
    /// A group whose parent does not come before it.
    #[error("group {path} must come after the group it is in")]
    GroupOrder {
        /// The group's path.
        path: String,
    },
    /// A group's limit of CPU time makes no sense.
    #[error("group {path}: {error}")]
    Limit {
        /// The group's path.
        path: String,
        /// Why not.
        error: BandwidthError,
    },
    /// A resource whose numbers make no sense.
    #[error("{kind} {name}: {what} must be at least 1")]
    Zero {
        /// What kind of resource.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Which number.
        what: &'static str,
    },
}

impl Workload {
    /// Whether this can run on a machine with these CPUs.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn check(&self, cpus: &CpuSet) -> Result<(), WorkloadError> {
        self.check_groups()?;
        self.check_resources()?;
        for (id, template) in self.templates.iter() {
            self.check_attributes(&template.name, &template.attributes, cpus)?;
            for set in template.program.affinities() {
                check_cpus(&template.name, set, cpus)?;
            }
            self.check_ops(id, cpus)?;
        }
        for start in &self.starts {
            let Some(template) = self.templates.get(start.template) else {
                return Err(WorkloadError::NoTemplate(start.template.0));
            };
            let arguments = start.arguments.as_ref().unwrap_or(&template.arguments);
            let name = start.name.as_ref().unwrap_or(&template.name);
            self.check_arguments(name, start.template, arguments)?;
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), WorkloadError> {
        for (id, group) in self.groups.iter() {
            let in_order = match group.parent {
                None => id.index() == 0,
                Some(parent) => parent < id,
            };
            if !in_order {
                return Err(WorkloadError::GroupOrder { path: group.path.clone() });
            }
            if let Some(Limit { quota, period, burst }) = group.limit {
                let root = if group.parent.is_none() { Err(BandwidthError::IsRoot) } else { Ok(()) };
                root.and_then(|()| Bandwidth::check(quota, period, burst))
                    .map_err(|error| WorkloadError::Limit { path: group.path.clone(), error })?;
            }
        }
        Ok(())
    }

    fn check_resources(&self) -> Result<(), WorkloadError> {
        let barriers = self.barriers.iter().map(|(_, b)| ("barrier", &b.name, "parties", b.parties));
        let semaphores = self.semaphores.iter().map(|(_, s)| ("semaphore", &s.name, "max", s.max));
        let channels = self.channels.iter().map(|(_, c)| ("channel", &c.name, "capacity", c.capacity));
        let devices = self.devices.iter().map(|(_, d)| ("device", &d.name, "lanes", d.lanes));
        match barriers.chain(semaphores).chain(channels).chain(devices).find(|&(.., n)| n == 0) {
            Some((kind, name, what, _)) => Err(WorkloadError::Zero { kind, name: name.clone(), what }),
            None => Ok(()),
        }
    }

    fn check_attributes(&self, task: &str, a: &Attributes, cpus: &CpuSet) -> Result<(), WorkloadError> {
        if let Some(set) = &a.affinity {
            check_cpus(task, set, cpus)?;
        }
        match a.group {
            Some(group) if self.groups.get(group).is_none() => {
                Err(WorkloadError::NoGroup { task: task.into(), number: group.0 })
            }
            _ => Ok(()),
        }
    }

    fn check_ops(&self, id: TemplateId, cpus: &CpuSet) -> Result<(), WorkloadError> {
        let template = &self.templates[id];
        for (at, &op) in template.program.ops().iter().enumerate() {
            if let Some((kind, number)) = self.unknown_in(op, cpus) {
                return Err(WorkloadError::Unknown { task: template.name.clone(), at, kind, number });
            }
            if let Op::Fork(child) = op {
                let child_template = &self.templates[child];
                let arguments = match child_template.arguments.as_slice() {
                    [] => &template.arguments,
                    own => own,
                };
                self.check_arguments(&child_template.name, child, arguments)?;
            }
        }
        Ok(())
    }

    fn check_arguments(&self, task: &str, id: TemplateId, given: &[u32]) -> Result<(), WorkloadError> {
        let program = &self.templates[id].program;
        let (found, needed) = (given.len(), program.arguments());
        if found < needed {
            return Err(WorkloadError::Arguments { task: task.into(), found, needed });
        }
        for (at, &op) in program.ops().iter().enumerate() {
            if let Some((kind, number)) = self.unknown_argument(op, given) {
                return Err(WorkloadError::Unknown { task: task.into(), at, kind, number });
            }
        }
        Ok(())
    }

    fn unknown_in(&self, op: Op, cpus: &CpuSet) -> Option<(&'static str, u32)> {
        match op {
            Op::PostHere(first) => {
                let numbers = cpus.iter().map(|cpu| first.0.saturating_add(cpu.0));
                let missing = |&number: &u32| self.semaphores.get(SemaphoreId(number)).is_none();
                numbers.into_iter().find(missing).map(|number| ("semaphore", number))
            }
            Op::Fork(t) => self.templates.get(t).is_none().then_some(("template", t.0)),
            Op::Set(Attribute::Group(g)) => self.groups.get(g).is_none().then_some(("group", g.0)),
            Op::Timer { timer: TimerRef::Shared(t), .. } => {
                self.timers.get(t).is_none().then_some(("timer", t.0))
            }
            _ => self.unknown(op, |fixed, _| fixed),
        }
    }

    fn unknown_argument(&self, op: Op, given: &[u32]) -> Option<(&'static str, u32)> {
        self.unknown(op, |_, argument| argument.map(|n| given[usize::from(n)]))
    }

    /// The first resource named by the operation that does not exist. `select` gets the number of one named
    /// directly or the position of an argument, and says which number to look at, if any.
    fn unknown(
        &self,
        op: Op,
        select: impl Fn(Option<u32>, Option<u8>) -> Option<u32>,
    ) -> Option<(&'static str, u32)> {
        let select = &select;
        match op {
            Op::Lock(m) | Op::Unlock(m) => missing("mutex", &self.mutexes, m, select),
            Op::SpinLock(s) | Op::SpinUnlock(s) => missing("spin lock", &self.spin_locks, s, select),
            Op::Wait { condition, mutex } | Op::Sync { condition, mutex } => {
                missing("condition", &self.conditions, condition, select)
                    .or_else(|| mutex.and_then(|m| missing("mutex", &self.mutexes, m, select)))
            }
            Op::Signal(c) | Op::Broadcast(c) => missing("condition", &self.conditions, c, select),
            Op::Barrier(b) => missing("barrier", &self.barriers, b, select),
            Op::Post(s) | Op::Acquire(s) | Op::Drain(s) => missing("semaphore", &self.semaphores, s, select),
            Op::Enlist { roster, semaphore } => missing("roster", &self.rosters, roster, select)
                .or_else(|| missing("semaphore", &self.semaphores, semaphore, select)),
            Op::Release(r) => missing("roster", &self.rosters, r, select),
            Op::Read { channel, .. } | Op::Write { channel, .. } => {
                missing("channel", &self.channels, channel, select)
            }
            Op::Submit { device, done, .. } => missing("device", &self.devices, device, select)
                .or_else(|| missing("semaphore", &self.semaphores, done, select)),
            Op::Io { device: Some(d), .. } => missing("device", &self.devices, d, select),
            _ => None,
        }
    }
}

fn missing<I: Id + From<u32>, T>(
    kind: &'static str,
    arena: &IdVec<I, T>,
    named: Ref<I>,
    select: impl Fn(Option<u32>, Option<u8>) -> Option<u32>,
) -> Option<(&'static str, u32)> {
    let number = match named {
        Ref::Fixed(id) => select(Some(id.index() as u32), None),
        Ref::Argument(n) => select(None, Some(n)),
    }?;
    arena.get(I::from(number)).is_none().then_some((kind, number))
}

fn check_cpus(task: &str, set: &CpuSet, cpus: &CpuSet) -> Result<(), WorkloadError> {
    if set.intersects(cpus) {
        return Ok(());
    }
    Err(WorkloadError::NoCpu { task: task.into(), cpus: set.clone(), count: cpus.len() })
}
