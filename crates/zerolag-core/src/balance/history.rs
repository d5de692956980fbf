// SPDX-License-Identifier: GPL-2.0-only
//! A CPU's load over spans of ticks, as balancing looked at it up to 5.2.
//!
//! `load[0]` is the load at the last tick; `load[i]` is an average in which a tick counts `1/2^i` and the ticks
//! before it the rest, rounded up while load grows so that it gets there:
//!
//! ```text
//!     load[i] = ((2^i - 1) load[i] + load) / 2^i
//! ```
//!
//! Ticks that were left out while a CPU was idle are made up for at once, by factors in a table, as
//! `((2^i - 1) / 2^i)^n`.
//!
//! Source: kernel/sched/fair.c, `__update_cpu_load()` and `decay_load_missed()`, 4.6; `cpu_load_update()` and
//! its neighbours, 4.11 and 4.17.

use crate::ids::CpuId;
use crate::scheduler::Scheduler;
use crate::units::Jiffies;
use crate::variants::LoadHistory;

/// So many averages, the momentary load included.
pub const SPANS: usize = 5;

/// After so many ticks without load nothing is left.
const GONE_AFTER: [u64; SPANS] = [0, 8, 32, 64, 128];
/// `((2^i - 1) / 2^i)^(2^j)`, of 128.
const FACTORS: [[u64; 8]; SPANS] = [
    [0; 8],
    [64, 32, 8, 0, 0, 0, 0, 0],
    [96, 72, 40, 12, 1, 0, 0, 0],
    [112, 98, 75, 43, 15, 1, 0, 0],
    [120, 112, 98, 76, 45, 16, 2, 0],
];

/// A CPU's load over spans of ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The load at the last tick, and averages over about 2, 4, 8 and 16 ticks.
    pub load: [u64; SPANS],
    /// When it was last brought up to date.
    pub updated: Jiffies,
}

/// What is left of a load after ticks without any (`decay_load_missed()`).
fn faded(load: u64, ticks: u64, span: usize) -> u64 {
    if ticks == 0 {
        return load;
    }
    if ticks >= GONE_AFTER[span] {
        return 0;
    }
    if span == 1 {
        return load >> ticks;
    }
    let mut load = load;
    for (bit, factor) in FACTORS[span].iter().enumerate() {
        if ticks >> bit & 1 == 1 {
            load = (load * factor) >> 7;
        }
    }
    load
}

impl History {
    /// `ticks` ticks have passed since the last update, in all but the last of which the CPU's load was
    /// `meanwhile`; now it is `load`.
    fn update(&mut self, load: u64, ticks: u64, meanwhile: u64) {
        self.load[0] = load;
        for span in 1..SPANS {
            let mut old = faded(self.load[span], ticks - 1, span);
            if meanwhile != 0 {
                old = old.wrapping_sub(faded(meanwhile, ticks - 1, span)).wrapping_add(meanwhile);
            }
            let mut new = load;
            if new > old {
                new += (1 << span) - 1;
            }
            self.load[span] = (old.wrapping_mul((1 << span) - 1).wrapping_add(new)) >> span;
        }
    }

    /// The same, if there is anything to make up for.
    fn catch_up(&mut self, now: Jiffies, load: u64, meanwhile: u64) {
        let ticks = now.0.wrapping_sub(self.updated.0);
        if ticks != 0 {
            self.updated = now;
            self.update(load, ticks, meanwhile);
        }
    }
}

impl Scheduler {
    /// The load of those that are queued on the CPU (`weighted_cpuload()`).
    #[inline]
    pub(crate) fn runnable_load(&self, cpu: CpuId) -> u64 {
        self.queues[self.cpus[cpu].root].avg.runnable_avg
    }

    fn meanwhile(&self, cpu: CpuId, rule: LoadHistory) -> u64 {
        if rule == LoadHistory::IdleKeepsLoad { self.cpus[cpu].balance.history.load[0] } else { 0 }
    }

    /// A tick (`cpu_load_update_active()`).
    pub(crate) fn tick_history(&mut self, cpu: CpuId) {
        let rule = self.config.variants.load.history;
        if rule == LoadHistory::None {
            return;
        }
        let (now, load) = (self.jiffies(), self.runnable_load(cpu));
        let meanwhile = self.cpus[cpu].balance.history.load[0];
        let history = &mut self.cpus[cpu].balance.history;
        history.updated = now;
        history.update(load, 1, if rule == LoadHistory::IdleKeepsLoad { meanwhile } else { 0 });
    }

    /// The tick is about to be stopped (`cpu_load_update_nohz_start()`).
    pub(crate) fn stop_history(&mut self, cpu: CpuId) {
        if self.config.variants.load.history == LoadHistory::IdleKeepsLoad {
            self.cpus[cpu].balance.history.load[0] = self.runnable_load(cpu);
        }
    }

    /// The tick runs again (`cpu_load_update_nohz_stop()`).
    pub(crate) fn restart_history(&mut self, cpu: CpuId) {
        let rule = self.config.variants.load.history;
        let now = self.jiffies();
        if rule == LoadHistory::None || self.cpus[cpu].balance.history.updated == now {
            return;
        }
        let load = if rule == LoadHistory::IdleKeepsLoad {
            self.update_clock(cpu);
            self.runnable_load(cpu)
        } else {
            0
        };
        let meanwhile = self.meanwhile(cpu, rule);
        self.cpus[cpu].balance.history.catch_up(now, load, meanwhile);
    }

    /// An idle CPU without a tick is looked at by another (`cpu_load_update_idle()`).
    pub(crate) fn idle_history(&mut self, cpu: CpuId) {
        let rule = self.config.variants.load.history;
        if rule == LoadHistory::None || self.runnable_load(cpu) != 0 {
            return;
        }
        let (now, meanwhile) = (self.jiffies(), self.meanwhile(cpu, rule));
        self.cpus[cpu].balance.history.catch_up(now, 0, meanwhile);
    }

    /// The CPU's load, or what it was lately if that is less (`source_load()`).
    pub(crate) fn load_at_most(&self, cpu: CpuId, span: u8) -> u64 {
        self.load_by(cpu, span, u64::min)
    }

    /// The CPU's load, or what it was lately if that is more (`target_load()`).
    pub(crate) fn load_at_least(&self, cpu: CpuId, span: u8) -> u64 {
        self.load_by(cpu, span, u64::max)
    }

    fn load_by(&self, cpu: CpuId, span: u8, choose: fn(u64, u64) -> u64) -> u64 {
        let load = self.runnable_load(cpu);
        if span == 0 || !self.config.features.has(crate::features::Feature::LbBias) {
            return load;
        }
        choose(self.cpus[cpu].balance.history.load[usize::from(span) - 1], load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_follows_a_constant_load() {
        let mut history = History::default();
        for _ in 0..100 {
            history.update(1000, 1, 0);
        }
        assert_eq!(history.load, [1000; SPANS]);
    }

    #[test]
    fn ticks_made_up_for_are_about_as_many_single_ones() {
        let start = History { load: [1000; SPANS], updated: Jiffies(0) };
        let (mut at_once, mut singly) = (start.clone(), start);
        at_once.update(0, 7, 0);
        for _ in 0..7 {
            singly.update(0, 1, 0);
        }
        for (a, b) in at_once.load.into_iter().zip(singly.load) {
            assert!(a.abs_diff(b) <= 12, "{at_once:?} {singly:?}");
        }
    }
}
