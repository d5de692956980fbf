// SPDX-License-Identifier: GPL-2.0-only
//! Who the tasks of a schedule are: from [`TaskId`] to pid, name, priority and parent.
//!
//! A recording knows tasks by pid, and the kernel gives a dead task's pid to a later one. A [`TaskId`] is
//! never reused: a pid that is born again becomes a new task here.
//!
//! The idle tasks (pid 0, `swapper/N`) are not in the table: events name them `None`.

use std::collections::BTreeMap;

use zerolag_core::ids::{IdVec, TaskId};

/// What is known of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Thread id as `gettid()` gives it; never 0.
    pub pid: u32,
    /// Process id as `getpid()` gives it, where the recording says it.
    pub tgid: Option<u32>,
    /// The latest name. Bytes that are not UTF-8 are replaced.
    pub comm: String,
    /// Kernel priority: 120 + nice for fair tasks, 99 - `rtprio` for real-time ones, -1 for deadline ones.
    pub prio: Option<i16>,
    /// The task that forked it, where that was seen.
    pub parent: Option<TaskId>,
    /// Thread id of its parent by perf.data's own records, which know it of tasks that were there before recording
    /// began too: a process that had lost its parent by then belongs to who adopted it, a thread to its process's first.
    pub ppid: Option<u32>,
}

/// The tasks of one schedule, numbered in the order in which they appeared.
///
/// For a simulated schedule, add the tasks in the order of their ids:
///
/// ```
/// use zerolag_core::ids::TaskId;
/// use zerolag_trace::TaskTable;
///
/// let names = TaskTable::from_iter([(1000, "hog"), (1001, "server")]);
/// assert_eq!(names.comm(TaskId(1)), "server");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTable {
    tasks: IdVec<TaskId, TaskInfo>,
    by_pid: BTreeMap<u32, TaskId>,
}

impl TaskTable {
    /// A table without tasks.
    pub const fn new() -> Self {
        Self { tasks: IdVec::new(), by_pid: BTreeMap::new() }
    }

    /// Adds a task; the n-th one added (from 0) has `TaskId(n)`.
    pub fn add(&mut self, pid: u32, comm: &str) -> TaskId {
        let comm = comm.to_owned();
        let id = self.tasks.push(TaskInfo { pid, tgid: None, comm, prio: None, parent: None, ppid: None });
        self.by_pid.insert(pid, id);
        id
    }

    /// What is known of `task`, if it is in the table.
    pub fn get(&self, task: TaskId) -> Option<&TaskInfo> {
        self.tasks.get(task)
    }

    /// To fill in what [`add`](Self::add) does not take.
    pub fn get_mut(&mut self, task: TaskId) -> Option<&mut TaskInfo> {
        (task.0 < self.tasks.len() as u32).then(|| &mut self.tasks[task])
    }

    /// The latest name of `task`, `?` if it is not in the table.
    pub fn comm(&self, task: TaskId) -> &str {
        self.get(task).map_or("?", |t| &t.comm)
    }

    /// The pid of `task`, if it is in the table.
    pub fn pid(&self, task: TaskId) -> Option<u32> {
        self.get(task).map(|t| t.pid)
    }

    /// Thread id of the parent of `task`, if the recording says it in either way.
    pub fn ppid(&self, task: TaskId) -> Option<u32> {
        let info = self.get(task)?;
        info.ppid.or_else(|| self.pid(info.parent?))
    }

    /// The latest task that had this pid.
    pub fn by_pid(&self, pid: u32) -> Option<TaskId> {
        self.by_pid.get(&pid).copied()
    }

    /// Number of tasks.
    pub const fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True if there are no tasks.
    pub const fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// All tasks in the order of their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TaskId, &TaskInfo)> {
        self.tasks.iter()
    }

    /// Notes what a recording says of `task`.
    pub(crate) fn apply(&mut self, task: TaskId, change: Change) {
        let info = &mut self.tasks[task];
        match change {
            Change::Comm(comm) => info.comm = comm,
            Change::Prio(prio) => info.prio = Some(prio),
            Change::Tgid(tgid) => info.tgid = Some(tgid),
            Change::Pid(pid) => {
                self.by_pid.remove(&info.pid);
                info.pid = pid;
                self.by_pid.insert(pid, task);
            }
        }
    }
}

/// Something new that a recording says of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Comm(String),
    Prio(i16),
    Tgid(u32),
    Pid(u32),
}

impl<'a> FromIterator<(u32, &'a str)> for TaskTable {
    fn from_iter<It: IntoIterator<Item = (u32, &'a str)>>(tasks: It) -> Self {
        let mut table = Self::new();
        for (pid, comm) in tasks {
            table.add(pid, comm);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_numbered_as_they_are_added_and_found_by_their_latest_pid() {
        let mut table = TaskTable::from_iter([(7, "a"), (8, "b")]);
        assert_eq!(table.add(7, "x"), TaskId(2));
        table.apply(TaskId(2), Change::Comm("c".into()));
        assert_eq!(table.by_pid(7), Some(TaskId(2)));
        assert_eq!((table.comm(TaskId(0)), table.comm(TaskId(2)), table.comm(TaskId(3))), ("a", "c", "?"));
        table.apply(TaskId(2), Change::Pid(9));
        assert_eq!((table.by_pid(7), table.by_pid(9)), (None, Some(TaskId(2))));
    }
}
