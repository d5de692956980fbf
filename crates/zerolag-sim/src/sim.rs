// SPDX-License-Identifier: GPL-2.0-only
//! A simulation: a machine with a workload on it, as one value.
//!
//! ```
//! use zerolag_core::kernel::Kernel;
//! use zerolag_core::topology::Topology;
//! use zerolag_core::units::{Instant, Nanos};
//! use zerolag_sim::program::{Op, ProgramBuilder};
//! use zerolag_sim::sim::{Setup, Sim};
//! use zerolag_sim::workload::{Start, Template, Workload};
//!
//! let mut workload = Workload::new();
//! let program = ProgramBuilder::new().op(Op::Run(Nanos::from_millis(5).into())).build().unwrap();
//! let hog = workload.template(Template::new("hog", program));
//! workload.start(Start::new(hog));
//! workload.start(Start::new(hog));
//!
//! let topology = Topology::preset("1cpu").unwrap();
//! let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
//! let mut sim = Sim::new(Setup::new(topology, config), workload).unwrap();
//! sim.run_until(Instant(Nanos::from_secs(1).0), &mut ());
//! assert_eq!(sim.now(), Instant(10_000_000));
//! ```
//!
//! A simulation that is cloned goes on in both copies alike, until something is changed in one of them:
//! that is how "what if" is asked.

use std::hash::{Hash, Hasher};

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::debug;
use zerolag_core::domain::Partitions;
use zerolag_core::event::SchedEvent;
use zerolag_core::fair::bandwidth::BandwidthError;
use zerolag_core::ids::{GroupId, TaskId};
use zerolag_core::scheduler::Scheduler;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};

use crate::costs::Costs;
use crate::frequency::Frequencies;
use crate::machine::{Machine, Report};
use crate::note::Note;
use crate::rng::mix;
use crate::script::{RecordError, Recorder};
use crate::workload::{TemplateId, Workload, WorkloadError};

pub use crate::machine::{Change, Clock, Holder, OPERATIONS_AT_ONCE, Stop, TaskChange, Wait, WaitingFor};

/// Everything about a simulation but its workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The machine.
    pub topology: Topology,
    /// The scheduler.
    pub config: Config,
    /// What the kernel's work costs.
    pub costs: Costs,
    /// Thousandths of the nominal speed, by CPU; CPUs beyond the end have 1000. Zero counts as the least speed
    /// there is.
    pub speeds_permille: Vec<u32>,
    /// Clocks that have levels; CPUs without run at their nominal speed.
    pub frequencies: Frequencies,
    /// How the CPUs are divided among root domains.
    pub partitions: Partitions,
    /// Ticks of different CPUs come at different times (`skew_tick`), not all at once.
    pub stagger_ticks: bool,
    /// Each tick is late by something below this, drawn from the seed.
    pub tick_jitter: Nanos,
    /// Where chance comes from.
    pub seed: u64,
    /// A seed for the order of simultaneous events; without one they come in the documented order.
    pub ties: Option<u64>,
}

impl Setup {
    /// Nothing costs anything, all CPUs have nominal speed, ticks are aligned, the seed is 1.
    pub fn new(topology: Topology, config: Config) -> Self {
        Self {
            topology,
            config,
            costs: Costs::IDEAL,
            speeds_permille: Vec::new(),
            frequencies: Frequencies::default(),
            partitions: Partitions::default(),
            stagger_ticks: false,
            tick_jitter: Nanos::ZERO,
            seed: 1,
            ties: None,
        }
    }
}

/// Somebody who is told what happens, in the order in which it does.
pub trait Observer {
    /// A scheduling event.
    fn event(&mut self, event: &SchedEvent);
    /// A program reports something.
    fn note(&mut self, _note: &Note) {}
    /// Whether the run should go on: asked after everything that happens.
    fn wants_more(&self) -> bool {
        true
    }
    /// Whether there is any point in telling.
    fn listens(&self) -> bool {
        true
    }
}

/// Nobody.
impl Observer for () {
    fn event(&mut self, _: &SchedEvent) {}
    fn listens(&self) -> bool {
        false
    }
}

impl<F: FnMut(&SchedEvent)> Observer for F {
    fn event(&mut self, event: &SchedEvent) {
        self(event);
    }
}

/// Counters of what the machine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events taken from the queue.
    pub events: u64,
    /// A CPU went from one task, or none, to another.
    pub switches: u64,
    /// Tasks were woken.
    pub wakeups: u64,
    /// Ticks of busy CPUs.
    pub ticks: u64,
    /// Timers expired.
    pub timers: u64,
    /// Tasks came into being.
    pub forks: u64,
    /// Tasks ended.
    pub exits: u64,
}

impl Stats {
    /// Scheduling events: switches, wake-ups, ticks, tasks born and ended.
    pub const fn scheduling_events(&self) -> u64 {
        self.switches + self.wakeups + self.ticks + self.forks + self.exits
    }
}

/// Why a simulation cannot be recorded as an event script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordedError {
    /// It cannot be run.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// It cannot be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sim {
    machine: Machine,
}

impl Sim {
    /// A machine that gets this workload from time 0 on, when its kernel has been up for 2048 s.
    ///
    /// # Errors
    /// If the workload makes no sense on this machine.
    pub fn new(setup: Setup, workload: Workload) -> Result<Self, WorkloadError> {
        Self::check(&setup, &workload)?;
        Ok(Self { machine: Machine::new(&setup, workload, None) })
    }

    /// As [`Sim::new`]; what the scheduler is asked to do is written down as an event script, in the language
    /// of oracle/FORMAT.md, so that the kernel's own code can be asked to do the same.
    ///
    /// # Errors
    /// If the workload makes no sense on this machine, or the language has no words for the machine or its
    /// configuration.
    pub fn recorded(setup: Setup, workload: Workload) -> Result<Self, RecordedError> {
        Self::check(&setup, &workload)?;
        let recorder = Recorder::new(&setup.config, &setup.topology)?;
        Ok(Self { machine: Machine::new(&setup, workload, Some(recorder)) })
    }

    /// The script since this was last asked for.
    ///
    /// # Errors
    /// If something happened that the language has no words for.
    pub fn take_script(&mut self) -> Result<String, RecordError> {
        self.machine.take_record()
    }

    fn check(setup: &Setup, workload: &Workload) -> Result<(), WorkloadError> {
        workload.check(&CpuSet::first_n(setup.topology.cpu_count()))?;
        if setup.config.variants.bandwidth.is_none()
            && let Some((_, group)) = workload.groups.iter().find(|(_, g)| g.limit.is_some())
        {
            let error = BandwidthError::NotInKernel;
            return Err(WorkloadError::Limit { path: group.path.clone(), error });
        }
        Ok(())
    }

    /// Handles the next event if it is due by `end`. Returns whether there was one.
    pub fn step(&mut self, end: Instant, observer: &mut impl Observer) -> bool {
        self.machine.set_reporting(observer.listens());
        self.step_and_tell(end, observer)
    }

    /// Goes on until `end`, until the observer wants no more, or until it stops by itself: then says why.
    pub fn run_until(&mut self, end: Instant, observer: &mut impl Observer) -> Option<&Stop> {
        self.machine.set_reporting(observer.listens());
        while self.step_and_tell(end, observer) {
            if !observer.wants_more() {
                return self.stop();
            }
        }
        if self.machine.stop.is_none() {
            self.machine.now = self.machine.now.max(end);
        }
        self.stop()
    }

    fn step_and_tell(&mut self, end: Instant, observer: &mut impl Observer) -> bool {
        let went_on = self.machine.step(end);
        for report in self.machine.reports.drain(..) {
            match report {
                Report::Event(event) => observer.event(&event),
                Report::Note(note) => observer.note(&note),
            }
        }
        went_on
    }

    /// Why it stopped by itself, if it did. It does not go on then.
    pub fn stop(&self) -> Option<&Stop> {
        self.machine.stop.as_ref()
    }

    /// The time: of the last event, or up to which it was told to run. If nothing will ever happen again,
    /// that of the last event that was more than a tick.
    pub fn now(&self) -> Instant {
        if self.machine.stop.is_some() { self.machine.active_at } else { self.machine.now }
    }

    /// Has something changed at a certain time, or now if that has passed.
    pub fn change_at(&mut self, at: Instant, change: Change) {
        self.machine.change_at(at, change);
    }

    /// The scheduler, to look at. Its own clock is 2048 s ahead of [`Sim::now`], as the machine has been on for so long.
    pub fn scheduler(&self) -> &Scheduler {
        &self.machine.scheduler
    }

    /// The clocks that have levels.
    pub fn clocks(&self) -> &[Clock] {
        self.machine.clocks()
    }

    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.machine.workload
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.machine.stats
    }

    /// How many tasks there have been; they are numbered from 0 in the order in which they came into being.
    pub fn task_count(&self) -> usize {
        self.machine.task_count()
    }

    /// A task's name.
    pub fn task_name(&self, task: TaskId) -> String {
        self.machine.name(task)
    }

    /// Which template a task was made from.
    pub fn template_of(&self, task: TaskId) -> TemplateId {
        self.machine.template_of(task)
    }

    /// Everybody who waits at the moment, and for what.
    pub fn waits(&self) -> Vec<Wait> {
        self.machine.waits()
    }
}

/// As a kernel's files would show them: tasks are numbered from 1.
impl debug::Names for Sim {
    fn comm(&self, task: TaskId) -> String {
        self.task_name(task)
    }

    fn pid(&self, task: TaskId) -> u64 {
        u64::from(task.0) + 1
    }

    fn path(&self, group: GroupId) -> String {
        self.workload().groups[group].path.clone()
    }
}

/// A number that says which events happened, and in which order: if two runs have the same, they were the
/// same. An [`Observer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventHash(u64);

impl EventHash {
    /// The number so far.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Observer for EventHash {
    fn event(&mut self, event: &SchedEvent) {
        event.hash(self);
    }

    fn note(&mut self, note: &Note) {
        note.hash(self);
    }
}

/// Integers of any width count as 64-bit numbers, so that the hash does not depend on the computer.
impl Hasher for EventHash {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u8(b));
    }
    fn write_u8(&mut self, i: u8) {
        self.write_u64(u64::from(i));
    }
    fn write_u32(&mut self, i: u32) {
        self.write_u64(u64::from(i));
    }
    fn write_u64(&mut self, i: u64) {
        self.0 = mix(self.0 ^ i);
    }
    fn write_i64(&mut self, i: i64) {
        self.write_u64(i as u64);
    }
    fn write_isize(&mut self, i: isize) {
        self.write_u64(i as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
