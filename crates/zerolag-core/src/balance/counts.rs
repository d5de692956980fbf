// SPDX-License-Identifier: GPL-2.0-only
//! What idle balancing did, counted: how often, for how many CPUs, whether it was of any use, and how long it
//! took until load that decays was seen to have done so.
//!
//! Counting changes nothing about what is done.

use crate::ids::CpuId;
use crate::rq::NohzFlags;
use crate::scheduler::Scheduler;
use crate::units::{Instant, Nanos};

/// What idle balancing did. Kernels up to 2.6.35 do not kick: they only have `enter`, `first` and `exit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NohzCounts {
    /// The tick of an idle CPU was stopped.
    pub enter: u64,
    /// And the CPU joined the mask.
    pub first: u64,
    /// A CPU left the mask.
    pub exit: u64,
    /// Kicks to age blocked load, or to recompute when balancing is due, only.
    pub kicks_stats: u64,
    /// Of these, such for blocked load while no idle CPU was thought to have any.
    pub kicks_needless: u64,
    /// Kicks to balance.
    pub kicks_balance: u64,
    /// No idle CPU was found to be kicked.
    pub no_target: u64,
    /// It had been kicked already.
    pub pending: u64,
    /// Passes that were kicked for, not to balance.
    pub passes_stats: u64,
    /// Passes to balance.
    pub passes_balance: u64,
    /// Passes by CPUs that went idle.
    pub passes_newly_idle: u64,
    /// Passes not to balance that came to their end and found no load to age.
    pub passes_useless: u64,
    /// Passes that ended because the CPU had work to do.
    pub abort: u64,
    /// CPUs visited in passes.
    pub visit: u64,
    /// The same in passes not to balance.
    pub visit_ageing: u64,
    /// CPUs left out because nothing is stale there.
    pub skip: u64,
    /// Averages of a CPU brought up to date in passes because it may have blocked load.
    pub updates: u64,
    /// The same in surveys of a domain.
    pub survey_updates: u64,
    /// An idle CPU was found to have no blocked load any more.
    pub cleared: u64,
    /// Ageing was put off because a survey has done it.
    pub push: u64,
    /// CPUs that went idle for too short a time to age others' load.
    pub newly_idle_short: u64,
    /// CPUs that went idle when there was nothing to age.
    pub newly_idle_none: u64,
    /// CPUs whose load, since they had gone idle, was seen to have fallen below 1 % of what it was then.
    pub decays: u64,
    /// How long that took, in all.
    pub decay_sum: Nanos,
    /// How long it took at most.
    pub decay_max: Nanos,
}

impl NohzCounts {
    /// Passes of any kind.
    pub const fn passes(&self) -> u64 {
        self.passes_stats + self.passes_balance + self.passes_newly_idle
    }

    /// How long it took, on average, until a CPU's load was seen to have decayed.
    pub const fn decay_mean(&self) -> Option<Nanos> {
        match self.decay_sum.0.checked_div(self.decays) {
            Some(mean) => Some(Nanos(mean)),
            None => None,
        }
    }
}

/// The load that a CPU had when it went idle, until it is seen to be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decaying {
    since: Instant,
    load: u64,
}

impl Scheduler {
    /// The CPU joins those that are idle without a tick. Its load was last brought up to date when it ran dry.
    pub(super) fn begin_decay(&mut self, cpu: CpuId) {
        let rq = &self.cpus[cpu];
        let since = if rq.balance.idle_stamp == Instant(0) { self.now } else { rq.balance.idle_stamp };
        let load = self.queues[rq.root].avg.load_avg;
        self.cpus[cpu].balance.decaying = (load > 0).then_some(Decaying { since, load });
    }

    /// The load of a CPU has been brought up to date.
    pub(crate) fn watch_decay(&mut self, cpu: CpuId) {
        let rq = &mut self.cpus[cpu];
        if let Some(Decaying { since, load }) = rq.balance.decaying
            && self.queues[rq.root].avg.load_avg * 100 < load
        {
            rq.balance.decaying = None;
            let took = self.now.saturating_since(since);
            let counts = &mut self.nohz.counts;
            counts.decays += 1;
            counts.decay_sum += took;
            counts.decay_max = counts.decay_max.max(took);
        }
    }

    pub(super) fn count_kick(&mut self, flags: NohzFlags) {
        if flags.contains(NohzFlags::BALANCE) {
            self.nohz.counts.kicks_balance += 1;
            return;
        }
        self.nohz.counts.kicks_stats += 1;
        let any = || self.nohz.idle_cpus.iter().any(|c| self.cpus[c].balance.has_blocked_load);
        if flags.contains(NohzFlags::STATS) && !any() {
            self.nohz.counts.kicks_needless += 1;
        }
    }

    /// A pass is over, before which so many averages had been brought up to date.
    pub(super) fn count_useless(&mut self, flags: NohzFlags, updates_before: u64) {
        let useless = !flags.contains(NohzFlags::BALANCE) && self.nohz.counts.updates == updates_before;
        self.nohz.counts.passes_useless += u64::from(useless);
    }
}
