// SPDX-License-Identifier: GPL-2.0-only
//! Idle CPUs without a tick, as they were taken care of up to 2.6.35: one of them keeps its tick and balances for all.
//!
//! ```text
//!   a CPU stops its tick ──┬─ all CPUs have: nobody is left who would need it ── stop
//!                          ├─ nobody does it: this CPU from now on ──────────── keep the tick
//!                          └─ else ──────────────────────────────────────────── stop
//!   the one who does it gets work ── nobody does it
//!   a CPU that was idle lately has a busy tick, and nobody does it ── the first idle CPU is woken to stop its tick
//! ```
//!
//! Source: kernel/sched.c of 2.6.29, `select_nohz_load_balancer()`, `trigger_load_balance()`,
//! `run_rebalance_domains()`.

use crate::balance::IdleType;
use crate::ids::CpuId;
use crate::scheduler::{Effect, Scheduler};

impl Scheduler {
    /// The idle CPU is about to stop its tick. Returns true if it has to keep it, since it balances for all.
    pub(crate) fn stops_tick_by_weight(&mut self, cpu: CpuId) -> bool {
        self.cpus[cpu].balance.idle_lately = true;
        if !self.active.contains(cpu) {
            self.nohz.owner = self.nohz.owner.filter(|&owner| owner != cpu);
            return false;
        }
        self.nohz.counts.enter += 1;
        self.nohz.counts.first += u64::from(!self.nohz.idle_cpus.contains(cpu));
        self.nohz.idle_cpus.insert(cpu);
        if self.nohz.idle_cpus.len() == self.online.len() {
            self.nohz.owner = self.nohz.owner.filter(|&owner| owner != cpu);
            return false;
        }
        *self.nohz.owner.get_or_insert(cpu) == cpu
    }

    /// The CPU leaves its idle loop.
    pub(crate) fn leaves_idle_by_weight(&mut self, cpu: CpuId) {
        if self.nohz.idle_cpus.contains(cpu) {
            self.nohz.counts.exit += 1;
            self.nohz.idle_cpus.remove(cpu);
            self.nohz.owner = self.nohz.owner.filter(|&owner| owner != cpu);
        }
    }

    /// A CPU that had stopped its tick has been woken, for nothing but to be asked again. Returns true if it has to
    /// keep the tick now.
    pub(crate) fn asked_again_by_weight(&mut self, cpu: CpuId) -> bool {
        let stopped = self.nohz.idle_cpus.contains(cpu);
        self.leaves_idle_by_weight(cpu);
        stopped && self.stops_tick_by_weight(cpu)
    }

    /// At the tick of a CPU: has the domains that are due balanced, and sees to it that somebody does so for idle CPUs.
    pub(crate) fn weight_trigger(&mut self, cpu: CpuId) {
        let idle = self.cpus[cpu].balance.idle_at_tick;
        if !idle && core::mem::take(&mut self.cpus[cpu].balance.idle_lately) {
            if self.nohz.owner == Some(cpu) {
                self.nohz.idle_cpus.remove(cpu);
                self.nohz.owner = None;
            }
            if self.nohz.owner.is_none()
                && let Some(first) = self.nohz.idle_cpus.first()
            {
                self.resched(first);
            }
        }
        let owner = self.nohz.owner == Some(cpu);
        if idle && owner && self.nohz.idle_cpus.len() == self.online.len() {
            return self.resched(cpu);
        }
        if idle && !owner && self.nohz.idle_cpus.contains(cpu) {
            return;
        }
        if self.has_domains && self.jiffies() >= self.cpus[cpu].balance.next_balance {
            self.push(Effect::Softirq { cpu });
        }
    }

    /// Balances domains of this CPU that are due, and those of idle CPUs if that is left to it.
    pub(crate) fn softirq_by_weight(&mut self, cpu: CpuId) {
        let idle_at_tick = self.cpus[cpu].balance.idle_at_tick;
        self.balance_by_weight(cpu, cpu, if idle_at_tick { IdleType::Idle } else { IdleType::Busy });
        if !idle_at_tick || self.nohz.owner != Some(cpu) {
            return;
        }
        let idle_cpus = self.copy_idle_cpus();
        for other in idle_cpus.iter().filter(|&c| c != cpu) {
            if self.cpus[cpu].need_resched {
                break;
            }
            self.balance_by_weight(cpu, other, IdleType::Idle);
            let due = self.cpus[other].balance.next_balance;
            let own = &mut self.cpus[cpu].balance.next_balance;
            *own = due.min(*own);
        }
        self.give_back(idle_cpus);
    }
}
