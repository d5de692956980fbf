// SPDX-License-Identifier: GPL-2.0-only
//! The list of a CPU's queues that carry load, every child before its parent.
//!
//! Decay walks it from the front, so that what a child hands up is there when its parent is aged.
//!
//! A hierarchy is enqueued bottom-up, so a queue may join before its parent has. Such a branch waits, in
//! order, behind the spot `branch` until an ancestor that is on the list is reached:
//!
//! ```text
//!   list:  c  b │ x  root        enqueue c, b, a:  c and b join at the front, one behind the other;
//!             ^branch            a's parent root is on the list, so a goes before root and closes the branch
//! ```
//!
//! Source: kernel/sched/fair.c, `list_add_leaf_cfs_rq()`, same in 6.1 and 6.12.

use crate::fair::queue::CfsRq;
use crate::ids::{IdVec, QueueId};

type Queues = IdVec<QueueId, CfsRq>;

/// Ends of the list, and where an open branch continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeafList {
    first: Option<QueueId>,
    last: Option<QueueId>,
    /// The last queue of an open branch; nothing = no branch is open.
    branch: Option<QueueId>,
}

impl LeafList {
    /// Adds a queue, unless it is there. Returns true if no branch is open then.
    pub(crate) fn add(&mut self, queues: &mut Queues, id: QueueId) -> bool {
        if queues[id].leaf.on_list {
            return self.branch.is_none();
        }
        queues[id].leaf.on_list = true;
        match queues[id].parent {
            Some(parent) if queues[parent].leaf.on_list => {
                self.link(queues, id, queues[parent].leaf.prev, Some(parent));
                self.branch = None;
            }
            None => {
                self.link(queues, id, self.last, None);
                self.branch = None;
            }
            Some(_) => {
                let after = self.branch.map_or(self.first, |b| queues[b].leaf.next);
                self.link(queues, id, self.branch, after);
                self.branch = Some(id);
            }
        }
        self.branch.is_none()
    }

    /// Takes a queue out, if it is there.
    pub(crate) fn remove(&mut self, queues: &mut Queues, id: QueueId) {
        if !queues[id].leaf.on_list {
            return;
        }
        let (prev, next) = (queues[id].leaf.prev, queues[id].leaf.next);
        if self.branch == Some(id) {
            self.branch = prev;
        }
        match prev {
            Some(p) => queues[p].leaf.next = next,
            None => self.first = next,
        }
        match next {
            Some(n) => queues[n].leaf.prev = prev,
            None => self.last = prev,
        }
        queues[id].leaf = Default::default();
    }

    /// The queue just before `id`, or before where it would join: a child of it, if it has one on the list.
    pub(crate) fn before(&self, queues: &Queues, id: QueueId) -> Option<QueueId> {
        if queues[id].leaf.on_list { queues[id].leaf.prev } else { self.branch }
    }

    /// The first queue.
    pub(crate) fn first(&self) -> Option<QueueId> {
        self.first
    }

    fn link(&mut self, queues: &mut Queues, id: QueueId, prev: Option<QueueId>, next: Option<QueueId>) {
        (queues[id].leaf.prev, queues[id].leaf.next) = (prev, next);
        match prev {
            Some(p) => queues[p].leaf.next = Some(id),
            None => self.first = Some(id),
        }
        match next {
            Some(n) => queues[n].leaf.prev = Some(id),
            None => self.last = Some(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CpuId, GroupId, Id};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn order(list: &LeafList, queues: &Queues) -> Vec<usize> {
        core::iter::successors(list.first(), |&q| queues[q].leaf.next).map(Id::index).collect()
    }

    /// A root with a chain and side branches: parent[i] < i.
    fn hierarchy(parents: &[usize]) -> Queues {
        let root = CfsRq::new(CpuId(0), GroupId::ROOT, None);
        let below = parents.iter().enumerate().map(|(i, &p)| {
            CfsRq::new(CpuId(0), GroupId(i as u32 + 1), Some(QueueId::from_index(p % (i + 1))))
        });
        core::iter::once(root).chain(below).collect()
    }

    proptest! {
        #[test]
        fn children_stand_before_parents(
            parents in prop::collection::vec(0_usize..8, 1..8),
            ops in prop::collection::vec((0_usize..9, any::<bool>()), 0..40),
        ) {
            let mut queues = hierarchy(&parents);
            let mut list = LeafList::default();
            for (at, add) in ops {
                let id = QueueId::from_index(at % queues.len());
                if add {
                    // as an enqueue does: the whole path up
                    for q in core::iter::successors(Some(id), |&q| queues[q].parent).collect::<Vec<_>>() {
                        list.add(&mut queues, q);
                    }
                } else if !queues.iter().any(|(_, q)| q.parent == Some(id) && q.on_list()) {
                    list.remove(&mut queues, id);
                }
                let seen = order(&list, &queues);
                for (position, &q) in seen.iter().enumerate() {
                    if let Some(p) = queues[QueueId::from_index(q)].parent {
                        prop_assert!(seen[position + 1..].contains(&p.index()), "{q} is not before its parent");
                    }
                }
                prop_assert_eq!(seen.len(), queues.iter().filter(|(_, q)| q.on_list()).count());
            }
        }
    }
}
