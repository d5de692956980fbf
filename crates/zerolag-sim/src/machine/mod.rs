// SPDX-License-Identifier: GPL-2.0-only
//! The machine: CPUs that execute programs under the scheduler.
//!
//! # What a CPU does
//!
//! ```text
//!        interrupt: tick, timer, IPI                 free_at
//!            │                                          │
//!  ──work────┼▓▓▓▓kernel: occupied, not preemptible▓▓▓▓─┼──▶ reschedule pending? switch : work on
//! ```
//!
//! * A CPU runs the task that the scheduler says, works off what that task has to do, and asks its program for
//!   more when that is done ([`Machine::resume`]).
//! * The kernel's own work costs time ([`Costs`]). While it lasts the CPU is *occupied*: the task does not
//!   get on and nobody is switched; a reschedule that came up meanwhile is done when it ends. Interrupts are
//!   taken nevertheless and prolong it.
//! * A CPU never goes back to a task with a reschedule pending. On the CPU on which it came up it is done at
//!   once, or when the CPU is no longer occupied; another CPU is told by an IPI.
//! * A CPU that goes idle keeps its tick until that comes and finds it idle; then it has none until it runs a
//!   task again. Other interrupts find it in an idle state, and are served when it has left that.
//! * Softirqs (balancing) come right after the interrupt that raised them and cost nothing. The stopper runs
//!   like a reschedule, before one.
//!
//! Between events nothing changes; the queue says what is next, in a total order ([`crate::queue`]). The work
//! of one event does not depend on the number of CPUs or tasks, but for the logarithm in the queue.
//!
//! # What a task does at one moment
//!
//! All operations of a program that take no time are done one after the other without another CPU getting a
//! word in. If more than [`OPERATIONS_AT_ONCE`] are done, by all tasks together, before time moves on, it never
//! will, and the run ends with a diagnosis ([`Stop::Livelock`]).

mod birth;
mod channel;
mod clock;
mod control;
mod cpu;
mod driver;
mod hotplug;
mod interrupt;
mod perform;
mod shared;
mod stall;
mod sync;
mod task;
mod timers;

use std::collections::BTreeMap;
use std::mem;

use zerolag_core::domain::Partitions;
use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{CpuId, Id, IdVec, TaskId};
use zerolag_core::scheduler::{Effect, Scheduler, WokenFrom};
use zerolag_core::units::{Instant, Nanos};

pub use clock::Clock;
pub use control::{Change, TaskChange};
pub use stall::{Holder, Wait};
pub use task::WaitingFor;

use self::clock::Clocks;
use self::cpu::{Cpu, Rate};
use self::driver::Driver;
use self::shared::Shared;
use self::task::{Doing, Task};
use self::timers::Deed;
use crate::costs::Costs;
use crate::note::{Note, NoteKind};
use crate::queue::{Queue, Rank};
use crate::script::{RecordError, Recorder};
use crate::sim::{Setup, Stats};
use crate::workload::{TemplateId, Workload};

/// So many operations without time passing are taken to mean that it never will.
pub const OPERATIONS_AT_ONCE: u64 = 10_000_000;

/// Why a machine stopped before it was told to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every task has ended.
    Finished,
    /// Nothing will ever happen again: no task runs, nothing is due, and these wait for each other.
    Deadlock(Vec<Wait>),
    /// This task (and maybe others) goes on without time passing.
    Livelock {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// The operation of its program that it had come to.
        at: usize,
    },
}

/// Something for observers, in the order in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    Event(SchedEvent),
    Note(Note),
}

/// What each CPU has in the event queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Due {
    /// It is done with what it was doing.
    Step,
    Timer,
    Ipi,
    Hrtick,
    Tick,
}

impl Due {
    const ALL: [Self; 5] = [Self::Step, Self::Timer, Self::Ipi, Self::Hrtick, Self::Tick];

    const fn rank(self) -> Rank {
        match self {
            Self::Step => Rank::Step,
            Self::Timer => Rank::Timer,
            Self::Ipi => Rank::Ipi,
            Self::Hrtick => Rank::Hrtick,
            Self::Tick => Rank::Tick,
        }
    }
}

/// The slot of what comes from outside; those of the CPUs follow.
const CONTROL: usize = 0;

/// The machine. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) scheduler: Driver,
    pub(crate) now: Instant,
    queue: Queue,
    cpus: IdVec<CpuId, Cpu>,
    tasks: IdVec<TaskId, Task>,
    shared: Shared,
    pub(crate) workload: Workload,
    control: control::Agenda,
    clocks: Clocks,
    costs: Costs,
    tick: Nanos,
    tick_jitter: Nanos,
    seed: u64,
    /// How many tasks were forked from each template.
    forks: IdVec<TemplateId, u32>,
    /// Numbers of forked threads of programs that number them.
    thread_numbers: BTreeMap<TaskId, u32>,
    /// The CPU whose event is being handled; a reschedule there needs no interrupt.
    here: Option<CpuId>,
    /// Tasks that have not ended.
    alive: u32,
    /// Operations done since time last moved on.
    operations: u64,
    /// The last time at which anything but a tick happened.
    pub(crate) active_at: Instant,
    pub(crate) stop: Option<Stop>,
    pub(crate) reports: Vec<Report>,
    reporting: bool,
    pub(crate) stats: Stats,
}

impl Machine {
    /// A machine at rest. The workload has been checked against its CPUs.
    /// `recorder` writes down what the scheduler is asked to do.
    pub(crate) fn new(setup: &Setup, workload: Workload, recorder: Option<Recorder>) -> Self {
        let topology = &setup.topology;
        let scheduler = Scheduler::new(setup.config.clone(), topology.clone());
        let count = topology.cpu_count();
        let tick = setup.config.tick();
        let cpus = topology
            .cpus()
            .map(|cpu| {
                let speed = setup.speeds_permille.get(cpu.index()).copied().unwrap_or(1000);
                // As `skew_tick=1` spreads them: over half a tick.
                let offset =
                    if setup.stagger_ticks { tick.0 / 2 * cpu.index() as u64 / count as u64 } else { 0 };
                Cpu::new(Rate::new(topology.capacity(cpu), speed), Nanos(offset))
            })
            .collect();
        let mut machine = Self {
            scheduler: Driver::new(scheduler, recorder),
            now: Instant::ZERO,
            queue: Queue::new(1 + count * Due::ALL.len(), setup.ties),
            cpus,
            tasks: IdVec::new(),
            shared: Shared::new(&workload, count),
            control: control::Agenda::new(&workload),
            clocks: Clocks::new(&setup.frequencies, count),
            forks: workload.templates.iter().map(|_| 0).collect(),
            thread_numbers: BTreeMap::new(),
            workload,
            costs: setup.costs.clone(),
            tick,
            tick_jitter: setup.tick_jitter,
            seed: setup.seed,
            here: None,
            alive: 0,
            operations: 0,
            active_at: Instant::ZERO,
            stop: None,
            reports: Vec::new(),
            reporting: false,
            stats: Stats::default(),
        };
        machine.start_clocks();
        if setup.partitions != Partitions::default() {
            machine.scheduler.at(Instant::ZERO).set_partitions(setup.partitions.clone());
        }
        machine.make_groups();
        machine.set_control_timer();
        for cpu in topology.online().iter() {
            machine.start_tick(cpu);
        }
        machine
    }

    /// The clocks of the CPUs, as far as they have levels.
    pub(crate) fn clocks(&self) -> &[Clock] {
        &self.clocks.all
    }

    /// Whether [`Machine::reports`] is filled.
    pub(crate) fn set_reporting(&mut self, on: bool) {
        self.reporting = on;
        self.scheduler.set_tracing(on);
    }

    /// What has been written down since this was last asked for.
    pub(crate) fn take_record(&mut self) -> Result<String, RecordError> {
        self.scheduler.take_record()
    }

    /// Handles the next event if it is due by `end`. Returns whether there was one.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        if self.stop.is_some() {
            return false;
        }
        let Some((time, slot)) = self.queue.earliest() else {
            self.stop = Some(self.standstill());
            return false;
        };
        if time > end {
            return false;
        }
        self.queue.take(slot);
        if time > self.now {
            self.operations = 0;
            self.now = time;
        }
        self.stats.events += 1;
        if slot == CONTROL {
            self.here = None;
            self.active_at = time;
            self.do_control();
            return true;
        }
        let cpu = CpuId::from_index((slot - 1) / Due::ALL.len());
        let due = Due::ALL[(slot - 1) % Due::ALL.len()];
        self.here = Some(cpu);
        match due {
            Due::Step => self.resume(cpu),
            Due::Timer => self.timer_interrupt(cpu),
            Due::Ipi => self.ipi(cpu),
            Due::Hrtick => self.hrtick(cpu),
            Due::Tick => self.tick(cpu),
        }
        if due != Due::Tick {
            self.active_at = time;
        }
        if self.alive == 0 && self.control.is_done() {
            self.stop = Some(Stop::Finished);
        }
        true
    }

    fn slot(cpu: CpuId, due: Due) -> usize {
        1 + cpu.index() * Due::ALL.len() + due as usize
    }

    #[inline]
    fn set_due(&mut self, cpu: CpuId, due: Due, at: Option<Instant>) {
        let slot = Self::slot(cpu, due);
        match at {
            Some(at) if self.queue.due(slot) == Some(at) => {}
            Some(at) => self.queue.set(slot, at, due.rank()),
            None => self.queue.clear(slot),
        }
    }

    /// Whom the CPU runs next and what it does next, until that takes time.
    fn resume(&mut self, cpu: CpuId) {
        loop {
            if mem::take(&mut self.cpus[cpu].softirq) {
                self.scheduler.at(self.now).softirq(cpu);
                self.take_effects();
                continue;
            }
            let occupied = self.cpus[cpu].free_at > self.now;
            let stops = !self.cpus[cpu].stops.is_empty();
            if stops || self.scheduler.cpus()[cpu].need_resched {
                if occupied {
                    let free_at = self.cpus[cpu].free_at;
                    return self.set_due(cpu, Due::Step, Some(free_at));
                }
                if stops {
                    let work = self.cpus[cpu].stops.remove(0);
                    self.scheduler.at(self.now).stop(cpu, work);
                } else {
                    if self.cpus[cpu].running.is_none() && !self.cpus[cpu].has_tick {
                        self.scheduler.at(self.now).restart_tick(cpu);
                    }
                    self.scheduler.at(self.now).schedule(cpu);
                }
                self.after_switch(cpu);
                continue;
            }
            let Some(task) = self.cpus[cpu].running else {
                if !mem::replace(&mut self.cpus[cpu].asleep, true) {
                    let ticks = self.scheduler.at(self.now).enter_idle_loop(cpu);
                    self.take_effects();
                    if ticks && !self.cpus[cpu].has_tick {
                        self.start_tick(cpu);
                    }
                    continue;
                }
                return self.set_due(cpu, Due::Step, None);
            };
            if self.cpus[cpu].throttle_work {
                // It is about to return to user mode: when the kernel is done.
                if occupied {
                    let free_at = self.cpus[cpu].free_at;
                    return self.set_due(cpu, Due::Step, Some(free_at));
                }
                self.cpus[cpu].throttle_work = false;
                self.scheduler.at(self.now).return_to_user(cpu);
                self.take_effects();
                continue;
            }
            self.count_work(cpu);
            if occupied || !self.is_done(task) {
                let at = self.next_step(cpu, task);
                return self.set_due(cpu, Due::Step, Some(at));
            }
            if self.stop.is_some() || self.perform(cpu, task) == Flow::Spins {
                return self.set_due(cpu, Due::Step, None);
            }
        }
    }

    /// The kernel takes the CPU for so long.
    fn occupy(&mut self, cpu: CpuId, cost: Nanos) {
        if cost == Nanos::ZERO {
            return;
        }
        self.count_work(cpu);
        let c = &mut self.cpus[cpu];
        c.free_at = c.free_at.max(self.now) + cost;
        c.working_since = c.free_at;
    }

    /// Brings what is left for the running task up to date.
    fn count_work(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu];
        if self.now <= c.working_since {
            return;
        }
        let worked = c.rate.work_in(self.now - c.working_since);
        c.working_since = self.now;
        if let Some(task) = c.running {
            let task = &mut self.tasks[task];
            task.left = task.left.saturating_sub(worked);
        }
    }

    /// Whether the running task, whose work is counted, is done with what it was doing.
    fn is_done(&self, task: TaskId) -> bool {
        let task = &self.tasks[task];
        match task.doing {
            Doing::Program | Doing::Spin => true,
            Doing::Work => task.left == Nanos::ZERO,
            Doing::Wall { .. } => task.left == Nanos::ZERO && task.until <= self.now,
        }
    }

    /// When the running task, whose work is counted, will be done with what it is doing if it is left alone.
    fn next_step(&mut self, cpu: CpuId, task: TaskId) -> Instant {
        let c = &self.cpus[cpu];
        let start = c.free_at.max(self.now);
        let task = &mut self.tasks[task];
        match task.doing {
            Doing::Program | Doing::Spin => start,
            Doing::Work => start + c.rate.time_for(task.left),
            Doing::Wall { grain: Nanos::ZERO } => start.max(task.until),
            Doing::Wall { grain } => {
                // The first look at the clock comes when the current grain is done; each further one a grain
                // later. The one that finds the time past `until` is the end.
                let current = Nanos(task.left.0 % grain.0);
                let first_look = start + c.rate.time_for(current);
                let more = task.until.saturating_since(first_look).0.div_ceil(c.rate.time_for(grain).0);
                task.left = Nanos(current.0 + more * grain.0);
                start + c.rate.time_for(task.left)
            }
        }
    }

    /// After a call of the scheduler in which the CPU may have got another task.
    fn after_switch(&mut self, cpu: CpuId) {
        self.take_effects();
        self.follow(cpu);
        self.govern(cpu);
    }

    /// The CPU runs whom the scheduler says.
    fn follow(&mut self, cpu: CpuId) {
        let next = self.scheduler.cpus()[cpu].curr;
        if self.cpus[cpu].running == next {
            return;
        }
        self.count_work(cpu);
        self.cpus[cpu].running = next;
        self.stats.switches += 1;
        let Some(task) = next else { return };
        let last = self.tasks[task].cpu.replace(cpu);
        let moved = last.is_some_and(|last| last != cpu);
        let migration = if moved { self.costs.migration } else { Nanos::ZERO };
        self.occupy(cpu, self.costs.context_switch + migration);
        let c = &mut self.cpus[cpu];
        c.asleep = false;
        c.working_since = c.free_at.max(self.now);
        if !c.has_tick {
            self.start_tick(cpu);
        }
    }

    /// Does what the scheduler asks for.
    fn take_effects(&mut self) {
        while let Some(effect) = self.scheduler.poll() {
            match effect {
                Effect::Resched { cpu } => {
                    if self.here != Some(cpu) {
                        self.follow(cpu);
                        self.send_ipi(cpu);
                    }
                }
                Effect::WakeIpi { cpu } => self.send_ipi(cpu),
                Effect::NohzKick { cpu } => {
                    self.cpus[cpu].kicked = true;
                    self.send_ipi(cpu);
                }
                Effect::UnthrottleIpi { cpu } => {
                    self.cpus[cpu].unthrottles = true;
                    self.send_ipi(cpu);
                }
                Effect::ThrottleWork { cpu } => self.cpus[cpu].throttle_work = true,
                Effect::BandwidthTimer { group, timer, at } => {
                    // What is done from outside is done on the first CPU.
                    let first = || self.scheduler.online().first().unwrap_or(CpuId(0));
                    let cpu = self.here.unwrap_or_else(first);
                    self.cpus[cpu].timers.add(at, at, Deed::Bandwidth(group, timer));
                    self.set_timer(cpu);
                }
                Effect::Stop { cpu, work } => {
                    self.cpus[cpu].stops.push(work);
                    if self.here != Some(cpu) {
                        self.send_ipi(cpu);
                    }
                }
                // Raised on the CPU itself, by an interrupt that goes on to `resume`.
                Effect::Softirq { cpu } => self.cpus[cpu].softirq = true,
                Effect::Hrtick { cpu, at } => self.set_due(cpu, Due::Hrtick, at),
                Effect::Trace(event) => self.reports.push(Report::Event(event)),
                Effect::BlockedLoad { .. } => {}
                _ => unreachable!("the machine knows every effect of the scheduler"),
            }
        }
    }

    fn note(&mut self, time: Instant, cpu: CpuId, task: TaskId, kind: NoteKind) {
        if self.reporting {
            self.reports.push(Report::Note(Note { time, cpu, task, kind }));
        }
    }

    /// A waiting task is to run again. It is off the queue in which it waited, if there is one.
    fn wake(&mut self, cpu: CpuId, task: TaskId, sync: bool) {
        self.wake_from(cpu, task, sync, WokenFrom::Process);
    }

    fn wake_from(&mut self, cpu: CpuId, task: TaskId, sync: bool, from: WokenFrom) {
        self.tasks[task].waiting_for = None;
        if self.scheduler.at(self.now).wake_from(cpu, task, sync, from) {
            self.stats.wakeups += 1;
            self.govern(self.scheduler.tasks()[task].cpu);
        }
        self.take_effects();
        self.occupy(cpu, self.costs.wakeup);
    }
}

/// How a CPU goes on after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// With whatever is next.
    Goes,
    /// Not at all, until something happens to it.
    Spins,
}
