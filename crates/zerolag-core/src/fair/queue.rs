// SPDX-License-Identifier: GPL-2.0-only
//! The fair run queue (`struct cfs_rq`): one per group and CPU.
//!
//! It holds the entities that compete at one level: the one that runs, outside the timeline, and those that
//! wait, in it. The sums over the waiting ones give virtual time in O(1); see `virtual_time`.

use crate::fair::bandwidth::Throttle;
use crate::fair::domain_shares::DomainShare;
use crate::fair::tasks::TaskList;
use crate::fair::timeline::Timeline;
use crate::ids::{CpuId, EntityId, GroupId, QueueId};
use crate::pelt::SchedAvg;
use crate::units::{Instant, Jiffies, VTime, Weight};

/// Where every queue's virtual time starts: one millisecond before the wrap, to meet it early.
pub(crate) const VIRTUAL_TIME_START: VTime = VTime((1_u64 << 20).wrapping_neg());

/// A fair run queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfsRq {
    /// Entities that wait.
    pub timeline: Timeline,
    /// The entity that runs, at this level; it may have left the queue already.
    pub curr: Option<EntityId>,
    /// The entity that should run next if it may.
    pub next: Option<EntityId>,
    /// CFS: the entity that was preempted last.
    pub last: Option<EntityId>,
    /// CFS: the entity that yielded.
    pub skip: Option<EntityId>,
    /// Sum of the weights of all that compete.
    pub load: Weight,
    /// Sum of the weights that count for the load of those queued, before 5.7.
    pub runnable_weight: Weight,
    /// What vruntimes are counted from: `zero_vruntime`, or `min_vruntime` in kernels that have that.
    pub anchor: VTime,
    /// Sum over the timeline of (vruntime - anchor) times table weight.
    pub(crate) key_weight_sum: i64,
    /// Sum over the timeline of table weights.
    pub(crate) weight_sum: u64,
    /// The 2023 series: sum over the timeline of slice times table weight.
    pub(crate) slice_weight_sum: u64,
    /// Entities that compete at this level (`nr_running`, later `nr_queued`).
    pub nr_queued: u32,
    /// Tasks that compete here and below.
    pub h_nr_queued: u32,
    /// Of those, the ones that do not sleep.
    pub h_nr_runnable: u32,
    /// Of those, the ones that sleep and pay back lag.
    pub h_nr_delayed: u32,
    /// Idle entities (`SCHED_IDLE`, `cpu.idle`) at this level.
    pub idle_nr: u32,
    /// Tasks here and below that are idle, or in an idle group at or above this level.
    pub idle_h_nr: u32,
    /// The group is idle (`cpu.idle`).
    pub idle: bool,

    /// Load tracking of everything that is or was here.
    pub avg: SchedAvg,
    /// Load of entities that left while asleep, to be taken off at the next update.
    pub removed: Removed,
    /// What this queue has added to its group's load average.
    pub tg_load_contrib: u64,
    /// When it last did.
    pub last_tg_load_update: Instant,
    /// Something was attached or detached below; the group's entity has to follow.
    pub propagate: bool,
    /// Runnable time that goes with it.
    pub prop_runnable_sum: i64,
    /// Hierarchical load of the queue.
    pub(crate) h_load: u64,
    /// When it was computed.
    pub(crate) h_load_at: Jiffies,
    /// Path along which `h_load` is being computed.
    pub(crate) h_load_next: Option<EntityId>,

    /// The CPU.
    pub cpu: CpuId,
    /// The group; root for a CPU's own queue.
    pub group: GroupId,
    /// The group's entity on this CPU; nothing for the root group.
    pub entity: Option<EntityId>,
    /// The same group's parent's queue on this CPU.
    pub parent: Option<QueueId>,
    /// Place in the list of queues with load, children before parents.
    pub(crate) leaf: LeafLink,
    /// Part of the group's shares, where they are divided by domain.
    pub share: DomainShare,
    /// Tasks that are queued here, the last one first, where balancing goes by queue.
    pub(crate) tasks: TaskList,
    /// CPU bandwidth.
    pub throttle: Throttle,
}

/// How the counts of tasks in a queue and in those above change when some join or leave.
#[derive(Clone, Copy)]
pub(crate) struct CountChange {
    pub(crate) queued: u32,
    pub(crate) runnable: u32,
    pub(crate) delayed: u32,
    pub(crate) idle: u32,
}

impl CountChange {
    #[inline]
    pub(crate) fn add_to(self, queue: &mut CfsRq) {
        queue.h_nr_queued += self.queued;
        queue.h_nr_runnable += self.runnable;
        queue.h_nr_delayed += self.delayed;
        queue.idle_h_nr += self.idle;
    }

    #[inline]
    pub(crate) fn sub_from(self, queue: &mut CfsRq) {
        queue.h_nr_queued -= self.queued;
        queue.h_nr_runnable -= self.runnable;
        queue.h_nr_delayed -= self.delayed;
        queue.idle_h_nr -= self.idle;
    }
}

/// Load waiting to be taken off a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many entities.
    pub nr: u32,
    /// Their load, in all.
    pub load_avg: u64,
    /// Their utilisation.
    pub util_avg: u64,
    /// Their runnable average.
    pub runnable_avg: u64,
}

/// Membership of the per-CPU list of queues that have load (`leaf_cfs_rq_list`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeafLink {
    pub(crate) on_list: bool,
    pub(crate) prev: Option<QueueId>,
    pub(crate) next: Option<QueueId>,
}

impl CfsRq {
    /// An empty queue.
    pub(crate) fn new(cpu: CpuId, group: GroupId, parent: Option<QueueId>) -> Self {
        Self {
            timeline: Timeline::default(),
            curr: None,
            next: None,
            last: None,
            skip: None,
            load: Weight(0),
            runnable_weight: Weight(0),
            anchor: VIRTUAL_TIME_START,
            key_weight_sum: 0,
            weight_sum: 0,
            slice_weight_sum: 0,
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            h_nr_delayed: 0,
            idle_nr: 0,
            idle_h_nr: 0,
            idle: false,
            avg: SchedAvg::default(),
            removed: Removed::default(),
            tg_load_contrib: 0,
            last_tg_load_update: Instant(0),
            propagate: false,
            prop_runnable_sum: 0,
            h_load: 0,
            h_load_at: Jiffies(0),
            h_load_next: None,
            cpu,
            group,
            entity: None,
            parent,
            leaf: LeafLink::default(),
            share: DomainShare::default(),
            tasks: TaskList::default(),
            throttle: Throttle::default(),
        }
    }

    /// True if it is in the CPU's list of queues with load.
    pub const fn on_list(&self) -> bool {
        self.leaf.on_list
    }

    /// The next queue in that list.
    pub(crate) const fn leaf_next(&self) -> Option<QueueId> {
        self.leaf.next
    }

    /// The queue's part of its CPU's load, as last asked for.
    pub const fn h_load(&self) -> u64 {
        self.h_load
    }

    /// Sum over the waiting entities of (vruntime - anchor) times table weight (`avg_vruntime`).
    pub const fn key_weight_sum(&self) -> i64 {
        self.key_weight_sum
    }

    /// Sum over the waiting entities of slice times table weight (`avg_slice` of the 2023 series).
    pub const fn slice_weight_sum(&self) -> u64 {
        self.slice_weight_sum
    }

    /// Sum of the waiting entities' table weights (`avg_load`).
    pub const fn weight_sum(&self) -> u64 {
        self.weight_sum
    }
}
