// SPDX-License-Identifier: GPL-2.0-only
//! Slice protection: for how long the running entity is not measured against the others.
//!
//! Without it two equal entities would take turns as soon as either is a nanosecond ahead. The mark that ends
//! it shares a word with the lag, which is not needed while an entity competes; see [`crate::entity::Entity`].
//!
//! | [`Protection`] | mark, set when it is picked | protected while | ended by |
//! |---|---|---|---|
//! | `UntilDeadline` | its deadline | the mark is its deadline | mark + 1 |
//! | `Never` | | | |
//! | `ForShortestSlice` | `min(d, v + shortest slice / w)` | `v` is before the mark | mark = `v` |
//!
//! Source: kernel/sched/fair.c, `set_protect_slice()`, `update_protect_slice()`, `protect_slice()`,
//! `cancel_protect_slice()`, 6.12 and 6.18.

use crate::entity::Entity;
use crate::features::Feature;
use crate::ids::{EntityId, QueueId};
use crate::scheduler::Scheduler;
use crate::units::{Nanos, VDelta, VTime};
use crate::variants::Protection;

impl Entity {
    fn mark(&self) -> VTime {
        VTime(self.vlag.0 as u64)
    }

    fn set_mark(&mut self, mark: VTime) {
        self.vlag = VDelta(mark.0 as i64);
    }

    /// True if it may go on.
    #[inline]
    pub(crate) fn is_protected(&self, rule: Protection) -> bool {
        match rule {
            Protection::UntilDeadline => self.mark() == self.deadline,
            Protection::ForShortestSlice => self.vruntime.before(self.mark()),
            Protection::Never => false,
        }
    }

    /// It may no longer.
    pub(crate) fn end_protection(&mut self, rule: Protection) {
        if self.is_protected(rule) {
            self.set_mark(match rule {
                Protection::UntilDeadline => self.deadline + VDelta(1),
                Protection::ForShortestSlice | Protection::Never => self.vruntime,
            });
        }
    }

    /// It may at most have `slice` from now on.
    fn limit_mark(&mut self, mark: VTime, slice: Nanos) {
        let end = self.vruntime + VDelta(self.virtual_span(slice) as i64);
        self.set_mark(mark.min(end));
    }
}

impl Scheduler {
    /// The entity has been picked; it is out of the timeline, and not yet the running one.
    #[inline]
    pub(crate) fn protect(&mut self, q: QueueId, se: EntityId) {
        let entity = &mut self.entities[se];
        let deadline = entity.deadline;
        match self.config.variants.protection {
            Protection::Never => {}
            Protection::UntilDeadline => entity.set_mark(deadline),
            Protection::ForShortestSlice => {
                let slice = if self.config.features.has(Feature::RunToParity) {
                    self.queues[q].shortest_slice(&self.entities)
                } else {
                    self.config.unscaled.base_slice
                };
                let entity = &mut self.entities[se];
                if slice < entity.slice {
                    entity.limit_mark(deadline, slice);
                } else {
                    entity.set_mark(deadline);
                }
            }
        }
    }

    /// Somebody with a shorter slice waits now, although not as the next to run: protection of the running
    /// entity ends after that slice.
    pub(crate) fn shorten_protection(&mut self, q: QueueId, curr: EntityId) {
        let slice = self.queues[q].shortest_slice(&self.entities);
        let entity = &mut self.entities[curr];
        entity.limit_mark(entity.mark(), slice);
    }

    /// The protection that a pick respects.
    #[inline]
    pub(crate) fn protection_at_pick(&self) -> Option<Protection> {
        let rule = self.config.variants.protection;
        match rule {
            Protection::UntilDeadline => self.config.features.has(Feature::RunToParity).then_some(rule),
            Protection::ForShortestSlice => Some(rule),
            Protection::Never => None,
        }
    }

    /// True if the entity, which runs, may go on for now whoever waits with an earlier deadline.
    pub fn slice_is_protected(&self, se: EntityId) -> bool {
        self.protection_at_pick().is_some_and(|rule| self.entities[se].is_protected(rule))
    }
}
