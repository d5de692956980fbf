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
    life: Life,
}

/// How far a task has come: a pid may be used again only after `Dead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// A fork made it and nothing else named it yet.
    Born,
    Alive,
    /// Switched out for the last time.
    Dead,
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
    reused_pids: u64,
}

impl TaskTable {
    /// A table without tasks.
    pub const fn new() -> Self {
        Self { tasks: IdVec::new(), by_pid: BTreeMap::new(), reused_pids: 0 }
    }

    /// Adds a task; the n-th one added (from 0) has `TaskId(n)`.
    pub fn add(&mut self, pid: u32, comm: &str) -> TaskId {
        let comm = comm.to_owned();
        let id =
            self.tasks.push(TaskInfo { pid, tgid: None, comm, prio: None, parent: None, life: Life::Alive });
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

    /// How often a pid came back as another task.
    pub(crate) const fn reused_pids(&self) -> u64 {
        self.reused_pids
    }

    /// The task that a recording calls `pid` at this point; `None` for the idle task.
    ///
    /// Naming a dead task's pid means that the birth of its successor was not recorded.
    pub(crate) fn mention(&mut self, thread: Thread<'_>) -> Option<TaskId> {
        if thread.pid == 0 {
            return None;
        }
        let id = match self.by_pid(thread.pid) {
            Some(id) if self.tasks[id].life == Life::Dead => self.replace(thread.pid),
            Some(id) => id,
            None => self.add(thread.pid, ""),
        };
        let task = &mut self.tasks[id];
        task.life = Life::Alive;
        if let Some(prio) = thread.prio {
            task.prio = Some(prio);
        }
        if task.comm.as_bytes() != thread.comm {
            task.comm = String::from_utf8_lossy(thread.comm).into_owned();
        }
        Some(id)
    }

    /// A fork made `child`. A task that had this pid before is over, even if its end was not recorded.
    pub(crate) fn born(&mut self, child: Thread<'_>, parent: Option<TaskId>) -> Option<TaskId> {
        match self.by_pid(child.pid) {
            Some(id) if self.tasks[id].life != Life::Born => {
                self.replace(child.pid);
            }
            _ => {}
        }
        let id = self.mention(child)?;
        let prio = parent.and_then(|p| self.tasks[p].prio);
        let task = &mut self.tasks[id];
        task.life = Life::Born;
        task.parent = parent;
        task.prio = task.prio.or(prio);
        Some(id)
    }

    /// `task` was switched out for the last time.
    pub(crate) fn died(&mut self, task: TaskId) {
        self.tasks[task].life = Life::Dead;
    }

    /// The thread `old_pid` ran `exec` and took over its process's pid.
    pub(crate) fn took_over(&mut self, old_pid: u32, pid: u32) {
        if old_pid == pid || pid == 0 {
            return;
        }
        if let Some(id) = self.by_pid.remove(&old_pid) {
            self.tasks[id].pid = pid;
            self.by_pid.insert(pid, id);
        }
    }

    /// The recording says that the thread `pid` belongs to the process `tgid`.
    pub(crate) fn set_tgid(&mut self, pid: u32, tgid: u32) {
        if let Some(id) = self.by_pid(pid) {
            self.tasks[id].tgid = Some(tgid);
        }
    }

    fn replace(&mut self, pid: u32) -> TaskId {
        self.reused_pids += 1;
        self.add(pid, "")
    }
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

/// A task as an event of a recording names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread<'a> {
    pub(crate) pid: u32,
    pub(crate) comm: &'a [u8],
    pub(crate) prio: Option<i16>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(pid: u32, comm: &str) -> Thread<'_> {
        Thread { pid, comm: comm.as_bytes(), prio: None }
    }

    #[test]
    fn the_idle_task_is_nobody() {
        assert_eq!(TaskTable::new().mention(thread(0, "swapper/3")), None);
    }

    #[test]
    fn a_task_keeps_its_id_through_a_change_of_name() {
        let mut table = TaskTable::new();
        let a = table.mention(thread(7, "bash")).unwrap();
        assert_eq!(table.mention(thread(7, "hog")), Some(a));
        assert_eq!(table.comm(a), "hog");
    }

    #[test]
    fn a_pid_that_is_born_again_is_another_task() {
        let mut table = TaskTable::new();
        let a = table.mention(thread(7, "a")).unwrap();
        let b = table.born(thread(7, "b"), Some(a)).unwrap();
        assert_ne!(a, b);
        assert_eq!(table.mention(thread(7, "b")), Some(b), "its first wake-up is not another birth");
        table.died(b);
        assert_ne!(table.mention(thread(7, "c")), Some(b), "a dead task does not come back");
        assert_eq!(table.reused_pids(), 2);
        assert_eq!(table.get(b).unwrap().parent, Some(a));
    }

    #[test]
    fn exec_in_a_thread_takes_over_the_pid_of_the_process() {
        let mut table = TaskTable::new();
        table.mention(thread(7, "leader"));
        let t = table.mention(thread(8, "thread")).unwrap();
        table.took_over(8, 7);
        assert_eq!(table.by_pid(7), Some(t));
        assert_eq!(table.by_pid(8), None);
        assert_eq!(table.pid(t), Some(7));
    }
}
