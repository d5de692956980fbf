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
//! own summary has this fault (see [`ByDeadline`]).
//!
//! The shape is the one the kernel's lib/rbtree.c produces for the same operations. That matters to one
//! caller only: the pick of the 2023 series, whose known fault depends on the shape.

use core::marker::PhantomData;

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
    fn summarise(entities: &mut Entities, id: EntityId) -> bool;

    /// Gives `to`, which takes the place of `from`, its summary.
    fn inherit(entities: &mut Entities, from: EntityId, to: EntityId);
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
    fn summarise(entities: &mut Entities, id: EntityId) -> bool {
        let node = &entities[id];
        let (mut min, mut slice) = (node.vruntime, node.slice);
        for child in [node.node.left, node.node.right].into_iter().flatten() {
            let child = &entities[child];
            min = min.min(child.subtree_min);
            slice = slice.min(child.subtree_slice);
        }
        let node = &mut entities[id];
        let changed = (node.subtree_min, node.subtree_slice) != (min, slice);
        (node.subtree_min, node.subtree_slice) = (min, slice);
        changed
    }

    /// The kernel's callbacks are made for a summary of one value, the least vruntime: the shortest slice is
    /// not handed over, and stays what it was below `to` until something changes there. So it may be too
    /// long. Group slices depend on it, hence it is the same here.
    #[inline]
    fn inherit(entities: &mut Entities, from: EntityId, to: EntityId) {
        entities[to].subtree_min = entities[from].subtree_min;
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
        while let Some(right) = entities[last].node.right {
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
        let key = O::key(&entities[id]);
        let mut parent = None;
        let mut next = self.root;
        let mut went_left = false;
        let mut is_first = true;
        while let Some(at) = next {
            parent = Some(at);
            let other = &entities[at];
            went_left = key.before(O::key(other));
            next = if went_left { other.node.left } else { other.node.right };
            is_first &= went_left;
        }
        let entity = &mut entities[id];
        O::reset(entity);
        (entity.node.left, entity.node.right) = (None, None);
        entity.node.set(parent, Colour::Red);
        match parent {
            None => self.root = Some(id),
            Some(p) if went_left => entities[p].node.left = Some(id),
            Some(p) => entities[p].node.right = Some(id),
        }
        if is_first {
            self.first = Some(id);
        }
        propagate::<O>(entities, parent, None);
        Tree::<O>::of(self, entities).rebalance_after_insert(id);
    }

    /// Takes an entity out. O(log n).
    #[inline]
    pub(crate) fn remove<O: Order>(&mut self, entities: &mut Entities, id: EntityId) {
        if self.first == Some(id) {
            self.first = successor(entities, id);
        }
        Tree::<O>::of(self, entities).remove(id);
    }

    /// Brings the summaries up to date after a change in a node that is in the tree.
    #[inline]
    pub(crate) fn refresh<O: Order>(&self, entities: &mut Entities, id: EntityId) {
        propagate::<O>(entities, Some(id), None);
    }
}

/// The next entity in order.
pub(crate) fn successor(entities: &Entities, id: EntityId) -> Option<EntityId> {
    if let Some(mut next) = entities[id].node.right {
        while let Some(left) = entities[next].node.left {
            next = left;
        }
        return Some(next);
    }
    let mut child = id;
    while let Some(parent) = entities[child].node.parent() {
        if entities[parent].node.left == Some(child) {
            return Some(parent);
        }
        child = parent;
    }
    None
}

/// Recomputes summaries from `from` up to but not including `end`, as long as something changes.
#[inline]
fn propagate<O: Order>(entities: &mut Entities, from: Option<EntityId>, end: Option<EntityId>) {
    let mut at = from;
    while at != end {
        let Some(id) = at else { return };
        if !O::summarise(entities, id) {
            return;
        }
        at = entities[id].node.parent();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    Red,
    Black,
}

impl crate::entity::Node {
    #[inline]
    fn parent(&self) -> Option<EntityId> {
        match self.parent_and_colour >> 1 {
            0 => None,
            n => Some(EntityId::from_index(n as usize - 1)),
        }
    }

    #[inline]
    fn colour(&self) -> Colour {
        if self.parent_and_colour & 1 == 0 { Colour::Red } else { Colour::Black }
    }

    #[inline]
    fn set(&mut self, parent: Option<EntityId>, colour: Colour) {
        let parent = parent.map_or(0, |p| p.index() as u32 + 1);
        self.parent_and_colour = parent << 1 | u32::from(colour == Colour::Black);
    }

    #[inline]
    fn set_parent(&mut self, parent: Option<EntityId>) {
        self.set(parent, self.colour());
    }

    #[inline]
    fn set_colour(&mut self, colour: Colour) {
        self.parent_and_colour = self.parent_and_colour & !1 | u32::from(colour == Colour::Black);
    }
}

/// One side of a node; the cases of rebalancing come in mirrored pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// A timeline together with its arena, for the length of one operation.
struct Tree<'a, O> {
    timeline: &'a mut Timeline,
    entities: &'a mut Entities,
    order: PhantomData<O>,
}

impl<'a, O: Order> Tree<'a, O> {
    fn of(timeline: &'a mut Timeline, entities: &'a mut Entities) -> Self {
        Self { timeline, entities, order: PhantomData }
    }

    fn child(&self, id: EntityId, side: Side) -> Option<EntityId> {
        let node = &self.entities[id].node;
        match side {
            Side::Left => node.left,
            Side::Right => node.right,
        }
    }

    fn set_child(&mut self, id: EntityId, side: Side, child: Option<EntityId>) {
        let node = &mut self.entities[id].node;
        match side {
            Side::Left => node.left = child,
            Side::Right => node.right = child,
        }
    }

    fn is_red(&self, id: Option<EntityId>) -> bool {
        id.is_some_and(|id| self.entities[id].node.colour() == Colour::Red)
    }

    fn parent(&self, id: EntityId) -> Option<EntityId> {
        self.entities[id].node.parent()
    }

    fn paint(&mut self, id: EntityId, colour: Colour) {
        self.entities[id].node.set_colour(colour);
    }

    /// Makes `parent` point to `new` where it pointed to `old`.
    fn replace_child(&mut self, parent: Option<EntityId>, old: EntityId, new: Option<EntityId>) {
        match parent {
            None => self.timeline.root = new,
            Some(p) if self.entities[p].node.left == Some(old) => self.entities[p].node.left = new,
            Some(p) => self.entities[p].node.right = new,
        }
    }

    /// Moves `top` down to its `side`; its child on the other side takes its place, summary included.
    fn rotate(&mut self, top: EntityId, side: Side) -> EntityId {
        let up = self.child(top, side.other()).expect("a rotation lifts a child");
        let middle = self.child(up, side);
        let parent = self.parent(top);
        self.set_child(top, side.other(), middle);
        if let Some(m) = middle {
            self.entities[m].node.set_parent(Some(top));
        }
        self.replace_child(parent, top, Some(up));
        self.entities[up].node.set_parent(parent);
        self.set_child(up, side, Some(top));
        self.entities[top].node.set_parent(Some(up));
        O::inherit(self.entities, top, up);
        O::summarise(self.entities, top);
        up
    }

    /// Restores "no red node has a red child" after a red leaf came in.
    fn rebalance_after_insert(&mut self, id: EntityId) {
        let mut node = id;
        loop {
            let Some(parent) = self.parent(node) else {
                self.paint(node, Colour::Black);
                return;
            };
            if !self.is_red(Some(parent)) {
                return;
            }
            let grandparent = self.parent(parent).expect("the root is black");
            let side =
                if self.child(grandparent, Side::Left) == Some(parent) { Side::Left } else { Side::Right };
            let uncle = self.child(grandparent, side.other());
            if let Some(u) = uncle.filter(|&u| self.is_red(Some(u))) {
                self.paint(u, Colour::Black);
                self.paint(parent, Colour::Black);
                self.paint(grandparent, Colour::Red);
                node = grandparent;
                continue;
            }
            if self.child(parent, side.other()) == Some(node) {
                self.rotate(parent, side);
            }
            let top = self.rotate(grandparent, side.other());
            self.paint(top, Colour::Black);
            self.paint(grandparent, Colour::Red);
            return;
        }
    }

    fn remove(&mut self, id: EntityId) {
        let node = self.entities[id].node;
        let parent = node.parent();
        // `hole` is the parent of the place that lost a node, `filler` what is there now.
        let (hole, filler, lost);
        if let (Some(left), Some(right)) = (node.left, node.right) {
            let mut next = right;
            while let Some(l) = self.child(next, Side::Left) {
                next = l;
            }
            lost = self.entities[next].node.colour();
            filler = self.child(next, Side::Right);
            if next == right {
                hole = Some(next);
            } else {
                let next_parent = self.parent(next).expect("the successor lies below");
                hole = Some(next_parent);
                self.set_child(next_parent, Side::Left, filler);
                if let Some(f) = filler {
                    self.entities[f].node.set_parent(Some(next_parent));
                }
                self.set_child(next, Side::Right, Some(right));
                self.entities[right].node.set_parent(Some(next));
            }
            self.set_child(next, Side::Left, Some(left));
            self.entities[left].node.set_parent(Some(next));
            self.replace_child(parent, id, Some(next));
            self.entities[next].node.set(parent, node.colour());
            O::inherit(self.entities, id, next);
            if hole != Some(next) {
                propagate::<O>(self.entities, hole, Some(next));
            }
            propagate::<O>(self.entities, Some(next), None);
        } else {
            lost = node.colour();
            filler = node.left.or(node.right);
            hole = parent;
            self.replace_child(parent, id, filler);
            if let Some(f) = filler {
                self.entities[f].node.set_parent(parent);
            }
            propagate::<O>(self.entities, parent, None);
        }
        if lost == Colour::Black {
            match filler {
                // An only child is red: painting it black makes up for the loss.
                Some(f) if self.is_red(Some(f)) => self.paint(f, Colour::Black),
                _ => self.rebalance_after_removal(hole, filler),
            }
        }
    }

    /// Restores "every path has as many black nodes": paths through `node`, below `parent`, lack one.
    fn rebalance_after_removal(&mut self, mut parent: Option<EntityId>, mut node: Option<EntityId>) {
        while let Some(p) = parent {
            if self.is_red(node) {
                break;
            }
            let side = if self.child(p, Side::Left) == node { Side::Left } else { Side::Right };
            let far = side.other();
            let mut sibling = self.child(p, far).expect("the other side is higher");
            if self.is_red(Some(sibling)) {
                self.rotate(p, side);
                self.paint(sibling, Colour::Black);
                self.paint(p, Colour::Red);
                sibling = self.child(p, far).expect("a red sibling has children");
            }
            if !self.is_red(self.child(sibling, far)) {
                if !self.is_red(self.child(sibling, side)) {
                    self.paint(sibling, Colour::Red);
                    node = Some(p);
                    parent = self.parent(p);
                    continue;
                }
                sibling = self.rotate(sibling, far);
                self.paint(sibling, Colour::Black);
            }
            let colour = self.entities[p].node.colour();
            self.rotate(p, side);
            self.paint(sibling, colour);
            self.paint(p, Colour::Black);
            let outer = self.child(sibling, far).expect("the far nephew is red");
            self.paint(outer, Colour::Black);
            return;
        }
        if let Some(n) = node {
            self.paint(n, Colour::Black);
        }
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

    /// Checks everything the module promises; returns (black height, least vruntime).
    fn audit(entities: &Entities, id: Option<EntityId>, parent: Option<EntityId>) -> Option<(u32, u64)> {
        let id = id?;
        let e = &entities[id];
        assert_eq!(e.node.parent(), parent);
        if e.node.colour() == Colour::Red {
            for c in [e.node.left, e.node.right].into_iter().flatten() {
                assert!(entities[c].node.colour() == Colour::Black, "a red node has a red child");
            }
        }
        let l = audit(entities, e.node.left, Some(id));
        let r = audit(entities, e.node.right, Some(id));
        let height = l.map_or(0, |x| x.0);
        assert_eq!(height, r.map_or(0, |x| x.0), "black heights differ");
        let min = [l, r].into_iter().flatten().map(|x| x.1).fold(e.vruntime.0, u64::min);
        assert_eq!(e.subtree_min.0, min, "least vruntime below {id:?}");
        Some((height + u32::from(e.node.colour() == Colour::Black), min))
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
                audit(&entities, timeline.root, None);
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
        audit(&entities, timeline.root, None);
    }
}
