// SPDX-License-Identifier: GPL-2.0-only
//! The numbers by which a script knows tasks and groups.

use std::collections::BTreeMap;

use zerolag_core::debug;
use zerolag_core::ids::{GroupId, Id, TaskId};

/// Numbers and ids, both ways.
pub(super) struct Names {
    /// Live tasks by number.
    pub(super) tasks: BTreeMap<u64, TaskId>,
    /// Numbers of all tasks that ever were.
    pub(super) task_numbers: Vec<u64>,
    pub(super) groups: BTreeMap<u64, GroupId>,
    pub(super) group_numbers: Vec<u64>,
}

/// As a kernel's files would show them.
impl debug::Names for Names {
    fn comm(&self, task: TaskId) -> String {
        format!("T{}", self.task_number(task))
    }

    fn pid(&self, task: TaskId) -> u64 {
        self.task_number(task)
    }

    fn path(&self, group: GroupId) -> String {
        match group {
            GroupId::ROOT => "/".to_owned(),
            group => format!("/G{}", self.group_number(group)),
        }
    }
}

impl Names {
    pub(super) fn task_number(&self, task: TaskId) -> u64 {
        self.task_numbers[task.index()]
    }

    pub(super) fn group_number(&self, group: GroupId) -> u64 {
        self.group_numbers[group.index()]
    }
}

impl Names {
    pub(super) fn task(&self, number: u64) -> Option<TaskId> {
        self.tasks.get(&number).copied()
    }

    pub(super) fn group(&self, number: u64) -> Option<GroupId> {
        self.groups.get(&number).copied()
    }

    pub(super) fn add_task(&mut self, number: u64, task: TaskId) {
        self.tasks.insert(number, task);
        self.task_numbers.push(number);
        debug_assert_eq!(self.task_numbers.len(), task.index() + 1);
    }

    pub(super) fn forget_task(&mut self, task: TaskId) {
        let number = self.task_number(task);
        self.tasks.remove(&number);
    }

    pub(super) fn add_group(&mut self, number: u64, group: GroupId) {
        self.groups.insert(number, group);
        self.group_numbers.push(number);
        debug_assert_eq!(self.group_numbers.len(), group.index() + 1);
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            task_numbers: Vec::new(),
            groups: BTreeMap::from([(0, GroupId::ROOT)]),
            group_numbers: vec![0],
        }
    }
}
