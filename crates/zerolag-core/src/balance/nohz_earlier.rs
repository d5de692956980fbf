// SPDX-License-Identifier: GPL-2.0-only
//! Balancing for idle CPUs as it was before 5.7.
//!
//! | up to | a busy CPU kicks an idle one | blocked load of idle CPUs is aged |
//! |---|---|---|
//! | 4.16 | to balance | while they are balanced, only |
//! | 4.17 | to balance, or to age blocked load each 32 ms | by kicks, and by CPUs that go idle for long |
//! | 2018 document | the same | the same, but only on CPUs that may have some |
//!
//! 4.17 notes in one flag that there may be blocked load somewhere. The 2018 document instead notes for which
//! CPUs there may be ("stale" ones), so that a pass can leave the others alone. A CPU's mark is not taken off
//! when it becomes busy, so one that stays busy keeps the kicks coming.
//!
//! Source: kernel/sched/fair.c, `nohz_balancer_kick()`, `nohz_idle_balance()` and their neighbours, 4.6, 4.11
//! and 4.17; the 2018 document's patch.

use crate::balance::nohz::{BLOCKED_INTERVAL_MS, BlockedDeed};
use crate::balance::pass::Pass;
use crate::balance::{IdleType, NohzScheme};
use crate::ids::CpuId;
use crate::rq::NohzFlags;
use crate::scheduler::{Effect, Scheduler};
use crate::units::Jiffies;

/// What a survey of a domain does about blocked load on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SurveyAgeing {
    /// It ages it.
    ages: bool,
    /// Some was left.
    again: bool,
}

/// Everything that may be asked of a kicked CPU.
const ALL: NohzFlags = NohzFlags::BALANCE.union(NohzFlags::STATS);

impl Scheduler {
    fn nohz_scheme(&self) -> NohzScheme {
        self.config.variants.balance.nohz
    }

    /// Idle balancing works as it did before 5.7.
    pub(super) fn nohz_is_earlier(&self) -> bool {
        self.nohz_scheme() != NohzScheme::Reasons
    }

    fn ages_by_kicks(&self) -> bool {
        matches!(self.nohz_scheme(), NohzScheme::HasBlocked | NohzScheme::StaleCpus)
    }

    /// Notes what is done about blocked load, for those who count it.
    pub(crate) fn note_blocked(&mut self, deed: BlockedDeed, cpu: CpuId) {
        if self.ages_by_kicks() {
            self.push_traced(Effect::BlockedLoad { deed, cpu });
        }
    }

    /// The idle CPU's tick is being stopped.
    pub(super) fn stop_tick_earlier(&mut self, cpu: CpuId) {
        if !self.ages_by_kicks() {
            self.set_cache_idle(cpu, true);
        }
        self.enter_nohz_earlier(cpu);
        self.stop_history(cpu);
    }

    /// `nohz_balance_enter_idle()`.
    fn enter_nohz_earlier(&mut self, cpu: CpuId) {
        if !self.active.contains(cpu) {
            return;
        }
        let has_base = self.domains.cpu(cpu).base.is_some();
        let ages = self.ages_by_kicks();
        let rq = &mut self.cpus[cpu].balance;
        rq.has_blocked_load |= ages;
        self.nohz.counts.enter += u64::from(rq.nohz_tick_stopped || has_base);
        if !rq.nohz_tick_stopped {
            if !has_base {
                return;
            }
            rq.nohz_tick_stopped = true;
            self.nohz.counts.first += 1;
            self.begin_decay(cpu);
            self.nohz.idle_cpus.insert(cpu);
            self.nohz.nr_cpus += 1;
            if ages {
                self.set_cache_idle(cpu, true);
            }
        }
        match self.nohz_scheme() {
            NohzScheme::HasBlocked => self.nohz.has_blocked = true,
            NohzScheme::StaleCpus => self.nohz.stale_cpus.insert(cpu),
            NohzScheme::Kick | NohzScheme::Reasons => {}
        }
    }

    /// The idle loop is entered: up to 4.16 the CPU counts as idle from now on.
    pub(super) fn enter_idle_loop_earlier(&mut self, cpu: CpuId) {
        if !self.ages_by_kicks() {
            self.set_cache_idle(cpu, true);
        }
    }

    /// The CPU is busy: it has a tick again (`nohz_balance_exit_idle()`).
    fn leave_nohz_earlier(&mut self, cpu: CpuId) {
        if !self.ages_by_kicks() {
            self.set_cache_idle(cpu, false);
        }
        let rq = &mut self.cpus[cpu].balance;
        if core::mem::take(&mut rq.nohz_tick_stopped) {
            rq.decaying = None;
            self.nohz.counts.exit += 1;
            self.nohz.idle_cpus.remove(cpu);
            self.nohz.nr_cpus -= 1;
            if self.ages_by_kicks() {
                self.set_cache_idle(cpu, false);
            }
            if self.config.variants.balance.stale_until_busy {
                self.nohz.stale_cpus.remove(cpu);
            }
        }
    }

    /// There may be blocked load on idle CPUs.
    pub(crate) fn may_have_blocked(&self) -> bool {
        match self.nohz_scheme() {
            NohzScheme::StaleCpus => !self.nohz.stale_cpus.is_empty(),
            _ => self.nohz.has_blocked,
        }
    }

    /// At a CPU's tick: is there a reason to have idle CPUs balanced?
    pub(super) fn nohz_kick_earlier(&mut self, cpu: CpuId) {
        if self.cpus[cpu].balance.idle_at_tick {
            return;
        }
        self.leave_nohz_earlier(cpu);
        if self.nohz.nr_cpus == 0 {
            return;
        }
        let now = self.jiffies();
        let mut flags = NohzFlags::empty();
        if self.ages_by_kicks() && self.may_have_blocked() && now > self.nohz.next_blocked {
            flags = NohzFlags::STATS;
        }
        if now >= self.nohz.next_balance && self.wants_idle_balance_earlier(cpu) {
            flags = if self.ages_by_kicks() { ALL } else { NohzFlags::BALANCE };
        }
        if !flags.is_empty() {
            self.kick_first_idle(flags);
        }
    }

    /// Something on this busy CPU could be done by an idle one.
    fn wants_idle_balance_earlier(&self, cpu: CpuId) -> bool {
        let rq = &self.cpus[cpu];
        let places = self.domains.cpu(cpu);
        rq.nr_running >= 2
            || self.counts_busy(cpu) && places.shared.is_some_and(|s| self.states.shared[s].nr_busy_cpus > 1)
            || self.queues[rq.root].h_nr_queued >= 1
                && places.base.is_some_and(|d| self.has_reduced_capacity(cpu, self.domains[d].imbalance_pct))
    }

    /// Sends the first CPU of the mask, if it is idle, to do the work.
    fn kick_first_idle(&mut self, flags: NohzFlags) {
        self.nohz.next_balance.0 += 1;
        self.count_kick(flags);
        let Some(cpu) = self.nohz.idle_cpus.first().filter(|&c| self.is_idle(c)) else {
            self.nohz.counts.no_target += 1;
            return;
        };
        let rq = &mut self.cpus[cpu].balance;
        let pending = rq.nohz_flags;
        rq.nohz_flags |= flags;
        if pending.intersects(ALL) {
            self.nohz.counts.pending += 1;
        } else {
            self.push(Effect::NohzKick { cpu });
        }
    }

    /// The interrupt: the CPU, if it is still idle, is to make the pass in its next softirq.
    pub(super) fn nohz_interrupt_earlier(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].balance.nohz_flags.intersects(ALL) {
            return;
        }
        if self.is_idle(cpu) && !self.cpus[cpu].need_resched {
            self.cpus[cpu].balance.idle_at_tick = true;
            self.push(Effect::Softirq { cpu });
        } else {
            self.cpus[cpu].balance.nohz_flags -= ALL;
        }
    }

    /// The softirq: makes the pass that the CPU was kicked for, and balances its own domains.
    pub(super) fn softirq_earlier(&mut self, cpu: CpuId) {
        let idle = self.cpus[cpu].balance.idle_at_tick;
        let flags = self.cpus[cpu].balance.nohz_flags & ALL;
        let makes_pass = idle && !flags.is_empty();
        if self.ages_by_kicks() {
            self.cpus[cpu].balance.nohz_flags -= ALL;
            if makes_pass {
                self.pass_ageing(cpu, flags, false);
                return;
            }
            self.note_blocked(BlockedDeed::Periodic, cpu);
        } else {
            if makes_pass {
                self.pass_balancing(cpu);
            }
            self.cpus[cpu].balance.nohz_flags -= ALL;
        }
        self.update_blocked_averages(cpu);
        self.balance_domains(cpu, cpu, idle);
    }

    /// Up to 4.16: balances the idle CPUs that are due.
    fn pass_balancing(&mut self, this_cpu: CpuId) {
        let now = self.jiffies();
        let far = Jiffies(now.0 + 60 * u64::from(self.config.hz));
        let mut next_balance = far;
        self.nohz.counts.passes_balance += 1;
        let idle_cpus = self.copy_idle_cpus();
        for cpu in idle_cpus.iter() {
            if cpu == this_cpu || !self.is_idle(cpu) {
                continue;
            }
            if self.cpus[this_cpu].need_resched {
                self.nohz.counts.abort += 1;
                break;
            }
            self.nohz.counts.visit += 1;
            if now >= self.cpus[cpu].balance.next_balance {
                self.update_clock(cpu);
                self.idle_history(cpu);
                self.nohz.counts.updates += 1;
                self.update_blocked_averages(cpu);
                self.balance_domains(this_cpu, cpu, true);
            }
            next_balance = next_balance.min(self.cpus[cpu].balance.next_balance);
        }
        self.give_back(idle_cpus);
        if next_balance < far {
            self.nohz.next_balance = next_balance;
        }
    }

    /// 4.17: ages the load of the idle CPUs, and balances those that are due if asked to. Returns whether it
    /// came to its end.
    fn pass_ageing(&mut self, this_cpu: CpuId, flags: NohzFlags, newly_idle: bool) -> bool {
        let balances = flags.contains(NohzFlags::BALANCE);
        let counts = &mut self.nohz.counts;
        let (count, deed) = if newly_idle {
            (&mut counts.passes_newly_idle, BlockedDeed::PassNewlyIdle)
        } else if balances {
            (&mut counts.passes_balance, BlockedDeed::PassBalance)
        } else {
            (&mut counts.passes_stats, BlockedDeed::PassStats)
        };
        *count += 1;
        self.note_blocked(deed, this_cpu);
        let stale_only = self.nohz_scheme() == NohzScheme::StaleCpus;
        let now = self.jiffies();
        let far = Jiffies(now.0 + 60 * u64::from(self.config.hz));
        let mut next_balance = far;
        // Whoever goes idle from now on sets it again.
        self.nohz.has_blocked = false;
        let mut blocked = false;
        let mut complete = true;
        let updates = self.nohz.counts.updates;
        let idle_cpus = self.copy_idle_cpus();
        for cpu in idle_cpus.iter() {
            if cpu == this_cpu || !self.is_idle(cpu) {
                continue;
            }
            if stale_only && !balances && !self.nohz.stale_cpus.contains(cpu) {
                self.nohz.counts.skip += 1;
                if self.config.variants.balance.skipped_are_due {
                    next_balance = next_balance.min(self.cpus[cpu].balance.next_balance);
                }
                continue;
            }
            if self.cpus[this_cpu].need_resched {
                self.nohz.counts.abort += 1;
                blocked = true;
                complete = false;
                break;
            }
            self.nohz.counts.visit += 1;
            self.nohz.counts.visit_ageing += u64::from(!balances);
            blocked |= self.age_idle(cpu, true, BlockedDeed::InPass);
            if now >= self.cpus[cpu].balance.next_balance {
                self.update_clock(cpu);
                self.idle_history(cpu);
                if balances {
                    self.balance_domains(this_cpu, cpu, true);
                }
            }
            next_balance = next_balance.min(self.cpus[cpu].balance.next_balance);
        }
        self.give_back(idle_cpus);
        if complete {
            if !newly_idle {
                self.note_blocked(BlockedDeed::PassOwn, this_cpu);
                let may = self.cpus[this_cpu].balance.has_blocked_load;
                self.update_blocked_averages(this_cpu);
                let left = self.cpus[this_cpu].balance.has_blocked_load;
                self.nohz.counts.updates += u64::from(may);
                self.nohz.counts.cleared += u64::from(may && !left);
                blocked |= left;
                if !left {
                    self.nohz.stale_cpus.remove(this_cpu);
                }
            }
            if balances {
                self.balance_domains(this_cpu, this_cpu, true);
            }
            self.nohz.next_blocked = self.next_blocked(now);
            self.count_useless(flags, updates);
        }
        if blocked && !stale_only {
            self.nohz.has_blocked = true;
        }
        if next_balance < far {
            self.nohz.next_balance = next_balance;
        }
        complete
    }

    fn next_blocked(&self, now: Jiffies) -> Jiffies {
        Jiffies(now.0 + Jiffies::from_millis(BLOCKED_INTERVAL_MS, self.config.hz).0)
    }

    /// Ages an idle CPU's load, at most once a tick unless `force`. Returns true if some is left
    /// (`update_nohz_stats()`).
    fn age_idle(&mut self, cpu: CpuId, force: bool, deed: BlockedDeed) -> bool {
        let stale_only = self.nohz_scheme() == NohzScheme::StaleCpus;
        let wanted = if stale_only {
            self.nohz.stale_cpus.contains(cpu)
        } else {
            self.cpus[cpu].balance.has_blocked_load && self.nohz.idle_cpus.contains(cpu)
        };
        if !wanted {
            return false;
        }
        if !force && self.jiffies() <= self.cpus[cpu].balance.last_blocked_update {
            return true;
        }
        self.note_blocked(deed, cpu);
        self.update_blocked_averages(cpu);
        let left = self.cpus[cpu].balance.has_blocked_load;
        let counts = &mut self.nohz.counts;
        *(if force { &mut counts.updates } else { &mut counts.survey_updates }) += 1;
        counts.cleared += u64::from(!left);
        if !left {
            self.nohz.stale_cpus.remove(cpu);
        }
        left
    }

    /// 4.17: a CPU goes idle, and does not look for work elsewhere. If it will be idle for long enough and
    /// blocked load is due, it ages that.
    pub(super) fn nohz_newidle_earlier(&mut self, cpu: CpuId) {
        if !self.ages_by_kicks() {
            return;
        }
        if self.cpus[cpu].balance.avg_idle < self.config.tunables.migration_cost {
            self.nohz.counts.newly_idle_short += 1;
            return;
        }
        if !self.may_have_blocked() || self.jiffies() < self.nohz.next_blocked {
            self.nohz.counts.newly_idle_none += 1;
            return;
        }
        if !self.pass_ageing(cpu, NohzFlags::STATS, true) {
            self.kick_first_idle(NohzFlags::STATS);
        }
    }

    /// 4.17: a CPU about to go idle looks at a domain, and may age blocked load as it does.
    pub(super) fn begin_survey_ageing(&self, pass: &Pass) -> SurveyAgeing {
        let span = self.domains.span(pass.domain);
        let ages = pass.idle == IdleType::NewlyIdle
            && match self.nohz_scheme() {
                NohzScheme::HasBlocked => self.nohz.has_blocked,
                NohzScheme::StaleCpus => span.intersects(&self.nohz.stale_cpus),
                NohzScheme::Kick | NohzScheme::Reasons => false,
            };
        SurveyAgeing { ages, again: false }
    }

    pub(super) fn age_in_survey(&mut self, cpu: CpuId, ageing: &mut SurveyAgeing) {
        if ageing.ages {
            ageing.again |= self.age_idle(cpu, false, BlockedDeed::InSurvey);
        }
    }

    /// All idle CPUs have been visited, and some have load left: that need not be done again soon.
    pub(super) fn end_survey_ageing(&mut self, pass: &Pass, ageing: SurveyAgeing) {
        let again = match self.nohz_scheme() {
            NohzScheme::StaleCpus => ageing.ages && !self.nohz.stale_cpus.is_empty(),
            _ => ageing.again,
        };
        let span = self.domains.span(pass.domain);
        if again && self.nohz.idle_cpus.iter().all(|c| span.contains(c)) {
            self.nohz.counts.push += 1;
            self.nohz.next_blocked = self.next_blocked(self.jiffies());
        }
    }

    /// A domain of this idle CPU was balanced, and the CPU is next due earlier than others that are idle.
    pub(super) fn note_idle_due(&mut self, idle: bool, next: Jiffies) {
        if idle && self.nohz_is_earlier() {
            self.nohz.next_balance = self.nohz.next_balance.min(next);
        }
    }
}
