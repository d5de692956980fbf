// SPDX-License-Identifier: GPL-2.0-only
//! From a file to programs.
//!
//! | in the file | in the program |
//! |---|---|
//! | `run` | work: so many loops as the calibrated CPU does in that time |
//! | `runtime` | working for that long by the clock, which is looked at after each 32 µs of work |
//! | `suspend`, `resume` | lock, wait or broadcast, unlock, all under one name |
//! | `barrier` | a barrier for the sum of instances over all its mentions |
//! | `mem`, `memrun`, `iorun` | work, by [`MemoryCosts`] |
//! | a phase's attributes | set when it is entered, as they stay until changed |
//! | a phase's CPUs | set when it is entered, if any phase of the task has some |
//!
//! What the scheduler underneath does not have is said in a remark: `SCHED_DEADLINE` runs as `SCHED_FIFO` 99
//! without a budget, clamps of utilisation and priority inheritance have no effect.

use std::collections::BTreeMap;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId, Id};
use zerolag_core::nice::{Nice, Policy as CorePolicy};
use zerolag_core::topology::Topology;
use zerolag_core::units::{Capacity, Instant, Nanos};

use super::error::{Problem, Remark, RtAppError};
use super::marks::{Compiled, Meaning, What};
use super::memory::MemoryCosts;
use super::spec::{Calibration, EventKind, Placement, Policy, Repeat, RtApp, Scheduling, Task, TimerName};
use crate::program::{Attribute, Late, Op, ProgramBuilder, ProgramError, Times};
use crate::resource::{
    AppId, BarrierId, BarrierSpec, ConditionId, MutexId, Named, SemaphoreId, SemaphoreSpec, TimerId, TimerRef,
};
use crate::workload::{Attributes, Start, Template, TemplateId, Workload};

/// Nanoseconds per loop that a CPU of full capacity is said to take where the file asks for a calibration.
/// Assumed: real CPUs take some tens to some hundreds. It divides a microsecond, so nothing is lost.
pub const NANOS_PER_LOOP: u64 = 100;

/// Work between two looks at the clock in `runtime`, in microseconds.
const RUNTIME_GRAIN_US: u64 = 32;

/// How a file becomes part of a workload.
#[derive(Clone, Debug)]
pub struct Options {
    /// When its threads start.
    pub start: Instant,
    /// The group they start in; the files' own groups are below it.
    pub group: GroupId,
    /// What memory accesses cost.
    pub memory: MemoryCosts,
    /// Whether programs report where they are, for logs and markers.
    pub observe: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { start: Instant::ZERO, group: GroupId::ROOT, memory: MemoryCosts::default(), observe: false }
    }
}

/// The calibrated loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// What it takes on the CPU that was calibrated (`p_load`).
    pub(super) nanos: u64,
    /// What it takes on a CPU of full capacity.
    work: u64,
}

impl Loop {
    fn new(calibration: Calibration, machine: &Topology) -> Self {
        match calibration {
            Calibration::NanosPerLoop(nanos) => Self { nanos: nanos.into(), work: nanos.into() },
            Calibration::Cpu(cpu) => {
                let capacity = u64::from(machine.capacity(CpuId(cpu)).0);
                let nanos = NANOS_PER_LOOP * u64::from(Capacity::FULL.0) / capacity;
                Self { nanos, work: NANOS_PER_LOOP }
            }
        }
    }

    /// The work of `run` for so long (`loadwait()`): whole loops, counted for each second apart.
    fn work(self, span: Nanos) -> Nanos {
        const SECOND: u64 = 1_000_000_000;
        let loops = span.0 / SECOND * (SECOND / self.nanos) + span.0 % SECOND / self.nanos;
        Nanos(loops * self.work)
    }
}

/// Adds what a file describes to a workload.
///
/// # Errors
/// [`RtAppError`] if the file does not fit the machine, or a task would go round without ever taking time.
pub fn add(
    app: &RtApp,
    workload: &mut Workload,
    machine: &Topology,
    options: &Options,
) -> Result<Compiled, RtAppError> {
    let mut compiler = Compiler::new(app, workload, machine, options)?;
    let mut threads = 0;
    for (number, task) in app.tasks.iter().enumerate() {
        let template = compiler.template(number, task)?;
        debug_assert_eq!(template, compiler.templates[&task.name]);
        for _ in 0..task.instances {
            let start = Start {
                name: Some(format!("{}-{threads}", task.name)),
                at: options.start,
                ..Start::new(template)
            };
            compiler.workload.start(start);
            threads += 1;
        }
    }
    compiler.workload.numbered[compiler.numbered] = threads;
    compiler.workload.marks += compiler.meanings.len() as u32;
    Ok(Compiled {
        first_mark: compiler.first_mark,
        meanings: compiler.meanings,
        start: options.start,
        nanos_per_loop: compiler.calibrated.nanos,
        remarks: compiler.remarks,
    })
}

struct Compiler<'a> {
    app: &'a RtApp,
    workload: &'a mut Workload,
    machine: &'a Topology,
    options: &'a Options,
    calibrated: Loop,
    numbered: AppId,
    templates: BTreeMap<String, TemplateId>,
    mutexes: BTreeMap<String, MutexId>,
    conditions: BTreeMap<String, ConditionId>,
    barriers: BTreeMap<String, BarrierId>,
    semaphores: BTreeMap<String, SemaphoreId>,
    timers: BTreeMap<String, TimerId>,
    first_mark: u32,
    meanings: Vec<Meaning>,
    remarks: Vec<Remark>,
}

impl<'a> Compiler<'a> {
    fn new(
        app: &'a RtApp,
        workload: &'a mut Workload,
        machine: &'a Topology,
        options: &'a Options,
    ) -> Result<Self, RtAppError> {
        if let Calibration::Cpu(cpu) = app.global.calibration
            && cpu as usize >= machine.cpus().len()
        {
            return Err(no_cpu(app, app.global.calibration_at, "calibration", cpu, machine));
        }
        // Forks name tasks that may come later, so all get their numbers first.
        let next = workload.templates.len();
        let numbered = app.tasks.iter().enumerate();
        let templates =
            numbered.map(|(n, task)| (task.name.clone(), TemplateId::from_index(next + n))).collect();
        let timers = app.shared_timers.iter();
        let timers = timers.map(|t| (t.name.clone(), workload.timers.push(Named { name: t.name.clone() })));
        Ok(Self {
            calibrated: Loop::new(app.global.calibration, machine),
            numbered: workload.numbered.push(0),
            templates,
            mutexes: BTreeMap::new(),
            conditions: BTreeMap::new(),
            barriers: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            timers: timers.collect(),
            first_mark: workload.marks,
            meanings: Vec::new(),
            remarks: Vec::new(),
            app,
            workload,
            machine,
            options,
        })
    }

    fn template(&mut self, number: usize, task: &Task) -> Result<TemplateId, RtAppError> {
        let program = self.program(number, task)?;
        let program = program.build().map_err(|error| {
            let problem = match error {
                ProgramError::TakesNoTime { .. } => Problem::TakesNoTime { task: task.name.clone() },
                other => Problem::Program { task: task.name.clone(), error: other },
            };
            RtAppError { file: self.app.file.clone(), at: task.at, problem: Box::new(problem) }
        })?;
        let (policy, nice, slice) = self.attributes(&task.scheduling, task);
        let cpus = self.cpus(&task.placement, task)?;
        let attributes = Attributes {
            nice: Some(nice),
            policy: Some(policy),
            slice,
            affinity: cpus,
            group: self.group(&task.placement).or(Some(self.options.group)),
            timer_slack: None,
            latency_nice: None,
        };
        let numbered = Some(self.numbered);
        Ok(self.workload.template(Template {
            numbered,
            attributes,
            ..Template::new(task.name.clone(), program)
        }))
    }

    fn program(&mut self, number: usize, task: &Task) -> Result<ProgramBuilder, RtAppError> {
        let mut program = ProgramBuilder::new();
        self.mark(&mut program, number, What::ThreadStart);
        if self.is_forked(task) {
            program.op(Op::Epoch(self.options.start));
        }
        if task.delay > Nanos::ZERO {
            program.op(Op::Delay(task.delay));
        }
        self.mark(&mut program, number, What::Ready);
        let moves = task.phases.iter().any(|phase| phase.placement.cpus.is_some());
        begin(&mut program, task.repeat);
        for (index, phase) in task.phases.iter().enumerate() {
            let index = index as u32;
            if moves {
                let cpus = match self.cpus(&phase.placement, task)? {
                    Some(cpus) => cpus,
                    None => {
                        self.cpus(&task.placement, task)?.unwrap_or_else(|| self.machine.cpus().collect())
                    }
                };
                let affinity = program.affinity(cpus);
                program.op(Op::Set(Attribute::Affinity(affinity)));
            }
            if let Some(change) = &phase.scheduling {
                self.change(&mut program, change, task);
            }
            if let Some(group) = self.group(&phase.placement) {
                program.op(Op::Set(Attribute::Group(group)));
            }
            begin(&mut program, phase.repeat);
            self.mark(&mut program, number, What::PhaseStart(index));
            for (position, event) in phase.events.iter().enumerate() {
                let event_mark = |start| What::Event { phase: index, event: position as u32, start };
                self.mark(&mut program, number, event_mark(true));
                self.event(&mut program, &event.kind, task);
                if matches!(event.kind, EventKind::Run(_) | EventKind::Runtime(_) | EventKind::Timer { .. }) {
                    self.mark(&mut program, number, event_mark(false));
                }
            }
            self.mark(&mut program, number, What::PhaseEnd);
            end(&mut program, phase.repeat);
        }
        end(&mut program, task.repeat);
        self.mark(&mut program, number, What::ThreadEnd);
        Ok(program)
    }

    fn is_forked(&self, task: &Task) -> bool {
        let events = self.app.tasks.iter().flat_map(|t| &t.phases).flat_map(|phase| &phase.events);
        events.into_iter().any(|event| matches!(&event.kind, EventKind::Fork(name) if *name == task.name))
    }

    fn mark(&mut self, program: &mut ProgramBuilder, task: usize, what: What) {
        if self.options.observe {
            program.op(Op::Mark(self.first_mark + self.meanings.len() as u32));
            self.meanings.push(Meaning { task, what });
        }
    }

    fn event(&mut self, program: &mut ProgramBuilder, kind: &EventKind, task: &Task) {
        let work = |span: Nanos| Op::Run(span.into());
        match kind {
            EventKind::Run(span) => program.op(work(self.calibrated.work(*span))),
            EventKind::Runtime(span) => {
                let grain = self.calibrated.work(Nanos::from_micros(RUNTIME_GRAIN_US));
                // The clock is looked at after the work, so some is always done.
                if *span == Nanos::ZERO {
                    program.op(work(grain))
                } else {
                    program.op(Op::RunFor { wall: (*span).into(), grain })
                }
            }
            EventKind::Sleep(span) => program.op(Op::Sleep((*span).into())),
            EventKind::Timer { timer, period } => {
                let (timer, absolute) = match timer {
                    TimerName::Own(n) => (TimerRef::Own(*n), task.own_timers[usize::from(*n)].absolute),
                    TimerName::Shared(name) => {
                        let absolute = self.app.shared_timers.iter().any(|t| t.name == *name && t.absolute);
                        (TimerRef::Shared(self.timers[name]), absolute)
                    }
                };
                let late = if absolute { Late::KeepBeat } else { Late::Restart };
                program.op(Op::Timer { timer, period: *period, late })
            }
            EventKind::Lock(name) => program.op(Op::Lock(self.mutex(name).into())),
            EventKind::Unlock(name) => program.op(Op::Unlock(self.mutex(name).into())),
            EventKind::Wait { condition, mutex } => {
                let (condition, mutex) = (self.condition(condition).into(), Some(self.mutex(mutex).into()));
                program.op(Op::Wait { condition, mutex })
            }
            EventKind::Sync { condition, mutex } => {
                let (condition, mutex) = (self.condition(condition).into(), Some(self.mutex(mutex).into()));
                program.op(Op::Sync { condition, mutex })
            }
            EventKind::Signal(name) => program.op(Op::Signal(self.condition(name).into())),
            EventKind::Broadcast(name) => program.op(Op::Broadcast(self.condition(name).into())),
            EventKind::Suspend(name) => {
                let (condition, mutex) = (self.condition(name).into(), self.mutex(name).into());
                program
                    .op(Op::Lock(mutex))
                    .op(Op::Wait { condition, mutex: Some(mutex) })
                    .op(Op::Unlock(mutex))
            }
            EventKind::Resume(name) => {
                let (condition, mutex) = (self.condition(name).into(), self.mutex(name).into());
                program.op(Op::Lock(mutex)).op(Op::Broadcast(condition)).op(Op::Unlock(mutex))
            }
            EventKind::Mem { bytes } => program.op(work(self.options.memory.fill(*bytes))),
            EventKind::MemRun(run) => program.op(work(self.options.memory.access(run))),
            EventKind::IoRun { bytes } => {
                let global = &self.app.global;
                program.op(work(self.options.memory.write(
                    *bytes,
                    global.mem_buffer_bytes,
                    &global.io_device,
                )))
            }
            EventKind::Yield => program.op(Op::Yield),
            EventKind::Barrier(name) => program.op(Op::Barrier(self.barrier(name).into())),
            EventKind::Fork(name) => program.op(Op::Fork(self.templates[name])),
            EventKind::SemPost(name) => program.op(Op::Post(self.semaphore(name).into())),
            EventKind::SemWait(name) => program.op(Op::Acquire(self.semaphore(name).into())),
        };
    }

    /// Changes attributes on entry to a phase. Without a priority nothing but the clamps changes.
    fn change(&mut self, program: &mut ProgramBuilder, change: &Scheduling, task: &Task) {
        let (policy, nice, slice) = self.attributes(change, task);
        if change.priority.is_none() {
            return;
        }
        match slice {
            Some(_) => program.op(Op::Set(Attribute::Scheduling { policy, nice, slice })),
            // A slice once asked for stays (`SCHED_FLAG_KEEP_PARAMS`).
            None => program.op(Op::Set(Attribute::Policy(policy))).op(Op::Set(Attribute::Nice(nice))),
        };
    }

    fn attributes(&mut self, s: &Scheduling, task: &Task) -> (CorePolicy, Nice, Option<Nanos>) {
        let priority = s.priority.unwrap_or(0);
        let rt = || priority.clamp(1, 99) as u8;
        let policy = match s.policy {
            Policy::Other => CorePolicy::Normal,
            Policy::Batch => CorePolicy::Batch,
            Policy::Idle => CorePolicy::Idle,
            Policy::RoundRobin => CorePolicy::RoundRobin(rt()),
            Policy::Fifo => CorePolicy::Fifo(rt()),
            Policy::Deadline => {
                self.remark(task, "SCHED_DEADLINE runs as SCHED_FIFO 99, without a budget");
                CorePolicy::Fifo(99)
            }
        };
        if s.util_min.is_some() || s.util_max.is_some() {
            self.remark(task, "util_min and util_max have no effect");
        }
        let nice = match s.policy {
            Policy::Other | Policy::Batch => Nice::new(priority.into()).unwrap_or_default(),
            _ => Nice::ZERO,
        };
        let sliced = matches!(s.policy, Policy::Other | Policy::Batch) && s.runtime > Nanos::ZERO;
        (policy, nice, sliced.then_some(s.runtime))
    }

    /// Says something about a task, once.
    fn remark(&mut self, task: &Task, text: &str) {
        let remark = Remark { at: task.at, text: format!("task '{}': {text}", task.name) };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn cpus(&self, placement: &Placement, task: &Task) -> Result<Option<CpuSet>, RtAppError> {
        let Some(cpus) = &placement.cpus else { return Ok(None) };
        let count = self.machine.cpus().len();
        match cpus.iter().find(|&&cpu| cpu as usize >= count) {
            Some(&cpu) => Err(no_cpu(self.app, task.at, "cpus", cpu, self.machine)),
            None => Ok(Some(cpus.iter().map(|&cpu| CpuId(cpu)).collect())),
        }
    }

    fn group(&mut self, placement: &Placement) -> Option<GroupId> {
        let path = placement.taskgroup.as_ref()?;
        let above = self.workload.groups[self.options.group].path.clone();
        Some(self.workload.group(&format!("{above}/{path}")))
    }

    fn mutex(&mut self, name: &str) -> MutexId {
        let Self { mutexes, workload, .. } = self;
        *mutexes.entry(name.into()).or_insert_with(|| workload.mutexes.push(Named { name: name.into() }))
    }

    fn condition(&mut self, name: &str) -> ConditionId {
        let Self { conditions, workload, .. } = self;
        *conditions
            .entry(name.into())
            .or_insert_with(|| workload.conditions.push(Named { name: name.into() }))
    }

    fn semaphore(&mut self, name: &str) -> SemaphoreId {
        let Self { semaphores, workload, .. } = self;
        *semaphores.entry(name.into()).or_insert_with(|| {
            workload.semaphores.push(SemaphoreSpec { name: name.into(), initial: 0, max: u32::MAX })
        })
    }

    fn barrier(&mut self, name: &str) -> BarrierId {
        let Self { barriers, workload, app, .. } = self;
        *barriers.entry(name.into()).or_insert_with(|| {
            workload.barriers.push(BarrierSpec { name: name.into(), parties: parties(app, name) })
        })
    }
}

/// How many threads a barrier waits for: each mention counts for all instances of its task.
fn parties(app: &RtApp, name: &str) -> u32 {
    let mentions = |task: &Task| {
        let events = task.phases.iter().flat_map(|phase| &phase.events);
        events.filter(|event| matches!(&event.kind, EventKind::Barrier(n) if n == name)).count() as u32
    };
    app.tasks.iter().map(|task| mentions(task) * task.instances).sum::<u32>().max(1)
}

/// Begins a loop, unless it is none.
fn begin(program: &mut ProgramBuilder, repeat: Repeat) {
    match repeat {
        Repeat::Times(1) => {}
        Repeat::Times(n) => _ = program.begin(Times::Exactly(n)),
        Repeat::Forever => _ = program.begin(Times::Forever),
    }
}

fn end(program: &mut ProgramBuilder, repeat: Repeat) {
    if repeat != Repeat::Times(1) {
        program.end();
    }
}

fn no_cpu(
    app: &RtApp,
    at: crate::workload::json::Position,
    key: &str,
    cpu: u32,
    machine: &Topology,
) -> RtAppError {
    let accepted = format!("0 to {} on this machine", machine.cpus().len() - 1);
    let problem = Problem::Value { key: key.into(), found: format!("CPU {cpu}"), accepted };
    RtAppError { file: app.file.clone(), at, problem: Box::new(problem) }
}
