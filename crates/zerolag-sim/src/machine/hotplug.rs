// SPDX-License-Identifier: GPL-2.0-only
//! CPUs come and go while the machine runs.
//!
//! It is done at one moment: what is on its way to the CPU arrives first, its tasks are pushed away one by one,
//! and its timers go to the first CPU that is left. The kernel takes milliseconds for that, most of which it
//! waits; what it does in them costs nothing here.

use std::mem;

use zerolag_core::ids::CpuId;

use super::{Due, Machine};

impl Machine {
    /// The CPU comes, or goes, unless it has already or is the last.
    pub(super) fn set_online(&mut self, cpu: CpuId, online: bool) {
        if self.scheduler.online().contains(cpu) == online {
            return;
        }
        if online {
            self.scheduler.at(self.now).set_online(cpu);
            self.take_effects();
            self.start_tick(cpu);
        } else if self.scheduler.online().len() > 1 {
            self.go_offline(cpu);
        }
    }

    fn go_offline(&mut self, cpu: CpuId) {
        let outside = self.here.replace(cpu);
        if mem::take(&mut self.cpus[cpu].kicked) {
            self.scheduler.at(self.now).nohz_kick(cpu);
        }
        if mem::take(&mut self.cpus[cpu].unthrottles) {
            self.scheduler.at(self.now).finish_unthrottling(cpu);
        }
        self.scheduler.at(self.now).finish_wakeups(cpu);
        self.take_effects();
        if mem::take(&mut self.cpus[cpu].softirq) {
            self.scheduler.at(self.now).softirq(cpu);
            self.take_effects();
        }
        self.scheduler.at(self.now).begin_offline(cpu);
        self.take_effects();
        while self.scheduler.cpus()[cpu].nr_running != 0 || !self.scheduler.cpus()[cpu].is_idle_task() {
            self.scheduler.at(self.now).reschedule(cpu);
            self.after_switch(cpu);
            while !self.cpus[cpu].stops.is_empty() {
                let work = self.cpus[cpu].stops.remove(0);
                self.scheduler.at(self.now).stop(cpu, work);
                self.after_switch(cpu);
            }
        }
        self.scheduler.at(self.now).finish_offline(cpu);
        self.after_switch(cpu);
        self.here = outside;
        let c = &mut self.cpus[cpu];
        (c.asleep, c.has_tick, c.throttle_work) = (true, false, false);
        (c.free_at, c.awake_at) = (self.now, self.now);
        Due::ALL.into_iter().for_each(|due| self.set_due(cpu, due, None));
        let heir = self.scheduler.online().first().expect("one CPU is left");
        let timers = mem::take(&mut self.cpus[cpu].timers);
        self.cpus[heir].timers.inherit(timers);
        self.set_timer(heir);
    }
}
