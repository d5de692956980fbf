// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as the machine calls it.
//!
//! Whatever changes it goes through here, so that it can be written down as an event script
//! ([`crate::script::Recorder`]) and given to the kernel's own code.

use std::ops::Deref;

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::domain::Partitions;
use zerolag_core::event::SchedEvent;
use zerolag_core::fair::bandwidth::{BandwidthError, BandwidthTimer};
use zerolag_core::features::Feature;
use zerolag_core::group::{GroupError, Shares};
use zerolag_core::ids::{CpuId, GroupId, TaskId};
use zerolag_core::latency::{LatencyError, LatencyNice};
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::scheduler::{Effect, Scheduler, StopWork, WokenFrom};
use zerolag_core::task::TaskSpec;
use zerolag_core::units::{Capacity, Instant, Nanos};

use crate::script::{Event, Ipi, RecordError, Recorder, Setting, group_number};
use crate::tunable::Tunable;

/// How long the machine has been on at time 0.
///
/// A kernel's clock is never 0 when a task is born, and load tracking takes 0 for "not part of any queue yet": a task that
/// was born then, and never slept, would keep the averages that it was born with. A multiple of load tracking's period
/// (2^20 ns), of ticks (HZ 100, 250, 1000) and of a second, so that whatever comes at such times comes at such times of
/// the simulation.
const UPTIME: Nanos = Nanos(2_048_000_000_000);

/// A time by the scheduler's clock as the machine counts it.
#[inline]
const fn on_the_machine(at: Instant) -> Instant {
    Instant(at.0 - UPTIME.0)
}

/// The scheduler, and what writes down what it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    scheduler: Scheduler,
    recorder: Option<Box<Recorder>>,
    /// By the scheduler's clock.
    now: Instant,
}

impl Deref for Driver {
    type Target = Scheduler;

    #[inline]
    fn deref(&self) -> &Scheduler {
        &self.scheduler
    }
}

impl Driver {
    pub(super) fn new(scheduler: Scheduler, recorder: Option<Recorder>) -> Self {
        Self { scheduler, recorder: recorder.map(Box::new), now: Instant::ZERO + UPTIME }
    }

    /// What is asked for next happens at this time of the machine.
    #[inline]
    pub(super) fn at(&mut self, now: Instant) -> &mut Self {
        self.now = now + UPTIME;
        self
    }

    /// What has been written since this was last asked for.
    pub(super) fn take_record(&mut self) -> Result<String, RecordError> {
        self.recorder.as_mut().map_or(Ok(String::new()), |recorder| recorder.take())
    }

    #[inline]
    fn note(&mut self, cpu: CpuId, event: Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(self.now, Some(cpu), event);
        }
    }

    /// An event that happens to a task.
    fn note_of(&mut self, cpu: Option<CpuId>, task: TaskId, event: impl FnOnce(u64) -> Event) {
        if let Some(recorder) = &mut self.recorder {
            let number = recorder.number(task);
            recorder.event(self.now, cpu, event(number));
        }
    }

    /// A policy for which there may be no word.
    fn note_policy(&mut self, task: TaskId, policy: Policy) {
        if !policy.is_fair() {
            self.unknown("real-time tasks");
        }
        self.note_of(None, task, |task| Event::Policy { task, policy });
    }

    fn note_group(&mut self, event: Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(self.now, None, event);
        }
    }

    fn unknown(&mut self, what: &'static str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.unknown(on_the_machine(self.now), what);
        }
    }

    /// The next thing that the scheduler wants done, by the machine's clock.
    #[inline]
    pub(super) fn poll(&mut self) -> Option<Effect> {
        let mut effect = self.scheduler.poll()?;
        match &mut effect {
            Effect::Trace(SchedEvent { time: at, .. })
            | Effect::BandwidthTimer { at, .. }
            | Effect::Hrtick { at: Some(at), .. } => *at = on_the_machine(*at),
            _ => {}
        }
        Some(effect)
    }

    pub(super) fn set_tracing(&mut self, on: bool) {
        self.scheduler.set_tracing(on);
    }

    // --- Tasks.

    pub(super) fn fork(&mut self, parent: Option<TaskId>, spec: TaskSpec) -> TaskId {
        if let Some(recorder) = &mut self.recorder {
            let task = recorder.born();
            let cpus = CpuSet::first_n(self.scheduler.topology().cpu_count());
            let new = recorder.new_task(self.now, &spec, &cpus);
            recorder.event(self.now, Some(spec.cpu), Event::Task { task, spec: new });
        }
        self.scheduler.fork(self.now, parent, spec)
    }

    pub(super) fn wake_new(&mut self, cpu: CpuId, task: TaskId) {
        self.note_of(Some(cpu), task, |task| Event::Fork { task });
        self.scheduler.wake_new(self.now, cpu, task);
    }

    #[inline]
    pub(super) fn wake_from(&mut self, cpu: CpuId, task: TaskId, sync: bool, from: WokenFrom) -> bool {
        self.note_of(Some(cpu), task, |task| Event::Wake { task, sync });
        self.scheduler.wake_from(self.now, cpu, task, sync, from)
    }

    #[inline]
    pub(super) fn block(&mut self, cpu: CpuId, io: bool) {
        self.note(cpu, Event::Sleep { io });
        self.scheduler.block(self.now, cpu, io);
    }

    pub(super) fn exit(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Exit);
        let ended = self.scheduler.exit(self.now, cpu);
        if let (Some(recorder), Some(task)) = (&mut self.recorder, ended) {
            recorder.ended(task);
        }
    }

    pub(super) fn yield_now(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Yield);
        self.scheduler.yield_now(self.now, cpu);
    }

    pub(super) fn exec(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Exec);
        self.scheduler.exec(self.now, cpu);
    }

    pub(super) fn set_nice(&mut self, task: TaskId, nice: Nice) {
        self.note_of(None, task, |task| Event::Nice { task, nice: Some(nice) });
        self.scheduler.set_nice(self.now, task, nice);
    }

    pub(super) fn set_policy(&mut self, task: TaskId, policy: Policy) {
        self.note_policy(task, policy);
        self.scheduler.set_policy(self.now, task, policy);
    }

    /// The task keeps its policy.
    pub(super) fn set_slice(&mut self, task: TaskId, slice: Option<Nanos>) {
        let policy = self.scheduler.tasks()[task].policy;
        self.set_attributes(task, policy, slice);
    }

    pub(super) fn set_attributes(&mut self, task: TaskId, policy: Policy, slice: Option<Nanos>) {
        let t = &self.scheduler.tasks()[task];
        let entity = &self.scheduler.entities()[t.entity];
        if policy == t.policy {
            self.note_of(None, task, |task| Event::Slice { task, ns: slice.map_or(0, |slice| slice.0) });
        } else if slice == entity.custom_slice.then_some(entity.slice) {
            self.note_policy(task, policy);
        } else {
            self.unknown("a policy and a slice that are changed at once");
        }
        self.scheduler.set_attributes(self.now, task, policy, slice);
    }

    pub(super) fn set_latency_nice(&mut self, task: TaskId, level: LatencyNice) -> Result<(), LatencyError> {
        self.note_of(None, task, |task| Event::LatencyNice { task, level: level.get().into() });
        self.scheduler.set_latency_nice(self.now, task, level)
    }

    pub(super) fn set_affinity(&mut self, cpu: CpuId, task: TaskId, cpus: CpuSet) {
        self.note_of(Some(cpu), task, |task| Event::Affine { task, cpus: cpus.clone() });
        self.scheduler.set_affinity(self.now, cpu, task, cpus);
    }

    pub(super) fn set_group(&mut self, task: TaskId, group: GroupId) {
        self.note_of(None, task, |task| Event::SetGroup { task, group: group_number(group) });
        self.scheduler.set_group(self.now, task, group);
    }

    // --- CPUs.

    #[inline]
    pub(super) fn schedule(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Resched { force: false });
        self.scheduler.schedule(self.now, cpu);
    }

    #[inline]
    pub(super) fn tick(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Tick);
        self.scheduler.tick(self.now, cpu);
    }

    pub(super) fn hrtick(&mut self, cpu: CpuId) {
        self.unknown("HRTICK");
        self.scheduler.hrtick(self.now, cpu);
    }

    pub(super) fn softirq(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Softirq);
        self.scheduler.softirq(self.now, cpu);
    }

    pub(super) fn stop(&mut self, cpu: CpuId, work: StopWork) {
        // Whoever has a task moved waits for that: it is part of that event.
        if !matches!(work, StopWork::Migrate { .. } | StopWork::Exec { .. }) {
            self.note(cpu, Event::Stopper);
        }
        self.scheduler.stop(self.now, cpu, work);
    }

    pub(super) fn finish_wakeups(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Ipi(Ipi::Wake));
        self.scheduler.finish_wakeups(self.now, cpu);
    }

    pub(super) fn nohz_kick(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Ipi(Ipi::Kick));
        self.scheduler.nohz_kick(self.now, cpu);
    }

    pub(super) fn finish_unthrottling(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Ipi(Ipi::Unthrottle));
        self.scheduler.finish_unthrottling(self.now, cpu);
    }

    pub(super) fn return_to_user(&mut self, cpu: CpuId) {
        self.unknown("throttling at the return to user mode");
        self.scheduler.return_to_user(self.now, cpu);
    }

    pub(super) fn bandwidth_timer(&mut self, cpu: CpuId, group: GroupId, timer: BandwidthTimer) {
        self.note(cpu, Event::Timer { group: group_number(group), timer });
        self.scheduler.bandwidth_timer(self.now, cpu, group, timer);
    }

    pub(super) fn stop_tick(&mut self, cpu: CpuId) -> bool {
        self.note(cpu, Event::Nohz { what: 1 });
        self.scheduler.stop_tick(self.now, cpu)
    }

    /// Only kernels that keep a history of load do anything then, and those are not recorded.
    pub(super) fn restart_tick(&mut self, cpu: CpuId) {
        self.scheduler.restart_tick(self.now, cpu);
    }

    pub(super) fn enter_idle_loop(&mut self, cpu: CpuId) -> bool {
        self.note(cpu, Event::Nohz { what: 2 });
        self.scheduler.enter_idle_loop(self.now, cpu)
    }

    // --- CPUs that come and go, and clocks: there are words for the former, but not for what happens meanwhile.

    pub(super) fn set_online(&mut self, cpu: CpuId) {
        self.unknown("CPUs that come and go");
        self.scheduler.set_online(self.now, cpu);
    }

    pub(super) fn begin_offline(&mut self, cpu: CpuId) {
        self.unknown("CPUs that come and go");
        self.scheduler.begin_offline(self.now, cpu);
    }

    pub(super) fn reschedule(&mut self, cpu: CpuId) {
        self.note(cpu, Event::Resched { force: true });
        self.scheduler.reschedule(self.now, cpu);
    }

    pub(super) fn finish_offline(&mut self, cpu: CpuId) {
        self.scheduler.finish_offline(self.now, cpu);
    }

    pub(super) fn set_partitions(&mut self, partitions: Partitions) {
        self.unknown("root domains that are divided");
        self.scheduler.set_partitions(self.now, partitions);
    }

    pub(super) fn set_frequency_scale(&mut self, cpu: CpuId, scale: Capacity) {
        self.unknown("clocks with levels");
        self.scheduler.set_frequency_scale(cpu, scale);
    }

    // --- Groups and the configuration: from outside.

    pub(super) fn add_group(&mut self, parent: GroupId) -> GroupId {
        let group = self.scheduler.add_group(self.now, parent);
        let (number, parent) = (group_number(group), group_number(parent));
        self.note_group(Event::Group { group: number, parent, shares: None, latency_nice: None });
        group
    }

    pub(super) fn set_shares(&mut self, group: GroupId, shares: Shares) -> Result<(), GroupError> {
        self.note_group(Event::Shares { group: group_number(group), shares: shares.get() });
        self.scheduler.set_shares(self.now, group, shares)
    }

    pub(super) fn set_idle(&mut self, group: GroupId, idle: bool) -> Result<(), GroupError> {
        self.note_group(Event::GroupIdle { group: group_number(group), idle });
        self.scheduler.set_idle(self.now, group, idle)
    }

    pub(super) fn set_group_latency_nice(
        &mut self,
        group: GroupId,
        level: LatencyNice,
    ) -> Result<(), LatencyError> {
        let level_number = level.get().into();
        self.note_group(Event::GroupLatencyNice { group: group_number(group), level: level_number });
        self.scheduler.set_group_latency_nice(self.now, group, level)
    }

    pub(super) fn set_bandwidth(
        &mut self,
        group: GroupId,
        quota: Option<Nanos>,
        period: Nanos,
        burst: Nanos,
    ) -> Result<(), BandwidthError> {
        let micros = |time: Nanos| time.0 / 1000;
        let event = Event::Quota {
            group: group_number(group),
            quota_us: quota.map(micros),
            period_us: micros(period),
            burst_us: micros(burst),
        };
        self.note_group(event);
        self.scheduler.set_bandwidth(self.now, group, quota, period, burst)
    }

    pub(super) fn set_feature(&mut self, feature: Feature, on: bool) {
        if feature == Feature::Hrtick && on {
            self.unknown("HRTICK");
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.setting(self.now, Setting::Feature { name: feature.to_string(), on });
        }
        self.scheduler.config_mut().features.set(feature, on);
    }

    pub(super) fn set_tunable(&mut self, tunable: Tunable, value: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.setting(self.now, Setting::Tunable { name: tunable.sysctl_name(), value });
        }
        let online = self.scheduler.online().len();
        let config: &mut Config = self.scheduler.config_mut();
        tunable.set(&mut config.tunables, value);
        config.tunables_written(online);
    }
}
