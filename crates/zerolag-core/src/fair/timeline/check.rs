// SPDX-License-Identifier: GPL-2.0-only
//! Whether a timeline is what it should be: the properties of [`super`], node by node.

use super::{Entities, Order, Timeline};
use crate::ids::EntityId;
use crate::units::VTime;

/// What is wrong with a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A link, a colour, or the height of a branch.
    Shape(EntityId),
    /// Two neighbours are in the wrong order.
    Order(EntityId),
    /// The first entity is not the leftmost.
    First,
    /// A node's summary is not the minimum over its subtree.
    Summary(EntityId),
}

/// What is known of a subtree that is sound.
struct Subtree {
    black_height: u32,
    least: Option<VTime>,
}

impl Timeline {
    /// Goes over the whole tree. O(n).
    pub(crate) fn check<O: Order>(&self, entities: &Entities) -> Result<(), Fault> {
        subtree::<O>(entities, self.root(), None)?;
        let mut leftmost = self.root();
        while let Some(left) = leftmost.and_then(|id| entities[id].node.left()) {
            leftmost = Some(left);
        }
        if self.first() != leftmost {
            return Err(Fault::First);
        }
        let mut before: Option<EntityId> = None;
        for id in self.iter(entities) {
            if before.is_some_and(|b| O::key(&entities[id]).before(O::key(&entities[b]))) {
                return Err(Fault::Order(id));
            }
            before = Some(id);
        }
        Ok(())
    }
}

fn subtree<O: Order>(
    entities: &Entities,
    id: Option<EntityId>,
    parent: Option<EntityId>,
) -> Result<Subtree, Fault> {
    let Some(id) = id else { return Ok(Subtree { black_height: 0, least: None }) };
    let entity = &entities[id];
    let node = &entity.node;
    let has_red_child = node.children.into_iter().flatten().any(|child| entities[child].node.is_red());
    if node.parent() != parent || (node.is_red() && has_red_child) {
        return Err(Fault::Shape(id));
    }
    let left = subtree::<O>(entities, node.left(), Some(id))?;
    let right = subtree::<O>(entities, node.right(), Some(id))?;
    if left.black_height != right.black_height {
        return Err(Fault::Shape(id));
    }
    let least = O::summarised(entity)
        .map(|own| [left.least, right.least].into_iter().flatten().fold(own, VTime::min));
    if least.is_some_and(|least| least != entity.subtree_min) {
        return Err(Fault::Summary(id));
    }
    let is_black = u32::from(!node.is_red());
    Ok(Subtree { black_height: left.black_height + is_black, least })
}
