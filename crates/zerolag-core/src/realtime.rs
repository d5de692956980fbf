// SPDX-License-Identifier: GPL-2.0-only
//! A minimal real-time class: `SCHED_FIFO` and `SCHED_RR` above every fair task.
//!
//! Enough for workloads and traces in which real-time tasks take CPU from fair ones: strict priorities,
//! first in first out among equals, a turn of 100 ms for round robin. Not modelled: throttling, push and
//! pull between CPUs, priority inheritance (see DIFFERENCES.md).

use alloc::collections::{BTreeMap, VecDeque};

use crate::ids::TaskId;
use crate::units::Nanos;

/// How long a round-robin task runs before an equal one gets its turn (`RR_TIMESLICE`).
pub(crate) const RR_SLICE: Nanos = Nanos(100_000_000);

/// Real-time tasks of one CPU that are runnable, the running one included, highest priority first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RtQueue {
    /// Keyed by 99 - priority, so that the first key is the most urgent.
    levels: BTreeMap<u8, VecDeque<TaskId>>,
}

impl RtQueue {
    const fn level(priority: u8) -> u8 {
        99 - priority
    }

    pub(crate) fn push_back(&mut self, priority: u8, task: TaskId) {
        self.levels.entry(Self::level(priority)).or_default().push_back(task);
    }

    pub(crate) fn remove(&mut self, priority: u8, task: TaskId) {
        let level = Self::level(priority);
        if let Some(queue) = self.levels.get_mut(&level) {
            queue.retain(|&t| t != task);
            if queue.is_empty() {
                self.levels.remove(&level);
            }
        }
    }

    /// Puts the first task of a level behind its equals. Returns true if there were any.
    pub(crate) fn rotate(&mut self, priority: u8) -> bool {
        match self.levels.get_mut(&Self::level(priority)) {
            Some(queue) if queue.len() > 1 => {
                queue.rotate_left(1);
                true
            }
            _ => false,
        }
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.levels.values().map(VecDeque::len).sum()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.levels.values().flatten().copied()
    }

    /// Who should run.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.levels.values().next().and_then(|queue| queue.front().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_priority_runs_first_and_equals_in_order() {
        let mut q = RtQueue::default();
        q.push_back(1, TaskId(1));
        q.push_back(50, TaskId(2));
        q.push_back(50, TaskId(3));
        assert_eq!(q.first(), Some(TaskId(2)));
        assert!(q.rotate(50));
        assert_eq!(q.first(), Some(TaskId(3)));
        q.remove(50, TaskId(3));
        q.remove(50, TaskId(2));
        assert!(!q.rotate(1));
        assert_eq!(q.first(), Some(TaskId(1)));
    }
}
