// SPDX-License-Identifier: GPL-2.0-only
//! Doing one operation of a program.
//!
//! Operations that wait or wake go in *stages*, because time may pass between their parts: waking somebody
//! occupies the CPU. The stage is kept in the task, and the operation is entered again at that stage.

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};

use super::task::{Doing, WaitingFor};
use super::timers::Deed;
use super::{Flow, Machine, OPERATIONS_AT_ONCE, Stop};
use crate::length::Length;
use crate::note::NoteKind;
use crate::program::{Attribute, Late, Op, Times};
use crate::resource::{DeviceId, Ref, SemaphoreId, TimerRef};

impl Machine {
    /// The running task, which is done with what it was doing, takes the next step of its program. Either
    /// something about it has changed afterwards, or it spins.
    pub(super) fn perform(&mut self, cpu: CpuId, task: TaskId) -> Flow {
        self.operations += 1;
        if self.operations > OPERATIONS_AT_ONCE {
            let at = self.tasks[task].pc as usize;
            self.stop = Some(Stop::Livelock { task, name: self.name(task), at });
            return Flow::Spins;
        }
        let Some(op) = self.tasks[task].op() else {
            self.exit(cpu, task);
            return Flow::Goes;
        };
        match op {
            Op::Run(length) => self.run(task, length),
            Op::RunFor { wall, grain } => self.run_for(task, wall, grain),
            Op::Sleep(length) => self.sleep(cpu, task, length),
            Op::Epoch(moment) => {
                self.tasks[task].epoch = moment;
                self.tasks[task].advance();
            }
            Op::Delay(offset) => self.delay(cpu, task, offset),
            Op::Until(moment) => self.sleep_until(cpu, task, moment.max(self.now)),
            Op::Timer { timer, period, late } => self.timer(cpu, task, timer, period, late),
            Op::Io { device, service } => self.io(cpu, task, device, service),
            Op::Submit { device, service, done } => {
                let (device, done) =
                    (device.resolve(&self.tasks[task].arguments), done.resolve(&self.tasks[task].arguments));
                let at = self.served(task, Some(device), service);
                self.tasks[task].advance();
                self.cpus[cpu].timers.add(at, at, Deed::Post(done));
                self.set_timer(cpu);
            }
            Op::Lock(m) => {
                let m = m.resolve(&self.tasks[task].arguments);
                self.lock(cpu, task, m);
            }
            Op::Unlock(m) => {
                let m = m.resolve(&self.tasks[task].arguments);
                self.tasks[task].advance();
                self.unlock(cpu, task, m);
            }
            Op::SpinLock(s) => {
                let s = s.resolve(&self.tasks[task].arguments);
                return self.spin_lock(cpu, task, s);
            }
            Op::SpinUnlock(s) => {
                let s = s.resolve(&self.tasks[task].arguments);
                self.spin_unlock(task, s);
            }
            Op::Wait { condition, mutex } => self.wait(cpu, task, condition, mutex),
            Op::Sync { condition, mutex } => self.sync(cpu, task, condition, mutex),
            Op::Signal(c) => {
                let c = c.resolve(&self.tasks[task].arguments);
                self.tasks[task].advance();
                self.signal(cpu, c);
            }
            Op::Broadcast(c) => self.broadcast(cpu, task, c),
            Op::Barrier(b) => self.barrier(cpu, task, b),
            Op::Post(s) => {
                let s = s.resolve(&self.tasks[task].arguments);
                self.tasks[task].advance();
                self.post(cpu, s);
            }
            Op::PostHere(first) => {
                self.tasks[task].advance();
                self.post(cpu, SemaphoreId(first.0 + cpu.0));
            }
            Op::Acquire(s) => self.acquire(cpu, task, s),
            Op::Drain(s) => {
                let s = s.resolve(&self.tasks[task].arguments);
                self.shared.semaphores[s].count = 0;
                self.tasks[task].advance();
            }
            Op::Enlist { roster, semaphore } => self.enlist(task, roster, semaphore),
            Op::Release(r) => self.release(cpu, task, r),
            Op::Read { channel, bytes } => self.read(cpu, task, channel, bytes),
            Op::Write { channel, bytes, sync } => self.write(cpu, task, channel, bytes, sync),
            Op::Yield => {
                self.tasks[task].advance();
                self.scheduler.at(self.now).yield_now(cpu);
                self.after_switch(cpu);
            }
            Op::Fork(template) => {
                self.tasks[task].advance();
                self.fork(cpu, task, template);
            }
            Op::Exec => {
                self.tasks[task].advance();
                self.scheduler.at(self.now).exec(cpu);
                self.after_switch(cpu);
            }
            Op::Set(attribute) => {
                self.tasks[task].advance();
                self.set_own(cpu, task, attribute);
            }
            Op::Mark(number) => {
                self.tasks[task].advance();
                self.note(self.now, cpu, task, NoteKind::Mark(number));
            }
            Op::Exit => self.exit(cpu, task),
            Op::Repeat { times, again } => self.repeat(task, times, again),
            Op::Again { body, depth } => {
                let task = &mut self.tasks[task];
                let left = &mut task.loops[usize::from(depth)];
                // A loop without end has more rounds than anybody could count.
                *left = if *left == u32::MAX { u32::MAX } else { *left - 1 };
                if *left > 0 { task.pc = body } else { task.advance() }
            }
        }
        Flow::Goes
    }

    fn repeat(&mut self, task: TaskId, times: Times, again: u32) {
        let task = &mut self.tasks[task];
        let rounds = match times {
            Times::Forever => u32::MAX,
            // One less than "for ever" is 500 days of rounds of 10 ms.
            Times::Exactly(n) => n.min(u32::MAX - 1),
        };
        if rounds == 0 {
            task.pc = again;
            return task.advance();
        }
        let Some(Op::Again { depth, .. }) = task.program.ops().get(again as usize) else {
            unreachable!("a built program's loops are closed")
        };
        task.loops[usize::from(*depth)] = rounds;
        task.advance();
    }

    fn draw(&mut self, task: TaskId, length: Length) -> Nanos {
        let task = &mut self.tasks[task];
        match length {
            Length::Exactly(span) => span,
            Length::Drawn(id) => task.program.distribution(id).draw(&mut task.stream),
        }
    }

    fn run(&mut self, task: TaskId, length: Length) {
        if self.tasks[task].doing == Doing::Work {
            self.tasks[task].doing = Doing::Program;
            return self.tasks[task].advance();
        }
        let work = self.draw(task, length);
        let task = &mut self.tasks[task];
        task.doing = Doing::Work;
        task.left = work;
    }

    fn run_for(&mut self, task: TaskId, wall: Length, grain: Nanos) {
        if matches!(self.tasks[task].doing, Doing::Wall { .. }) {
            self.tasks[task].doing = Doing::Program;
            return self.tasks[task].advance();
        }
        let until = self.now + self.draw(task, wall);
        let task = &mut self.tasks[task];
        task.doing = Doing::Wall { grain };
        task.left = Nanos::ZERO;
        task.until = until;
    }

    /// The running task waits, and the CPU does something else.
    pub(super) fn block(&mut self, cpu: CpuId, task: TaskId, waiting_for: WaitingFor) {
        let t = &mut self.tasks[task];
        t.waiting_for = Some(waiting_for);
        t.waiting_since = self.now;
        self.scheduler.at(self.now).block(cpu, matches!(waiting_for, WaitingFor::Io(_)));
        self.after_switch(cpu);
    }

    /// The running task sleeps until a timer fires: it may at `may`.
    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, may: Instant) {
        let fair = self.scheduler.tasks()[task].policy.is_fair();
        let slack = if fair { self.tasks[task].timer_slack } else { Nanos::ZERO };
        self.cpus[cpu].timers.add(may, may + slack, Deed::Wake(task));
        self.set_timer(cpu);
        self.tasks[task].advance();
        self.block(cpu, task, WaitingFor::Time);
    }

    fn sleep(&mut self, cpu: CpuId, task: TaskId, length: Length) {
        let span = self.draw(task, length);
        self.sleep_until(cpu, task, self.now + span);
    }

    fn delay(&mut self, cpu: CpuId, task: TaskId, offset: Nanos) {
        let t = &mut self.tasks[task];
        t.epoch += offset;
        let epoch = t.epoch;
        if epoch > self.now { self.sleep_until(cpu, task, epoch) } else { self.tasks[task].advance() }
    }

    fn timer(&mut self, cpu: CpuId, task: TaskId, timer: TimerRef, period: Nanos, late: Late) {
        let now = self.now;
        let t = &mut self.tasks[task];
        let state = match timer {
            TimerRef::Own(n) => &mut t.timers[usize::from(n)],
            TimerRef::Shared(id) => &mut self.shared.timers[id],
        };
        state.keeps_beat |= late == Late::KeepBeat;
        let due = state.due.unwrap_or(t.epoch) + period;
        let slack_ns = due.0 as i64 - now.0 as i64;
        let next = match late {
            _ if now < due => due,
            _ if state.keeps_beat => due,
            Late::SkipBeats if period > Nanos::ZERO => {
                Instant(due.0 + ((now - due).0 / period.0 + 1) * period.0)
            }
            _ => now,
        };
        state.due = Some(next);
        self.note(now, cpu, task, NoteKind::Timer { slack_ns });
        if next > now { self.sleep_until(cpu, task, next) } else { self.tasks[task].advance() }
    }

    /// When a request is served that is made now.
    fn served(&mut self, task: TaskId, device: Option<DeviceId>, service: Length) -> Instant {
        let span = self.draw(task, service);
        match device {
            None => self.now + span,
            Some(id) => {
                // Service is in the order of requests and its length is known: the lane that is free first
                // takes it, and when it will be done is certain.
                let lanes = &mut self.shared.devices[id].lanes;
                let first = (0..lanes.len()).min_by_key(|&i| lanes[i]).unwrap_or(0);
                lanes[first] = lanes[first].max(self.now) + span;
                lanes[first]
            }
        }
    }

    fn io(&mut self, cpu: CpuId, task: TaskId, device: Option<Ref<DeviceId>>, service: Length) {
        let device = device.map(|d| d.resolve(&self.tasks[task].arguments));
        let done = self.served(task, device, service);
        self.tasks[task].advance();
        if done > self.now {
            self.cpus[cpu].timers.add(done, done, Deed::Wake(task));
            self.set_timer(cpu);
            self.block(cpu, task, WaitingFor::Io(device));
        }
    }

    fn set_own(&mut self, cpu: CpuId, task: TaskId, attribute: Attribute) {
        let now = self.now;
        match attribute {
            Attribute::Nice(nice) => self.scheduler.at(now).set_nice(task, nice),
            Attribute::Policy(policy) => self.scheduler.at(now).set_policy(task, policy),
            Attribute::Slice(slice) => self.scheduler.at(now).set_slice(task, slice),
            Attribute::Scheduling { policy, nice, slice } => {
                self.scheduler.at(now).set_nice(task, nice);
                self.scheduler.at(now).set_attributes(task, policy, slice);
            }
            Attribute::Affinity(id) => {
                let set = self.tasks[task].program.affinity(id);
                if self.scheduler.tasks()[task].affinity != *set {
                    self.scheduler.at(now).set_affinity(cpu, task, set.clone());
                }
            }
            Attribute::Group(group) => {
                if self.scheduler.tasks()[task].group != group {
                    self.scheduler.at(now).set_group(task, group);
                }
            }
            Attribute::TimerSlack(slack) => self.tasks[task].timer_slack = slack,
        }
        self.after_switch(cpu);
    }
}
