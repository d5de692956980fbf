// SPDX-License-Identifier: GPL-2.0-only
//! Time during which a CPU idles while a task waits behind another on a busy CPU: work that a perfect
//! balancer would have found. Affinity is not in a schedule; unless it is told ([`Overload::bind`]) this is an upper
//! bound.

use std::collections::BTreeSet;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

use crate::dense::at;

/// Follows who waits where.
#[derive(Clone, Debug, Default)]
pub(super) struct Overload {
    cpus: Vec<Cpu>,
    /// Where each task waits, and since when it does: a wake-up, or something else.
    waits_on: Vec<Option<Wait>>,
    idle_cpus: u32,
    /// Tasks that wait on CPUs that are busy.
    waiting: u32,
    /// Of those, the ones that were put there when they woke up.
    woken: u32,
    since: Instant,
    totals: Totals,
    bound: Option<Bound>,
}

/// Who may not run everywhere; only there once somebody is known not to.
#[derive(Clone, Debug, Default)]
struct Bound {
    /// By task; none = all.
    cpus: Vec<Option<CpuSet>>,
    /// Tasks that wait, wherever.
    waiting: BTreeSet<TaskId>,
}

/// What was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Wall time with an idle CPU and a task waiting on a busy one.
    pub(super) wall: Nanos,
    /// CPU time lost: in each moment as many CPUs as could have been put to work.
    pub(super) cpu_time: Nanos,
    /// Of that, no more CPUs in each moment than tasks waited where a wake-up had put them.
    pub(super) woken: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    on: CpuId,
    woken: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    state: State,
    waiting: u32,
    woken: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Idle,
    Busy,
}

impl Overload {
    /// Books the time since the last change.
    pub(super) fn advance(&mut self, now: Instant) {
        let passed = now.saturating_since(self.since);
        self.since = now;
        if self.idle_cpus > 0 && self.waiting > 0 && passed > Nanos::ZERO {
            let used =
                self.bound.as_ref().map_or(self.idle_cpus.min(self.waiting), |bound| self.usable(bound));
            if used > 0 {
                self.totals.wall += passed;
                self.totals.cpu_time += Nanos(passed.0.saturating_mul(used.into()));
                self.totals.woken += Nanos(passed.0.saturating_mul(used.min(self.woken).into()));
            }
        }
    }

    /// How many CPUs could be put to work if it comes to who may run where: at most those idle ones that some
    /// waiting task may use, and at most one for each of these tasks.
    fn usable(&self, bound: &Bound) -> u32 {
        let idle = (0..).map(CpuId).zip(&self.cpus).filter(|(_, c)| c.state == State::Idle);
        let idle: Vec<CpuId> = idle.map(|(cpu, _)| cpu).collect();
        let mut taken = vec![false; idle.len()];
        let mut tasks = 0;
        for &task in &bound.waiting {
            let on = self.waits_on[task.index()];
            if on.is_none_or(|wait| self.cpus[wait.on.index()].state != State::Busy) {
                continue;
            }
            let cpus = bound.cpus.get(task.index()).and_then(Option::as_ref);
            let mut some = false;
            for (taken, &cpu) in taken.iter_mut().zip(&idle) {
                if cpus.is_none_or(|cpus| cpus.contains(cpu)) {
                    (*taken, some) = (true, true);
                }
            }
            tasks += u32::from(some);
        }
        tasks.min(taken.iter().filter(|&&taken| taken).count() as u32)
    }

    /// From now on `task` may only use these CPUs, or all.
    pub(super) fn bind(&mut self, task: TaskId, cpus: Option<CpuSet>) {
        if self.bound.is_none() && cpus.is_none() {
            return;
        }
        let waits_on = &self.waits_on;
        let bound = self.bound.get_or_insert_with(|| {
            let waiting = (0..).map(TaskId).zip(waits_on).filter(|(_, on)| on.is_some());
            Bound { cpus: Vec::new(), waiting: waiting.map(|(task, _)| task).collect() }
        });
        *at(&mut bound.cpus, task) = cpus;
    }

    /// Counts from now on.
    pub(super) fn restart(&mut self) {
        self.totals = Totals::default();
    }

    /// `task` waits on `cpu`, wherever it waited before; it has `woken` up there or not.
    pub(super) fn waits(&mut self, task: TaskId, cpu: CpuId, woken: bool) {
        self.waits_no_more(task);
        *at(&mut self.waits_on, task) = Some(Wait { on: cpu, woken });
        if let Some(bound) = &mut self.bound {
            bound.waiting.insert(task);
        }
        self.change(cpu, |c| {
            c.waiting += 1;
            c.woken += u32::from(woken);
        });
    }

    /// `task` is moved to `cpu`, if it waits.
    pub(super) fn moves(&mut self, task: TaskId, cpu: CpuId) {
        if at(&mut self.waits_on, task).is_some() {
            self.waits(task, cpu, false);
        }
    }

    /// `task` runs, or is gone.
    pub(super) fn waits_no_more(&mut self, task: TaskId) {
        if let Some(wait) = at(&mut self.waits_on, task).take() {
            self.change(wait.on, |c| {
                c.waiting -= 1;
                c.woken -= u32::from(wait.woken);
            });
            if let Some(bound) = &mut self.bound {
                bound.waiting.remove(&task);
            }
        }
    }

    /// `cpu` runs something (`busy`) or nothing.
    pub(super) fn runs(&mut self, cpu: CpuId, busy: bool) {
        self.change(cpu, |c| c.state = if busy { State::Busy } else { State::Idle });
    }

    /// What was lost since it began or was restarted.
    pub(super) const fn totals(&self) -> Totals {
        self.totals
    }

    /// Changes one CPU and keeps the sums.
    fn change(&mut self, cpu: CpuId, change: impl FnOnce(&mut Cpu)) {
        let cpu = at(&mut self.cpus, cpu);
        let sums = |c: &Cpu| match c.state {
            State::Unknown => (0, 0, 0),
            State::Idle => (1, 0, 0),
            State::Busy => (0, c.waiting, c.woken),
        };
        let before = sums(cpu);
        change(cpu);
        let after = sums(cpu);
        self.idle_cpus = self.idle_cpus + after.0 - before.0;
        self.waiting = self.waiting + after.1 - before.1;
        self.woken = self.woken + after.2 - before.2;
    }
}
