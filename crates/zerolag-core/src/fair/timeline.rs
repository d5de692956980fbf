// SPDX-License-Identifier: GPL-2.0-only
//! The timeline: the entities that wait in one queue, in the policy's order.
//!
//! A red-black tree over the entities themselves (links are ids, the arena owns the nodes), with the first
//! entity cached and a summary of each subtree kept in its root:
//!
//! ```text
//!                  d=20 v=7 │min v=3        order: deadline, equal ones first come first served
//!                 /                \        summary: least vruntime and shortest slice below
//!       d=12 v=9 │min v=3      d=31 v=8 │min v=8
//!      /
//!   d=10 v=3 │min v=3
//! ```
//!
//! Properties, checked against a sorted vector by the tests of those names:
//! * in-order traversal is sorted, equal keys in order of arrival;
//! * `first` is the leftmost node;
//! * each least vruntime is the minimum over its subtree;
//! * no path is more than twice as long as another.
//!
//! The shortest slice carries no such promise: after rotations it may be out of date, because the kernel's
//! own summary has this fault (see `ByDeadline`).
//!
//! The shape is the one the kernel's lib/rbtree.c produces for the same operations. That matters to one
//! caller only: the pick of the 2023 series, whose known fault depends on the shape.

mod check;

pub(crate) use check::Fault;

use crate::entity::Entity;
use crate::ids::{EntityId, Id, IdVec};
use crate::units::VTime;

/// The arena that owns every entity.
pub(crate) type Entities = IdVec<EntityId, Entity>;

/// Root and first node of one timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    root: Option<EntityId>,
    first: Option<EntityId>,
}

/// An order of entities, and the summary of subtrees that goes with it.
pub(crate) trait Order {
    /// What entities are ordered by.
    fn key(entity: &Entity) -> VTime;

    /// The summary of a subtree of one.
    fn reset(entity: &mut Entity);

    /// Recomputes the summary of `id` from the node and its children. Returns true if it changed.
    fn summarise(entities: &mut [Entity], id: EntityId) -> bool;

    /// What the summary is the least of, if there is one.
    fn summarised(entity: &Entity) -> Option<VTime>;

    /// Gives `to`, which takes the place of `from`, its summary.
    fn inherit(entities: &mut [Entity], from: EntityId, to: EntityId);
}

/// By deadline; the summary is the least vruntime and the shortest slice (6.8 and later).
#[derive(Debug)]
pub(crate) struct ByDeadline;

impl Order for ByDeadline {
    #[inline]
    fn key(entity: &Entity) -> VTime {
        entity.deadline
    }

    #[inline]
    fn reset(entity: &mut Entity) {
        entity.subtree_min = entity.vruntime;
        entity.subtree_slice = entity.slice;
    }

    #[inline]
    fn summarise(entities: &mut [Entity], id: EntityId) -> bool {
        let node = &entities[id.index()];
        let (mut min, mut slice) = (node.vruntime, node.slice);
        let [left, right] = node.node.children;
        if let Some(left) = left {
            let child = &entities[left.index()];
            min = min.min(child.subtree_min);
            slice = slice.min(child.subtree_slice);
        }
        if let Some(right) = right {
            let child = &entities[right.index()];
            min = min.min(child.subtree_min);
            slice = slice.min(child.subtree_slice);
        }
        let node = &mut entities[id.index()];
        let changed = node.subtree_min != min || node.subtree_slice != slice;
        (node.subtree_min, node.subtree_slice) = (min, slice);
        changed
    }

    #[inline]
    fn summarised(entity: &Entity) -> Option<VTime> {
        Some(entity.vruntime)
    }

    /// The kernel's callbacks are made for a summary of one value, the least vruntime: the shortest slice is
    /// not handed over, and stays what it was below `to` until something changes there. So it may be too
    /// long. Group slices depend on it, hence it is the same here.
    #[inline]
    fn inherit(entities: &mut [Entity], from: EntityId, to: EntityId) {
        entities[to.index()].subtree_min = entities[from.index()].subtree_min;
    }
}

/// By vruntime, without a summary (CFS).
#[derive(Debug)]
pub(crate) struct ByVruntime;

impl Order for ByVruntime {
    #[inline]
    fn key(entity: &Entity) -> VTime {
        entity.vruntime
    }

    #[inline]
    fn reset(_: &mut Entity) {}

    #[inline]
    fn summarise(_: &mut [Entity], _: EntityId) -> bool {
        false
    }

    #[inline]
    fn summarised(_: &Entity) -> Option<VTime> {
        None
    }

    #[inline]
    fn inherit(_: &mut [Entity], _: EntityId, _: EntityId) {}
}

/// By vruntime; the summary is the least deadline (the 2023 series, 6.6).
#[derive(Debug)]
pub(crate) struct ByVruntimeWithDeadline;

impl Order for ByVruntimeWithDeadline {
    #[inline]
    fn key(entity: &Entity) -> VTime {
        entity.vruntime
    }

    #[inline]
    fn reset(entity: &mut Entity) {
        entity.subtree_min = entity.deadline;
    }

    #[inline]
    fn summarise(entities: &mut [Entity], id: EntityId) -> bool {
        let node = &entities[id.index()];
        let below = node.node.children.into_iter().flatten();
        let least = below.fold(node.deadline, |least, child| least.min(entities[child.index()].subtree_min));
        let node = &mut entities[id.index()];
        core::mem::replace(&mut node.subtree_min, least) != least
    }

    #[inline]
    fn summarised(entity: &Entity) -> Option<VTime> {
        Some(entity.deadline)
    }

    #[inline]
    fn inherit(entities: &mut [Entity], from: EntityId, to: EntityId) {
        entities[to.index()].subtree_min = entities[from.index()].subtree_min;
    }
}

impl Timeline {
    /// The entity that comes first in the order.
    #[inline]
    pub fn first(&self) -> Option<EntityId> {
        self.first
    }

    /// The root of the tree, whose summary covers everything.
    #[inline]
    pub(crate) fn root(&self) -> Option<EntityId> {
        self.root
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// The entity that comes last in the order. O(log n).
    pub fn last(&self, entities: &IdVec<EntityId, Entity>) -> Option<EntityId> {
        let mut last = self.root?;
        while let Some(right) = entities[last].node.right() {
            last = right;
        }
        Some(last)
    }

    /// Everyone, in order.
    pub fn iter<'a>(&self, entities: &'a IdVec<EntityId, Entity>) -> impl Iterator<Item = EntityId> + 'a {
        core::iter::successors(self.first, move |&id| successor(entities, id))
    }

    /// Adds an entity behind those that are equal to it. O(log n).
    #[inline]
    pub(crate) fn insert<O: Order>(&mut self, entities: &mut Entities, id: EntityId) {
        let entities = entities.as_mut_slice();
        let (parent, side) = self.find_place(entities, O::key(&entities[id.index()]), O::key);
        let entity = &mut entities[id.index()];
        O::reset(entity);
        entity.node.children = [None, None];
        entity.node.set(parent, RED);
        match parent {
            None => {
                (self.root, self.first) = (Some(id), Some(id));
                entity.node.set(None, BLACK);
            }
            Some(p) => {
                if side == LEFT && self.first == parent {
                    self.first = Some(id);
                }
                entities[p.index()].node.children[side] = Some(id);
                propagate::<O>(entities, parent, None);
                if entities[p.index()].node.is_red() {
                    self.rebalance_after_insert::<O>(entities, id, p);
                }
            }
        }
    }

    /// The leaf below which a key belongs, behind equal ones, and on which side.
    ///
    /// Two loops, one for each direction, so that the processor can guess the way and fetch the next node
    /// before the comparison is done.
    #[inline]
    fn find_place(
        &self,
        entities: &[Entity],
        key: VTime,
        key_of: impl Fn(&Entity) -> VTime,
    ) -> (Option<EntityId>, usize) {
        let Some(mut at) = self.root else { return (None, LEFT) };
        loop {
            while !key.before(key_of(&entities[at.index()])) {
                match entities[at.index()].node.right() {
                    Some(right) => at = right,
                    None => return (Some(at), RIGHT),
                }
            }
            match entities[at.index()].node.left() {
                Some(left) => at = left,
                None => return (Some(at), LEFT),
            }
        }
    }

    /// Takes an entity out. O(log n).
    #[inline]
    pub(crate) fn remove<O: Order>(&mut self, entities: &mut Entities, id: EntityId) {
        let entities = entities.as_mut_slice();
        if self.first == Some(id) {
            self.first = successor_in(entities, id);
        }
        let node = entities[id.index()].node;
        match node.children {
            [Some(left), Some(right)] => self.remove_inner::<O>(entities, id, left, right),
            [only, None] | [None, only] => {
                let parent = node.parent();
                self.replace_child(entities, parent, id, only);
                if let Some(child) = only {
                    // An only child is red: painted black it makes up for the loss.
                    entities[child.index()].node.set(parent, BLACK);
                }
                propagate::<O>(entities, parent, None);
                if only.is_none() && !node.is_red() {
                    self.rebalance_after_removal::<O>(entities, parent, None);
                }
            }
        }
    }

    /// Brings the summaries up to date after a change in a node that is in the tree.
    #[inline]
    pub(crate) fn refresh<O: Order>(&self, entities: &mut Entities, id: EntityId) {
        propagate::<O>(entities.as_mut_slice(), Some(id), None);
    }

    /// Takes out a node with two children: its successor, which has no left child, moves into its place.
    fn remove_inner<O: Order>(
        &mut self,
        entities: &mut [Entity],
        id: EntityId,
        left: EntityId,
        right: EntityId,
    ) {
        let node = entities[id.index()].node;
        let parent = node.parent();
        let mut next = right;
        while let Some(l) = entities[next.index()].node.left() {
            next = l;
        }
        let lost_black = !entities[next.index()].node.is_red();
        let filler = entities[next.index()].node.right();
        // The parent of the place that lost a node.
        let mut hole = next;
        if next != right {
            hole = entities[next.index()].node.parent().expect("the successor lies below");
            entities[hole.index()].node.children[LEFT] = filler;
            if let Some(f) = filler {
                entities[f.index()].node.set_parent(Some(hole));
            }
            entities[next.index()].node.children[RIGHT] = Some(right);
            entities[right.index()].node.set_parent(Some(next));
        }
        entities[next.index()].node.children[LEFT] = Some(left);
        entities[left.index()].node.set_parent(Some(next));
        self.replace_child(entities, parent, id, Some(next));
        entities[next.index()].node.set(parent, node.is_red());
        O::inherit(entities, id, next);
        if hole != next {
            propagate::<O>(entities, Some(hole), Some(next));
        }
        propagate::<O>(entities, Some(next), None);
        match filler {
            Some(f) => entities[f.index()].node.set_red(BLACK),
            None if lost_black => self.rebalance_after_removal::<O>(entities, Some(hole), None),
            None => {}
        }
    }

    /// Makes `parent` point to `new` where it pointed to `old`.
    #[inline]
    fn replace_child(
        &mut self,
        entities: &mut [Entity],
        parent: Option<EntityId>,
        old: EntityId,
        new: Option<EntityId>,
    ) {
        match parent {
            None => self.root = new,
            Some(p) => {
                let children = &mut entities[p.index()].node.children;
                let side = if children[LEFT] == Some(old) { LEFT } else { RIGHT };
                children[side] = new;
            }
        }
    }

    /// Moves `top` down to its `side`; its child on the other side takes its place, summary and colour
    /// included, and is returned. `top` becomes red.
    fn rotate<O: Order>(&mut self, entities: &mut [Entity], top: EntityId, side: usize) -> EntityId {
        let node = entities[top.index()].node;
        let up = node.children[1 - side].expect("a rotation lifts a child");
        let middle = entities[up.index()].node.children[side];
        entities[up.index()].node.children[side] = Some(top);
        entities[up.index()].node.parent_and_colour = node.parent_and_colour;
        entities[top.index()].node.children[1 - side] = middle;
        entities[top.index()].node.set(Some(up), RED);
        if let Some(m) = middle {
            entities[m.index()].node.set_parent(Some(top));
        }
        self.replace_child(entities, node.parent(), top, Some(up));
        O::inherit(entities, top, up);
        O::summarise(entities, top);
        up
    }

    /// Restores "no red node has a red child" after the red `node` came below the red `parent`.
    fn rebalance_after_insert<O: Order>(
        &mut self,
        entities: &mut [Entity],
        mut node: EntityId,
        mut parent: EntityId,
    ) {
        loop {
            let grandparent = entities[parent.index()].node.parent().expect("the root is black");
            let children = entities[grandparent.index()].node.children;
            let side = if children[LEFT] == Some(parent) { LEFT } else { RIGHT };
            if let Some(uncle) = children[1 - side].filter(|&u| entities[u.index()].node.is_red()) {
                entities[uncle.index()].node.set_red(BLACK);
                entities[parent.index()].node.set_red(BLACK);
                let Some(above) = entities[grandparent.index()].node.parent() else { return };
                entities[grandparent.index()].node.set_red(RED);
                if !entities[above.index()].node.is_red() {
                    return;
                }
                (node, parent) = (grandparent, above);
                continue;
            }
            if entities[parent.index()].node.children[1 - side] == Some(node) {
                self.rotate::<O>(entities, parent, side);
            }
            self.rotate::<O>(entities, grandparent, 1 - side);
            return;
        }
    }

    /// Restores "every path has as many black nodes": paths through `node`, below `parent`, lack one.
    fn rebalance_after_removal<O: Order>(
        &mut self,
        entities: &mut [Entity],
        mut parent: Option<EntityId>,
        mut node: Option<EntityId>,
    ) {
        let is_red = |entities: &[Entity], id: Option<EntityId>| {
            id.is_some_and(|id| entities[id.index()].node.is_red())
        };
        while let Some(p) = parent {
            let side = if entities[p.index()].node.children[LEFT] == node { LEFT } else { RIGHT };
            let far = 1 - side;
            let mut sibling = entities[p.index()].node.children[far].expect("the other side is higher");
            if entities[sibling.index()].node.is_red() {
                self.rotate::<O>(entities, p, side);
                sibling = entities[p.index()].node.children[far].expect("a red sibling has children");
            }
            let nephews = entities[sibling.index()].node.children;
            if !is_red(entities, nephews[far]) {
                if !is_red(entities, nephews[side]) {
                    entities[sibling.index()].node.set_red(RED);
                    if entities[p.index()].node.is_red() {
                        entities[p.index()].node.set_red(BLACK);
                        return;
                    }
                    node = Some(p);
                    parent = entities[p.index()].node.parent();
                    continue;
                }
                sibling = self.rotate::<O>(entities, sibling, far);
            }
            let top = self.rotate::<O>(entities, p, side);
            debug_assert_eq!(top, sibling);
            entities[p.index()].node.set_red(BLACK);
            if let Some(outer) = entities[top.index()].node.children[far] {
                entities[outer.index()].node.set_red(BLACK);
            }
            return;
        }
    }
}

/// The next entity in order.
pub(crate) fn successor(entities: &Entities, id: EntityId) -> Option<EntityId> {
    successor_in(entities.as_slice(), id)
}

fn successor_in(entities: &[Entity], id: EntityId) -> Option<EntityId> {
    if let Some(mut next) = entities[id.index()].node.right() {
        while let Some(left) = entities[next.index()].node.left() {
            next = left;
        }
        return Some(next);
    }
    let mut child = id;
    while let Some(parent) = entities[child.index()].node.parent() {
        if entities[parent.index()].node.left() == Some(child) {
            return Some(parent);
        }
        child = parent;
    }
    None
}

/// Recomputes summaries from `from` up to but not including `end`, as long as something changes.
#[inline]
fn propagate<O: Order>(entities: &mut [Entity], from: Option<EntityId>, end: Option<EntityId>) {
    let mut at = from;
    while at != end {
        let Some(id) = at else { return };
        if !O::summarise(entities, id) {
            return;
        }
        at = entities[id.index()].node.parent();
    }
}

/// Positions among a node's children; the cases of rebalancing come in mirrored pairs.
const LEFT: usize = 0;
const RIGHT: usize = 1;

const RED: bool = true;
const BLACK: bool = false;

impl crate::entity::Node {
    #[inline]
    fn parent(&self) -> Option<EntityId> {
        EntityId::unpack(self.parent_and_colour >> 1)
    }

    #[inline]
    fn is_red(&self) -> bool {
        self.parent_and_colour & 1 != 0
    }

    #[inline]
    fn set(&mut self, parent: Option<EntityId>, red: bool) {
        self.parent_and_colour = EntityId::pack(parent) << 1 | u32::from(red);
    }

    #[inline]
    fn set_parent(&mut self, parent: Option<EntityId>) {
        self.parent_and_colour = EntityId::pack(parent) << 1 | self.parent_and_colour & 1;
    }

    #[inline]
    fn set_red(&mut self, red: bool) {
        self.parent_and_colour = self.parent_and_colour & !1 | u32::from(red);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Owner;
    use crate::ids::{QueueId, TaskId};
    use crate::nice::Nice;
    use crate::units::Nanos;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn arena(keys: &[(u64, u64, u64)]) -> Entities {
        keys.iter()
            .map(|&(deadline, vruntime, slice)| {
                let mut e = Entity::new(Owner::Task(TaskId(0)), QueueId::from_index(0), Nice::ZERO.load());
                e.deadline = VTime(deadline);
                e.vruntime = VTime(vruntime);
                e.slice = Nanos(slice);
                e
            })
            .collect()
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_vector(
            keys in prop::collection::vec((0_u64..20, 0_u64..1000, 1_u64..9), 1..60),
            ops in prop::collection::vec(0_usize..60, 0..200),
        ) {
            let mut entities = arena(&keys);
            let mut timeline = Timeline::default();
            let mut twin: Vec<EntityId> = Vec::new();
            for op in ops {
                let id = EntityId::from_index(op % keys.len());
                if let Some(at) = twin.iter().position(|&x| x == id) {
                    timeline.remove::<ByDeadline>(&mut entities, id);
                    twin.remove(at);
                } else {
                    timeline.insert::<ByDeadline>(&mut entities, id);
                    let at = twin.partition_point(|&x| entities[x].deadline.0 <= entities[id].deadline.0);
                    twin.insert(at, id);
                }
                assert_eq!(timeline.check::<ByDeadline>(&entities), Ok(()));
                prop_assert_eq!(timeline.first(), twin.first().copied());
                prop_assert_eq!(timeline.last(&entities), twin.last().copied());
                prop_assert_eq!(timeline.iter(&entities).collect::<Vec<_>>(), twin.clone());
            }
        }
    }

    #[test]
    fn a_changed_slice_reaches_the_root() {
        let mut entities = arena(&[(1, 1, 5), (2, 2, 5), (3, 3, 5), (4, 4, 5)]);
        let mut timeline = Timeline::default();
        for i in 0..4 {
            timeline.insert::<ByDeadline>(&mut entities, EntityId::from_index(i));
        }
        let last = EntityId::from_index(3);
        entities[last].slice = Nanos(1);
        timeline.refresh::<ByDeadline>(&mut entities, last);
        assert_eq!(entities[timeline.root().unwrap()].subtree_slice, Nanos(1));
        assert_eq!(timeline.check::<ByDeadline>(&entities), Ok(()));
    }
}
