// SPDX-License-Identifier: GPL-2.0-only
//! From what tasks did to a workload that does it again.

use std::fmt;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::units::{Instant, Nanos};

use super::LEAD_IN;
use super::beat::Rhythm;
use super::binding;
use super::call::{Calls, Role};
use super::cause::Causes;
use super::context::Context;
use super::history::{History, Origin, RecordedTask, RecordedTasks, Step, TaskHistory};
use super::phase::Ticks;
use crate::length::Length;
use crate::program::{Op, Program, ProgramBuilder};
use crate::resource::{Ref, SemaphoreId, SemaphoreSpec};
use crate::sim::Setup;
use crate::workload::{Attributes, Start, Template, TemplateId, Workload};

/// A run at least so long, and a twentieth of the recording, may be one without an end.
const OPEN_MIN: Nanos = Nanos::from_millis(50);
/// More work than anybody gets done.
const ENDLESS: Nanos = Nanos(u64::MAX / 4);

/// How to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only so much of the beginning.
    pub duration: Option<Nanos>,
    /// Which repetition: each has its own chance, which is how late ticks come, and in newly-idle balancing
    /// (`NI_RANDOM`).
    pub repetition: u32,
}

/// A recording as something that can be simulated. The n-th template is that of the recording's n-th task.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The machine and its scheduler.
    pub setup: Setup,
    /// What runs.
    pub workload: Workload,
    /// How long the recording, or the part of it that is replayed, took.
    pub duration: Nanos,
    /// How long the machine is on when the recording begins.
    pub lead_in: Nanos,
    /// What had to be assumed.
    pub remarks: Vec<Remark>,
}

/// Something that the recording does not say and was assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A task may only use these CPUs: others were idle for so long while it waited.
    Bound {
        /// Its name.
        comm: String,
        /// Its thread id.
        pid: u32,
        /// The CPUs.
        cpus: CpuSet,
        /// For how long.
        idle: Nanos,
    },
    /// A task computes without end, or until it is told to stop.
    Open {
        /// Its name.
        comm: String,
        /// Its thread id.
        pid: u32,
    },
    /// A task may only use CPUs that the machine does not have, and so may use all.
    Unbound {
        /// Its name.
        comm: String,
        /// Its thread id.
        pid: u32,
    },
    /// So often, a task was found to run though nobody saw it begin.
    Holes(u64),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound { comm, pid, cpus, idle } => write!(
                f,
                "{comm} ({pid}) is taken to be bound to CPU {cpus}: others were idle for {} ms while it waited",
                idle.0 / 1_000_000
            ),
            Self::Open { comm, pid } => {
                write!(f, "{comm} ({pid}) ran to the end without a sleep and is taken to run for that long")
            }
            Self::Unbound { comm, pid } => {
                write!(f, "{comm} ({pid}) is bound to CPUs that this machine does not have; it may use all")
            }
            Self::Holes(n) => write!(
                f,
                "{n} times a task had been switched to without an event; its time was taken from what it was charged"
            ),
        }
    }
}

impl Replay {
    /// Makes a replay of a recording that is over, with what is known beside it.
    pub fn new(history: &History, tasks: &RecordedTasks, context: &Context, options: Options) -> Self {
        let whole = history.last().saturating_since(history.first());
        let duration = options.duration.map_or(whole, |d| d.min(whole));
        let mut setup = context.setup.clone();
        if !context.has_costs {
            let mut given = std::mem::replace(&mut setup.costs, history.prompt.costs());
            for name in &context.single_costs {
                if let (Some(cost), Some(given)) = (setup.costs.by_name_mut(name), given.by_name_mut(name)) {
                    *cost = *given;
                }
            }
        }
        setup.seed = setup.seed.wrapping_add(options.repetition.into());
        for seed in &mut setup.config.newidle_seed {
            *seed = seed.wrapping_add(options.repetition);
        }
        let ticks = history.charges.ticks(setup.config.tick());
        setup.tick_jitter = ticks.map_or(Nanos::ZERO, |ticks| ticks.jitter);
        let mut workload = Workload::new();
        workload.groups = context.groups.clone();
        let lead_in = lead_in(history, setup.config.tick(), ticks);
        let causes = Causes::of(history);
        let mut builder = Builder {
            history,
            tasks,
            context,
            calls: Calls::of(history, &causes),
            causes,
            count: setup.topology.cpu_count(),
            wakeup_cost: setup.costs.wakeup,
            whole,
            lead_in,
            workload,
            remarks: Vec::new(),
        };
        builder.add_all();
        let Builder { workload, mut remarks, .. } = builder;
        if history.holes() > 0 {
            remarks.push(Remark::Holes(history.holes()));
        }
        Self { setup, workload, duration, lead_in, remarks }
    }
}

struct Builder<'h> {
    history: &'h History,
    tasks: &'h RecordedTasks,
    context: &'h Context,
    causes: Causes,
    calls: Calls,
    /// CPUs of the machine.
    count: usize,
    wakeup_cost: Nanos,
    whole: Nanos,
    lead_in: Nanos,
    workload: Workload,
    remarks: Vec<Remark>,
}

impl Builder<'_> {
    fn add_all(&mut self) {
        for (_, task) in self.tasks.iter() {
            let name = task.comm.clone();
            self.workload.semaphores.push(SemaphoreSpec { name, initial: 0, max: u32::MAX });
        }
        for (_, task) in self.tasks.iter() {
            let name = format!("{}'s answers", task.comm);
            self.workload.semaphores.push(SemaphoreSpec { name, initial: 0, max: u32::MAX });
        }
        for (id, task) in self.tasks.iter() {
            let program = self.program(id, task);
            let attributes = self.attributes(id, task);
            let settled = self.history.tasks.get(id.index()).and_then(TaskHistory::settled_on);
            let fork_cpu = settled.map(|cpu| self.on_machine(cpu));
            self.workload.template(Template {
                attributes,
                fork_cpu,
                ..Template::new(task.comm.clone(), program)
            });
        }
        // Whoever runs at the beginning does so before those who wait come to wait.
        let mut starts = Vec::new();
        for (id, task) in self.history.tasks.iter().enumerate().take(self.tasks.len()) {
            let start = Start::new(TemplateId::from_index(id));
            let (at, cpu, ran_at) = match task.origin {
                None | Some(Origin::Forked) => continue,
                Some(Origin::Runnable(cpu)) if !self.mostly_sleeps(task) => {
                    (Instant(self.lead_in.0), cpu, first_run(&task.steps))
                }
                Some(Origin::Asleep(cpu) | Origin::Runnable(cpu)) => (Instant::ZERO, cpu, Instant::ZERO),
                Some(Origin::Appeared(at, cpu)) => (self.simulated(at), cpu, at),
            };
            starts.push((ran_at, Start { at, cpu: Some(self.on_machine(cpu)), ..start }));
        }
        starts.sort_by_key(|(ran_at, _)| *ran_at);
        self.workload.starts = starts.into_iter().map(|(_, start)| start).collect();
    }

    /// Whether a task sleeps for most of the recording. If it does not at the beginning, it is woken then: as a new task
    /// it would bring the load of one that always runs, and balancing would move others because of it.
    fn mostly_sleeps(&self, task: &TaskHistory) -> bool {
        let asleep = |step: &Step| match *step {
            Step::Slept { from, until, .. } => {
                let from = from.unwrap_or(self.history.first());
                until.unwrap_or(self.history.last()).saturating_since(from).0
            }
            _ => 0,
        };
        task.steps.iter().map(asleep).sum::<u64>() > self.whole.0 / 2
    }

    /// A recorded time as the simulation counts it.
    fn simulated(&self, at: Instant) -> Instant {
        Instant(self.lead_in.0) + at.saturating_since(self.history.first())
    }

    fn on_machine(&self, cpu: CpuId) -> CpuId {
        CpuId::from_index(cpu.index() % self.count)
    }

    fn attributes(&mut self, id: TaskId, task: &RecordedTask) -> Attributes {
        let said = self.context.of(task);
        let (comm, pid) = (task.comm.clone(), task.pid);
        let all = CpuSet::first_n(self.count);
        let of_name =
            binding::of_kernel_thread(&comm).map(CpuSet::single).filter(|cpus| cpus.intersects(&all));
        let affinity = match said.affinity.or(of_name) {
            Some(cpus) if cpus.intersects(&all) => cpus.and(&all),
            Some(_) => {
                self.remarks.push(Remark::Unbound { comm, pid });
                all
            }
            None => {
                let history = self.history.tasks.get(id.index());
                match history.and_then(|h| h.waits.bound_to(self.count)) {
                    None => all,
                    Some((cpus, idle)) => {
                        self.remarks.push(Remark::Bound { comm, pid, cpus: cpus.clone(), idle });
                        cpus
                    }
                }
            }
        };
        let (nice, policy) = recorded_priority(task.prio);
        Attributes {
            nice: said.nice.or(Some(nice)),
            policy: said.policy.or(Some(policy)),
            slice: said.slice,
            affinity: Some(affinity),
            group: said.group.or(Some(zerolag_core::ids::GroupId::ROOT)),
            // Recorded sleeps have it in them.
            timer_slack: said.timer_slack.or(Some(Nanos::ZERO)),
            latency_nice: said.latency_nice,
        }
    }

    fn program(&mut self, id: TaskId, task: &RecordedTask) -> Program {
        let mut builder = ProgramBuilder::new();
        let Some(history) = self.history.tasks.get(id.index()) else { return build(&builder) };
        if matches!(history.origin, Some(Origin::Runnable(_))) && self.mostly_sleeps(history) {
            // After those who start then have started.
            builder.op(Op::Until(Instant(self.lead_in.0 + 1)));
        }
        let steps = self.own_doing(&history.steps);
        let open = self.open_end(&steps, history.is_cut_off());
        let mut now = open.map_or(Instant::ZERO, |(_, since)| since);
        if open.is_some() {
            self.remarks.push(Remark::Open { comm: task.comm.clone(), pid: task.pid });
        }
        let keeps_beat = self.causes.sleepers[id.index()].rhythm == Rhythm::Beat;
        let answer = Op::Post(Ref::Fixed(self.answers_of(id)));
        // Calls of this task that it has taken and not answered yet: by who found the answer, and by who slept.
        let (mut to_find, mut to_wait_for) = (0u32, 0u32);
        let mut ended = false;
        for (n, step) in steps.iter().enumerate() {
            let takes_a_call = match *step {
                Step::Slept { .. } | Step::Exited => true,
                Step::Woke(number) => self.calls.role(number) == Role::AnswerWithoutWake,
                _ => false,
            };
            if takes_a_call {
                for _ in 0..std::mem::take(&mut to_find) {
                    builder.op(answer);
                }
            }
            match *step {
                Step::Ran { until, .. } if open.is_some_and(|(first, _)| n >= first) => {
                    let is_last = history.is_cut_off() && n + 1 == steps.len();
                    let wall = if is_last { ENDLESS } else { until.saturating_since(now) };
                    builder.op(Op::RunFor { wall: wall.into(), grain: Nanos::ZERO });
                    now = until;
                }
                Step::Ran { work, .. } => {
                    builder.op(Op::Run(Length::Exactly(work)));
                }
                Step::Woke(number) => {
                    let woken = self.history.wakes[number].task;
                    let wake = Op::Post(Ref::Fixed(wakeups_of(woken)));
                    let take = Op::Acquire(Ref::Fixed(wakeups_of(id)));
                    match self.calls.role(number) {
                        Role::Plain | Role::Call => _ = builder.op(wake),
                        Role::CallWithoutSleep => {
                            builder.op(wake).op(Op::Acquire(Ref::Fixed(self.answers_of(woken))));
                        }
                        Role::Answer => {
                            to_wait_for = to_wait_for.saturating_sub(1);
                            builder.op(answer);
                        }
                        // Who called before is not to wait for who calls next.
                        Role::AnswerWithoutWake if to_wait_for > 0 => _ = builder.op(answer).op(take),
                        Role::AnswerWithoutWake => _ = builder.op(take).op(answer),
                    }
                }
                Step::Forked(child) if child.index() < self.tasks.len() => {
                    builder.op(Op::Fork(TemplateId::from_index(child.index())));
                }
                Step::Forked(_) => {}
                Step::Slept { from, until, wake } => {
                    self.sleep(&mut builder, id, keeps_beat, from, until, wake);
                    match wake.map(|wake| self.calls.role(wake)) {
                        Some(Role::Call) => to_wait_for += 1,
                        Some(Role::CallWithoutSleep) => to_find += 1,
                        _ => {}
                    }
                }
                Step::Exited => {
                    ended = true;
                    break;
                }
            }
        }
        if !ended {
            // What it did next is not known.
            builder.op(Op::Sleep(Length::Exactly(ENDLESS)));
        }
        build(&builder)
    }

    /// The steps without wake-ups that were interrupts' doing. What a wake-up takes was recorded as run time of
    /// whoever ran, and will be again: it is taken off.
    fn own_doing(&self, steps: &[Step]) -> Vec<Step> {
        let mut own: Vec<Step> = Vec::with_capacity(steps.len());
        let mut owed = Nanos::ZERO;
        for step in steps {
            match *step {
                Step::Ran { work, from, until } => {
                    let left = work.saturating_sub(owed);
                    owed = owed.saturating_sub(work);
                    match own.last_mut() {
                        Some(Step::Ran { work, until: end, .. }) => {
                            *work += left;
                            *end = until;
                        }
                        _ => own.push(Step::Ran { work: left, from, until }),
                    }
                }
                Step::Woke(number) => {
                    let wake = &self.history.wakes[number];
                    owed += self.wakeup_cost;
                    let known = wake.task.index() < self.tasks.len();
                    if known && wake.ended_sleep && self.causes.is_by_task(wake) {
                        own.push(*step);
                    }
                }
                other => own.push(other),
            }
        }
        own
    }

    fn sleep(
        &self,
        builder: &mut ProgramBuilder,
        id: TaskId,
        keeps_beat: bool,
        from: Option<Instant>,
        until: Option<Instant>,
        wake: Option<usize>,
    ) {
        if let Some(number) = wake.filter(|&w| self.causes.is_by_task(&self.history.wakes[w])) {
            let role = self.calls.role(number);
            let is_answer = matches!(role, Role::Answer | Role::AnswerWithoutWake);
            let known = |waker: &TaskId| is_answer && waker.index() < self.tasks.len();
            let waker = self.history.wakes[number].by.filter(known);
            if let Some(callee) = waker.filter(|_| role == Role::AnswerWithoutWake) {
                builder.op(Op::Post(Ref::Fixed(wakeups_of(callee))));
            }
            let until = waker.map_or_else(|| wakeups_of(id), |waker| self.answers_of(waker));
            builder.op(Op::Acquire(Ref::Fixed(until)));
            return;
        }
        match (from, until) {
            (_, None) => _ = builder.op(Op::Sleep(Length::Exactly(ENDLESS))),
            (Some(from), Some(until)) if !keeps_beat => {
                builder.op(Op::Sleep(Length::Exactly(until.saturating_since(from))));
            }
            (_, Some(until)) => {
                builder.op(Op::Until(self.simulated(until)));
            }
        }
    }

    /// Where those who have called a task wait for its answers.
    fn answers_of(&self, task: TaskId) -> SemaphoreId {
        SemaphoreId::from_index(self.tasks.len() + task.index())
    }

    /// From which step on the task runs without an end of its own, and since when. See the [module](super).
    fn open_end(&self, steps: &[Step], is_cut_off: bool) -> Option<(usize, Instant)> {
        let slept = |s: &Step| matches!(s, Step::Slept { .. });
        let first = steps.iter().rposition(slept).map_or(0, |n| n + 1);
        if !is_cut_off && steps.last() != Some(&Step::Exited) {
            return None;
        }
        let near_end = Nanos((self.whole.0 / 50).max(20_000_000).min(self.whole.0 / 4));
        let long = OPEN_MIN.max(Nanos(self.whole.0 / 20)).min(Nanos(self.whole.0 / 4));
        let since = first_run(&steps[first..]);
        let until = steps.iter().rev().find_map(|step| match *step {
            Step::Ran { until, .. } => Some(until),
            _ => None,
        })?;
        let is_open = until.saturating_since(since) >= long && until + near_end >= self.history.last();
        is_open.then_some((first, since))
    }
}

/// Where a task waits to be woken.
fn wakeups_of(task: TaskId) -> SemaphoreId {
    SemaphoreId::from_index(task.index())
}

/// How long the machine is on before the recording: ticks come at multiples of their period then, which is where
/// those of the recording have to come.
fn lead_in(history: &History, period: Nanos, ticks: Option<Ticks>) -> Nanos {
    let into_period =
        ticks.map_or(0, |ticks| (history.first().0 % period.0 + period.0 - ticks.phase.0) % period.0);
    LEAD_IN + Nanos(into_period)
}

/// When the task first had a CPU.
fn first_run(steps: &[Step]) -> Instant {
    let run = |step: &Step| match *step {
        Step::Ran { from, .. } => Some(from),
        _ => None,
    };
    steps.iter().find_map(run).unwrap_or(Instant::MAX)
}

/// Nice level and policy, as far as a priority tells them.
fn recorded_priority(prio: Option<i16>) -> (Nice, Policy) {
    match prio {
        Some(p @ 100..=139) => (Nice::new(i64::from(p) - 120).unwrap_or(Nice::ZERO), Policy::Normal),
        Some(p @ 0..=98) => (Nice::ZERO, Policy::Fifo(99 - p as u8)),
        // Deadline tasks come before all others.
        Some(-1) => (Nice::ZERO, Policy::Fifo(99)),
        _ => (Nice::ZERO, Policy::Normal),
    }
}

fn build(builder: &ProgramBuilder) -> Program {
    builder.build().expect("a replayed program has no loops, distributions or channels")
}
