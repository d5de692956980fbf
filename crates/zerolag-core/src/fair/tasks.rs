// SPDX-License-Identifier: GPL-2.0-only
//! The list of a CPU's queued fair tasks, most recently picked or queued first (`rq->cfs_tasks`).
//!
//! Balancing takes tasks from its end: those that have waited longest are the coldest. On a machine without
//! domains, where nothing is balanced, the list is not kept.

use crate::ids::{IdVec, TaskId};
use crate::task::Task;

type Tasks = IdVec<TaskId, Task>;

/// Ends of the list; the links are in the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskList {
    first: Option<TaskId>,
    last: Option<TaskId>,
}

/// A task's place in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskLink {
    prev: Option<TaskId>,
    next: Option<TaskId>,
}

impl TaskList {
    /// The task that was picked or queued longest ago.
    pub(crate) fn last(&self) -> Option<TaskId> {
        self.last
    }

    /// The task that was picked or queued last.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.first
    }

    /// The one after, on the way to the end.
    pub(crate) fn after(tasks: &Tasks, task: TaskId) -> Option<TaskId> {
        tasks[task].link.next
    }

    /// The one before, on the way to the front.
    pub(crate) fn before(tasks: &Tasks, task: TaskId) -> Option<TaskId> {
        tasks[task].link.prev
    }

    #[inline]
    pub(crate) fn push_front(&mut self, tasks: &mut Tasks, task: TaskId) {
        tasks[task].link = TaskLink { prev: None, next: self.first };
        match self.first {
            Some(first) => tasks[first].link.prev = Some(task),
            None => self.last = Some(task),
        }
        self.first = Some(task);
    }

    #[inline]
    pub(crate) fn remove(&mut self, tasks: &mut Tasks, task: TaskId) {
        let TaskLink { prev, next } = core::mem::take(&mut tasks[task].link);
        match prev {
            Some(prev) => tasks[prev].link.next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => tasks[next].link.prev = prev,
            None => self.last = prev,
        }
    }

    pub(crate) fn move_to_back(&mut self, tasks: &mut Tasks, task: TaskId) {
        if self.last != Some(task) {
            self.remove(tasks, task);
            tasks[task].link = TaskLink { prev: self.last, next: None };
            match self.last {
                Some(last) => tasks[last].link.next = Some(task),
                None => self.first = Some(task),
            }
            self.last = Some(task);
        }
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, tasks: &mut Tasks, task: TaskId) {
        if self.first != Some(task) {
            self.remove(tasks, task);
            self.push_front(tasks, task);
        }
    }
}
