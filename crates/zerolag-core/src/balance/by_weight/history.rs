// SPDX-License-Identifier: GPL-2.0-only
//! A CPU's weight at its last ticks, as balancing by weight looks at it.
//!
//! ```text
//!     history[i] = ((2^i - 1) history[i] + weight) / 2^i        rounded up while the weight grows
//! ```
//!
//! Ticks that were left out while the CPU was idle are not made up for.
//!
//! Source: kernel/sched.c of 2.6.29, `update_cpu_load()`.

use crate::features::Feature;
use crate::ids::CpuId;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// A tick.
    pub(crate) fn tick_weight_history(&mut self, cpu: CpuId) {
        let weight = self.weighted_load(cpu);
        for (i, average) in self.cpus[cpu].balance.weight_history.iter_mut().enumerate() {
            let part = (1 << i) - 1;
            let round = if weight > *average { part } else { 0 };
            *average = (*average * part + weight + round) >> i;
        }
    }

    /// The CPU's weight, or what it was lately if that is less (`source_load()`).
    pub(crate) fn weight_at_most(&self, cpu: CpuId, span: u8) -> u64 {
        self.weight_by(cpu, span, u64::min)
    }

    /// The CPU's weight, or what it was lately if that is more (`target_load()`).
    pub(crate) fn weight_at_least(&self, cpu: CpuId, span: u8) -> u64 {
        self.weight_by(cpu, span, u64::max)
    }

    fn weight_by(&self, cpu: CpuId, span: u8, choose: fn(u64, u64) -> u64) -> u64 {
        let weight = self.weighted_load(cpu);
        match span {
            1.. if self.config.features.has(Feature::LbBias) => {
                choose(self.cpus[cpu].balance.weight_history[usize::from(span) - 1], weight)
            }
            _ => weight,
        }
    }
}
