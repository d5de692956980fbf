// SPDX-License-Identifier: GPL-2.0-only
//! Turns the pids of a recording into tasks.
//!
//! A pid is used again after its task is gone; a [`TaskId`] is not. Deaths are not always recorded, so a
//! pid begins a new task when it is forked, or when it is named again after its last switch out.
//!
//! The table of tasks that readers of events see must say what was true at the event they are at, and
//! events are held back to be ordered. So only new tasks are added to that table here; what changes later,
//! as a name does, comes out as [`Change`]s that travel with the events.

use std::collections::BTreeMap;

use zerolag_core::ids::{IdVec, TaskId};

use crate::tasks::{Change, TaskTable};

/// A task as an event of a recording names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread<'a> {
    pub(crate) pid: u32,
    pub(crate) comm: &'a [u8],
    pub(crate) prio: Option<i16>,
}

#[derive(Debug, Default)]
pub(crate) struct Naming {
    /// For those who read the events.
    pub(crate) tasks: TaskTable,
    by_pid: BTreeMap<u32, TaskId>,
    known: IdVec<TaskId, Known>,
    /// What is known of threads that no event has named yet, by thread id.
    announced: BTreeMap<u32, Announced>,
    news: Vec<(TaskId, Change)>,
    reused_pids: u64,
}

/// What a recording says of a thread beforehand, whether it is ever seen or not.
#[derive(Debug, Default)]
struct Announced {
    tgid: Option<u32>,
    ppid: Option<u32>,
    comm: Option<Vec<u8>>,
}

/// What was last said of a task.
#[derive(Debug)]
struct Known {
    life: Life,
    comm: Vec<u8>,
    prio: Option<i16>,
    tgid: Option<u32>,
}

/// How the names of workers begin.
const WORKER: &[u8] = b"kworker/";

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// A fork made it and nothing else named it yet.
    Born,
    Alive,
    /// Switched out for the last time.
    Dead,
}

impl Naming {
    /// The task that a recording calls by this pid; `None` for the idle task.
    pub(crate) fn mention(&mut self, thread: Thread<'_>) -> Option<TaskId> {
        if thread.pid == 0 {
            return None;
        }
        let id = match self.by_pid.get(&thread.pid) {
            Some(&id) if self.known[id].life != Life::Dead => id,
            // The birth of a dead task's successor was not recorded.
            _ => self.add(thread, None),
        };
        let known = &mut self.known[id];
        known.life = Life::Alive;
        if known.comm != thread.comm {
            known.comm.clear();
            known.comm.extend_from_slice(thread.comm);
            self.news.push((id, Change::Comm(String::from_utf8_lossy(thread.comm).into_owned())));
        }
        if let Some(prio) = thread.prio
            && known.prio != Some(prio)
        {
            known.prio = Some(prio);
            self.news.push((id, Change::Prio(prio)));
        }
        Some(id)
    }

    /// A fork made `child`. A task that had this pid before is over, even if its end was not recorded.
    pub(crate) fn born(&mut self, child: Thread<'_>, parent: Option<TaskId>) -> Option<TaskId> {
        // It starts with its parent's priority; what it really is, its first wake-up says.
        let prio = child.prio.or_else(|| parent.and_then(|p| self.known[p].prio));
        let child = Thread { prio, ..child };
        let known_birth = self.by_pid.get(&child.pid).is_some_and(|&id| self.known[id].life == Life::Born);
        if child.pid != 0 && !known_birth {
            self.add(child, parent);
        }
        let id = self.mention(child)?;
        self.known[id].life = Life::Born;
        Some(id)
    }

    /// `task` was switched out for the last time.
    pub(crate) fn died(&mut self, task: TaskId) {
        self.known[task].life = Life::Dead;
    }

    /// The thread `old_pid` ran `exec` and took over its process's pid.
    pub(crate) fn took_over(&mut self, old_pid: u32, pid: u32) {
        if old_pid != pid
            && pid != 0
            && let Some(id) = self.by_pid.remove(&old_pid)
        {
            self.by_pid.insert(pid, id);
            self.news.push((id, Change::Pid(pid)));
        }
    }

    /// The recording says that the thread `pid` belongs to the process `tgid`.
    pub(crate) fn set_tgid(&mut self, pid: u32, tgid: u32) {
        if let Some(&id) = self.by_pid.get(&pid)
            && self.known[id].tgid != Some(tgid)
        {
            self.known[id].tgid = Some(tgid);
            self.news.push((id, Change::Tgid(tgid)));
        }
    }

    /// The recording says beforehand which process the thread belongs to.
    pub(crate) fn announce_tgid(&mut self, pid: u32, tgid: u32) {
        self.announced.entry(pid).or_default().tgid = Some(tgid);
        self.set_tgid(pid, tgid);
    }

    /// The recording says beforehand who forked the thread. It says nothing of a task that has the pid now.
    pub(crate) fn announce_parent(&mut self, pid: u32, ppid: u32) {
        self.announced.insert(pid, Announced { ppid: Some(ppid), ..Announced::default() });
    }

    /// The recording says beforehand how /proc calls the thread. Of others than workers, events know it better.
    pub(crate) fn announce_comm(&mut self, pid: u32, comm: &[u8]) {
        if comm.starts_with(WORKER) {
            self.announced.entry(pid).or_default().comm = Some(comm.to_owned());
        }
    }

    /// What became known since the last call, to be told before the event that told it.
    pub(crate) fn news(&mut self) -> impl Iterator<Item = (TaskId, Change)> {
        self.news.drain(..)
    }

    /// How often a pid came back as another task.
    pub(crate) const fn reused_pids(&self) -> u64 {
        self.reused_pids
    }

    fn add(&mut self, thread: Thread<'_>, parent: Option<TaskId>) -> TaskId {
        let Thread { pid, comm, prio } = thread;
        let Announced { tgid, ppid, comm: listed } = self.announced.remove(&pid).unwrap_or_default();
        let shown = listed.as_deref().filter(|listed| is_worker(listed, comm)).unwrap_or(comm);
        let id = self.tasks.add(pid, &String::from_utf8_lossy(shown));
        if let Some(info) = self.tasks.get_mut(id) {
            (info.prio, info.parent, info.tgid, info.ppid) = (prio, parent, tgid, ppid);
        }
        self.known.push(Known { life: Life::Alive, comm: comm.to_vec(), prio, tgid });
        self.reused_pids += u64::from(self.by_pid.insert(pid, id).is_some());
        id
    }
}

/// Is the first the name that /proc gives the worker that events call `comm`? It tells on what the worker works
/// (`kworker/0:1+events`) or worked last (`kworker/0:1-events`), and perf uses it in its tables.
fn is_worker(listed: &[u8], comm: &[u8]) -> bool {
    comm.starts_with(WORKER)
        && listed.strip_prefix(comm).is_some_and(|work| matches!(work.first(), Some(b'+' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(pid: u32, comm: &str) -> Thread<'_> {
        Thread { pid, comm: comm.as_bytes(), prio: None }
    }

    fn table(mut naming: Naming) -> TaskTable {
        let news: Vec<_> = naming.news().collect();
        news.into_iter().for_each(|(task, change)| naming.tasks.apply(task, change));
        naming.tasks
    }

    #[test]
    fn the_idle_task_is_nobody() {
        let mut naming = Naming::default();
        assert_eq!(naming.mention(thread(0, "swapper/3")), None);
        assert_eq!(naming.born(thread(0, "swapper/3"), None), None);
        assert!(table(naming).is_empty());
    }

    #[test]
    fn a_task_keeps_its_id_through_a_change_of_name() {
        let mut naming = Naming::default();
        let a = naming.mention(thread(7, "bash")).unwrap();
        assert_eq!(naming.mention(thread(7, "hog")), Some(a));
        assert_eq!(table(naming).comm(a), "hog");
    }

    #[test]
    fn a_pid_that_is_born_again_is_another_task() {
        let mut naming = Naming::default();
        let a = naming.mention(Thread { prio: Some(125), ..thread(7, "a") }).unwrap();
        let b = naming.born(thread(7, "b"), Some(a)).unwrap();
        assert_ne!(a, b);
        assert_eq!(naming.mention(thread(7, "b")), Some(b), "its first wake-up is not another birth");
        naming.died(b);
        assert_ne!(naming.mention(thread(7, "c")), Some(b), "a dead task does not come back");
        assert_eq!(naming.reused_pids(), 2);
        let table = table(naming);
        let b = table.get(b).unwrap();
        assert_eq!((b.parent, b.prio), (Some(a), Some(125)));
    }

    #[test]
    fn what_is_said_beforehand_holds_for_the_next_task_of_that_pid() {
        let mut naming = Naming::default();
        naming.announce_parent(7, 2);
        naming.announce_comm(7, b"kworker/0:1-eve");
        naming.announce_tgid(7, 7);
        naming.announce_comm(8, b"bash");
        let worker = naming.mention(thread(7, "kworker/0:1")).unwrap();
        let hog = naming.mention(thread(8, "hog")).unwrap();
        // The pid is used again; this is said while its first task is still there.
        naming.announce_parent(7, 8);
        naming.mention(thread(7, "kworker/0:1"));
        naming.died(worker);
        let next = naming.mention(thread(7, "sh")).unwrap();
        let table = table(naming);
        let told = |task| {
            let info = table.get(task).unwrap();
            (info.comm.as_str(), info.ppid, info.tgid)
        };
        assert_eq!(told(worker), ("kworker/0:1-eve", Some(2), Some(7)));
        assert_eq!(told(hog), ("hog", None, None), "events know better");
        assert_eq!(told(next), ("sh", Some(8), None));
    }

    #[test]
    fn exec_in_a_thread_takes_over_the_pid_of_the_process() {
        let mut naming = Naming::default();
        naming.mention(thread(7, "leader"));
        let t = naming.mention(thread(8, "thread")).unwrap();
        naming.took_over(8, 7);
        assert_eq!(naming.mention(thread(7, "thread")), Some(t));
        let table = table(naming);
        assert_eq!((table.by_pid(7), table.by_pid(8)), (Some(t), None));
        assert_eq!(table.pid(t), Some(7));
    }
}
