// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's own work costs, by name.
//!
//! Costs are wall time on the CPU that does the work; the task that runs there is charged for it, as in a
//! kernel that does not account interrupts. They do not depend on the CPU's capacity.

use zerolag_core::units::Nanos;

/// The time that each kind of kernel work takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Switching to another task: from the decision until its first instruction.
    pub context_switch: Nanos,
    /// Waking a task: time of the waker, whether a task or an interrupt.
    pub wakeup: Nanos,
    /// Work a task loses when it resumes on another CPU than it last ran on: its data are not in the cache.
    pub migration: Nanos,
    /// The periodic timer interrupt.
    pub tick: Nanos,
    /// Leaving an idle state: an interrupt on an idle CPU is served this much later.
    pub idle_exit: Nanos,
    /// An inter-processor interrupt on its way.
    pub ipi: Nanos,
}

impl Costs {
    /// Nothing costs anything: schedules follow from the algorithm alone.
    pub const IDEAL: Self = Self {
        context_switch: Nanos::ZERO,
        wakeup: Nanos::ZERO,
        migration: Nanos::ZERO,
        tick: Nanos::ZERO,
        idle_exit: Nanos::ZERO,
        ipi: Nanos::ZERO,
    };

    /// A server of the years around 2020, not virtualised. These are round numbers of the usual order, assumed
    /// and not measured on any one machine.
    pub const X86_SERVER: Self = Self {
        context_switch: Nanos(1_500),
        wakeup: Nanos(800),
        migration: Nanos(3_000),
        tick: Nanos(1_000),
        idle_exit: Nanos(2_000),
        ipi: Nanos(700),
    };

    /// Presets by name.
    pub const PRESETS: [(&'static str, Self); 2] = [("ideal", Self::IDEAL), ("x86-server", Self::X86_SERVER)];

    /// The preset with this name.
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|(n, _)| *n == name).map(|(_, costs)| costs.clone())
    }

    /// Each cost with its name.
    pub fn by_name_mut(&mut self, name: &str) -> Option<&mut Nanos> {
        Some(match name {
            "context_switch" => &mut self.context_switch,
            "wakeup" => &mut self.wakeup,
            "migration" => &mut self.migration,
            "tick" => &mut self.tick,
            "idle_exit" => &mut self.idle_exit,
            "ipi" => &mut self.ipi,
            _ => return None,
        })
    }

    /// The names that [`by_name_mut`](Self::by_name_mut) knows.
    pub const NAMES: [&'static str; 6] =
        ["context_switch", "wakeup", "migration", "tick", "idle_exit", "ipi"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_costs_are_found_by_name() {
        assert_eq!(Costs::preset("ideal"), Some(Costs::IDEAL));
        assert_eq!(Costs::preset("fast"), None);
        let mut costs = Costs::IDEAL;
        for (i, name) in Costs::NAMES.into_iter().enumerate() {
            *costs.by_name_mut(name).unwrap() = Nanos(i as u64);
        }
        assert_eq!(costs.ipi, Nanos(5));
        assert_eq!(costs.by_name_mut("ticks"), None);
    }
}
