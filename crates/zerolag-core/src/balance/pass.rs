// SPDX-License-Identifier: GPL-2.0-only
//! One pass over a domain: from the question whether this CPU is the one to do it, to what is remembered of
//! how it went.
//!
//! ```text
//!   ┌▶ this CPU's turn? ──no──▶ balanced, and nothing to be done above
//!   │  busiest group, queue ──none──▶ balanced
//!   │  move tasks ◀──────────────┐
//!   │    pinned, but another CPU of the local group may have them ─┘
//!   └──  all pinned: without that queue
//!      nothing moved: push the running task off, if there is a reason
//! ```
//!
//! | outcome | failures in a row | interval | group imbalance of the parent |
//! |---|---|---|---|
//! | moved | 0 | shortest | set if some were pinned and more should have moved |
//! | nothing moved | one more, unless newly idle | shortest | the same |
//! | nothing moved, and the running task may not come | one more, unless newly idle | doubled | the same |
//! | balanced | 0 | doubled | cleared |
//! | all pinned | 0 | doubled, up to 512 ms | the same as for moved |
//!
//! The interval of newly-idle balancing does not change when there was nothing to do.
//!
//! Source: kernel/sched/fair.c, `sched_balance_rq()`, `should_we_balance()`,
//! `active_load_balance_cpu_stop()`, 6.12; others differ as [`super::BalanceRules`] says.

use crate::balance::IdleType;
use crate::balance::apply::Progress;
use crate::balance::collect::Aim;
use crate::balance::decide::{self, Imbalance, Measure, PushCandidate};
use crate::cpu_set::CpuSet;
use crate::domain::DomainFlags;
use crate::event::{BalanceKind, EventKind};
use crate::ids::{CpuId, DomainId, SchedGroupId};
use crate::scheduler::{Effect, Scheduler, StopWork};

/// A domain whose tasks are all pinned is looked at at least this often, whatever its size
/// (`MAX_PINNED_INTERVAL`).
const PINNED_INTERVAL_MS: u32 = 512;

/// A pass under way: who takes what from whom.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub(super) domain: DomainId,
    /// Who makes it.
    by: CpuId,
    /// For whom.
    cpu: CpuId,
    /// Where tasks go: to that CPU, or to another of its group if some may not go there.
    pub(super) to: CpuId,
    /// Where they are taken from.
    pub(super) from: CpuId,
    pub(super) idle: IdleType,
    /// CPUs of the domain that are no longer considered.
    pub(super) excluded: CpuSet,
    /// What is still to be moved.
    pub(super) left: Imbalance,
    /// No task of the source may go to the destination.
    pub(super) all_pinned: bool,
    /// Some may not.
    pub(super) some_pinned: bool,
    /// But this CPU of the local group might have one of them.
    pub(super) elsewhere: Option<CpuId>,
    /// The stopper makes it: caches do not matter any more.
    pub(super) pushes: bool,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Balanced {
    /// So many tasks came.
    pub(super) moved: u32,
    /// Larger domains may be balanced by this CPU too.
    pub(super) go_on: bool,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Moved(u32),
    /// There was an imbalance, but nothing to be moved. Perhaps the running task is pushed.
    Failed,
    /// The same, and the running task is being pushed: up to 5.4 the domain then waits longer.
    Pushed,
    /// The same, and the running task may not come either.
    FailedPinned,
    Balanced,
    AllPinned,
}

impl Pass {
    fn new(domain: DomainId, by: CpuId, cpu: CpuId, idle: IdleType) -> Self {
        Self {
            domain,
            by,
            cpu,
            to: cpu,
            from: cpu,
            idle,
            excluded: CpuSet::new(),
            left: Imbalance { measure: Measure::Load, amount: 0 },
            all_pinned: false,
            some_pinned: false,
            elsewhere: None,
            pushes: false,
        }
    }
}

impl Scheduler {
    /// Balances a domain of `cpu`, on which `by` does it.
    pub(super) fn balance_domain(
        &mut self,
        by: CpuId,
        cpu: CpuId,
        domain: DomainId,
        idle: IdleType,
    ) -> Balanced {
        let mut pass = Pass::new(domain, by, cpu, idle);
        let by_load = self.config.variants.balance.by_load;
        let mut go_on = true;
        let outcome = loop {
            if !self.is_its_turn(&pass) {
                go_on = false;
                break Outcome::Balanced;
            }
            let aim = self.aim(&pass);
            let Some(group) = self.find_group(&mut pass) else { break Outcome::Balanced };
            let from = match by_load {
                Some(_) => self.find_queue_by_load(&pass, group),
                None => self.find_queue(&aim, &pass, group),
            };
            let Some(from) = from else { break Outcome::Balanced };
            pass.from = from;
            pass.all_pinned = true;
            let moved = if self.cpus[from].nr_running > 1 {
                let moved = self.pull_all(&mut pass);
                if pass.some_pinned && pass.left.amount > 0 {
                    self.set_group_imbalance(domain, true);
                }
                if pass.all_pinned {
                    pass.excluded.insert(from);
                    let exhausted = match by_load {
                        Some(rules) if !rules.stays_outside => {
                            self.active.iter().all(|c| pass.excluded.contains(c))
                        }
                        _ => self.all_are_local(&pass),
                    };
                    if exhausted {
                        break Outcome::AllPinned;
                    }
                    continue;
                }
                moved
            } else {
                0
            };
            break if moved > 0 { Outcome::Moved(moved) } else { self.push_running(&mut pass) };
        };
        self.note_outcome(&pass, outcome);
        let moved = if let Outcome::Moved(moved) = outcome { moved } else { 0 };
        Balanced { moved, go_on }
    }

    /// One CPU of the local group balances for it: the first idle one, or the first of all. Above the level of
    /// threads, one with an idle core comes first.
    fn is_its_turn(&self, pass: &Pass) -> bool {
        let by_load = self.config.variants.balance.by_load;
        let is_candidate = || {
            let mut all = self.candidates(pass, self.domains.span(pass.domain));
            all.any(|c| c == pass.to)
        };
        if by_load.is_none_or(|rules| rules.stays_outside) && !is_candidate() {
            return false;
        }
        if pass.idle == IdleType::NewlyIdle {
            if by_load.is_some() {
                return true;
            }
            let rq = &self.cpus[pass.to];
            return rq.nr_running == 0 && self.wake_lists[pass.to].is_empty();
        }
        let group = self.domains.local_group(pass.domain);
        let threads = self.domains[pass.domain].flags.contains(DomainFlags::SHARE_CPUCAPACITY);
        let by_core = self.config.variants.balance.smt_aware && !threads;
        let mut idle_thread = None;
        for cpu in self.candidates(pass, self.domains.balance_mask(group)) {
            if !self.is_idle(cpu) {
                continue;
            }
            if by_core && !self.is_core_idle(cpu) {
                idle_thread = idle_thread.or(Some(cpu));
                continue;
            }
            return cpu == pass.to;
        }
        idle_thread.unwrap_or_else(|| self.domains.balance_cpu(group)) == pass.to
    }

    /// The group to take from; what is to be taken is noted in the pass.
    fn find_group(&mut self, pass: &mut Pass) -> Option<SchedGroupId> {
        if let Some(rules) = self.config.variants.balance.by_load {
            return self.find_group_by_load(pass, rules);
        }
        self.refresh_capacity(pass);
        let aim = self.aim(pass);
        let survey = self.survey(&aim, pass);
        self.note_survey(pass, &survey);
        pass.left.amount = 0;
        pass.left = decide::find_imbalance(&aim, &survey)?;
        (pass.left.amount != 0).then_some(survey.busiest?.group)
    }

    /// Moves tasks to the CPU that asked, and those it may not have to others of its group.
    fn pull_all(&mut self, pass: &mut Pass) -> u32 {
        let max = self.config.tunables.nr_migrate.min(self.cpus[pass.from].nr_running);
        let mut progress = Progress::new(max);
        let mut moved = 0;
        loop {
            let came = self.pull(pass, &mut progress);
            self.trace_moved(pass, came);
            moved += came;
            let Some(other) = pass.elsewhere.filter(|_| pass.left.amount > 0) else { return moved };
            pass.excluded.insert(pass.to);
            pass.to = other;
            pass.elsewhere = None;
            progress.restart();
        }
    }

    fn trace_moved(&mut self, pass: &Pass, moved: u32) {
        let kind = match pass.idle {
            IdleType::NewlyIdle => BalanceKind::NewlyIdle,
            _ if pass.by != pass.cpu => BalanceKind::Nohz,
            _ => BalanceKind::Periodic,
        };
        if moved > 0 {
            self.trace(pass.by, EventKind::Balance { kind, target: pass.to, moved });
        }
    }

    /// For whom else the pass may move tasks: those that may balance for the local group, or, up to 5.x, all of it.
    pub(super) fn other_targets(&self, pass: &Pass) -> &CpuSet {
        let group = self.domains.local_group(pass.domain);
        if self.config.variants.balance.by_load.is_some() {
            self.domains.group_span(group)
        } else {
            self.domains.balance_mask(group)
        }
    }

    /// All CPUs that are left to be considered are in the local group.
    fn all_are_local(&self, pass: &Pass) -> bool {
        let local = self.other_targets(pass);
        self.candidates(pass, self.domains.span(pass.domain)).all(|c| local.contains(c))
    }

    /// Nothing could be moved. If there is a reason to, has the stopper push the running task.
    fn push_running(&mut self, pass: &mut Pass) -> Outcome {
        let misfit = pass.left.measure == Measure::Misfit;
        let counts = !misfit || self.config.variants.balance.misfit_counts_as_failure;
        if pass.idle != IdleType::NewlyIdle && counts {
            self.states.domains[pass.domain].nr_balance_failed += 1;
        }
        if !self.needs_push(pass) {
            return Outcome::Failed;
        }
        // Nobody else may take the idle task, or the stopper.
        let running = self.cpus[pass.from].curr;
        if !running.is_some_and(|t| self.tasks[t].affinity.contains(pass.cpu)) {
            pass.all_pinned |= self.config.variants.balance.by_load.is_some();
            return Outcome::FailedPinned;
        }
        let by_load = self.config.variants.balance.by_load.is_some();
        if !by_load {
            pass.all_pinned = false;
        }
        let from = &mut self.cpus[pass.from].balance;
        let pushes = !from.active_balance;
        if pushes {
            from.active_balance = true;
            from.push_cpu = pass.cpu;
            self.push(Effect::Stop { cpu: pass.from, work: StopWork::ActiveBalance });
        }
        if !by_load {
            return Outcome::Failed;
        }
        // The next task that can be moved will be, hot or not; but not pushed at once.
        let tries = self.domains[pass.domain].cache_nice_tries;
        self.states.domains[pass.domain].nr_balance_failed = tries + 1;
        if pushes { Outcome::Pushed } else { Outcome::Failed }
    }

    fn needs_push(&self, pass: &Pass) -> bool {
        let aim: Aim = self.aim(pass);
        let from = PushCandidate {
            packs: aim.packs() && (pass.to < pass.from || !self.packs(&aim, pass.from)),
            h_nr_running: self.fair_tasks(pass.from),
            capacity: self.capacity_of(pass.from),
            reduced: self.has_reduced_capacity(pass.from, aim.imbalance_pct),
            failures: self.states.domains[pass.domain].nr_balance_failed,
            tries: self.domains[pass.domain].cache_nice_tries,
        };
        if self.config.variants.balance.by_load.is_some() {
            let alone = PushCandidate { packs: false, ..from };
            return decide::needs_push(&aim, Measure::Load, &alone) || from.failures > from.tries + 2;
        }
        decide::needs_push(&aim, pass.left.measure, &from)
    }

    /// The table of the module's documentation.
    fn note_outcome(&mut self, pass: &Pass, outcome: Outcome) {
        let by_load = self.config.variants.balance.by_load.is_some();
        if outcome == Outcome::Balanced && (by_load || !pass.all_pinned) {
            self.set_group_imbalance(pass.domain, false);
        }
        let sd = &self.domains[pass.domain];
        let state = &mut self.states.domains[pass.domain];
        if matches!(outcome, Outcome::Moved(_) | Outcome::Balanced | Outcome::AllPinned) {
            state.nr_balance_failed = 0;
        }
        if matches!(outcome, Outcome::Moved(_) | Outcome::Failed) {
            state.balance_interval_ms = sd.min_interval_ms;
            return;
        }
        if outcome == Outcome::Pushed {
            if state.balance_interval_ms < sd.max_interval_ms {
                state.balance_interval_ms *= 2;
            }
            return;
        }
        let misfit = pass.left.measure == Measure::Misfit;
        if pass.idle == IdleType::NewlyIdle && !by_load
            || misfit && !self.config.variants.balance.misfit_counts_as_failure
        {
            return;
        }
        let interval = state.balance_interval_ms;
        if pass.all_pinned && interval < PINNED_INTERVAL_MS || interval < sd.max_interval_ms {
            state.balance_interval_ms *= 2;
        }
    }

    /// Notes in the local group of the parent that affinity keeps the domain from being balanced, or does not.
    fn set_group_imbalance(&mut self, domain: DomainId, imbalance: bool) {
        if let Some(parent) = self.domains[domain].parent {
            let group = self.domains.local_group(parent);
            self.states.capacities[self.domains.group(group).capacity].imbalance = imbalance;
        }
    }

    /// In the stopper: the task that was running waits now, and can be moved to the CPU that asked for it.
    pub(crate) fn push_stopped(&mut self, cpu: CpuId) {
        if self.config.variants.balance.by_weight {
            return self.push_by_weight(cpu);
        }
        let to = self.cpus[cpu].balance.push_cpu;
        let pushed = self.detach_pushed(cpu, to);
        self.cpus[cpu].balance.active_balance = false;
        if pushed {
            self.trace(cpu, EventKind::Balance { kind: BalanceKind::Active, target: to, moved: 1 });
        }
    }

    fn detach_pushed(&mut self, cpu: CpuId, to: CpuId) -> bool {
        let both_active = self.active.contains(cpu) && self.active.contains(to);
        // The stopper is one of those that run.
        if !both_active || self.cpus[cpu].nr_running <= 1 {
            return false;
        }
        let common = self.domains.chain(to).find(|&d| self.domains.span(d).contains(cpu));
        let Some(domain) = common else { return false };
        let mut pass = Pass { from: cpu, pushes: true, ..Pass::new(domain, cpu, to, IdleType::Idle) };
        self.update_clock(cpu);
        let Some(task) = self.detach_one(&mut pass) else { return false };
        if self.config.variants.balance.by_load.is_none_or(|rules| rules.push_clears_failures) {
            self.states.domains[domain].nr_balance_failed = 0;
        }
        self.update_clock(to);
        self.attach_task(task);
        true
    }
}
