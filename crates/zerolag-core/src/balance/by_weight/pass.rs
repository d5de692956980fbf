// SPDX-License-Identifier: GPL-2.0-only
//! One domain is balanced by weight.
//!
//! | outcome | failures in a row | interval |
//! |---|---|---|
//! | moved | 0 | shortest |
//! | nothing moved | one more | shortest |
//! | nothing moved too often: the running task is pushed | one more than the domain bears | doubled |
//! | the same, and it may not come | one more | doubled |
//! | balanced | 0 | doubled |
//!
//! Newly-idle balancing changes neither, but for success.
//!
//! A thread of a core that found nothing although its siblings are busy counts as busy from then on, so that it
//! looks no further as if it were idle.
//!
//! Source: kernel/sched.c of 2.6.29, `load_balance()`, `load_balance_newidle()`.

use crate::balance::IdleType;
use crate::cpu_set::CpuSet;
use crate::domain::DomainFlags;
use crate::event::{BalanceKind, EventKind};
use crate::features::Feature;
use crate::ids::{CpuId, DomainId};
use crate::scheduler::{Effect, Scheduler, StopWork};

/// With pinned tasks a domain is looked at at least this often, whatever its size (`MAX_PINNED_INTERVAL`).
const PINNED_INTERVAL_MS: u32 = 512;

/// A pass under way.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(super) domain: DomainId,
    /// Who makes it.
    by: CpuId,
    /// For whom.
    pub(super) cpu: CpuId,
    pub(super) idle: IdleType,
    /// CPUs that are no longer considered.
    pub(super) excluded: CpuSet,
    /// The last group of tasks that was looked at has none that may come.
    pub(super) all_pinned: bool,
    /// No CPU seen so far has anything to run (`sd_idle`).
    pub(super) all_idle: bool,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Balanced {
    /// The CPU is to be taken for busy: tasks came, or its siblings have some.
    pub(super) busy: bool,
    /// Larger domains may be balanced by this CPU too.
    pub(super) go_on: bool,
}

impl Pass {
    pub(super) fn new(domain: DomainId, by: CpuId, cpu: CpuId, idle: IdleType) -> Self {
        Self { domain, by, cpu, idle, excluded: CpuSet::new(), all_pinned: false, all_idle: false }
    }
}

impl Scheduler {
    /// Balances a domain of `cpu`; `by` does it.
    pub(super) fn balance_weights(
        &mut self,
        by: CpuId,
        cpu: CpuId,
        domain: DomainId,
        idle: IdleType,
    ) -> Balanced {
        let threads = self.domains[domain].flags.contains(DomainFlags::SHARE_CPUCAPACITY);
        let mut pass = Pass::new(domain, by, cpu, idle);
        pass.all_idle = idle.is_idle() && threads;
        let mut go_on = true;
        let source = loop {
            self.update_shares(domain);
            let Some(survey) = self.survey_weights(&mut pass) else {
                go_on = false;
                break None;
            };
            let typical = self.mean_weight(cpu);
            let pct = u64::from(self.domains[domain].imbalance_pct);
            let Some((group, amount)) = survey.imbalance(pct, typical) else { break None };
            let Some(from) = self.find_heaviest_queue(&pass, group, amount) else { break None };
            let mut moved = 0;
            if self.cpus[from].nr_running > 1 {
                if idle != IdleType::NewlyIdle {
                    self.update_clock(cpu);
                }
                self.update_clock(from);
                moved = self.move_weight(&mut pass, from, amount);
                if moved > 0 && by != cpu {
                    self.resched(cpu);
                }
                if pass.all_pinned {
                    pass.excluded.insert(from);
                    continue;
                }
            }
            break Some((from, moved));
        };
        let siblings_busy = threads && !pass.all_idle;
        let busy = match (source, idle) {
            (None, _) => {
                self.note_balanced(&pass);
                siblings_busy
            }
            (Some((_, 0)), IdleType::NewlyIdle) => true,
            (Some((_, moved)), IdleType::NewlyIdle) => {
                self.states.domains[domain].nr_balance_failed = 0;
                self.update_shares(domain);
                self.trace_weights(cpu, BalanceKind::NewlyIdle, moved);
                true
            }
            (Some((from, moved)), _) => self.note_tried(&mut pass, from, moved) || siblings_busy,
        };
        if busy && idle != IdleType::NewlyIdle {
            self.update_shares(domain);
        }
        Balanced { busy, go_on }
    }

    fn trace_weights(&mut self, cpu: CpuId, kind: BalanceKind, moved: u32) {
        if moved > 0 {
            self.trace(cpu, EventKind::Balance { kind, target: cpu, moved });
        }
    }

    /// There was nothing to be done.
    fn note_balanced(&mut self, pass: &Pass) {
        let threads = self.domains[pass.domain].flags.contains(DomainFlags::SHARE_CPUCAPACITY);
        if pass.idle != IdleType::NewlyIdle {
            self.states.domains[pass.domain].nr_balance_failed = 0;
            self.wait_longer(pass);
        } else if pass.all_idle || !threads {
            self.states.domains[pass.domain].nr_balance_failed = 0;
        }
    }

    fn wait_longer(&mut self, pass: &Pass) {
        let longest = self.domains[pass.domain].max_interval_ms;
        let state = &mut self.states.domains[pass.domain];
        let interval = state.balance_interval_ms;
        if pass.all_pinned && interval < PINNED_INTERVAL_MS || interval < longest {
            state.balance_interval_ms *= 2;
        }
    }

    /// There was an imbalance, and so many tasks came from `from`. Returns true if some did.
    fn note_tried(&mut self, pass: &mut Pass, from: CpuId, moved: u32) -> bool {
        let domain = pass.domain;
        let sd = &self.domains[domain];
        let (shortest, longest, tries) = (sd.min_interval_ms, sd.max_interval_ms, sd.cache_nice_tries);
        let state = &mut self.states.domains[domain];
        let mut pushes = false;
        if moved > 0 {
            state.nr_balance_failed = 0;
        } else {
            state.nr_balance_failed += 1;
            if state.nr_balance_failed > tries + 2 {
                let running = self.cpus[from].curr;
                if !running.is_some_and(|t| self.tasks[t].affinity.contains(pass.cpu)) {
                    pass.all_pinned = true;
                    self.wait_longer(pass);
                    return false;
                }
                pushes = self.summon_stopper(pass.by, from, pass.cpu);
                self.states.domains[domain].nr_balance_failed = tries + 1;
            }
        }
        let state = &mut self.states.domains[domain];
        if !pushes {
            state.balance_interval_ms = shortest;
        } else if state.balance_interval_ms < longest {
            state.balance_interval_ms *= 2;
        }
        if moved > 0 {
            if pass.by == pass.cpu {
                self.trace_weights(pass.cpu, BalanceKind::Periodic, moved);
            } else {
                self.trace_weights(pass.cpu, BalanceKind::Nohz, moved);
            }
        }
        moved > 0
    }

    /// Wakes the stopper of `from`, so that it pushes a task to `to`, unless it has been woken already. It is
    /// queued from now on.
    fn summon_stopper(&mut self, by: CpuId, from: CpuId, to: CpuId) -> bool {
        let balance = &mut self.cpus[from].balance;
        if balance.active_balance {
            return false;
        }
        balance.active_balance = true;
        balance.push_cpu = to;
        if self.config.features.has(Feature::LbWakeupUpdate) {
            self.update_shares_towards(by, from);
        }
        self.update_clock(from);
        self.cpus[from].stopper_queued = true;
        self.add_running(from);
        if let Some(curr) = self.cpus[from].curr {
            self.update_curr(self.entities[self.tasks[curr].entity].queue);
        }
        self.resched(from);
        self.remember_attempt(by);
        self.push(Effect::Stop { cpu: from, work: StopWork::ActiveBalance });
        true
    }
}
