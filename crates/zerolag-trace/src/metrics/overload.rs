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
    /// Where each task waits.
    waits_on: Vec<Option<CpuId>>,
    idle_cpus: u32,
    /// Tasks that wait on CPUs that are busy.
    waiting: u32,
    since: Instant,
    wall: Nanos,
    cpu_time: Nanos,
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

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    state: State,
    waiting: u32,
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
                self.wall += passed;
                self.cpu_time += Nanos(passed.0.saturating_mul(used.into()));
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
            if on.is_none_or(|on| self.cpus[on.index()].state != State::Busy) {
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
        (self.wall, self.cpu_time) = (Nanos::ZERO, Nanos::ZERO);
    }

    /// `task` waits on `cpu`, wherever it waited before.
    pub(super) fn waits(&mut self, task: TaskId, cpu: CpuId) {
        self.waits_no_more(task);
        *at(&mut self.waits_on, task) = Some(cpu);
        if let Some(bound) = &mut self.bound {
            bound.waiting.insert(task);
        }
        self.change(cpu, |c| c.waiting += 1);
    }

    /// `task` is moved to `cpu`, if it waits.
    pub(super) fn moves(&mut self, task: TaskId, cpu: CpuId) {
        if at(&mut self.waits_on, task).is_some() {
            self.waits(task, cpu);
        }
    }

    /// `task` runs, or is gone.
    pub(super) fn waits_no_more(&mut self, task: TaskId) {
        if let Some(cpu) = at(&mut self.waits_on, task).take() {
            self.change(cpu, |c| c.waiting -= 1);
            if let Some(bound) = &mut self.bound {
                bound.waiting.remove(&task);
            }
        }
    }

    /// `cpu` runs something (`busy`) or nothing.
    pub(super) fn runs(&mut self, cpu: CpuId, busy: bool) {
        self.change(cpu, |c| c.state = if busy { State::Busy } else { State::Idle });
    }

    /// Wall time with an idle CPU and a task waiting on a busy one, and CPU time lost: in each moment as many
    /// CPUs as could have been put to work.
    pub(super) const fn totals(&self) -> (Nanos, Nanos) {
        (self.wall, self.cpu_time)
    }

    /// Changes one CPU and keeps the sums.
    fn change(&mut self, cpu: CpuId, change: impl FnOnce(&mut Cpu)) {
        let cpu = at(&mut self.cpus, cpu);
        let sums =
            |c: &Cpu| (u32::from(c.state == State::Idle), if c.state == State::Busy { c.waiting } else { 0 });
        let (idle_before, waiting_before) = sums(cpu);
        change(cpu);
        let (idle, waiting) = sums(cpu);
        self.idle_cpus = self.idle_cpus + idle - idle_before;
        self.waiting = self.waiting + waiting - waiting_before;
    }
}
