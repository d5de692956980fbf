// SPDX-License-Identifier: GPL-2.0-only
//! Perfetto's protobuf: scheduling as native ftrace events, tasks as a process tree, and counters.
//!
//! A trace is a sequence of packets. Events are collected per CPU and written as a bundle per CPU when there
//! are enough, all CPUs at once, so that what is out of order in the file is bounded. Tasks are described
//! before the first bundle that names them. The viewer draws wake-ups as arrows from `sched_waking`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::Instant;

use super::tracepoint::{Shown, bits};
use super::{Current, EventWriter};
use crate::dense::at;
use crate::perfetto_schema::{
    TRACE_PACKET, bundle, event, generic, packet, system_info, track, track_event, tree,
};
use crate::protobuf::Message;
use crate::tasks::TaskTable;

/// Events held before they are written.
const EVENTS_HELD: usize = 4096;

/// The kernel that the trace claims to be of. The trace processor reads the states of tasks by the bits of
/// kernels before 4.14 if it is not told of a later one.
const RELEASE: &str = "6.12.0";

/// The sequence of packets that counters belong to; any number but 0.
const SEQUENCE: u64 = 1;

/// Writes a Perfetto trace.
#[derive(Debug)]
pub struct Perfetto<W> {
    out: W,
    current: Current,
    /// The bundle of each CPU.
    bundles: Vec<Message>,
    held: usize,
    /// What is known of each task.
    described: Vec<Option<Description>>,
    /// Those of whom something is new since the last flush.
    undescribed: BTreeSet<TaskId>,
    /// Counters that were set since the last flush: whole packets.
    counters: Vec<u8>,
    tracks: u64,
    began: bool,
}

/// What a trace says of a task.
#[derive(Clone, Debug)]
struct Description {
    comm: String,
    pid: u32,
    tgid: Option<u32>,
    /// The process that forked it.
    parent: Option<u32>,
}

impl Description {
    fn write(&self, process_tree: &mut Message) {
        // A thread without a process is not shown, so a task whose process is not known is its own.
        let tgid = self.tgid.unwrap_or(self.pid);
        if tgid == self.pid {
            let mut process = Message::default();
            process.unsigned(tree::PROCESS_PID, self.pid.into());
            if let Some(parent) = self.parent {
                process.unsigned(tree::PROCESS_PARENT, parent.into());
            }
            process.text(tree::PROCESS_CMDLINE, &self.comm);
            process_tree.message(tree::PROCESS, &process);
        }
        let mut thread = Message::default();
        thread
            .unsigned(tree::THREAD_TID, self.pid.into())
            .text(tree::THREAD_NAME, &self.comm)
            .unsigned(tree::THREAD_TGID, tgid.into());
        process_tree.message(tree::THREAD, &thread);
    }
}

/// A counter that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterTrack(u64);

impl<W: Write> Perfetto<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            current: Current::default(),
            bundles: Vec::new(),
            held: 0,
            described: Vec::new(),
            undescribed: BTreeSet::new(),
            counters: Vec::new(),
            tracks: 0,
            began: false,
        }
    }

    /// What it writes to.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Announces a counter, drawn as a track of its own with this name; `unit` may be empty.
    ///
    /// # Errors
    /// If the output fails.
    pub fn counter(&mut self, name: &str, unit: &str) -> io::Result<CounterTrack> {
        self.tracks += 1;
        let uuid = self.tracks;
        let (mut descriptor, mut counter) = (Message::default(), Message::default());
        if !unit.is_empty() {
            counter.text(track::UNIT_NAME, unit);
        }
        descriptor.unsigned(track::UUID, uuid).text(track::NAME, name).message(track::COUNTER, &counter);
        let mut body = Message::default();
        body.unsigned(packet::SEQUENCE_ID, SEQUENCE).message(packet::TRACK_DESCRIPTOR, &descriptor);
        self.packet(&body)?;
        Ok(CounterTrack(uuid))
    }

    /// A counter has this value from `time` on. Values of a counter come in the order of time.
    ///
    /// # Errors
    /// If the output fails.
    pub fn set(&mut self, counter: CounterTrack, time: Instant, value: i64) -> io::Result<()> {
        self.set_with(counter, time, |event| event.signed(track_event::COUNTER_VALUE, value))
    }

    /// As [`set`](Self::set), for a value that is not a whole number.
    ///
    /// # Errors
    /// If the output fails.
    pub fn set_float(&mut self, counter: CounterTrack, time: Instant, value: f64) -> io::Result<()> {
        self.set_with(counter, time, |event| event.double(track_event::DOUBLE_COUNTER_VALUE, value))
    }

    fn set_with(
        &mut self,
        counter: CounterTrack,
        time: Instant,
        value: impl FnOnce(&mut Message) -> &mut Message,
    ) -> io::Result<()> {
        let mut event = Message::default();
        event
            .unsigned(track_event::TYPE, track_event::TYPE_COUNTER)
            .unsigned(track_event::TRACK_UUID, counter.0);
        value(&mut event);
        let mut body = Message::default();
        body.unsigned(packet::TIMESTAMP, time.0)
            .unsigned(packet::SEQUENCE_ID, SEQUENCE)
            .message(packet::TRACK_EVENT, &event);
        let mut framed = Message::default();
        framed.message(TRACE_PACKET, &body);
        self.counters.extend_from_slice(framed.as_bytes());
        self.hold()
    }

    /// Notes what is known of a task, to be written before the events that are held.
    fn describe(&mut self, task: TaskId, names: &TaskTable) {
        let Some(info) = names.get(task) else { return };
        let known = at(&mut self.described, task);
        if known.as_ref().is_some_and(|d| d.comm == info.comm && d.tgid == info.tgid) {
            return;
        }
        let parent = info.parent.and_then(|p| names.get(p)).map(|p| p.tgid.unwrap_or(p.pid));
        *known = Some(Description { comm: info.comm.clone(), pid: info.pid, tgid: info.tgid, parent });
        self.undescribed.insert(task);
    }

    fn write_descriptions(&mut self) -> io::Result<()> {
        let mut process_tree = Message::default();
        for task in std::mem::take(&mut self.undescribed) {
            if let Some(description) = at(&mut self.described, task) {
                description.write(&mut process_tree);
            }
        }
        if process_tree.is_empty() {
            return Ok(());
        }
        let mut body = Message::default();
        body.message(packet::PROCESS_TREE, &process_tree);
        self.packet(&body)
    }

    /// Counts what is held and writes it if it is enough.
    fn hold(&mut self) -> io::Result<()> {
        self.held += 1;
        if self.held >= EVENTS_HELD { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.held = 0;
        self.write_descriptions()?;
        let mut bundles = std::mem::take(&mut self.bundles);
        for bundle in bundles.iter_mut().filter(|b| !b.is_empty()) {
            let mut body = Message::default();
            body.message(packet::FTRACE_EVENTS, bundle);
            bundle.clear();
            self.packet(&body)?;
        }
        self.bundles = bundles;
        self.out.write_all(&self.counters)?;
        self.counters.clear();
        Ok(())
    }

    fn packet(&mut self, body: &Message) -> io::Result<()> {
        if !self.began {
            self.began = true;
            let (mut utsname, mut info, mut first) =
                (Message::default(), Message::default(), Message::default());
            utsname.text(system_info::SYSNAME, "Linux").text(system_info::RELEASE, RELEASE);
            info.message(system_info::UTSNAME, &utsname);
            first.message(packet::SYSTEM_INFO, &info);
            self.packet(&first)?;
        }
        let mut framed = Message::default();
        framed.message(TRACE_PACKET, body);
        self.out.write_all(framed.as_bytes())
    }
}

impl<W: Write> EventWriter for Perfetto<W> {
    fn event(&mut self, event: &SchedEvent, names: &TaskTable) -> io::Result<()> {
        let &SchedEvent { time, cpu, kind } = event;
        let Some((number, body)) = encode(kind, cpu, names) else { return Ok(()) };
        for task in tasks_of(kind).into_iter().flatten() {
            self.describe(task, names);
        }
        let pid = Shown::new(self.current.during(event), cpu, names).pid;
        let mut entry = Message::default();
        entry.unsigned(event::TIMESTAMP, time.0).unsigned(event::PID, pid.into()).message(number, &body);
        let bundle = at(&mut self.bundles, cpu);
        if bundle.is_empty() {
            bundle.unsigned(bundle::CPU, cpu.0.into());
        }
        bundle.message(bundle::EVENT, &entry);
        self.hold()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.out.flush()
    }
}

/// The tasks that an event names.
const fn tasks_of(kind: EventKind) -> [Option<TaskId>; 2] {
    match kind {
        EventKind::Switch { prev, next, .. } => [prev, next],
        EventKind::Fork { parent, child } => [parent, Some(child)],
        EventKind::Waking { task, .. }
        | EventKind::Wakeup { task, .. }
        | EventKind::WakeupNew { task, .. }
        | EventKind::Migrate { task, .. }
        | EventKind::Exit { task }
        | EventKind::Runtime { task, .. } => [Some(task), None],
        _ => [None, None],
    }
}

/// The event's own message and its field in `FtraceEvent`; none if Perfetto has none for it.
fn encode(kind: EventKind, cpu: CpuId, names: &TaskTable) -> Option<(u32, Message)> {
    let show = |task| Shown::new(task, cpu, names);
    let mut m = Message::default();
    let number = match kind {
        EventKind::Switch { prev, prev_state, next } => {
            let (prev, next) = (show(prev), show(next));
            m.text(1, &prev.comm).unsigned(2, prev.pid.into()).signed(3, prev.prio.into());
            m.unsigned(4, bits(prev_state));
            m.text(5, &next.comm).unsigned(6, next.pid.into()).signed(7, next.prio.into());
            event::SWITCH
        }
        EventKind::Waking { task, target }
        | EventKind::Wakeup { task, target }
        | EventKind::WakeupNew { task, target } => {
            let task = show(Some(task));
            m.text(1, &task.comm).unsigned(2, task.pid.into()).signed(3, task.prio.into());
            m.unsigned(4, 1).unsigned(5, target.0.into());
            match kind {
                EventKind::Waking { .. } => event::WAKING,
                EventKind::Wakeup { .. } => event::WAKEUP,
                _ => event::WAKEUP_NEW,
            }
        }
        EventKind::Migrate { task, from, to } => {
            let task = show(Some(task));
            m.text(1, &task.comm).unsigned(2, task.pid.into()).signed(3, task.prio.into());
            m.unsigned(4, from.0.into()).unsigned(5, to.0.into());
            event::MIGRATE
        }
        EventKind::Fork { parent, child } => {
            let (parent, child) = (show(parent), show(Some(child)));
            m.text(1, &parent.comm).unsigned(2, parent.pid.into());
            m.text(3, &child.comm).unsigned(4, child.pid.into());
            event::FORK
        }
        EventKind::Exit { task } => {
            let shown = show(Some(task));
            let tgid = names.get(task).and_then(|t| t.tgid).unwrap_or(shown.pid);
            m.text(1, &shown.comm).unsigned(2, shown.pid.into());
            m.unsigned(3, tgid.into()).signed(4, shown.prio.into());
            event::EXIT
        }
        // Perfetto has no message for charges, but one for any event.
        EventKind::Runtime { task, ran } => {
            let task = show(Some(task));
            let field = |name: &str, set: &dyn Fn(&mut Message)| {
                let mut f = Message::default();
                f.text(generic::FIELD_NAME, name);
                set(&mut f);
                f
            };
            m.text(generic::NAME, "sched_stat_runtime");
            m.message(generic::FIELD, &field("comm", &|f| _ = f.text(generic::FIELD_TEXT, &task.comm)));
            m.message(generic::FIELD, &field("pid", &|f| _ = f.signed(generic::FIELD_INT, task.pid.into())));
            m.message(generic::FIELD, &field("runtime", &|f| _ = f.unsigned(generic::FIELD_UINT, ran.0)));
            event::GENERIC
        }
        _ => return None,
    };
    Some((number, m))
}
