// SPDX-License-Identifier: GPL-2.0-only
//! Whole configurations drawn at random, and what is left of one when everything that does not matter is taken
//! away.
//!
//! A [`Case`] is a machine, a kernel with its switches, a tree of groups, a workload, and changes at given
//! times: what a scenario file can say, as data. It is made to be written down: a case that shows a fault is
//! a [scenario](crate::scenario) that anybody can run.
//!
//! ```text
//!  seed ── draw ──▶ Case ── to_toml ──▶ scenario::read ──▶ Sim
//!                    ▲  │
//!                    └──┘ shrink: parts are left out for as long as the fault still shows
//! ```
//!
//! A run has two phases. In the first, [`Case::busy`], things change under the scheduler's feet and only
//! safety is asked for: no invariant breaks. In the second, [`Case::calm`], nothing changes any more, and
//! something good has to happen as well: who waits gets its turn.
//!
//! Where no task is to have more rights than another ([`Space::equal`]), other things are drawn: what a machine
//! is used for, and not what it can be made to do.
//!
//! A [`mutate`]d case differs in a few things from another: for a search that keeps what is worse than before.
//!
//! Properties: the same seed draws the same case; every case drawn is accepted by the reader of scenarios;
//! what shrinking returns still shows the fault and cannot lose another single part without losing the fault.

mod case;
mod draw;
mod equal;
mod liveness;
mod shrink;

pub use case::{Case, Change, Group, Ingredients, Limit, Work};
pub use draw::{Space, draw, mutate};
pub use liveness::{Liveness, Overdue, Verdict};
pub use shrink::shrink;

#[cfg(test)]
mod tests;
