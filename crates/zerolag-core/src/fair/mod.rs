// SPDX-License-Identifier: GPL-2.0-only
//! The fair class.
//!
//! ```text
//!   class       enqueue, dequeue, pick, put, tick: walks over the hierarchy of groups
//!     queueing    one level: an entity joins or leaves one queue
//!       policy      what the policies do differently
//!         cfs         one of them
//!         cfs2009     as it began
//!         eevdf       the other: placement, deadlines, pick
//!           virtual_time, protection    what it measures against, and when it does not
//!       account     charging the entity that runs
//!     preempt     may a wakee take over
//!     shares      weights of groups
//!     load        load tracking along the hierarchy
//!     bandwidth   quotas: queues that ran out are throttled
//!   queue, timeline, leaf    the data
//! ```

mod account;
pub mod audit;
pub mod bandwidth;
mod blocked;
mod cfs;
mod cfs2009;
mod class;
pub mod domain_shares;
#[cfg(test)]
pub(crate) mod driver;
mod earlier_load;
mod eevdf;
mod eevdf2023;
pub(crate) mod leaf;
pub(crate) mod load;
mod policy;
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
