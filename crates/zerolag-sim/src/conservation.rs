// SPDX-License-Identifier: GPL-2.0-only
//! Is work conserved? Time during which a CPU idles although a task waits elsewhere that might run there, by
//! what keeps it from being moved; and how much CPU time a run falls short of an ideal assignment.
//!
//! The ideal assignment knows no caches, no affinity and no cost: with `n` tasks that want to run and `m` CPUs,
//! `min(n, m)` CPUs are busy. At each moment a machine falls short of that by
//! `min(idle CPUs, tasks that wait)`.
//!
//! A wait counts as [`Cause::Pinned`] if no idle CPU is allowed: nobody could do better. Any other is time that
//! a perfect balancer would have used; of several tasks that wait at a moment, the one with the least excuse
//! counts:
//!
//! | cause | the nearest idle CPU that is allowed |
//! |---|---|
//! | [`Cause::SameCache`] | shares a last-level cache with the one that the task waits on |
//! | [`Cause::SameNode`] | only the memory node |
//! | [`Cause::OtherNode`] | is on another node |
//! | [`Cause::Hot`] | may be near, but the task ran so recently that it is thought to have its data here |
//! | [`Cause::OtherPartition`] | is balanced separately (exclusive cpusets, isolated CPUs) |
//! | [`Cause::Pinned`] | there is none |
//!
//! It is cheap: an event costs the CPUs it concerns, and only while some CPU idles and a task waits a search,
//! which looks at [`LOOKED_AT`] tasks at most.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::scheduler::Scheduler;
use zerolag_core::units::{Instant, Nanos};

/// So many waiting tasks are looked at, at most, to find the one with the least excuse.
pub const LOOKED_AT: usize = 64;

/// Why a task waits although a CPU is idle; the least excuse first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Cause {
    /// None: an idle CPU shares its cache.
    SameCache,
    /// It would leave its cache.
    SameNode,
    /// It would leave its memory.
    OtherNode,
    /// It ran a moment ago.
    Hot,
    /// The idle CPUs are balanced separately.
    OtherPartition,
    /// It may not run on any of the idle CPUs.
    Pinned,
}

impl Cause {
    /// All of them, the least excuse first.
    pub const ALL: [Self; 6] =
        [Self::SameCache, Self::SameNode, Self::OtherNode, Self::Hot, Self::OtherPartition, Self::Pinned];

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCache => "same_cache",
            Self::SameNode => "same_node",
            Self::OtherNode => "other_node",
            Self::Hot => "hot",
            Self::OtherPartition => "other_partition",
            Self::Pinned => "pinned",
        }
    }
}

/// Follows a run; tell it every event, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    idle: CpuSet,
    /// CPUs on which somebody waits, and how many on each.
    loaded: CpuSet,
    waiting: Vec<u32>,
    waiting_sum: u32,
    /// What holds since then.
    since: Instant,
    cause: Option<Cause>,
    by_cause: [Nanos; Cause::ALL.len()],
    short: Nanos,
}

impl Conservation {
    /// At the beginning of a run.
    pub fn new(scheduler: &Scheduler) -> Self {
        let mut new = Self { waiting: vec![0; scheduler.cpus().len()], ..Self::default() };
        scheduler.cpus().ids().for_each(|cpu| new.refresh(scheduler, cpu));
        new
    }

    /// Something happened; the scheduler has done all that it led to at that time.
    pub fn event(&mut self, event: &SchedEvent, scheduler: &Scheduler) {
        self.advance(event.time);
        match event.kind {
            EventKind::Switch { .. } | EventKind::Tick | EventKind::Exit { .. } => {}
            EventKind::Wakeup { target, .. } | EventKind::WakeupNew { target, .. } => {
                self.refresh(scheduler, target);
            }
            EventKind::Migrate { from, to, .. } => {
                self.refresh(scheduler, from);
                self.refresh(scheduler, to);
            }
            _ => return,
        }
        self.refresh(scheduler, event.cpu);
        let both = !self.idle.is_empty() && !self.loaded.is_empty();
        self.cause = both.then(|| self.least_excuse(scheduler)).flatten();
    }

    /// Time has passed without an event.
    pub fn advance(&mut self, now: Instant) {
        let passed = now.saturating_since(self.since);
        self.since = self.since.max(now);
        if let Some(cause) = self.cause {
            self.by_cause[cause as usize] += passed;
        }
        let missing = (self.idle.len() as u64).min(u64::from(self.waiting_sum));
        self.short += Nanos(passed.0.saturating_mul(missing));
    }

    /// Wall time during which this was the least excuse.
    pub fn time(&self, cause: Cause) -> Nanos {
        self.by_cause[cause as usize]
    }

    /// Wall time during which a CPU idled while a task waited that might have run there.
    pub fn stealable(&self) -> Nanos {
        Nanos(Cause::ALL.iter().filter(|&&c| c != Cause::Pinned).map(|&c| self.time(c).0).sum())
    }

    /// CPU time by which the run falls short of an ideal assignment.
    pub fn short_of_ideal(&self) -> Nanos {
        self.short
    }

    fn refresh(&mut self, scheduler: &Scheduler, cpu: CpuId) {
        match scheduler.is_out_of_work(cpu) {
            true => self.idle.insert(cpu),
            false => self.idle.remove(cpu),
        }
        let runs = scheduler.cpus()[cpu].curr.is_some();
        // Who waits on a CPU that runs nothing is about to run.
        let waiting = if runs { scheduler.waiting_count(cpu) } else { 0 };
        let before = std::mem::replace(&mut self.waiting[cpu.0 as usize], waiting);
        self.waiting_sum = self.waiting_sum + waiting - before;
        match waiting > 0 {
            true => self.loaded.insert(cpu),
            false => self.loaded.remove(cpu),
        }
    }

    fn least_excuse(&self, s: &Scheduler) -> Option<Cause> {
        let mut least = None;
        let waiting = self.loaded.iter().flat_map(|cpu| s.waiting_tasks(cpu).map(move |task| (cpu, task)));
        for (cpu, task) in waiting.take(LOOKED_AT) {
            let cause = self.cause_of(s, cpu, task);
            if least.is_none_or(|l| cause < l) {
                least = Some(cause);
            }
            if cause == Cause::SameCache {
                break;
            }
        }
        least
    }

    fn cause_of(&self, s: &Scheduler, cpu: CpuId, task: TaskId) -> Cause {
        let t = &s.tasks()[task];
        let topology = s.topology();
        let allowed = |cpus: &CpuSet| self.idle.iter_and(cpus).any(|idle| t.affinity.contains(idle));
        if !self.idle.intersects(&t.affinity) {
            return Cause::Pinned;
        }
        let root = s.domains().cpu(cpu).root;
        if root.is_none() || self.idle.iter_and(&t.affinity).all(|idle| s.domains().cpu(idle).root != root) {
            return Cause::OtherPartition;
        }
        let ran = s.cpus()[cpu].clock_task.saturating_since(s.entities()[t.entity].exec_start);
        if ran < s.config().tunables.migration_cost {
            Cause::Hot
        } else if allowed(topology.llc(cpu)) {
            Cause::SameCache
        } else if allowed(topology.node(cpu)) {
            Cause::SameNode
        } else {
            Cause::OtherNode
        }
    }
}
