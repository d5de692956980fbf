// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as the machine calls it.
//!
//! Whatever changes it goes through here, so that it can be written down as an event script
//! ([`crate::script::Recorder`]) and given to the kernel's own code.

use std::ops::Deref;

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::domain::Partitions;
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

/// The scheduler, and what writes down what it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    scheduler: Scheduler,
    recorder: Option<Box<Recorder>>,
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
        Self { scheduler, recorder: recorder.map(Box::new) }
    }

    /// What has been written since this was last asked for.
    pub(super) fn take_record(&mut self) -> Result<String, RecordError> {
        self.recorder.as_mut().map_or(Ok(String::new()), |recorder| recorder.take())
    }

    #[inline]
    fn note(&mut self, now: Instant, cpu: CpuId, event: Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(now, Some(cpu), event);
        }
    }

    /// An event that happens to a task.
    fn note_of(&mut self, now: Instant, cpu: Option<CpuId>, task: TaskId, event: impl FnOnce(u64) -> Event) {
        if let Some(recorder) = &mut self.recorder {
            let number = recorder.number(task);
            recorder.event(now, cpu, event(number));
        }
    }

    /// A policy for which there may be no word.
    fn note_policy(&mut self, now: Instant, task: TaskId, policy: Policy) {
        if !policy.is_fair() {
            self.unknown(now, "real-time tasks");
        }
        self.note_of(now, None, task, |task| Event::Policy { task, policy });
    }

    fn note_group(&mut self, now: Instant, event: Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(now, None, event);
        }
    }

    fn unknown(&mut self, now: Instant, what: &'static str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.unknown(now, what);
        }
    }

    #[inline]
    pub(super) fn poll(&mut self) -> Option<Effect> {
        self.scheduler.poll()
    }

    pub(super) fn set_tracing(&mut self, on: bool) {
        self.scheduler.set_tracing(on);
    }

    // --- Tasks.

    pub(super) fn fork(&mut self, now: Instant, parent: Option<TaskId>, spec: TaskSpec) -> TaskId {
        if let Some(recorder) = &mut self.recorder {
            let task = recorder.born();
            let cpus = CpuSet::first_n(self.scheduler.topology().cpu_count());
            let new = recorder.new_task(now, &spec, &cpus);
            recorder.event(now, Some(spec.cpu), Event::Task { task, spec: new });
        }
        self.scheduler.fork(now, parent, spec)
    }

    pub(super) fn wake_new(&mut self, now: Instant, cpu: CpuId, task: TaskId) {
        self.note_of(now, Some(cpu), task, |task| Event::Fork { task });
        self.scheduler.wake_new(now, cpu, task);
    }

    #[inline]
    pub(super) fn wake_from(
        &mut self,
        now: Instant,
        cpu: CpuId,
        task: TaskId,
        sync: bool,
        from: WokenFrom,
    ) -> bool {
        self.note_of(now, Some(cpu), task, |task| Event::Wake { task, sync });
        self.scheduler.wake_from(now, cpu, task, sync, from)
    }

    #[inline]
    pub(super) fn block(&mut self, now: Instant, cpu: CpuId, io: bool) {
        self.note(now, cpu, Event::Sleep { io });
        self.scheduler.block(now, cpu, io);
    }

    pub(super) fn exit(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Exit);
        let ended = self.scheduler.exit(now, cpu);
        if let (Some(recorder), Some(task)) = (&mut self.recorder, ended) {
            recorder.ended(task);
        }
    }

    pub(super) fn yield_now(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Yield);
        self.scheduler.yield_now(now, cpu);
    }

    pub(super) fn exec(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Exec);
        self.scheduler.exec(now, cpu);
    }

    pub(super) fn set_nice(&mut self, now: Instant, task: TaskId, nice: Nice) {
        self.note_of(now, None, task, |task| Event::Nice { task, nice: Some(nice) });
        self.scheduler.set_nice(now, task, nice);
    }

    pub(super) fn set_policy(&mut self, now: Instant, task: TaskId, policy: Policy) {
        self.note_policy(now, task, policy);
        self.scheduler.set_policy(now, task, policy);
    }

    /// The task keeps its policy.
    pub(super) fn set_slice(&mut self, now: Instant, task: TaskId, slice: Option<Nanos>) {
        let policy = self.scheduler.tasks()[task].policy;
        self.set_attributes(now, task, policy, slice);
    }

    pub(super) fn set_attributes(
        &mut self,
        now: Instant,
        task: TaskId,
        policy: Policy,
        slice: Option<Nanos>,
    ) {
        let t = &self.scheduler.tasks()[task];
        let entity = &self.scheduler.entities()[t.entity];
        if policy == t.policy {
            self.note_of(now, None, task, |task| Event::Slice { task, ns: slice.map_or(0, |slice| slice.0) });
        } else if slice == entity.custom_slice.then_some(entity.slice) {
            self.note_policy(now, task, policy);
        } else {
            self.unknown(now, "a policy and a slice that are changed at once");
        }
        self.scheduler.set_attributes(now, task, policy, slice);
    }

    pub(super) fn set_latency_nice(
        &mut self,
        now: Instant,
        task: TaskId,
        level: LatencyNice,
    ) -> Result<(), LatencyError> {
        self.note_of(now, None, task, |task| Event::LatencyNice { task, level: level.get().into() });
        self.scheduler.set_latency_nice(now, task, level)
    }

    pub(super) fn set_affinity(&mut self, now: Instant, cpu: CpuId, task: TaskId, cpus: CpuSet) {
        self.note_of(now, Some(cpu), task, |task| Event::Affine { task, cpus: cpus.clone() });
        self.scheduler.set_affinity(now, cpu, task, cpus);
    }

    pub(super) fn set_group(&mut self, now: Instant, task: TaskId, group: GroupId) {
        self.note_of(now, None, task, |task| Event::SetGroup { task, group: group_number(group) });
        self.scheduler.set_group(now, task, group);
    }

    // --- CPUs.

    #[inline]
    pub(super) fn schedule(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Resched { force: false });
        self.scheduler.schedule(now, cpu);
    }

    #[inline]
    pub(super) fn tick(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Tick);
        self.scheduler.tick(now, cpu);
    }

    pub(super) fn hrtick(&mut self, now: Instant, cpu: CpuId) {
        self.unknown(now, "HRTICK");
        self.scheduler.hrtick(now, cpu);
    }

    pub(super) fn softirq(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Softirq);
        self.scheduler.softirq(now, cpu);
    }

    pub(super) fn stop(&mut self, now: Instant, cpu: CpuId, work: StopWork) {
        // Whoever has a task moved waits for that: it is part of that event.
        if !matches!(work, StopWork::Migrate { .. } | StopWork::Exec { .. }) {
            self.note(now, cpu, Event::Stopper);
        }
        self.scheduler.stop(now, cpu, work);
    }

    pub(super) fn finish_wakeups(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Ipi(Ipi::Wake));
        self.scheduler.finish_wakeups(now, cpu);
    }

    pub(super) fn nohz_kick(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Ipi(Ipi::Kick));
        self.scheduler.nohz_kick(now, cpu);
    }

    pub(super) fn finish_unthrottling(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Ipi(Ipi::Unthrottle));
        self.scheduler.finish_unthrottling(now, cpu);
    }

    pub(super) fn return_to_user(&mut self, now: Instant, cpu: CpuId) {
        self.unknown(now, "throttling at the return to user mode");
        self.scheduler.return_to_user(now, cpu);
    }

    pub(super) fn bandwidth_timer(
        &mut self,
        now: Instant,
        cpu: CpuId,
        group: GroupId,
        timer: BandwidthTimer,
    ) {
        self.note(now, cpu, Event::Timer { group: group_number(group), timer });
        self.scheduler.bandwidth_timer(now, cpu, group, timer);
    }

    pub(super) fn stop_tick(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.note(now, cpu, Event::Nohz { what: 1 });
        self.scheduler.stop_tick(now, cpu)
    }

    /// Only kernels that keep a history of load do anything then, and those are not recorded.
    pub(super) fn restart_tick(&mut self, now: Instant, cpu: CpuId) {
        self.scheduler.restart_tick(now, cpu);
    }

    pub(super) fn enter_idle_loop(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.note(now, cpu, Event::Nohz { what: 2 });
        self.scheduler.enter_idle_loop(now, cpu)
    }

    // --- CPUs that come and go, and clocks: there are words for the former, but not for what happens meanwhile.

    pub(super) fn set_online(&mut self, now: Instant, cpu: CpuId) {
        self.unknown(now, "CPUs that come and go");
        self.scheduler.set_online(now, cpu);
    }

    pub(super) fn begin_offline(&mut self, now: Instant, cpu: CpuId) {
        self.unknown(now, "CPUs that come and go");
        self.scheduler.begin_offline(now, cpu);
    }

    pub(super) fn reschedule(&mut self, now: Instant, cpu: CpuId) {
        self.note(now, cpu, Event::Resched { force: true });
        self.scheduler.reschedule(now, cpu);
    }

    pub(super) fn finish_offline(&mut self, now: Instant, cpu: CpuId) {
        self.scheduler.finish_offline(now, cpu);
    }

    pub(super) fn set_partitions(&mut self, now: Instant, partitions: Partitions) {
        self.unknown(now, "root domains that are divided");
        self.scheduler.set_partitions(now, partitions);
    }

    pub(super) fn set_frequency_scale(&mut self, now: Instant, cpu: CpuId, scale: Capacity) {
        self.unknown(now, "clocks with levels");
        self.scheduler.set_frequency_scale(cpu, scale);
    }

    // --- Groups and the configuration: from outside.

    pub(super) fn add_group(&mut self, now: Instant, parent: GroupId) -> GroupId {
        let group = self.scheduler.add_group(now, parent);
        let (number, parent) = (group_number(group), group_number(parent));
        self.note_group(now, Event::Group { group: number, parent, shares: None, latency_nice: None });
        group
    }

    pub(super) fn set_shares(
        &mut self,
        now: Instant,
        group: GroupId,
        shares: Shares,
    ) -> Result<(), GroupError> {
        self.note_group(now, Event::Shares { group: group_number(group), shares: shares.get() });
        self.scheduler.set_shares(now, group, shares)
    }

    pub(super) fn set_idle(&mut self, now: Instant, group: GroupId, idle: bool) -> Result<(), GroupError> {
        self.note_group(now, Event::GroupIdle { group: group_number(group), idle });
        self.scheduler.set_idle(now, group, idle)
    }

    pub(super) fn set_group_latency_nice(
        &mut self,
        now: Instant,
        group: GroupId,
        level: LatencyNice,
    ) -> Result<(), LatencyError> {
        let level_number = level.get().into();
        self.note_group(now, Event::GroupLatencyNice { group: group_number(group), level: level_number });
        self.scheduler.set_group_latency_nice(now, group, level)
    }

    pub(super) fn set_bandwidth(
        &mut self,
        now: Instant,
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
        self.note_group(now, event);
        self.scheduler.set_bandwidth(now, group, quota, period, burst)
    }

    pub(super) fn set_feature(&mut self, now: Instant, feature: Feature, on: bool) {
        if feature == Feature::Hrtick && on {
            self.unknown(now, "HRTICK");
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.setting(now, Setting::Feature { name: feature.to_string(), on });
        }
        self.scheduler.config_mut().features.set(feature, on);
    }

    pub(super) fn set_tunable(&mut self, now: Instant, tunable: Tunable, value: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.setting(now, Setting::Tunable { name: tunable.sysctl_name(), value });
        }
        let online = self.scheduler.online().len();
        let config: &mut Config = self.scheduler.config_mut();
        tunable.set(&mut config.tunables, value);
        config.tunables_written(online);
    }
}
