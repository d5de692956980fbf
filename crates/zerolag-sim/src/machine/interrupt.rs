// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts.

use std::mem;

use zerolag_core::ids::CpuId;
use zerolag_core::scheduler::WokenFrom;
use zerolag_core::units::{Instant, Nanos};

use super::timers::Deed;
use super::{Due, Machine};
use crate::rng::mix;

impl Machine {
    /// The CPU is told that something waits for it.
    pub(super) fn send_ipi(&mut self, cpu: CpuId) {
        let arrival = self.now + self.costs.ipi;
        let slot = Self::slot(cpu, Due::Ipi);
        // One that is under way will see this as well.
        if self.queue.due(slot).is_none_or(|at| at > arrival) {
            self.set_due(cpu, Due::Ipi, Some(arrival));
        }
    }

    pub(super) fn ipi(&mut self, cpu: CpuId) {
        if let Some(at) = self.still_asleep(cpu) {
            return self.set_due(cpu, Due::Ipi, Some(at));
        }
        if mem::take(&mut self.cpus[cpu].kicked) {
            self.scheduler.at(self.now).nohz_kick(cpu);
        }
        if mem::take(&mut self.cpus[cpu].unthrottles) {
            self.scheduler.at(self.now).finish_unthrottling(cpu);
        }
        if self.scheduler.has_wakeups(cpu) {
            self.scheduler.at(self.now).finish_wakeups(cpu);
        }
        self.take_effects();
        self.resume(cpu);
    }

    pub(super) fn timer_interrupt(&mut self, cpu: CpuId) {
        if let Some(at) = self.still_asleep(cpu) {
            return self.set_due(cpu, Due::Timer, Some(at));
        }
        self.run_timers(cpu);
        self.resume(cpu);
    }

    pub(super) fn start_tick(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu];
        c.has_tick = true;
        let mut at = c.next_tick(self.now, self.tick);
        if self.tick_jitter > Nanos::ZERO {
            let drawn = mix(self.seed ^ mix(at.0) ^ u64::from(cpu.0));
            at += Nanos(drawn % self.tick_jitter.0);
        }
        self.set_due(cpu, Due::Tick, Some(at));
    }

    pub(super) fn tick(&mut self, cpu: CpuId) {
        self.scheduler.at(self.now).tick(cpu);
        self.take_effects();
        self.govern(cpu);
        if self.cpus[cpu].running.is_none() {
            return self.last_tick(cpu);
        }
        self.stats.ticks += 1;
        self.start_tick(cpu);
        self.occupy(cpu, self.costs.tick);
        let woke = self.run_timers(cpu);
        let resched = self.scheduler.cpus()[cpu].need_resched || self.cpus[cpu].softirq;
        if woke || resched || self.costs.tick > Nanos::ZERO {
            self.resume(cpu);
        }
    }

    /// The tick that finds its CPU idle is the last one, unless balancing brings something to do.
    fn last_tick(&mut self, cpu: CpuId) {
        self.cpus[cpu].has_tick = false;
        self.resume(cpu);
        if self.cpus[cpu].running.is_none() && !self.scheduler.cpus()[cpu].need_resched {
            let goes_on = self.scheduler.at(self.now).stop_tick(cpu);
            self.take_effects();
            if goes_on {
                self.start_tick(cpu);
            }
        }
    }

    pub(super) fn hrtick(&mut self, cpu: CpuId) {
        if self.cpus[cpu].running.is_some() {
            self.scheduler.at(self.now).hrtick(cpu);
            self.take_effects();
            self.resume(cpu);
        }
    }

    /// An interrupt that finds the CPU in an idle state is served when it has left that: if so, says when.
    fn still_asleep(&mut self, cpu: CpuId) -> Option<Instant> {
        let c = &mut self.cpus[cpu];
        if c.asleep {
            c.asleep = false;
            c.awake_at = self.now + self.costs.idle_exit;
        }
        (c.awake_at > self.now).then_some(c.awake_at)
    }

    /// Fires the timers that may now. Returns whether there was one.
    fn run_timers(&mut self, cpu: CpuId) -> bool {
        let mut any = false;
        while let Some(deed) = self.cpus[cpu].timers.take_expired(self.now) {
            any = true;
            self.stats.timers += 1;
            match deed {
                Deed::Wake(task) => self.wake_from(cpu, task, false, WokenFrom::Interrupt),
                Deed::Post(semaphore) => self.post_from(cpu, semaphore, WokenFrom::Interrupt),
                Deed::Bandwidth(group, timer) => {
                    self.scheduler.at(self.now).bandwidth_timer(cpu, group, timer);
                    self.take_effects();
                }
            }
        }
        if any {
            self.set_timer(cpu);
        }
        any
    }

    /// Sets the CPU's timer interrupt for its first timer.
    pub(super) fn set_timer(&mut self, cpu: CpuId) {
        let due = self.cpus[cpu].timers.due();
        self.set_due(cpu, Due::Timer, due);
    }
}
