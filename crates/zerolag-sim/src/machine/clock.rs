// SPDX-License-Identifier: GPL-2.0-only
//! The clocks of the CPUs: their levels, and the governors that choose them ([`crate::frequency`]).

use zerolag_core::ids::{CpuId, Id};
use zerolag_core::units::Instant;

use super::{Due, Machine};
use crate::frequency::{Frequencies, FrequencyDomain, Governor};

/// A clock and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The CPUs, their levels, and who chooses.
    pub domain: FrequencyDomain,
    /// Its level at present.
    pub level: usize,
    /// How often it has changed.
    pub changes: u64,
    /// Since when it has this level.
    since: Instant,
    /// MHz times nanoseconds up to then.
    sum: u128,
}

impl Clock {
    fn new(domain: FrequencyDomain) -> Self {
        Self { level: domain.level, domain, changes: 0, since: Instant::ZERO, sum: 0 }
    }

    /// Its frequency in MHz.
    pub fn mhz(&self) -> u32 {
        self.domain.levels_mhz[self.level]
    }

    /// Its frequency over time, up to now, in MHz.
    pub fn mean_mhz(&self, now: Instant) -> f64 {
        let sum = self.sum + self.at_level(now);
        if now == Instant::ZERO { f64::from(self.mhz()) } else { sum as f64 / now.0 as f64 }
    }

    fn at_level(&self, now: Instant) -> u128 {
        u128::from(self.mhz()) * u128::from(now.saturating_since(self.since).0)
    }
}

/// All clocks of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clocks {
    pub(super) all: Vec<Clock>,
    of_cpu: Vec<Option<usize>>,
}

impl Clocks {
    pub(super) fn new(frequencies: &Frequencies, cpus: usize) -> Self {
        let all = frequencies.domains().iter().cloned().map(Clock::new).collect();
        Self { all, of_cpu: frequencies.by_cpu(cpus) }
    }
}

impl Machine {
    /// The machine is switched on: clocks have their first levels.
    pub(super) fn start_clocks(&mut self) {
        for number in 0..self.clocks.all.len() {
            self.follow_clock(number);
        }
    }

    /// What a CPU uses may have changed: its governor looks at it.
    #[inline]
    pub(super) fn govern(&mut self, cpu: CpuId) {
        if !self.clocks.all.is_empty() {
            self.choose_level(cpu);
        }
    }

    fn choose_level(&mut self, cpu: CpuId) {
        let Some(number) = self.clocks.of_cpu[cpu.index()] else { return };
        let clock = &self.clocks.all[number];
        let Governor::Schedutil { rate_limit } = clock.domain.governor else { return };
        if clock.changes > 0 && self.now < clock.since + rate_limit {
            return;
        }
        let invariant = self.scheduler.config().variants.load.invariant_clock;
        let greatest = clock.domain.levels_mhz.last().copied().unwrap_or(1);
        let reference = u64::from(if invariant { greatest } else { clock.mhz() });
        let wanted = |cpu: CpuId| {
            let capacity = u64::from(self.scheduler.cpus()[cpu].capacity.0);
            let used = self.scheduler.used_capacity(cpu);
            // A quarter more than is used, so that there is room to notice that more is needed.
            reference * (used + used / 4) / capacity
        };
        let mhz = clock.domain.cpus.iter().map(wanted).max().unwrap_or(0);
        let level = clock.domain.level_for(mhz);
        self.set_level(number, level);
    }

    /// A clock gets another level.
    pub(super) fn set_level(&mut self, number: usize, level: usize) {
        let now = self.now;
        let clock = &mut self.clocks.all[number];
        if clock.level == level {
            return;
        }
        clock.sum += clock.at_level(now);
        (clock.since, clock.level) = (now, level);
        clock.changes += 1;
        self.follow_clock(number);
    }

    /// CPUs work, and count time, at the speed of their clock.
    fn follow_clock(&mut self, number: usize) {
        let clock = &self.clocks.all[number];
        let scale = clock.domain.scale(clock.level);
        for cpu in clock.domain.cpus.clone().iter() {
            self.count_work(cpu);
            self.cpus[cpu].set_scale(scale);
            self.scheduler.at(self.now).set_frequency_scale(cpu, scale);
            let waits_for_kernel = self.scheduler.cpus()[cpu].need_resched
                || self.cpus[cpu].throttle_work
                || !self.cpus[cpu].stops.is_empty();
            let due = self.queue.due(Self::slot(cpu, Due::Step));
            if let (Some(task), Some(_), false) = (self.cpus[cpu].running, due, waits_for_kernel) {
                let at = self.next_step(cpu, task);
                self.set_due(cpu, Due::Step, Some(at));
            }
        }
    }
}
