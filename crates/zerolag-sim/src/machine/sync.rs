// SPDX-License-Identifier: GPL-2.0-only
//! Operations on mutexes, spin locks, conditions, barriers, semaphores and rosters.
//!
//! A woken task retries: in its old stage it looks again whether it may go on. Where being woken *is* what it
//! waited for (a condition, a barrier), its stage has moved on before it blocked.

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::scheduler::WokenFrom;

use super::task::{Doing, WaitingFor};
use super::{Due, Flow, Machine};
use crate::note::NoteKind;
use crate::resource::{BarrierId, ConditionId, MutexId, Ref, RosterId, SemaphoreId, SpinLockId};

impl Machine {
    pub(super) fn lock(&mut self, cpu: CpuId, task: TaskId, id: MutexId) {
        let mutex = &mut self.shared.mutexes[id];
        if mutex.owner.is_none() {
            mutex.owner = Some(task);
            return self.tasks[task].advance();
        }
        mutex.waiters.push(&mut self.tasks, task);
        self.block(cpu, task, WaitingFor::Mutex(id));
    }

    /// Gives the mutex back if the task has it.
    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, id: MutexId) {
        let mutex = &mut self.shared.mutexes[id];
        if mutex.owner != Some(task) {
            return;
        }
        mutex.owner = None;
        if let Some(next) = mutex.waiters.pop(&mut self.tasks) {
            self.wake(cpu, next, false);
        }
    }

    pub(super) fn spin_lock(&mut self, cpu: CpuId, task: TaskId, id: SpinLockId) -> Flow {
        let lock = &mut self.shared.spin_locks[id];
        let place = lock.place(cpu);
        let t = &mut self.tasks[task];
        if lock.owners[place].is_some() {
            if t.doing != Doing::Spin {
                t.doing = Doing::Spin;
                t.waiting_for = Some(WaitingFor::SpinLock(id));
                t.waiting_since = self.now;
                lock.spinners.push(task);
            }
            return Flow::Spins;
        }
        lock.owners[place] = Some(task);
        if t.doing == Doing::Spin {
            t.doing = Doing::Program;
            t.waiting_for = None;
            lock.spinners.retain(|&s| s != task);
        }
        t.advance();
        Flow::Goes
    }

    pub(super) fn spin_unlock(&mut self, task: TaskId, id: SpinLockId) {
        self.tasks[task].advance();
        let lock = &mut self.shared.spin_locks[id];
        let Some(owner) = lock.owners.iter_mut().find(|owner| **owner == Some(task)) else { return };
        *owner = None;
        // Whoever spins and has a CPU looks at it now, the one that spins longest first.
        for i in 0..self.shared.spin_locks[id].spinners.len() {
            let spinner = self.shared.spin_locks[id].spinners[i];
            if let Some(at) = self.tasks[spinner].cpu.filter(|&c| self.cpus[c].running == Some(spinner)) {
                let free_at = self.cpus[at].free_at.max(self.now);
                self.set_due(at, Due::Step, Some(free_at));
            }
        }
    }

    pub(super) fn signal(&mut self, cpu: CpuId, id: ConditionId) {
        if let Some(first) = self.shared.conditions[id].pop(&mut self.tasks) {
            self.wake(cpu, first, false);
        }
    }

    /// Stage 0: how many are there? Stage 1: one after the other.
    pub(super) fn broadcast(&mut self, cpu: CpuId, task: TaskId, c: Ref<ConditionId>) {
        let id = c.resolve(&self.tasks[task].arguments);
        let t = &mut self.tasks[task];
        if t.stage == 0 {
            t.stage = 1;
            t.count = self.shared.conditions[id].len();
        }
        if t.count == 0 || self.shared.conditions[id].len() == 0 {
            return t.advance();
        }
        t.count -= 1;
        self.signal(cpu, id);
    }

    /// Stage 0: join the queue and give the mutex back. Stage 1: wait, unless the signal has come already.
    /// Stage 2: take the mutex again.
    pub(super) fn wait(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        condition: Ref<ConditionId>,
        mutex: Option<Ref<MutexId>>,
    ) {
        let id = condition.resolve(&self.tasks[task].arguments);
        let mutex = mutex.map(|m| m.resolve(&self.tasks[task].arguments));
        match self.tasks[task].stage {
            0 => {
                self.tasks[task].stage = 1;
                self.tasks[task].waiting_for = Some(WaitingFor::Condition(id));
                self.shared.conditions[id].push(&mut self.tasks, task);
                if let Some(mutex) = mutex {
                    self.unlock(cpu, task, mutex);
                }
            }
            1 => {
                self.tasks[task].stage = 2;
                if self.tasks[task].waiting_for.is_some() {
                    self.block(cpu, task, WaitingFor::Condition(id));
                }
            }
            _ => match mutex {
                Some(mutex) => self.lock(cpu, task, mutex),
                None => self.tasks[task].advance(),
            },
        }
    }

    /// Stage 0: signal. Then as [`Machine::wait`], whose stages follow one later.
    pub(super) fn sync(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        condition: Ref<ConditionId>,
        mutex: Option<Ref<MutexId>>,
    ) {
        if self.tasks[task].count == 0 && self.tasks[task].stage == 0 {
            let id = condition.resolve(&self.tasks[task].arguments);
            self.tasks[task].count = 1;
            return self.signal(cpu, id);
        }
        self.tasks[task].count = 0;
        self.wait(cpu, task, condition, mutex);
    }

    /// Stage 0: arrive. Stage 1, of the last one: release the others. Stage 2, of those: go on.
    pub(super) fn barrier(&mut self, cpu: CpuId, task: TaskId, b: Ref<BarrierId>) {
        let id = b.resolve(&self.tasks[task].arguments);
        let barrier = &mut self.shared.barriers[id];
        let t = &mut self.tasks[task];
        match t.stage {
            0 => {
                barrier.arrived += 1;
                if barrier.arrived < barrier.parties {
                    t.stage = 2;
                    barrier.waiters.push(&mut self.tasks, task);
                    return self.block(cpu, task, WaitingFor::Barrier(id));
                }
                // The next round begins: those who come again before all are released queue up behind them.
                barrier.arrived = 0;
                t.stage = 1;
                t.count = barrier.waiters.len();
            }
            1 if t.count > 0 => {
                t.count -= 1;
                if let Some(waiter) = barrier.waiters.pop(&mut self.tasks) {
                    self.wake(cpu, waiter, false);
                }
            }
            _ => t.advance(),
        }
    }

    pub(super) fn post(&mut self, cpu: CpuId, id: SemaphoreId) {
        self.post_from(cpu, id, WokenFrom::Process);
    }

    pub(super) fn post_from(&mut self, cpu: CpuId, id: SemaphoreId, from: WokenFrom) {
        let semaphore = &mut self.shared.semaphores[id];
        if semaphore.count == semaphore.max {
            return;
        }
        semaphore.count += 1;
        if let Some(first) = semaphore.waiters.pop(&mut self.tasks) {
            self.wake_from(cpu, first, false, from);
        }
    }

    pub(super) fn acquire(&mut self, cpu: CpuId, task: TaskId, s: Ref<SemaphoreId>) {
        let id = s.resolve(&self.tasks[task].arguments);
        let semaphore = &mut self.shared.semaphores[id];
        if semaphore.count > 0 {
            semaphore.count -= 1;
            return self.tasks[task].advance();
        }
        semaphore.waiters.push(&mut self.tasks, task);
        self.block(cpu, task, WaitingFor::Semaphore(id));
    }

    pub(super) fn enlist(&mut self, task: TaskId, roster: Ref<RosterId>, semaphore: Ref<SemaphoreId>) {
        let t = &mut self.tasks[task];
        let (roster, semaphore) = (roster.resolve(&t.arguments), semaphore.resolve(&t.arguments));
        self.shared.rosters[roster].waiting.push((task, semaphore));
        t.advance();
    }

    /// Stage 0: take the list. Stage 1: one after the other.
    pub(super) fn release(&mut self, cpu: CpuId, task: TaskId, r: Ref<RosterId>) {
        let t = &mut self.tasks[task];
        let id = r.resolve(&t.arguments);
        let roster = &mut self.shared.rosters[id];
        if t.stage == 0 {
            t.stage = 1;
            t.until = self.now;
            t.count = roster.waiting.len() as u32;
            roster.leaving.append(&mut roster.waiting);
        }
        let began = t.until;
        let next = if t.count > 0 { roster.leaving.pop() } else { None };
        let Some((released, semaphore)) = next else { return t.advance() };
        t.count -= 1;
        self.note(began, cpu, released, NoteKind::Released(id));
        self.post(cpu, semaphore);
    }
}
