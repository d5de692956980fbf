// SPDX-License-Identifier: GPL-2.0-only
//! From which group to take, and how much weight.
//!
//! A group is worth taking from if it has more load per power than the local one and more tasks than it can
//! run at once, or if its CPUs differ by more than two tasks of average weight. Enough is taken to make the
//! local group average, but neither makes the other less than average nor takes its last task.
//!
//! That amount may be less than a task weighs. Then one task is moved all the same, if the groups differ by
//! that much, or if more of their power is used afterwards.
//!
//! Saving power by leaving CPUs idle is not modelled.
//!
//! Source: kernel/sched.c of 2.6.29, `find_busiest_group()`, `find_busiest_queue()`.

use super::Pass;
use crate::balance::IdleType;
use crate::domain::DomainLevel;
use crate::ids::{CpuId, DomainId, SchedGroupId};
use crate::scheduler::Scheduler;

/// The power of a whole CPU, and of a core.
const FULL: u64 = 1024;

/// What a group can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Power(pub(super) u64);

impl Power {
    /// Load per power, where a whole CPU counts as 1.
    pub(crate) const fn divide(self, load: u64) -> u64 {
        self.divide_scaled(load.wrapping_mul(FULL))
    }

    /// The same of a load that is 1024 times as great; by a reciprocal and in 32 bits, as the kernel has it
    /// (`sg_div_cpu_power()`).
    const fn divide_scaled(self, load: u64) -> u64 {
        let scaled = load as u32 as u64;
        let reciprocal = (1_u64 << 32).div_ceil(self.0);
        (scaled.wrapping_mul(reciprocal as u32 as u64) >> 32) as u32 as u64
    }
}

/// What is known of a group.
#[derive(Clone, Copy, Debug)]
struct Tally {
    group: SchedGroupId,
    power: Power,
    /// Load of its CPUs in all, with regard to history, and per power.
    total: u64,
    load: u64,
    nr_running: u64,
    /// Weight of all that are queued there.
    weight: u64,
    /// Its CPUs differ much.
    uneven: bool,
}

/// What is known of all groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survey {
    here: Option<Tally>,
    busiest: Option<Tally>,
    total: u64,
    power: u64,
}

impl Survey {
    /// How much weight to take, and where; nothing = the groups are balanced. `typical` is what a task of this
    /// CPU weighs if the local group has none.
    pub(super) fn imbalance(&self, imbalance_pct: u64, typical: u64) -> Option<(SchedGroupId, u64)> {
        let (here, busiest) = (self.here?, self.busiest?);
        if here.load >= busiest.load || busiest.nr_running == 0 {
            return None;
        }
        let mean = FULL.wrapping_mul(self.total) / self.power;
        if here.load >= mean || 100 * busiest.load <= imbalance_pct * here.load {
            return None;
        }
        let mut per_task = busiest.weight / busiest.nr_running;
        if busiest.uneven {
            per_task = per_task.min(mean);
        }
        if busiest.load <= per_task {
            return None;
        }
        let amount = if busiest.load < mean {
            self.little(&here, &busiest, per_task, typical, 0)
        } else {
            let pull = (busiest.load - mean).min(busiest.load - per_task);
            let amount = (pull * busiest.power.0).min((mean - here.load) * here.power.0) / FULL;
            if amount < per_task { self.little(&here, &busiest, per_task, typical, amount) } else { amount }
        };
        Some((busiest.group, amount))
    }

    /// `amount` is less than a task weighs: perhaps one is moved all the same.
    fn little(&self, here: &Tally, busiest: &Tally, per_task: u64, typical: u64, amount: u64) -> u64 {
        let (mut local, mut tasks) = (typical, 2);
        if let Some(mean) = here.weight.checked_div(here.nr_running) {
            local = mean;
            tasks = if per_task > mean { 1 } else { 2 };
        }
        if busiest.load - here.load + per_task >= per_task * tasks {
            return per_task;
        }
        let used = |tally: &Tally, per_task: u64, load: u64| tally.power.0 * per_task.min(load);
        let now = (used(busiest, per_task, busiest.load) + used(here, local, here.load)) / FULL;
        let leaves = busiest.power.divide(per_task);
        let mut then = 0;
        if busiest.load > leaves {
            then += used(busiest, per_task, busiest.load - leaves);
        }
        let comes = if busiest.load * busiest.power.0 < per_task * FULL {
            here.power.divide_scaled(busiest.load * busiest.power.0)
        } else {
            here.power.divide(per_task)
        };
        then += used(here, local, here.load + comes);
        if then / FULL > now { per_task } else { amount }
    }
}

impl Scheduler {
    /// The power of a group. Threads of a core, and CPUs that share a cache, are to be left to one task as long
    /// as another group is free; so each group of them counts as one CPU.
    pub(crate) fn group_power(&self, domain: DomainId, group: SchedGroupId) -> Power {
        match self.domains[domain].level {
            DomainLevel::Smt | DomainLevel::Cluster | DomainLevel::Cache | DomainLevel::Package => {
                Power(FULL)
            }
            DomainLevel::Node | DomainLevel::Numa { .. } => {
                let span = self.domains.group_span(group);
                let caches = self.topology.llcs().iter().filter(|(_, cpus)| cpus.intersects(span)).count();
                Power(FULL * (caches as u64).max(1))
            }
        }
    }

    /// What a task of this CPU weighs on average (`cpu_avg_load_per_task()`).
    pub(crate) fn mean_weight(&mut self, cpu: CpuId) -> u64 {
        let nr = u64::from(self.cpus[cpu].nr_running);
        let mean = self.weighted_load(cpu).checked_div(nr).unwrap_or(0);
        self.cpus[cpu].balance.mean_weight = mean;
        mean
    }

    /// Looks at all groups. Nothing if another CPU of the local group is the one to balance.
    pub(super) fn survey_weights(&mut self, pass: &mut Pass) -> Option<Survey> {
        let sd = &self.domains[pass.domain];
        let indexes = sd.load_indexes;
        let span = match pass.idle {
            IdleType::Busy => indexes.busy,
            IdleType::NewlyIdle => indexes.newidle,
            IdleType::Idle => indexes.idle,
        };
        let groups: alloc::vec::Vec<SchedGroupId> = self.domains.groups(sd).collect();
        let mut survey = Survey { here: None, busiest: None, total: 0, power: 0 };
        for (i, group) in groups.into_iter().enumerate() {
            let local = i == 0;
            if local {
                // Whether it is this CPU's turn is known before the other groups are looked at.
                let tally = self.tally(pass, group, true, span);
                if pass.idle != IdleType::NewlyIdle && !self.balances_for_group(pass, group) {
                    return None;
                }
                survey.add(&tally);
                survey.here = Some(tally);
                continue;
            }
            let tally = self.tally(pass, group, false, span);
            survey.add(&tally);
            let full = tally.nr_running > tally.power.0 / FULL || tally.uneven;
            if full && tally.load > survey.busiest.map_or(0, |b| b.load) {
                survey.busiest = Some(tally);
            }
        }
        Some(survey)
    }

    /// The first idle CPU of the group balances for it, or the first of all.
    fn balances_for_group(&self, pass: &Pass, group: SchedGroupId) -> bool {
        let cpus = self.domains.group_span(group);
        let idle = cpus.iter().filter(|&c| !pass.excluded.contains(c)).find(|&c| self.runs_idle(c));
        idle.or(cpus.first()) == Some(pass.cpu)
    }

    fn tally(&mut self, pass: &mut Pass, group: SchedGroupId, local: bool, span: u8) -> Tally {
        let power = self.group_power(pass.domain, group);
        let cpus: alloc::vec::Vec<CpuId> =
            self.domains.group_span(group).iter().filter(|&c| !pass.excluded.contains(c)).collect();
        let (mut greatest, mut least) = (0, u64::MAX);
        let (mut total, mut nr_running, mut weight, mut means) = (0_u64, 0, 0, 0);
        for cpu in cpus {
            if self.cpus[cpu].nr_running != 0 {
                pass.all_idle = false;
            }
            let load = if local {
                self.weight_at_least(cpu, span)
            } else {
                let load = self.weight_at_most(cpu, span);
                greatest = load.max(greatest);
                least = load.min(least);
                load
            };
            total += load;
            nr_running += u64::from(self.cpus[cpu].nr_running);
            weight += self.weighted_load(cpu);
            means += self.mean_weight(cpu);
        }
        // Without CPUs to compare, or for the local group, the difference wraps around to 1.
        let uneven = u64::wrapping_sub(greatest, least) > 2 * power.divide(means);
        Tally { group, power, total, load: power.divide(total), nr_running, weight, uneven }
    }

    /// The CPU of the group with the greatest weight, but none whose only task is heavier than what is to be moved.
    pub(super) fn find_heaviest_queue(&self, pass: &Pass, group: SchedGroupId, amount: u64) -> Option<CpuId> {
        let mut heaviest = (0, None);
        for cpu in self.domains.group_span(group).iter().filter(|&c| !pass.excluded.contains(c)) {
            let weight = self.weighted_load(cpu);
            if self.cpus[cpu].nr_running == 1 && weight > amount {
                continue;
            }
            if weight > heaviest.0 {
                heaviest = (weight, Some(cpu));
            }
        }
        heaviest.1
    }
}

impl Survey {
    fn add(&mut self, tally: &Tally) {
        self.total += tally.total;
        self.power += tally.power.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    fn tally(load: u64, nr_running: u64, uneven: bool) -> Tally {
        let group = SchedGroupId::from_index(0);
        Tally { group, power: Power(FULL), total: load, load, nr_running, weight: load, uneven }
    }

    #[test]
    fn enough_is_taken_to_make_the_local_group_average() {
        for (here, busiest, amount) in [
            // Nobody here, two tasks there: one comes.
            (tally(0, 0, false), tally(2048, 2, false), Some(1024)),
            // Half a task would do: one whole comes, since it leaves the other side no worse.
            (tally(1024, 1, false), tally(2048, 2, false), Some(1024)),
            // Six tasks and two.
            (tally(2048, 2, false), tally(6144, 6, false), Some(2048)),
            // Within the tolerance of 25 %.
            (tally(4096, 4, false), tally(5120, 5, false), None),
            // As heavy, or heavier.
            (tally(2048, 2, false), tally(2048, 2, false), None),
            (tally(4096, 4, false), tally(2048, 2, false), None),
            // One heavy task: taking it would only turn things around.
            (tally(0, 0, false), tally(3000, 1, false), None),
        ] {
            let survey = Survey {
                here: Some(here),
                busiest: Some(busiest),
                total: here.load + busiest.load,
                power: 2 * FULL,
            };
            assert_eq!(survey.imbalance(125, 0).map(|(_, amount)| amount), amount, "{here:?} {busiest:?}");
        }
    }

    #[test]
    fn load_is_divided_by_power_in_32_bits() {
        assert_eq!(Power(1024).divide(3072), 3072);
        assert_eq!(Power(2048).divide(3072), 1536);
        assert_eq!(Power(1024).divide((1 << 22) + 5), 5, "it wraps");
    }
}
