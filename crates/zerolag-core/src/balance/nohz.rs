// SPDX-License-Identifier: GPL-2.0-only
//! Balancing for idle CPUs whose tick has been stopped.
//!
//! A CPU without a tick does not balance, so another one has to do it: a busy CPU that sees a reason *kicks*
//! one of the idle ones, which then makes a pass over all of them.
//!
//! ```text
//!   idle entry ── tick stops ── in the mask ┐
//!                                           │  busy tick: a reason? ── kick ── first idle CPU of the mask
//!   busy tick ──── out of the mask ─────────┘                                      │ softirq
//!                                                        pass over the mask: age blocked load, balance
//! ```
//!
//! | a busy CPU kicks | when |
//! |---|---|
//! | to age blocked load | there may be some, and 32 ms have passed |
//! | to balance | some idle CPU is due, and: two tasks here, or too little capacity, or a task too big for it, or several busy CPUs in the cache |
//! | to recompute when balancing is due | a CPU has joined the mask |
//!
//! A CPU is taken out of the mask at its next *busy tick*, not when it leaves idle, so the mask and the count
//! of busy CPUs lag behind by up to a tick.
//!
//! Source: kernel/sched/fair.c, `nohz_balancer_kick()`, `_nohz_idle_balance()` and their neighbours; core.c,
//! `nohz_csd_func()`; same in 6.1 and 6.12.

use crate::balance::counts::NohzCounts;
use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, DomainId, Id};
use crate::rq::NohzFlags;
use crate::scheduler::{Effect, Scheduler};
use crate::units::{Instant, Jiffies};

/// Who is idle without a tick, and what is to be done for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nohz {
    /// CPUs whose tick is stopped, as of their last busy tick.
    pub idle_cpus: CpuSet,
    /// How many they are.
    pub nr_cpus: u32,
    /// Some of them may have load that decays.
    pub has_blocked: bool,
    /// Those that may, where that is kept for each.
    pub stale_cpus: CpuSet,
    /// One has joined: when balancing is next due is not up to date.
    needs_update: bool,
    /// When one of them is next due for balancing.
    pub next_balance: Jiffies,
    /// When blocked load is next to be aged.
    pub next_blocked: Jiffies,
    /// The idle CPU that keeps its tick and balances for the others, where there is one (up to 2.6.35).
    pub(crate) owner: Option<CpuId>,
    /// What has happened so far.
    pub counts: NohzCounts,
}

/// What is done about load that decays on CPUs that do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedDeed {
    /// A pass begins that only ages.
    PassStats,
    /// A pass begins that also balances.
    PassBalance,
    /// A pass begins, by a CPU that goes idle.
    PassNewlyIdle,
    /// A CPU's load is aged in a pass.
    InPass,
    /// That of the CPU that makes it.
    PassOwn,
    /// A CPU's load is aged in a survey of a domain.
    InSurvey,
    /// That of a CPU that is about to go idle.
    NewlyIdle,
    /// That of a CPU that balances periodically.
    Periodic,
}

/// Blocked load is aged once in half of its life.
pub(super) const BLOCKED_INTERVAL_MS: u64 = 32;

impl Scheduler {
    /// The idle CPU's tick is being stopped (`nohz_balance_enter_idle()`). Returns true if it has to go on, since the
    /// CPU balances for others.
    pub fn stop_tick(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        if self.config.variants.balance.by_weight {
            return self.stops_tick_by_weight(cpu);
        }
        if self.nohz_is_earlier() {
            self.stop_tick_earlier(cpu);
        } else {
            self.enter_nohz(cpu);
        }
        false
    }

    fn enter_nohz(&mut self, cpu: CpuId) {
        if !self.active.contains(cpu) {
            return;
        }
        let rq = &mut self.cpus[cpu].balance;
        rq.has_blocked_load = true;
        if !rq.nohz_tick_stopped {
            if self.domains.cpu(cpu).base.is_none() {
                return;
            }
            rq.nohz_tick_stopped = true;
            self.nohz.counts.first += 1;
            self.begin_decay(cpu);
            self.nohz.idle_cpus.insert(cpu);
            self.nohz.nr_cpus += 1;
            self.set_cache_idle(cpu, true);
            self.nohz.needs_update = true;
        }
        self.nohz.counts.enter += 1;
        self.nohz.has_blocked = true;
    }

    /// The tick of a CPU that was idle without one runs again: to be called before it reschedules.
    pub fn restart_tick(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        self.restart_history(cpu);
    }

    /// The busy CPUs of the last-level cache are counted.
    pub(crate) fn counts_busy(&self, cpu: CpuId) -> bool {
        let llc = self.domains.cpu(cpu).llc;
        !self.config.variants.balance.counts_busy_above_cache
            || llc.is_some_and(|d| self.domains[d].parent.is_some())
    }

    /// The CPU is busy: it has a tick again (`nohz_balance_exit_idle()`).
    pub(crate) fn leave_nohz(&mut self, cpu: CpuId) {
        let rq = &mut self.cpus[cpu].balance;
        if core::mem::take(&mut rq.nohz_tick_stopped) {
            rq.decaying = None;
            self.nohz.counts.exit += 1;
            self.nohz.idle_cpus.remove(cpu);
            self.nohz.nr_cpus -= 1;
            self.set_cache_idle(cpu, false);
        }
    }

    /// Counts the CPU as idle, or not, in its last-level cache.
    pub(super) fn set_cache_idle(&mut self, cpu: CpuId, idle: bool) {
        if !self.counts_busy(cpu) {
            return;
        }
        let places = self.domains.cpu(cpu);
        let (Some(llc), Some(shared)) = (places.llc, places.shared) else { return };
        let domain = &mut self.states.domains[llc];
        if domain.nohz_idle != idle {
            domain.nohz_idle = idle;
            self.states.shared[shared].nr_busy_cpus += if idle { -1 } else { 1 };
        }
    }

    /// At a CPU's tick: is there a reason to have idle CPUs balanced? (`nohz_balancer_kick()`)
    pub(crate) fn nohz_balancer_kick(&mut self, cpu: CpuId) {
        if self.nohz_is_earlier() {
            self.nohz_kick_earlier(cpu);
            return;
        }
        if self.cpus[cpu].balance.idle_at_tick {
            return;
        }
        self.leave_nohz(cpu);
        if self.nohz.nr_cpus == 0 {
            return;
        }
        let now = self.jiffies();
        let mut flags = NohzFlags::empty();
        if self.nohz.has_blocked && now > self.nohz.next_blocked {
            flags = NohzFlags::STATS;
        }
        if now >= self.nohz.next_balance && self.wants_idle_balance(cpu) {
            flags = NohzFlags::STATS | NohzFlags::BALANCE;
        }
        if self.nohz.needs_update {
            flags |= NohzFlags::NEXT;
        }
        if !flags.is_empty() {
            self.kick_idle_balancer(cpu, flags);
        }
    }

    /// Something on this busy CPU could be done by an idle one.
    fn wants_idle_balance(&self, cpu: CpuId) -> bool {
        let rq = &self.cpus[cpu];
        if rq.nr_running >= 2 {
            return true;
        }
        let places = self.domains.cpu(cpu);
        let reduced = |domain: DomainId| {
            rq.balance.cpu_capacity * self.domains[domain].imbalance_pct < rq.capacity.0 * 100
        };
        if self.fair_tasks(cpu) >= 1 && places.base.is_some_and(reduced) {
            return true;
        }
        if let Some(domain) = places.asym_cpucapacity {
            // Big CPUs may well stay idle while small ones are busy. A misfit on one of the biggest is of
            // interest only if something else takes part of its power.
            let greatest = places.root.map_or(0, |root| self.domains.roots()[root].max_capacity);
            let any_counts = !self.config.variants.balance.misfit_on_biggest;
            return rq.balance.misfit_task_load != 0
                && (any_counts || rq.capacity.0 < greatest || reduced(domain));
        }
        places.shared.is_some_and(|s| self.states.shared[s].nr_busy_cpus > 1)
    }

    /// Sends the first idle CPU of the mask, not this one, to do the work (`kick_ilb()`).
    fn kick_idle_balancer(&mut self, this_cpu: CpuId, flags: NohzFlags) {
        if flags.contains(NohzFlags::BALANCE) {
            self.nohz.next_balance = Jiffies(self.jiffies().0 + 1);
        }
        self.count_kick(flags);
        let idle = self.nohz.idle_cpus.iter().find(|&c| c != this_cpu && self.is_idle(c));
        let Some(cpu) = idle else {
            self.nohz.counts.no_target += 1;
            return;
        };
        let rq = &mut self.cpus[cpu].balance;
        let pending = rq.nohz_flags;
        rq.nohz_flags |= flags;
        if pending.intersects(NohzFlags::KICK) {
            self.nohz.counts.pending += 1;
        } else {
            self.push(Effect::NohzKick { cpu });
        }
    }

    /// The interrupt that [`Effect::NohzKick`] stands for: the CPU, if it is still idle, is to make the pass
    /// in its next softirq (`nohz_csd_func()`).
    pub fn nohz_kick(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        if self.nohz_is_earlier() {
            self.nohz_interrupt_earlier(cpu);
            return;
        }
        let idle = self.is_idle(cpu);
        let rq = &mut self.cpus[cpu].balance;
        let flags = rq.nohz_flags & (NohzFlags::KICK | NohzFlags::NEW_ILB);
        rq.nohz_flags -= flags;
        rq.idle_at_tick = idle;
        if idle {
            rq.nohz_pending = flags;
            self.push(Effect::Softirq { cpu });
        }
    }

    /// In the softirq: makes the pass that the CPU was kicked for. Returns false if it was not, and its own
    /// balancing is to be done instead.
    pub(crate) fn nohz_idle_balance(&mut self, cpu: CpuId) -> bool {
        let rq = &mut self.cpus[cpu].balance;
        let flags = core::mem::take(&mut rq.nohz_pending);
        if flags.is_empty() || !rq.idle_at_tick {
            return false;
        }
        if flags.contains(NohzFlags::BALANCE) {
            self.nohz.counts.passes_balance += 1;
        } else {
            self.nohz.counts.passes_stats += 1;
        }
        self.balance_idle_cpus(cpu, flags);
        true
    }

    /// The idle loop is entered: ages blocked load if newly-idle balancing left that to be done here
    /// (`nohz_run_idle_balance()`).
    ///
    /// Returns true if its tick has to run although it had been stopped.
    pub fn enter_idle_loop(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        if self.config.variants.balance.by_weight {
            return self.asked_again_by_weight(cpu);
        }
        if self.nohz_is_earlier() {
            self.enter_idle_loop_earlier(cpu);
            return false;
        }
        let rq = &mut self.cpus[cpu];
        let flags = rq.balance.nohz_flags;
        rq.balance.nohz_flags -= NohzFlags::NEW_ILB;
        if flags == NohzFlags::NEW_ILB && !rq.need_resched {
            self.nohz.counts.passes_newly_idle += 1;
            self.balance_idle_cpus(cpu, NohzFlags::STATS);
        }
        false
    }

    /// Newly-idle balancing found nothing: if blocked load is due, it is aged once the CPU is in its idle
    /// loop, provided it stays there long enough for that to pay (`nohz_newidle_balance()`).
    pub(crate) fn nohz_newidle(&mut self, cpu: CpuId) {
        let now = self.jiffies();
        let rq = &mut self.cpus[cpu].balance;
        if rq.avg_idle < self.config.tunables.migration_cost {
            self.nohz.counts.newly_idle_short += 1;
            return;
        }
        if !self.nohz.has_blocked || now < self.nohz.next_blocked {
            self.nohz.counts.newly_idle_none += 1;
            return;
        }
        rq.nohz_flags |= NohzFlags::NEW_ILB;
    }

    /// The pass over all idle CPUs, this one last (`_nohz_idle_balance()`).
    fn balance_idle_cpus(&mut self, this_cpu: CpuId, flags: NohzFlags) {
        let now = self.jiffies();
        let stats = flags.contains(NohzFlags::STATS);
        // Cleared first: whoever goes idle from now on sets it again.
        if stats {
            self.nohz.has_blocked = false;
        }
        if flags.contains(NohzFlags::NEXT) {
            self.nohz.needs_update = false;
        }
        let far = Jiffies(now.0 + 60 * u64::from(self.config.hz));
        let mut next_balance = far;
        let mut blocked = false;
        let mut aborted = false;
        let updates = self.nohz.counts.updates;
        let start = CpuId::from_index(this_cpu.index() + 1);
        let mask = self.copy_idle_cpus();
        for cpu in mask.iter_wrap(start) {
            if !self.is_idle(cpu) {
                continue;
            }
            if !self.is_idle(this_cpu) && self.cpus[this_cpu].need_resched {
                // There is work for this CPU itself: somebody else goes on.
                blocked |= stats;
                self.nohz.needs_update |= flags.contains(NohzFlags::NEXT);
                self.nohz.counts.abort += 1;
                aborted = true;
                break;
            }
            self.nohz.counts.visit += 1;
            self.nohz.counts.visit_ageing += u64::from(!flags.contains(NohzFlags::BALANCE));
            if stats {
                blocked |= self.update_nohz_stats(cpu);
            }
            if now >= self.cpus[cpu].balance.next_balance {
                self.update_clock(cpu);
                if flags.contains(NohzFlags::BALANCE) {
                    self.balance_domains(this_cpu, cpu, true);
                }
            }
            next_balance = next_balance.min(self.cpus[cpu].balance.next_balance);
        }
        self.give_back(mask);
        if !aborted {
            self.count_useless(flags, updates);
            if next_balance < far {
                self.nohz.next_balance = next_balance;
            }
            if stats {
                let interval = Jiffies::from_millis(BLOCKED_INTERVAL_MS, self.config.hz);
                self.nohz.next_blocked = Jiffies(now.0 + interval.0);
            }
        }
        if blocked {
            self.nohz.has_blocked = true;
        }
    }

    /// The idle CPUs as they are now, to be passed over; to be given back after that.
    pub(super) fn copy_idle_cpus(&mut self) -> CpuSet {
        let mut set = self.take_spare_set();
        set.become_same(&self.nohz.idle_cpus);
        set
    }

    /// Ages an idle CPU's load, at most once a tick. Returns true if some is left.
    fn update_nohz_stats(&mut self, cpu: CpuId) -> bool {
        if !self.cpus[cpu].balance.has_blocked_load || !self.nohz.idle_cpus.contains(cpu) {
            return false;
        }
        if self.jiffies() <= self.cpus[cpu].balance.last_blocked_update {
            return true;
        }
        self.nohz.counts.updates += 1;
        self.update_blocked_averages(cpu);
        let left = self.cpus[cpu].balance.has_blocked_load;
        self.nohz.counts.cleared += u64::from(!left);
        left
    }
}
