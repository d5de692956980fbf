// SPDX-License-Identifier: GPL-2.0-only
//! The fair class.
//!
//! ```text
//!   class       enqueue, dequeue, pick, put, tick: walks over the hierarchy of groups
//!     queueing    one level: an entity joins or leaves one queue
//!       eevdf       the policy: placement, deadlines, pick
//!         virtual_time, protection    what it measures against, and when it does not
//!       account     charging the entity that runs
//!     shares      weights of groups, and what a change of weight does
//!     load        load tracking along the hierarchy
//!     bandwidth   quotas: queues that ran out are throttled
//!   queue, timeline, leaf    the data
//! ```
//!
//! The policy is chosen by a `match` at five points and nowhere else: when an entity is placed
//! (`queueing::place`), after the running one was charged (`account::charge`), when one is picked
//! (`class::pick_entity`), when a wakee may preempt (`preempt`) and at a tick (`class::tick`).

mod account;
pub mod bandwidth;
mod blocked;
mod class;
mod eevdf;
pub(crate) mod leaf;
mod load;
mod preempt;
mod protection;
pub mod queue;
mod queueing;
mod shares;
pub(crate) mod tasks;
pub mod timeline;
mod util_est;
mod virtual_time;

pub(crate) use queueing::{Dequeue, Enqueue};
