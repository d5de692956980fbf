// SPDX-License-Identifier: GPL-2.0-only
//! Everything that distinguishes one scheduler from another, as plain data.

use crate::balance::BalanceRules;
use crate::domain::DomainRules;
use crate::features::Features;
use crate::kernel::Kernel;
use crate::units::Nanos;
use crate::variants::{
    Anchor, BandwidthRules, ClockSkip, Descent, GroupReweight, InitialUtil, PreemptAt, Protection, Reweight,
    Rounding, Search, UtilEst, Yielding,
};

/// A complete configuration: change any part of it to ask "what if".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The kernel whose preset this started from; decides which features exist.
    pub kernel: Kernel,
    /// Which fair policy decides.
    pub policy: FairPolicy,
    /// Features that are on.
    pub features: Features,
    /// Tunables, after scaling.
    pub tunables: Tunables,
    /// The same before scaling.
    pub unscaled: Tunables,
    /// How tunables follow the number of CPUs.
    pub scaling: TunableScaling,
    /// Rules that differ between kernels without being a feature of one.
    pub variants: Variants,
    /// Ticks per second: 100, 250, 300 or 1000.
    pub hz: u32,
    /// What is woken from an idle CPU is woken by interrupts, as on any real machine, and not by the idle task
    /// itself, as in the reference.
    pub idle_cpus_are_interrupted: bool,
    /// How long balancing takes.
    pub balance_cost: BalanceCost,
    /// Where the generator starts by which newly-idle balancing of every CPU is skipped at random. Linux takes
    /// true randomness; this default is what the reference starts with.
    pub newidle_seed: [u32; 4],
}

impl Config {
    /// Sets the tunables that depend on the number of CPUs anew; a value written to them is lost, as it is in
    /// the kernel when a CPU goes on- or offline.
    pub fn rescale(&mut self, cpus: usize) {
        let Tunables { migration_cost, nr_migrate, bandwidth_slice, .. } = self.tunables;
        let scaled = self.unscaled.scaled(self.scaling, cpus);
        self.tunables = Tunables { migration_cost, nr_migrate, bandwidth_slice, ..scaled };
    }

    /// Length of a tick.
    pub const fn tick(&self) -> Nanos {
        Nanos(1_000_000_000 / self.hz as u64)
    }
}

/// The policy of the fair class; `fair::policy` shows where it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairPolicy {
    /// The Completely Fair Scheduler: the least vruntime runs next.
    Cfs,
    /// Earliest Eligible Virtual Deadline First, in order of vruntime: March 2023 to 6.7.
    Eevdf2023,
    /// Earliest Eligible Virtual Deadline First, in order of deadlines.
    Eevdf,
}

/// Numbers an administrator can change. Times are effective values, after scaling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// EEVDF: the request length of tasks without a slice of their own.
    pub base_slice: Nanos,
    /// CFS: the period in which each of a few runnable tasks runs once.
    pub latency: Nanos,
    /// CFS: what a task's turn should not be shorter than; with many tasks the period grows to allow it.
    pub min_granularity: Nanos,
    /// CFS: the same for idle entities that compete with others; not scaled by the number of CPUs.
    pub idle_min_granularity: Nanos,
    /// CFS: how far behind a wakee must be to preempt.
    pub wakeup_granularity: Nanos,
    /// CFS: a new task runs before its parent goes on.
    pub child_runs_first: bool,
    /// A task that ran less than this ago is cache hot.
    pub migration_cost: Nanos,
    /// Most tasks moved by one balancing pass.
    pub nr_migrate: u32,
    /// How much CPU time a queue gets from its group's bandwidth at a time (`sched_cfs_bandwidth_slice_us`).
    pub bandwidth_slice: Nanos,
}

/// How tunables grow with the number of CPUs (`sysctl_sched_tunable_scaling`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunableScaling {
    /// Not at all.
    None,
    /// By `1 + log2(CPUs)`, CPUs counting up to 8.
    Logarithmic,
    /// By the number of CPUs, up to 8.
    Linear,
}

impl TunableScaling {
    /// The factor for a machine with `cpus` CPUs online.
    pub const fn factor(self, cpus: usize) -> u64 {
        let counted = if cpus < 8 { cpus } else { 8 } as u64;
        match self {
            Self::None => 1,
            Self::Logarithmic => 1 + counted.ilog2() as u64,
            Self::Linear => counted,
        }
    }
}

impl Tunables {
    /// The effective values on a machine with `cpus` CPUs.
    #[must_use]
    pub fn scaled(&self, scaling: TunableScaling, cpus: usize) -> Self {
        let factor = scaling.factor(cpus);
        let scale = |t: Nanos| Nanos(t.0 * factor);
        Self {
            base_slice: scale(self.base_slice),
            latency: scale(self.latency),
            min_granularity: scale(self.min_granularity),
            wakeup_granularity: scale(self.wakeup_granularity),
            ..self.clone()
        }
    }
}

/// How long newly-idle balancing of one domain takes. CPUs that expect to be idle for less than that leave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceCost {
    /// For ageing the CPU's own load, before its first domain.
    pub ageing: Nanos,
    /// For each CPU of the domain.
    pub per_cpu: Nanos,
}

/// Rules that changed between kernels without a feature to switch them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants {
    /// A queue adds its load to its group's at most this often; 0 = always.
    pub tg_load_interval: Nanos,
    /// A queue stays on the list of those with load until its group has been told that it has none.
    pub listed_while_reported: bool,
    /// A CPU that goes offline takes back what its queues have reported to their groups.
    pub reports_withdrawn_offline: bool,
    /// A CPU's clock is updated when it goes from one root domain to another.
    pub updates_clock_between_domains: bool,
    /// How scheduling domains are built.
    pub domains: DomainRules,
    /// What vruntimes are counted from.
    pub anchor: Anchor,
    /// How long a running entity may go on undisturbed.
    pub protection: Protection,
    /// Where a queued entity stands after its weight changed.
    pub reweight: Reweight,
    /// What `sched_yield()` gives up.
    pub yielding: Yielding,
    /// How virtual time is rounded.
    pub rounding: Rounding,
    /// How the pick searches a timeline in order of vruntime.
    pub search: Search,
    /// When the running entity is measured against the others.
    pub preempt_at: PreemptAt,
    /// Requests are as long as latency nice makes them.
    pub latency_nice: bool,
    /// The sum of slices follows when a group's latency nice changes while the group is queued. The series
    /// of March 2023 forgot that, and the sum is wrong from then on.
    pub slice_sums_exact: bool,
    /// How a task's utilisation is remembered over its sleep.
    pub util_est: UtilEst,
    /// A task may ask for a slice of its own (`sched_setattr()` with a runtime).
    pub custom_slices: bool,
    /// A group competes with the shortest slice that is queued in it.
    pub group_slices: bool,
    /// When the weight of a group's entity is set anew.
    pub group_reweight: GroupReweight,
    /// How a new task's utilisation is guessed.
    pub initial_util: InitialUtil,
    /// How long a request to leave the clock alone holds, once rescheduling has begun.
    pub clock_skip: ClockSkip,
    /// In which order the levels of the hierarchy learn whom they run, if nothing fair ran before.
    pub descent: Descent,
    /// A CPU that is idle and has nothing queued goes through a whole pick when it is told to reschedule.
    pub idle_loop_picks: bool,
    /// CFS bandwidth; nothing = the kernel does not have it.
    pub bandwidth: Option<BandwidthRules>,
    /// How load is balanced between them.
    pub balance: BalanceRules,
}
