// SPDX-License-Identifier: GPL-2.0-only
//! Periodic balancing: at a tick, all domains of the CPU that are due, from the smallest up.
//!
//! A domain is due `interval` after it was balanced last; on a busy CPU `busy_factor` times that, since there
//! balancing takes time from tasks. The interval grows while there is nothing to do, and is capped by the
//! number of CPUs online.
//!
//! ```text
//!   tick: due? ── softirq ──┬─ kicked for idle CPUs ── balance for them, oneself included
//!                           └─ else ── age own load, balance each domain that is due
//! ```
//!
//! Linux lets only one CPU at a time balance across nodes (`SD_SERIALIZE`). An event is atomic here, so there
//! is never another.
//!
//! Source: kernel/sched/fair.c, `sched_balance_domains()`, `get_sd_balance_interval()`,
//! `sched_balance_softirq()`, `sched_balance_trigger()`, same in 6.1 and 6.12.

use crate::balance::IdleType;
use crate::ids::{CpuId, DomainId};
use crate::scheduler::{Effect, Scheduler};
use crate::units::{Instant, Jiffies, Nanos};

/// A CPU of which no domain is due looks again after this many seconds.
const LOOK_AGAIN_S: u64 = 60;

impl Scheduler {
    /// At the tick of a CPU: has the domains that are due balanced.
    pub(crate) fn balance_trigger(&mut self, cpu: CpuId) {
        if self.config.variants.balance.by_weight {
            return self.weight_trigger(cpu);
        }
        if self.domains.cpu(cpu).base.is_none() || !self.active.contains(cpu) {
            return;
        }
        if self.jiffies() >= self.cpus[cpu].balance.next_balance {
            self.push(Effect::Softirq { cpu });
        }
        self.nohz_balancer_kick(cpu);
    }

    /// The softirq that [`Effect::Softirq`] stands for: balances load on the CPU, or for idle ones.
    pub fn softirq(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        if self.config.variants.balance.by_weight {
            return self.softirq_by_weight(cpu);
        }
        if self.nohz_is_earlier() {
            self.softirq_earlier(cpu);
            return;
        }
        if self.nohz_idle_balance(cpu) {
            return;
        }
        self.update_blocked_averages(cpu);
        let idle = self.cpus[cpu].balance.idle_at_tick;
        self.balance_domains(cpu, cpu, idle);
    }

    /// Balances those domains of `cpu` that are due; `by` does it.
    pub(crate) fn balance_domains(&mut self, by: CpuId, cpu: CpuId, idle: bool) {
        let now = self.jiffies();
        let mut idle = idle;
        let mut busy = !idle && !self.is_sched_idle(cpu);
        let mut go_on = true;
        let mut decayed = false;
        let mut cost = Nanos::ZERO;
        let mut next_balance = None;
        let mut at = self.domains.cpu(cpu).base;
        while let Some(domain) = at {
            at = self.domains[domain].parent;
            decayed = self.decay_newidle_cost(domain);
            cost += self.states.domains[domain].max_newidle_lb_cost;
            if !go_on {
                // Another CPU balances from here on; only what decays, does.
                if decayed {
                    continue;
                }
                break;
            }
            let mut interval = self.balance_interval(domain, busy);
            if now.0 >= self.states.domains[domain].last_balance.0 + interval.0 {
                let why = if idle { IdleType::Idle } else { IdleType::Busy };
                let balanced = self.balance_domain(by, cpu, domain, why);
                go_on &= balanced.go_on;
                if balanced.moved > 0 {
                    idle = self.is_idle(cpu);
                    busy = !idle && !self.is_sched_idle(cpu);
                }
                self.states.domains[domain].last_balance = now;
                interval = self.balance_interval(domain, busy);
            }
            let next = Jiffies(self.states.domains[domain].last_balance.0 + interval.0);
            next_balance = Some(next_balance.map_or(next, |n: Jiffies| n.min(next)));
        }
        let migration_cost = self.config.tunables.migration_cost;
        let look_again = now.0 + LOOK_AGAIN_S * u64::from(self.config.hz);
        let rq = &mut self.cpus[cpu].balance;
        if decayed {
            rq.max_idle_balance_cost = cost.max(migration_cost);
        }
        if let Some(next) = next_balance.filter(|n| n.0 < look_again) {
            rq.next_balance = next;
            self.note_idle_due(idle, next);
        }
    }

    /// Time between two balancings of a domain.
    pub(super) fn balance_interval(&self, domain: DomainId, busy: bool) -> Jiffies {
        let mut ms = u64::from(self.states.domains[domain].balance_interval_ms);
        if busy {
            ms *= u64::from(self.domains[domain].busy_factor);
        }
        let mut ticks = Jiffies::from_millis(ms, self.config.hz).0;
        if busy && self.config.variants.balance.busy_tick_early {
            // So that domains of different size do not always fall due at the same tick.
            ticks -= 1;
        }
        Jiffies(ticks.clamp(1, self.max_balance_interval.0.max(1)))
    }
}
