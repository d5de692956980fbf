// SPDX-License-Identifier: GPL-2.0-only
//! Newly-idle balancing: a CPU that runs dry looks for work elsewhere before it goes idle.
//!
//! It takes time, and the CPU may not stay idle for long. So a domain is balanced only if the CPU expects to
//! be idle for longer than balancing this domain, and those before it, has taken at most; and if the domain
//! has been worth it lately: it is skipped at random, the more often the less often it succeeded
//! (`NI_RANDOM`).
//!
//! ```text
//!   no wake-up on its way ── some CPU of the root domain has two tasks ── idle for long enough
//!     └─ age own load ── each domain, from the smallest up, until one gives work
//! ```
//!
//! How long is enough, and whether a CPU without domains goes that far, differs: [`NewIdleGate`].
//!
//! The longest time balancing a domain has taken decays by 1 % each second.
//!
//! Source: kernel/sched/fair.c, `sched_balance_newidle()`, `update_newidle_stats()`,
//! `update_newidle_cost()`, 6.12; others differ as [`super::BalanceRules`] says.

use crate::balance::nohz::BlockedDeed;
use crate::balance::{IdleType, NewIdle, NewIdleGate};
use crate::domain::{DomainFlags, DomainState};
use crate::features::Feature;
use crate::ids::{CpuId, DomainId};
use crate::scheduler::Scheduler;
use crate::units::{Instant, Jiffies, Nanos};

impl DomainState {
    /// Counts a try as `success` successes. The rate is taken anew each 512 tries.
    fn count_newidle(&mut self, success: u32) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= 1024 {
            self.newidle_ratio = self.newidle_success;
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }
}

impl Scheduler {
    /// Looks for work for a CPU that is about to go idle.
    pub(crate) fn newidle_balance(&mut self, cpu: CpuId) -> NewIdle {
        if self.config.variants.balance.by_weight {
            return self.newidle_by_weight(cpu);
        }
        self.update_misfit(cpu, None);
        if !self.wake_lists[cpu].is_empty() {
            return NewIdle::Nothing;
        }
        let rq = &mut self.cpus[cpu];
        rq.balance.idle_stamp = rq.clock;
        if !self.active.contains(cpu) {
            return NewIdle::Nothing;
        }
        let mut next_balance = Jiffies(self.jiffies().0 + u64::from(self.config.hz));
        let mut found = NewIdle::Nothing;
        let base = self.domains.cpu(cpu).base;
        let worth_it = self.newidle_is_worth_it(cpu, base);
        if worth_it {
            found = self.pull_for_idle(cpu, base, &mut next_balance);
        } else if let Some(base) = base {
            self.hurry(base, &mut next_balance);
        }
        if !worth_it && self.nohz_is_earlier() {
            self.nohz_newidle_earlier(cpu);
        }
        let rq = &mut self.cpus[cpu].balance;
        rq.next_balance = rq.next_balance.min(next_balance);
        if found != NewIdle::Nothing {
            rq.idle_stamp = Instant(0);
        } else if !self.nohz_is_earlier() {
            self.nohz_newidle(cpu);
        }
        found
    }

    /// Whether the CPU ages its load and looks at its domains, of which `base` is the lowest.
    fn newidle_is_worth_it(&self, cpu: CpuId, base: Option<DomainId>) -> bool {
        let least = match (self.config.variants.balance.newidle_gate, base) {
            (NewIdleGate::MigrationCost, _) => self.config.tunables.migration_cost,
            (_, Some(base)) => self.states.domains[base].max_newidle_lb_cost,
            (NewIdleGate::LowestDomain, None) => return false,
            (NewIdleGate::LowestDomainIfAny, None) => Nanos::ZERO,
        };
        self.is_overloaded(cpu) && self.cpus[cpu].balance.avg_idle >= least
    }

    /// Ages the CPU's load and balances its domains from the lowest, `base`, up.
    fn pull_for_idle(&mut self, cpu: CpuId, base: Option<DomainId>, next_balance: &mut Jiffies) -> NewIdle {
        self.note_blocked(BlockedDeed::NewlyIdle, cpu);
        self.update_blocked_averages(cpu);
        let mut spent = Nanos::ZERO;
        let mut uncharged = self.config.balance_cost.ageing;
        let mut go_on = true;
        let mut moved = 0;
        let mut at = base;
        while let Some(domain) = at {
            at = self.domains[domain].parent;
            let after = self.config.variants.balance.due_after_balancing;
            if !after {
                self.hurry(domain, next_balance);
            }
            if self.cpus[cpu].balance.avg_idle < spent + self.states.domains[domain].max_newidle_lb_cost {
                if after {
                    self.hurry(domain, next_balance);
                }
                break;
            }
            if self.domains[domain].flags.contains(DomainFlags::BALANCE_NEWIDLE) {
                let Some(worth) = self.newidle_worth(cpu, domain) else {
                    self.states.domains[domain].count_newidle(0);
                    continue;
                };
                let balanced = self.balance_domain(cpu, cpu, domain, IdleType::NewlyIdle);
                (moved, go_on) = (balanced.moved, go_on && balanced.go_on);
                let per_cpu = self.config.balance_cost.per_cpu.0;
                let weight = u64::from(self.domains[domain].weight);
                let cost = core::mem::take(&mut uncharged) + Nanos(per_cpu * weight);
                spent += cost;
                if self.config.variants.balance.failed_newidle_costs {
                    self.charge_newidle_or_failure(domain, cost, moved > 0);
                } else {
                    self.charge_newidle(domain, cost, if moved > 0 { worth } else { 0 });
                }
            }
            if after {
                self.hurry(domain, next_balance);
            }
            let stop = if self.config.variants.balance.newidle_stops_on_work_only {
                self.cpus[cpu].nr_running > 0 || !self.wake_lists[cpu].is_empty()
            } else {
                !go_on
            };
            if moved > 0 || stop {
                break;
            }
        }
        let rq = &mut self.cpus[cpu];
        rq.balance.max_idle_balance_cost = rq.balance.max_idle_balance_cost.max(spent);
        let fair = self.queues[rq.root].h_nr_queued;
        if rq.nr_running != fair {
            NewIdle::HigherClass
        } else if moved > 0 || fair > 0 {
            NewIdle::Pulled
        } else {
            NewIdle::Nothing
        }
    }

    /// Whether to balance the domain this time. If so, by how much a success counts: so that those that are
    /// skipped count too.
    ///
    /// The chance is `w = 1 + ratio` of 1024, so each try stands for `1024 / w`, rounded.
    fn newidle_worth(&mut self, cpu: CpuId, domain: DomainId) -> Option<u32> {
        if !self.config.features.has(Feature::NiRandom) {
            return Some(1);
        }
        let draw = self.cpus[cpu].balance.chance.next() % 1024;
        let weight = 1 + self.states.domains[domain].newidle_ratio;
        (draw <= weight).then_some((1024 + weight / 2) / weight)
    }

    /// A domain has been balanced in this time. One that took none is not counted.
    fn charge_newidle(&mut self, domain: DomainId, cost: Nanos, success: u32) {
        let now = self.jiffies();
        let state = &mut self.states.domains[domain];
        if cost > Nanos::ZERO {
            state.count_newidle(success);
        }
        if cost > state.max_newidle_lb_cost {
            state.max_newidle_lb_cost = cost;
            state.last_decay_max_lb_cost = now;
        } else {
            self.decay_newidle_cost(domain);
        }
    }

    /// The same where a failure is what makes a domain be left alone: it counts as half as costly again as the
    /// domain is, whatever it took. The limit, a little more than the migration cost, is what a CPU that idles
    /// longer than caches stay warm can always afford.
    fn charge_newidle_or_failure(&mut self, domain: DomainId, cost: Nanos, success: bool) {
        let most = self.states.domains[domain].max_newidle_lb_cost;
        let limit = Nanos(self.config.tunables.migration_cost.0 + 200);
        let cost = if success { cost } else { Nanos(3 * most.0 / 2) };
        if cost > most {
            let now = self.jiffies();
            let state = &mut self.states.domains[domain];
            state.max_newidle_lb_cost = cost.min(limit);
            state.last_decay_max_lb_cost = now;
        } else {
            self.decay_newidle_cost(domain);
        }
    }

    /// The longest time that balancing a domain has taken loses 1 % each second. Returns true if it did now.
    pub(super) fn decay_newidle_cost(&mut self, domain: DomainId) -> bool {
        let now = self.jiffies();
        let state = &mut self.states.domains[domain];
        if now.0 <= state.last_decay_max_lb_cost.0 + u64::from(self.config.hz) {
            return false;
        }
        state.max_newidle_lb_cost = Nanos(state.max_newidle_lb_cost.0 * 253 / 256);
        state.last_decay_max_lb_cost = now;
        true
    }

    /// The CPU will be idle: the domain falls due sooner than on a busy one.
    fn hurry(&self, domain: DomainId, next_balance: &mut Jiffies) {
        let interval = self.balance_interval(domain, false);
        let due = Jiffies(self.states.domains[domain].last_balance.0 + interval.0);
        *next_balance = due.min(*next_balance);
    }
}
