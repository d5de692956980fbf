// SPDX-License-Identifier: GPL-2.0-only
//! Balancing by weight, as it was up to 2.6.3x: no averages but of a CPU's weight at its last ticks.
//!
//! | module | what |
//! |---|---|
//! | this | when: at a tick, domains that are due; on a CPU that runs dry, where a domain says so |
//! | `pass` | one domain, from the question whose turn it is to what is remembered |
//! | `busiest` | which group, which queue, how much weight |
//! | `moves` | which tasks: group by group, each giving its part of the weight |
//! | `nohz` | who balances for idle CPUs that have no tick |
//! | `history` | a CPU's weight at its last ticks |
//!
//! Source: kernel/sched.c of 2.6.29, `rebalance_domains()`, `idle_balance()`.

mod busiest;
mod history;
mod moves;
mod nohz;
mod pass;
#[cfg(test)]
mod tests;

pub(crate) use pass::Pass;

use crate::balance::{IdleType, NewIdle};
use crate::domain::DomainFlags;
use crate::ids::{CpuId, DomainId};
use crate::scheduler::Scheduler;
use crate::units::Jiffies;

/// The longest time between two balancings of a domain is a tenth of a second for each CPU that the kernel is built
/// for.
const BUILT_FOR_CPUS: u64 = 64;

/// A CPU of which no domain is due looks again after this many seconds.
const LOOK_AGAIN_S: u64 = 60;

/// What a real-time task weighs: twice the heaviest fair one.
const REALTIME_WEIGHT: u64 = 2 * 88_761;

impl Scheduler {
    /// The weight of all that are queued on the CPU, in units of the table (`weighted_cpuload()`).
    pub(crate) fn weighted_load(&self, cpu: CpuId) -> u64 {
        let rq = &self.cpus[cpu];
        let root = &self.queues[rq.root];
        let realtime = rq.nr_running.saturating_sub(root.h_nr_queued);
        root.load.down() + u64::from(realtime) * REALTIME_WEIGHT
    }

    /// The idle task runs, whoever may be queued (`idle_cpu()`).
    pub(crate) fn runs_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].is_idle_task()
    }

    /// Balances those domains of `cpu` that are due; `by` does it.
    fn balance_by_weight(&mut self, by: CpuId, cpu: CpuId, idle: IdleType) {
        let mut idle = idle;
        let now = self.jiffies();
        let mut next_balance = Jiffies(now.0 + LOOK_AGAIN_S * u64::from(self.config.hz));
        let mut any = false;
        let mut at = self.domains.cpu(cpu).base;
        while let Some(domain) = at {
            at = self.domains[domain].parent;
            let interval = self.weight_interval(domain, idle != IdleType::Idle);
            let mut go_on = true;
            if now.0 >= self.states.domains[domain].last_balance.0 + interval.0 {
                let balanced = self.balance_weights(by, cpu, domain, idle);
                if balanced.busy {
                    idle = IdleType::Busy;
                }
                go_on = balanced.go_on;
                self.states.domains[domain].last_balance = now;
            }
            let due = Jiffies(self.states.domains[domain].last_balance.0 + interval.0);
            if due < next_balance {
                (next_balance, any) = (due, true);
            }
            if !go_on {
                break;
            }
        }
        if any {
            self.cpus[cpu].balance.next_balance = next_balance;
        }
    }

    /// Time between two balancings of a domain.
    fn weight_interval(&self, domain: DomainId, busy: bool) -> Jiffies {
        let factor = if busy { self.domains[domain].busy_factor } else { 1 };
        let ms = u64::from(self.states.domains[domain].balance_interval_ms) * u64::from(factor);
        let longest = u64::from(self.config.hz) * BUILT_FOR_CPUS / 10;
        Jiffies(Jiffies::from_millis(ms, self.config.hz).0.max(1).min(longest))
    }

    /// Looks for work for a CPU that is about to go idle.
    pub(crate) fn newidle_by_weight(&mut self, cpu: CpuId) -> NewIdle {
        let now = self.jiffies();
        let mut next_balance = Jiffies(now.0 + u64::from(self.config.hz));
        let mut found = false;
        let mut at = self.domains.cpu(cpu).base;
        while let Some(domain) = at {
            at = self.domains[domain].parent;
            if self.domains[domain].flags.contains(DomainFlags::BALANCE_NEWIDLE) {
                found = self.balance_weights(cpu, cpu, domain, IdleType::NewlyIdle).busy;
            }
            let ms = u64::from(self.states.domains[domain].balance_interval_ms);
            let interval = Jiffies::from_millis(ms, self.config.hz);
            let due = Jiffies(self.states.domains[domain].last_balance.0 + interval.0);
            next_balance = next_balance.min(due);
            if found {
                break;
            }
        }
        if found || now > self.cpus[cpu].balance.next_balance {
            self.cpus[cpu].balance.next_balance = next_balance;
        }
        if self.cpus[cpu].nr_running > 0 { NewIdle::Pulled } else { NewIdle::Nothing }
    }
}
