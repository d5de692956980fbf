// SPDX-License-Identifier: GPL-2.0-only
//! The machine a script runs on: the scheduler, and what delivers its effects.
//!
//! Interrupts between CPUs arrive at the end of the event that causes them, in order, each followed by the
//! softirqs of its CPU; softirqs that a tick raises come first.
//!
//! With `raw`, they arrive when the script says so, and softirqs, the stopper and timers wait likewise.
//!
//! With `auto`, CPUs then act by themselves, in ascending order until nothing changes: whoever should
//! reschedule does; whoever has come to the idle task enters the idle loop.

use std::collections::{BTreeSet, VecDeque};

use zerolag_core::balance::NohzScheme;
use zerolag_core::balance::nohz::BlockedDeed;
use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::group::Shares;
use zerolag_core::ids::{CpuId, GroupId, Id, IdVec, TaskId};
use zerolag_core::latency::{LatencyError, LatencyNice};
use zerolag_core::scheduler::{Effect, Scheduler, StopWork, WokenFrom};
use zerolag_core::task::{TaskSpec, TaskState};
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};
use zerolag_core::variants::LoadHistory;

use super::command::{Event, Ipi, NewTask, Place};
use super::error::ScriptFault;
use super::names::Names;
use super::timers::{Timer, Timers};

/// What the reference returns when an id is unknown or a verb does not apply.
const INVALID: i64 = -22;
/// What it returns when a CPU is idle or a task runs.
const BUSY: i64 = -16;
/// What it returns for a file that its kernel does not have.
const NO_ENTRY: i64 = -2;
/// Numbers of groups and tasks lie below these.
const GROUPS_MAX: u64 = 64;
const TASKS_MAX: u64 = 4096;
/// The references of kernels that balance by load take more tasks.
const TASKS_MAX_BY_LOAD: u64 = 1 << 16;

/// A machine that runs.
pub(super) struct Machine {
    pub(super) scheduler: Scheduler,
    pub(super) names: Names,
    pub(super) printed: Printed,
    /// In what context `wake` wakes.
    pub(super) woken_from: WokenFrom,
    now: Instant,
    cpu: CpuId,
    /// The CPU that executes at the moment; timers that are set interrupt it.
    executing: CpuId,
    auto: bool,
    raw: bool,
    /// What the idle loops of the CPUs are doing, with `auto`.
    idle: IdVec<CpuId, IdleLoop>,
    interrupts: VecDeque<Effect>,
    softirqs: BTreeSet<CpuId>,
    timers: Timers,
    /// What was done about load that decays on idle CPUs since that was last printed.
    pub(super) blocked_deeds: Vec<(BlockedDeed, CpuId)>,
    /// CPUs whose task has something to do when it returns to user mode.
    returning: BTreeSet<CpuId>,
}

/// How the reference is built, which shows in what is printed.
#[derive(Clone, Copy)]
pub(super) struct Printed {
    /// Sched domains are built.
    pub(super) domains: bool,
    /// It is described by more than numbers of CPUs and nodes.
    pub(super) rich: bool,
    /// Groups may have quotas.
    pub(super) bandwidth: bool,
    /// CPUs that are idle stop their tick.
    pub(super) nohz: bool,
}

/// A CPU's idle loop.
#[derive(Clone, Copy)]
struct IdleLoop {
    /// It is in it.
    entered: bool,
    /// The tick is stopped.
    tick_off: bool,
}

impl Machine {
    pub(super) fn new(config: Config, topology: Topology, printed: Printed) -> Self {
        let idle = topology.cpus().map(|_| IdleLoop { entered: true, tick_off: false }).collect();
        let tracing = matches!(config.variants.balance.nohz, NohzScheme::HasBlocked | NohzScheme::StaleCpus);
        let boot = if printed.domains { Scheduler::new } else { Scheduler::without_domains };
        let mut scheduler = boot(config, topology);
        scheduler.set_tracing(tracing);
        Self {
            scheduler,
            names: Names::default(),
            printed,
            woken_from: WokenFrom::Process,
            now: Instant::ZERO,
            cpu: CpuId(0),
            executing: CpuId(0),
            auto: false,
            raw: false,
            idle,
            interrupts: VecDeque::new(),
            softirqs: BTreeSet::new(),
            timers: Timers::default(),
            blocked_deeds: Vec::new(),
            returning: BTreeSet::new(),
        }
    }

    /// With `raw` nothing happens by itself, and what wakes on an idle CPU is an interrupt.
    pub(super) fn set_raw(&mut self, on: bool) {
        self.raw = on;
        self.scheduler.config_mut().idle_cpus_are_interrupted = on;
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// The CPU that events happen on.
    pub(super) fn cpu(&self) -> CpuId {
        self.cpu
    }

    pub(super) fn tick_is_off(&self, cpu: CpuId) -> bool {
        self.idle[cpu].tick_off
    }

    fn all_cpus(&self) -> CpuSet {
        CpuSet::first_n(self.idle.len())
    }

    /// The scheduler, whose effects have all been taken.
    #[cfg(test)]
    pub(super) fn settled(&mut self) -> &Scheduler {
        self.collect();
        &self.scheduler
    }

    /// Sorts the effects of what has just happened.
    fn collect(&mut self) {
        while let Some(effect) = self.scheduler.poll() {
            match effect {
                Effect::Softirq { cpu } => {
                    self.softirqs.insert(cpu);
                }
                Effect::WakeIpi { .. }
                | Effect::NohzKick { .. }
                | Effect::UnthrottleIpi { .. }
                | Effect::Stop { .. } => {
                    self.interrupts.push_back(effect);
                }
                Effect::BlockedLoad { deed, cpu } => self.blocked_deeds.push((deed, cpu)),
                Effect::ThrottleWork { cpu } => {
                    self.returning.insert(cpu);
                }
                Effect::BandwidthTimer { group, timer, at } => {
                    self.timers.add(at, Timer { cpu: self.executing, group, timer });
                }
                _ => {}
            }
        }
    }

    /// From now on `cpu` executes. Returns which one did.
    fn execute_on(&mut self, cpu: CpuId) -> CpuId {
        self.collect();
        std::mem::replace(&mut self.executing, cpu)
    }

    fn run_softirqs(&mut self, cpu: CpuId) {
        if !self.raw {
            self.softirqs_now(cpu);
        }
    }

    /// Returns whether there was one.
    fn softirqs_now(&mut self, cpu: CpuId) -> bool {
        let before = self.execute_on(cpu);
        let mut any = false;
        while self.softirqs.remove(&cpu) {
            any = true;
            self.scheduler.softirq(self.now, cpu);
            self.collect();
        }
        self.execute_on(before);
        any
    }

    /// What a CPU is sent arrives, so much of it at most. Returns 1 if there was any.
    fn deliver(&mut self, max: usize, brings: impl Fn(&Effect) -> bool) -> i64 {
        self.collect();
        let (mut count, mut at) = (0, 0);
        while at < self.interrupts.len() && count < max {
            if !brings(&self.interrupts[at]) {
                at += 1;
            } else if let Some(effect) = self.interrupts.remove(at) {
                count += 1;
                self.interrupt(effect);
            }
        }
        i64::from(count > 0)
    }

    /// Whoever asked for this waits for the stopper, which does what it was last asked for.
    fn finish_stop(&mut self) {
        self.collect();
        let asked = |e: &Effect| {
            matches!(e, Effect::Stop { work: StopWork::Migrate { .. } | StopWork::Exec { .. }, .. })
        };
        let last = self.interrupts.iter().rposition(asked);
        if let Some(effect) = last.and_then(|at| self.interrupts.remove(at)) {
            self.interrupt(effect);
        }
    }

    fn deliver_interrupts(&mut self) {
        self.collect();
        if self.raw {
            return;
        }
        while let Some(interrupt) = self.interrupts.pop_front() {
            self.interrupt(interrupt);
        }
    }

    fn interrupt(&mut self, interrupt: Effect) {
        let (Effect::WakeIpi { cpu }
        | Effect::NohzKick { cpu }
        | Effect::UnthrottleIpi { cpu }
        | Effect::Stop { cpu, .. }) = interrupt
        else {
            return;
        };
        let before = self.execute_on(cpu);
        match interrupt {
            Effect::WakeIpi { .. } => self.scheduler.finish_wakeups(self.now, cpu),
            Effect::NohzKick { .. } => self.scheduler.nohz_kick(self.now, cpu),
            Effect::UnthrottleIpi { .. } => self.scheduler.finish_unthrottling(self.now, cpu),
            Effect::Stop { work, .. } => {
                self.scheduler.stop(self.now, cpu, work);
                if self.auto && self.ticks_restart() && !self.leaves_idle_late() && self.idle[cpu].tick_off {
                    // The idle loop was left for it.
                    self.restart_tick(cpu);
                    self.idle[cpu].entered = false;
                }
            }
            _ => {}
        }
        self.run_softirqs(cpu);
        self.execute_on(before);
    }

    /// Tasks that run return to user mode, which may make CPUs reschedule.
    fn return_to_user(&mut self) {
        while let Some(cpu) = self.returning.pop_first() {
            let before = self.execute_on(cpu);
            if self.scheduler.return_to_user(self.now, cpu) {
                self.scheduler.schedule(self.now, cpu);
            }
            self.deliver_interrupts();
            self.execute_on(before);
        }
    }

    /// Time passes; timers expire on the way, each at its own time.
    fn advance(&mut self, to: Instant) {
        if self.raw {
            self.now = to;
            return;
        }
        while let Some((at, Timer { cpu, group, timer })) = self.timers.expired(to) {
            self.now = self.now.max(at);
            let before = self.execute_on(cpu);
            self.scheduler.bandwidth_timer(self.now, cpu, group, timer);
            self.deliver_interrupts();
            self.execute_on(before);
        }
        self.now = to;
    }

    /// A CPU's timer interrupt, and what follows from it.
    fn tick(&mut self, cpu: CpuId) -> i64 {
        if self.auto && self.idle[cpu].tick_off {
            return BUSY;
        }
        let was_idle = self.scheduler.cpus()[cpu].is_idle_task();
        let before = self.execute_on(cpu);
        self.scheduler.tick(self.now, cpu);
        self.run_softirqs(cpu);
        self.deliver_interrupts();
        let resched = i64::from(self.scheduler.cpus()[cpu].need_resched);
        if self.auto {
            self.settle();
            let stays_idle = was_idle && self.scheduler.cpus()[cpu].is_idle_task();
            if stays_idle && self.printed.nohz {
                self.scheduler.stop_tick(self.now, cpu);
                self.idle[cpu].tick_off = true;
            }
        }
        self.execute_on(before);
        resched
    }

    /// Lets CPUs act until nothing changes.
    fn settle(&mut self) {
        let before = self.executing;
        loop {
            let mut again = false;
            for cpu in self.scheduler.online().clone().iter() {
                self.execute_on(cpu);
                if self.scheduler.cpus()[cpu].need_resched {
                    self.idle[cpu].entered = false;
                    if self.ticks_restart() && !self.leaves_idle_late() {
                        self.restart_tick(cpu);
                    }
                    self.scheduler.schedule(self.now, cpu);
                    self.deliver_interrupts();
                    again = true;
                }
                if self.leaves_idle_late() && !self.scheduler.cpus()[cpu].is_idle_task() {
                    self.restart_tick(cpu);
                }
                if !self.scheduler.cpus()[cpu].is_idle_task() {
                    self.idle[cpu] = IdleLoop { entered: false, tick_off: false };
                } else if !self.idle[cpu].entered {
                    self.idle[cpu] = IdleLoop { entered: true, tick_off: false };
                    self.scheduler.enter_idle_loop(self.now, cpu);
                    self.run_softirqs(cpu);
                    self.deliver_interrupts();
                    again = true;
                }
            }
            if !again {
                self.execute_on(before);
                return;
            }
        }
    }

    /// Does by hand what idle loops do.
    fn nohz(&mut self, cpu: CpuId, what: u64) -> i64 {
        if !self.printed.nohz {
            return INVALID;
        }
        if !self.scheduler.cpus()[cpu].is_idle_task() {
            return BUSY;
        }
        let now = self.now;
        match what {
            1 if self.leaves_idle_late() && self.idle[cpu].tick_off => {}
            1 => {
                self.scheduler.stop_tick(now, cpu);
                self.idle[cpu].tick_off |= self.ticks_restart();
            }
            _ if self.ticks_restart() => self.restart_tick(cpu),
            _ => {
                self.scheduler.enter_idle_loop(now, cpu);
            }
        }
        self.run_softirqs(cpu);
        0
    }

    /// The tick runs again when another task runs, not before that is decided (4.17).
    fn leaves_idle_late(&self) -> bool {
        let scheme = self.scheduler.config().variants.balance.nohz;
        matches!(scheme, NohzScheme::HasBlocked | NohzScheme::StaleCpus)
    }

    /// Ticks of CPUs that have left the idle task run again.
    fn restart_ticks(&mut self) {
        for cpu in self.all_cpus().iter() {
            if self.idle[cpu].tick_off && !self.scheduler.cpus()[cpu].is_idle_task() {
                self.restart_tick(cpu);
            }
        }
    }

    /// Something is done when a tick that was stopped runs again.
    fn ticks_restart(&self) -> bool {
        self.scheduler.config().variants.load.history != LoadHistory::None
    }

    fn restart_tick(&mut self, cpu: CpuId) {
        if std::mem::take(&mut self.idle[cpu].tick_off) {
            self.scheduler.restart_tick(self.now, cpu);
        }
    }

    fn set_online(&mut self, cpu: CpuId, online: bool) -> i64 {
        let exists = cpu.index() < self.idle.len();
        if !exists || !self.printed.domains || self.scheduler.online().contains(cpu) == online {
            return INVALID;
        }
        if cpu == self.cpu {
            return BUSY;
        }
        // To empty a CPU takes its stopper, which does nothing by itself then.
        if self.raw {
            return INVALID;
        }
        if online {
            self.scheduler.set_online(self.now, cpu);
        } else {
            self.scheduler.begin_offline(self.now, cpu);
            while self.scheduler.cpus()[cpu].nr_running != 0 || !self.scheduler.cpus()[cpu].is_idle_task() {
                self.scheduler.reschedule(self.now, cpu);
                self.deliver_interrupts();
            }
            self.scheduler.finish_offline(self.now, cpu);
        }
        self.idle[cpu] = IdleLoop { entered: true, tick_off: false };
        0
    }

    pub(super) fn place(&mut self, place: Place) -> Result<(), ScriptFault> {
        match place {
            Place::Clock { ns } if ns < self.now.0 => return Err(ScriptFault::ClockBack),
            Place::Clock { ns } => self.advance(Instant(ns)),
            Place::Advance { ns } => self.advance(self.now + Nanos(ns)),
            Place::Cpu(cpu) => {
                self.cpu = Some(CpuId(cpu)).filter(|&c| self.has_cpu(c)).ok_or(ScriptFault::NoCpu)?;
                self.executing = self.cpu;
            }
        }
        Ok(())
    }

    fn has_cpu(&self, cpu: CpuId) -> bool {
        self.scheduler.online().contains(cpu)
    }

    /// Carries out an event and what it causes. `auto` = CPUs reschedule by themselves.
    pub(super) fn event(&mut self, event: &Event, auto: bool) -> i64 {
        self.auto = auto;
        let result = self.carry_out(event);
        self.deliver_interrupts();
        self.return_to_user();
        if auto {
            self.settle();
        }
        if self.leaves_idle_late() {
            self.restart_ticks();
        }
        result
    }

    fn carry_out(&mut self, event: &Event) -> i64 {
        let (now, cpu) = (self.now, self.cpu);
        match *event {
            Event::Dump => 0,
            Event::Group { group, parent, shares, latency_nice } => {
                match self.add_group(group, parent, shares) {
                    0 => latency_nice.map_or(0, |level| self.set_group_latency_nice(group, level)),
                    refused => refused,
                }
            }
            Event::Shares { group, shares } => self.with_group(group, |s, g| {
                s.set_shares(now, g, Shares::clamped(shares)).map_or(INVALID, |()| 0)
            }),
            Event::GroupIdle { group, idle } => {
                self.with_group(group, |s, g| s.set_idle(now, g, idle).map_or(INVALID, |()| 0))
            }
            Event::Quota { group, quota_us, period_us, burst_us } => {
                self.set_quota(group, quota_us, period_us, burst_us)
            }
            Event::Task { task, ref spec } => self.new_task(task, spec),
            Event::Fork { task } => {
                self.with_task(task, |s, t| if s.wake_new(now, cpu, t) { 0 } else { INVALID })
            }
            Event::Wake { task, sync } => {
                let from = self.woken_from;
                self.with_old_task(task, |s, t| i64::from(s.wake_from(now, cpu, t, sync, from)))
            }
            Event::Sleep { io } => result_of(self.scheduler.block(now, cpu, io)),
            Event::Exit => match self.scheduler.exit(now, cpu) {
                Some(task) => {
                    self.names.forget_task(task);
                    0
                }
                None => BUSY,
            },
            Event::Tick => self.tick(cpu),
            Event::TickAll => {
                let online: Vec<CpuId> = self.scheduler.online().iter().collect();
                online.into_iter().filter(|&cpu| self.tick(cpu) != BUSY).count() as i64
            }
            Event::Warm => {
                for cpu in self.scheduler.online().clone().iter() {
                    self.scheduler.stop(now, cpu, StopWork::Nothing);
                    self.deliver_interrupts();
                }
                0
            }
            Event::Exec => {
                let result = result_of(self.scheduler.exec(now, cpu));
                if self.raw {
                    self.finish_stop();
                }
                result
            }
            Event::Ipi(Ipi::Wake) => self.deliver(usize::MAX, |e| *e == Effect::WakeIpi { cpu }),
            Event::Ipi(Ipi::Kick) => self.deliver(usize::MAX, |e| *e == Effect::NohzKick { cpu }),
            Event::Ipi(Ipi::Unthrottle) => self.deliver(usize::MAX, |e| *e == Effect::UnthrottleIpi { cpu }),
            Event::Softirq => i64::from(self.softirqs_now(cpu)),
            Event::Stopper => self.deliver(1, |e| matches!(*e, Effect::Stop { cpu: on, .. } if on == cpu)),
            Event::Timer { group, timer } => self.fire(group, timer),
            Event::Nohz { what } => self.nohz(cpu, what),
            Event::Offline { cpu } => self.set_online(CpuId(cpu), false),
            Event::Online { cpu } => self.set_online(CpuId(cpu), true),
            Event::Resched { force } => {
                if !force && !self.scheduler.cpus()[cpu].need_resched {
                    return 0;
                }
                1 + i64::from(self.scheduler.reschedule(now, cpu))
            }
            Event::Yield => result_of(self.scheduler.yield_now(now, cpu)),
            Event::Nice { task, nice } => self.with_task(task, |s, t| {
                if let Some(nice) = nice {
                    s.set_nice(now, t, nice);
                }
                0
            }),
            Event::Slice { task, ns } => self.with_task(task, |s, t| {
                let policy = s.tasks()[t].policy;
                s.set_attributes(now, t, policy, Some(Nanos(ns)).filter(|n| n.0 != 0));
                0
            }),
            Event::LatencyNice { task, level } => self.with_task(task, |s, t| {
                let nice = LatencyNice::from_attr(u32::MAX, level.try_into().unwrap_or(i32::MAX));
                refusal(nice.and_then(|nice| s.set_latency_nice(now, t, nice)))
            }),
            Event::GroupLatencyNice { group, level } => self.set_group_latency_nice(group, level),
            Event::Policy { task, policy } => self.with_task(task, |s, t| {
                s.set_policy(now, t, policy);
                0
            }),
            Event::Move { task, cpu } => self.move_task(task, CpuId(cpu)),
            Event::Affine { task, ref cpus } => {
                let cpus = cpus.and(&self.all_cpus());
                if cpus.is_empty() {
                    return INVALID;
                }
                let result = self
                    .with_old_task(task, |s, t| if s.set_affinity(now, cpu, t, cpus) { 0 } else { INVALID });
                if self.raw {
                    self.finish_stop();
                }
                result
            }
            Event::SetGroup { task, group } => {
                let Some(group) = self.names.group(group) else { return INVALID };
                self.with_old_task(task, |s, t| {
                    s.set_group(now, t, group);
                    0
                })
            }
        }
    }

    fn with_task(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, TaskId) -> i64) -> i64 {
        match self.names.task(number) {
            Some(task) => act(&mut self.scheduler, task),
            None => INVALID,
        }
    }

    /// As [`Self::with_task`], for verbs that do not apply to a task before its first wake-up.
    fn with_old_task(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, TaskId) -> i64) -> i64 {
        self.with_task(number, |s, t| if s.tasks()[t].state == TaskState::New { INVALID } else { act(s, t) })
    }

    fn with_group(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, GroupId) -> i64) -> i64 {
        match self.names.group(number).filter(|&g| g != GroupId::ROOT) {
            Some(group) => act(&mut self.scheduler, group),
            None => INVALID,
        }
    }

    fn add_group(&mut self, number: u64, parent: u64, shares: Option<u64>) -> i64 {
        let Some(parent) = self.names.group(parent) else { return INVALID };
        if number == 0 || number >= GROUPS_MAX || self.names.group(number).is_some() {
            return INVALID;
        }
        let group = self.scheduler.add_group(self.now, parent);
        self.names.add_group(number, group);
        match shares {
            Some(shares) => {
                self.scheduler.set_shares(self.now, group, Shares::clamped(shares)).map_or(INVALID, |()| 0)
            }
            None => 0,
        }
    }

    fn fire(&mut self, number: u64, timer: BandwidthTimer) -> i64 {
        let Some(group) = self.names.group(number).filter(|&g| g != GroupId::ROOT && self.printed.bandwidth)
        else {
            return INVALID;
        };
        let Some(Timer { cpu, .. }) = self.timers.expired_of(self.now, group, timer) else { return 0 };
        let before = self.execute_on(cpu);
        self.scheduler.bandwidth_timer(self.now, cpu, group, timer);
        self.execute_on(before);
        1
    }

    fn set_group_latency_nice(&mut self, number: u64, level: i64) -> i64 {
        let now = self.now;
        match LatencyNice::from_file(level) {
            Ok(nice) => self.with_group(number, |s, g| refusal(s.set_group_latency_nice(now, g, nice))),
            Err(error) => -i64::from(error.errno()),
        }
    }

    /// The reference writes three files, in this order, and stops at the first that is refused.
    fn set_quota(&mut self, number: u64, quota_us: Option<u64>, period_us: u64, burst_us: u64) -> i64 {
        if !self.printed.bandwidth {
            return NO_ENTRY;
        }
        let now = self.now;
        self.with_group(number, |s, g| {
            let (period, burst) = (Nanos::from_micros(period_us), Nanos::from_micros(burst_us));
            let quota = quota_us.map(Nanos::from_micros);
            let old = &s.groups()[g].bandwidth;
            let (old_quota, old_burst) = (old.quota, old.burst);
            let files = [(old_quota, old_burst), (quota, old_burst), (quota, burst)];
            let written = files
                .into_iter()
                .try_for_each(|(quota, burst)| s.set_bandwidth(now, g, quota, period, burst));
            written.map_or(INVALID, |()| 0)
        })
    }

    fn new_task(&mut self, number: u64, spec: &NewTask) -> i64 {
        let cpu = spec.cpu.map_or(self.cpu, CpuId);
        let all = self.all_cpus();
        let affinity = if spec.pin || !self.printed.domains {
            let mut cpus = CpuSet::single(cpu);
            if let Some(list) = &spec.cpus {
                cpus = cpus.or(list);
            }
            cpus
        } else {
            spec.cpus.clone().unwrap_or_else(|| all.clone())
        };
        let affinity = affinity.and(&all);
        let (Some(group), true) = (self.names.group(spec.group), self.has_cpu(cpu)) else { return INVALID };
        let by_load = self.scheduler.config().variants.balance.by_load.is_some();
        let tasks_max = if by_load { TASKS_MAX_BY_LOAD } else { TASKS_MAX };
        if number >= tasks_max || self.names.task(number).is_some() || !affinity.contains(cpu) {
            return INVALID;
        }
        let spec = TaskSpec {
            cpu,
            group,
            nice: spec.nice,
            policy: spec.policy,
            latency_nice: spec.latency_nice,
            slice: Some(Nanos(spec.slice_ns)).filter(|s| s.0 != 0),
            affinity,
        };
        let task = self.scheduler.fork(self.now, None, spec);
        self.names.add_task(number, task);
        0
    }

    fn move_task(&mut self, number: u64, cpu: CpuId) -> i64 {
        if !self.has_cpu(cpu) {
            return INVALID;
        }
        let now = self.now;
        self.with_task(number, |s, t| {
            let state = &s.tasks()[t];
            if s.cpus()[state.cpu].curr == Some(t) {
                BUSY
            } else if state.state == TaskState::New {
                INVALID
            } else {
                s.move_to_cpu(now, t, cpu).map_or(BUSY, i64::from)
            }
        })
    }
}

/// 0, or the error number.
fn refusal(result: Result<(), LatencyError>) -> i64 {
    result.map_or_else(|error| -i64::from(error.errno()), |()| 0)
}

fn result_of(done: bool) -> i64 {
    if done { 0 } else { BUSY }
}
