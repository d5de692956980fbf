// SPDX-License-Identifier: GPL-2.0-only
//! Everything that distinguishes one scheduler from another, as plain data.

use crate::features::Features;
use crate::kernel::Kernel;
use crate::units::Nanos;
use crate::variants::Variants;

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
    /// Sets the tunables that depend on the number of CPUs anew, as the kernel does when a CPU goes on- or
    /// offline (`update_sysctl()`).
    pub fn rescale(&mut self, cpus: usize) {
        if self.scaling == TunableScaling::LogarithmicUnlimited {
            return;
        }
        let scaled = self.unscaled.scaled(self.scaling, cpus);
        self.tunables = Tunables {
            base_slice: scaled.base_slice,
            latency: scaled.latency,
            min_granularity: scaled.min_granularity,
            wakeup_granularity: scaled.wakeup_granularity,
            ..self.tunables.clone()
        };
    }

    /// Tunables have been written on a machine with so many CPUs online. What they stand for there lasts when
    /// the number of CPUs changes, up to what the division loses (`sched_update_scaling()`), in kernels that
    /// see to it; in others a written value lasts until then.
    pub fn tunables_written(&mut self, cpus: usize) {
        if !self.variants.written_tunables_scale {
            return;
        }
        let factor = self.scaling.factor(cpus);
        let tunables = &mut self.tunables;
        // Without a turn there is no number of turns that fit: the period is that of everybody.
        let turns = tunables.latency.0.div_ceil(tunables.min_granularity.0.max(1));
        tunables.nr_latency = u32::try_from(turns).unwrap_or(u32::MAX);
        self.unscaled.base_slice = Nanos(tunables.base_slice.0 / factor);
        self.unscaled.latency = Nanos(tunables.latency.0 / factor);
        self.unscaled.min_granularity = Nanos(tunables.min_granularity.0 / factor);
        self.unscaled.wakeup_granularity = Nanos(tunables.wakeup_granularity.0 / factor);
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
    /// The same as it was in 2009: buddies without conditions, preemption at every level.
    Cfs2009,
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
    /// CFS: with more tasks than this the period grows: the turns that fit into the latency. It is computed when
    /// a tunable is written, not when the two change because a CPU came or went.
    pub nr_latency: u32,
    /// CFS: the granularity of idle entities that compete with others; not scaled by the number of CPUs.
    pub idle_min_granularity: Nanos,
    /// CFS: how far behind a wakee must be to preempt.
    pub wakeup_granularity: Nanos,
    /// CFS: a new task runs before its parent goes on.
    pub child_runs_first: bool,
    /// CFS of 2009: a task that yields goes behind all others (`sched_compat_yield`).
    pub compat_yield: bool,
    /// CFS of 2009: a domain's group shares are divided anew at most this often.
    pub shares_ratelimit: Nanos,
    /// CFS of 2009: a change of a CPU's part of the shares by no more than this is not carried out.
    pub shares_thresh: u64,
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
    /// By `1 + log2(CPUs)`, all CPUs counting; at boot only (2.6.29).
    LogarithmicUnlimited,
}

/// Where every CPU counts, turns are not scaled beyond this.
const LONGEST_TURN: Nanos = Nanos(200_000_000);

impl TunableScaling {
    /// The factor for a machine with `cpus` CPUs online.
    pub const fn factor(self, cpus: usize) -> u64 {
        let counted = if cpus < 8 { cpus } else { 8 } as u64;
        match self {
            Self::None => 1,
            Self::Logarithmic => 1 + counted.ilog2() as u64,
            Self::Linear => counted,
            Self::LogarithmicUnlimited => 1 + cpus.ilog2() as u64,
        }
    }
}

impl Tunables {
    /// The effective values on a machine with `cpus` CPUs.
    #[must_use]
    pub fn scaled(&self, scaling: TunableScaling, cpus: usize) -> Self {
        let factor = scaling.factor(cpus);
        let scale = |t: Nanos| Nanos(t.0 * factor);
        let turn = |t: Nanos| match scaling {
            TunableScaling::LogarithmicUnlimited => scale(t).min(LONGEST_TURN),
            _ => scale(t),
        };
        Self {
            base_slice: scale(self.base_slice),
            latency: turn(self.latency),
            min_granularity: turn(self.min_granularity),
            wakeup_granularity: scale(self.wakeup_granularity),
            shares_ratelimit: scale(self.shares_ratelimit),
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
