// SPDX-License-Identifier: GPL-2.0-only
//! Rules that one kernel has so and another otherwise, with no feature to switch them: [`Variants`], and the
//! choices in it by subject.

mod bandwidth;
mod cfs;
mod eevdf;
mod load;
mod reinstating;
mod switching;
mod wake;
mod wakers;

pub use bandwidth::{BandwidthRules, Throttling};
pub use cfs::{CfsRules, MinOnLeaving};
pub use eevdf::{Anchor, PreemptAt, Protection, Reweight, Rounding, Search, WakeupPick, Yielding};
pub use load::{
    BlockedEntities, FirstLoad, FudgeUnits, GroupReweight, GroupShare, InitialUtil, LoadHistory, LoadOnMove,
    LoadRules, LoadTracking, Propagation, ShareLoad, UtilEst,
};
pub use reinstating::Reinstating;
pub use switching::{ClockSkip, Descent, Sequence};
pub use wake::{AffineBy, IdleSearch, IdlestBy, WakeRules};
pub use wakers::{AsymGran, WakerMemory, WakerRules};

use crate::balance::BalanceRules;
use crate::domain::DomainRules;
use crate::units::Nanos;

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
    /// What a wake-up does to find out whether the wakee would run.
    pub wakeup_pick: WakeupPick,
    /// Requests are as long as latency nice makes them.
    pub latency_nice: bool,
    /// The sum of slices follows when a group's latency nice changes while the group is queued. The series
    /// of March 2023 forgot that, and the sum is wrong from then on.
    pub slice_sums_exact: bool,
    /// How a task's utilisation is remembered over its sleep.
    pub util_est: UtilEst,
    /// What is written to a tunable is remembered for one CPU, and scaled when CPUs come and go.
    pub written_tunables_scale: bool,
    /// A task may ask for a slice of its own (`sched_setattr()` with a runtime).
    pub custom_slices: bool,
    /// A group competes with the shortest slice that is queued in it.
    pub group_slices: bool,
    /// Load is tracked per entity (PELT).
    pub pelt: bool,
    /// When the weight of a group's entity is set anew.
    pub group_reweight: GroupReweight,
    /// How load is tracked.
    pub load: LoadRules,
    /// What CFS did differently.
    pub cfs: CfsRules,
    /// How a task is changed while it is queued or runs.
    pub reinstating: Reinstating,
    /// How a new task's utilisation is guessed.
    pub initial_util: InitialUtil,
    /// How long a request to leave the clock alone holds, once rescheduling has begun.
    pub clock_skip: ClockSkip,
    /// In which order things are done that depend on each other.
    pub sequence: Sequence,
    /// How tasks that wake others are treated.
    pub wakers: WakerRules,
    /// Where tasks that become runnable go.
    pub wake: WakeRules,
    /// In which order the levels of the hierarchy learn whom they run, if nothing fair ran before.
    pub descent: Descent,
    /// A task that is picked and runs already counts as starting: whether it is a misfit is looked at anew, and
    /// it becomes the most recently used (up to 6.11).
    pub starts_who_stays: bool,
    /// A CPU that is idle and has nothing queued goes through a whole pick when it is told to reschedule.
    pub idle_loop_picks: bool,
    /// CFS bandwidth; nothing = the kernel does not have it.
    pub bandwidth: Option<BandwidthRules>,
    /// How load is balanced between them.
    pub balance: BalanceRules,
}
