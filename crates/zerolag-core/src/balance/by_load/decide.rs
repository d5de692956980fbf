// SPDX-License-Identifier: GPL-2.0-only
//! Decides whether the domain is imbalanced, and how much load to move. Functions of what was collected.
//!
//! | busiest group | local group | |
//! |---|---|---|
//! | imbalanced | any | imbalanced |
//! | without capacity | has some, and is idle | imbalanced |
//! | any | at least as loaded, or above the domain's average | balanced |
//! | not overloaded | idle, with no more than one idle CPU more | balanced |
//! | not loaded more by the domain's margin | busy, or about to go idle | balanced |

use super::ByLoad;
use super::collect::{State, Sums, Survey};
use crate::balance::IdleType;

impl Survey {
    /// Load relative to capacity, over the whole domain.
    fn average(&self) -> u64 {
        self.total_load.wrapping_mul(1024) / self.total_capacity.max(1)
    }

    /// How much to move, which may be nothing; or nothing at all if the domain is balanced
    /// (`find_busiest_group()`).
    pub(super) fn imbalance(&self, rules: ByLoad) -> Option<i64> {
        let (local, busiest) = (&self.local, self.busiest.as_ref()?);
        if busiest.running == 0 {
            return None;
        }
        let takes = match self.idle {
            IdleType::Busy => false,
            IdleType::Idle => rules.any_idle_takes,
            IdleType::NewlyIdle => true,
        };
        let forced = busiest.state == State::Imbalanced
            || takes && local.has_capacity(self.imbalance_pct) && busiest.no_capacity;
        if !forced && self.is_balanced(local, busiest) {
            return None;
        }
        Some(self.amount(rules, local, busiest) as i64)
    }

    fn is_balanced(&self, local: &Sums, busiest: &Sums) -> bool {
        if local.avg_load >= busiest.avg_load || local.avg_load >= self.average() {
            return true;
        }
        if self.idle == IdleType::Idle {
            busiest.state != State::Overloaded && local.idle_cpus <= busiest.idle_cpus + 1
        } else {
            100 * busiest.avg_load <= u64::from(self.imbalance_pct) * local.avg_load
        }
    }

    /// What brings the busiest group down to the average, or to its capacity, but no more than brings the
    /// local one up to it (`calculate_imbalance()`).
    fn amount(&self, rules: ByLoad, local: &Sums, busiest: &Sums) -> u64 {
        let average = self.average();
        let mut busiest = *busiest;
        if busiest.state == State::Imbalanced {
            // Loads cannot be relied on: half of a task has to do.
            busiest.load_per_task = busiest.load_per_task.min(average);
        }
        if busiest.avg_load <= average || local.avg_load >= average {
            return self.small_amount(local, &busiest, 0);
        }
        let mut excess = u64::MAX;
        if busiest.state == State::Overloaded && local.state == State::Overloaded {
            let tasks = u64::from(busiest.running) * 1024;
            if tasks > busiest.capacity {
                excess = tasks - busiest.capacity;
                if rules.excess_in_load {
                    excess = excess * 1024 / busiest.capacity;
                }
            }
        }
        let pull = (busiest.avg_load - average).min(excess);
        let down = pull.wrapping_mul(busiest.capacity);
        let up = (average - local.avg_load).wrapping_mul(local.capacity);
        let amount = down.min(up) / 1024;
        if amount < busiest.load_per_task { self.small_amount(local, &busiest, amount) } else { amount }
    }

    /// The imbalance is less than a task. Moves one of average load if that makes the difference smaller, or
    /// lets more load be served (`fix_small_imbalance()`).
    fn small_amount(&self, local: &Sums, busiest: &Sums, amount: u64) -> u64 {
        let (own_per_task, factor) = if local.running == 0 {
            (self.own_load_per_task, 2)
        } else {
            (local.load_per_task, if busiest.load_per_task > local.load_per_task { 1 } else { 2 })
        };
        let per_task = busiest.load_per_task;
        let scaled = per_task * 1024 / busiest.capacity.max(1);
        if busiest.avg_load + scaled >= local.avg_load + scaled * factor {
            return per_task;
        }
        let served = |side: &Sums, per_task: u64, load: u64| side.capacity * per_task.min(load);
        let now = (served(busiest, per_task, busiest.avg_load) + served(local, own_per_task, local.avg_load))
            / 1024;
        let mut then = 0;
        if busiest.avg_load > scaled {
            then += served(busiest, per_task, busiest.avg_load - scaled);
        }
        let moved = (busiest.avg_load * busiest.capacity).min(per_task * 1024) / local.capacity.max(1);
        then += served(local, own_per_task, local.avg_load + moved);
        if then / 1024 > now { per_task } else { amount }
    }
}
