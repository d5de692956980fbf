// SPDX-License-Identifier: GPL-2.0-only
//! Schedulable entities: a task, or a group's representative on one CPU.
//!
//! Everything a fair queue decides, it decides among entities; whether one stands for a task or for a group
//! with a queue of its own matters only where the hierarchy is walked.
//!
//! ```text
//!   root cfs_rq ── T1, G1 ── (my_queue) cfs_rq of G1 ── T2, T3
//! ```

use crate::ids::{EntityId, GroupId, QueueId, TaskId};
use crate::nice::LoadWeight;
use crate::pelt::SchedAvg;
use crate::units::{Instant, Nanos, VDelta, VTime, Weight};

/// What an entity stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A task.
    Task(TaskId),
    /// A group, on the CPU of its queue.
    Group(GroupId),
}

/// A schedulable entity (`struct sched_entity`).
///
/// The first cache line holds what a search of the timeline touches, the second what accounting does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Entity {
    /// Links of the timeline this entity is in.
    pub(crate) node: Node,
    /// The queue it belongs to, whether it is queued or not (`cfs_rq_of()`).
    pub queue: QueueId,
    /// How much virtual service it had.
    pub vruntime: VTime,
    /// Virtual time by which its request should be served; relative to `vruntime` while `rel_deadline`.
    pub deadline: VTime,
    /// Length of a request.
    pub slice: Nanos,
    /// Its weight in the queue.
    pub weight: Weight,
    /// Least `vruntime` in the subtree below (EEVDF) or least `deadline` (the 2023 series).
    pub(crate) subtree_min: VTime,
    /// Shortest slice in the subtree below.
    pub(crate) subtree_slice: Nanos,

    /// Charged up to here, on the task clock of its run queue.
    pub exec_start: Instant,
    /// CPU time so far.
    pub sum_exec: Nanos,
    /// `sum_exec` when it was last picked.
    pub prev_sum_exec: Nanos,
    /// Off the queue: its lag, to be given back when it joins. While it runs, and until it next leaves, the
    /// same word holds the mark that protects its slice; the kernel has one field for both, and reads of
    /// one as the other are part of its behaviour (reweighting a running group in 6.18).
    pub vlag: VDelta,
    /// Inverse of the weight; 0 = to be computed.
    pub(crate) inverse: u32,
    /// The entity of the group it is in, on the same CPU; nothing at the top.
    pub parent: Option<EntityId>,
    /// The queue below, if it stands for a group.
    pub my_queue: Option<QueueId>,
    /// Whom it stands for.
    pub owner: Owner,
    /// Number of ancestors.
    pub(crate) depth: u16,
    /// It stands for a task of idle policy.
    pub(crate) idle_policy: bool,
    /// Group: number of runnable tasks below, as of the last enqueue or dequeue; feeds its averages. Before
    /// 5.7: the weight of its load as one of those queued.
    pub runnable_weight: u32,
    /// It competes: it is in the timeline, or it is the one running.
    pub on_rq: bool,
    /// It sleeps but still competes, until its lag is paid back (`sched_delayed`).
    pub delayed: bool,
    /// `deadline` is relative to `vruntime`.
    pub rel_deadline: bool,
    /// `slice` was asked for, rather than taken from the base slice.
    pub custom_slice: bool,

    /// Load tracking.
    pub avg: SchedAvg,
}

/// Links of a timeline node, inside the entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// Left and right.
    pub(crate) children: [Option<EntityId>; 2],
    /// The parent as a number, shifted left, with the colour in the lowest bit.
    pub(crate) parent_and_colour: u32,
}

impl Node {
    /// What comes before.
    #[inline]
    pub(crate) const fn left(&self) -> Option<EntityId> {
        self.children[0]
    }

    /// What comes after.
    #[inline]
    pub(crate) const fn right(&self) -> Option<EntityId> {
        self.children[1]
    }
}

impl Entity {
    /// An entity at rest.
    pub(crate) fn new(owner: Owner, queue: QueueId, load: LoadWeight) -> Self {
        Self {
            node: Node::default(),
            queue,
            vruntime: VTime(0),
            deadline: VTime(0),
            slice: Nanos(0),
            weight: load.weight,
            subtree_min: VTime(0),
            subtree_slice: Nanos(0),
            exec_start: Instant(0),
            sum_exec: Nanos(0),
            prev_sum_exec: Nanos(0),
            vlag: VDelta(0),
            inverse: load.inverse,
            parent: None,
            my_queue: None,
            owner,
            depth: 0,
            idle_policy: false,
            runnable_weight: 0,
            on_rq: false,
            delayed: false,
            rel_deadline: false,
            custom_slice: false,
            avg: SchedAvg::default(),
        }
    }

    /// True if it stands for a task.
    #[inline]
    pub const fn is_task(&self) -> bool {
        self.my_queue.is_none()
    }

    /// The task, if it stands for one.
    #[inline]
    pub const fn task(&self) -> Option<TaskId> {
        match self.owner {
            Owner::Task(task) => Some(task),
            Owner::Group(_) => None,
        }
    }

    /// Its weight in table units (`se_weight()`).
    #[inline]
    pub(crate) const fn table_weight(&self) -> u64 {
        self.weight.down()
    }

    /// As [`Entity::virtual_span`], for where the inverse cannot be kept.
    #[inline]
    pub(crate) fn virtual_span_of(&self, wall: Nanos) -> u64 {
        if self.weight == Weight::NICE_0 {
            return wall.0;
        }
        let inverse = if self.inverse == 0 { inverse_of(self.weight) } else { self.inverse };
        scale_by_weights(wall.0, 1024, inverse)
    }

    /// Virtual time in which this entity receives `wall` of service: `wall * 1024 / weight`
    /// (`calc_delta_fair()`).
    #[inline]
    pub(crate) fn virtual_span(&mut self, wall: Nanos) -> u64 {
        if self.weight == Weight::NICE_0 {
            return wall.0;
        }
        if self.inverse == 0 {
            self.inverse = inverse_of(self.weight);
        }
        scale_by_weights(wall.0, 1024, self.inverse)
    }
}

/// `2^32 / table weight`, rounded down, in 32 bits. Out of line: it is kept once computed.
#[inline(never)]
pub(crate) const fn inverse_of(weight: Weight) -> u32 {
    inverse_of_table(weight.down())
}

/// The same of a weight in table units.
pub(crate) const fn inverse_of_table(weight: u64) -> u32 {
    match weight {
        0 => u32::MAX,
        w if w >= u32::MAX as u64 => 1,
        w => (u32::MAX as u64 / w) as u32,
    }
}

/// `span * weight / w`, where `inverse` is `2^32 / w` (`__calc_delta()`).
///
/// `weight * inverse` needs up to 42 bits for the weights in use, so the product with a 64-bit span fits in
/// 128 bits as it is; the kernel first drops low bits until the factor fits in 32, and so must we, because
/// the bits dropped are seen in the result.
#[inline]
pub(crate) const fn scale_by_weights(span: u64, weight: u64, inverse: u32) -> u64 {
    let mut factor = weight;
    let mut shift = 32;
    let high = (factor >> 32) as u32;
    if high != 0 {
        let bits = 32 - high.leading_zeros();
        factor >>= bits;
        shift -= bits;
    }
    factor = (factor as u32 as u64) * inverse as u64;
    let high = (factor >> 32) as u32;
    if high != 0 {
        let bits = 32 - high.leading_zeros();
        factor >>= bits;
        shift -= bits;
    }
    ((span as u128 * factor as u128) >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::nice::Nice;

    fn entity(nice: i64) -> Entity {
        let load = Nice::new(nice).unwrap().load();
        Entity::new(Owner::Task(TaskId(0)), QueueId::from_index(0), load)
    }

    #[test]
    fn wall_time_becomes_virtual_time() {
        for (nice, wall, virt) in [
            (-20, 1_000_000, 11_536),
            (-7, 1_000_000, 208_809),
            (0, 12_345, 12_345),
            (19, 4_000_000, 273_066_666),
            (5, 3_000_000, 9_170_149),
            (-5, 3_000_000, 984_299),
        ] {
            assert_eq!(entity(nice).virtual_span(Nanos(wall)), virt, "nice {nice}");
        }
    }

    #[test]
    fn a_reweighted_entity_uses_the_floored_inverse() {
        for (nice, virt) in [(-20, 11_536), (-7, 208_808)] {
            let mut e = entity(nice);
            e.inverse = 0;
            assert_eq!(e.virtual_span(Nanos(1_000_000)), virt, "nice {nice}");
        }
    }

    #[test]
    fn an_entity_is_three_cache_lines() {
        assert_eq!(size_of::<Entity>(), 192);
        assert_eq!(core::mem::offset_of!(Entity, exec_start), 64);
        assert_eq!(core::mem::offset_of!(Entity, avg), 128);
    }
}
