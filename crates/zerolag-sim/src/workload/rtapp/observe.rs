// SPDX-License-Identifier: GPL-2.0-only
//! From what programs report to rt-app's logs and trace markers.
//!
//! An [`Observer`] is shown all notes of a run in order and keeps, for each thread, what rt-app's own thread
//! function keeps in its variables: which loop it is in, and the sums of the current row. In the end it is
//! told the names that the machine has for the tasks, from which it knows the threads' numbers.

use std::collections::BTreeMap;

use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};

use super::log::{Log, LogRow};
use super::marker::{self, Marker};
use super::marks::{Compiled, What};
use super::spec::{EventKind, Repeat, RtApp, Task};
use crate::note::{Note, NoteKind};

/// Makes logs and markers from the notes of a run.
#[derive(Clone, Debug)]
pub struct Observer<'a> {
    app: &'a RtApp,
    compiled: &'a Compiled,
    threads: BTreeMap<TaskId, Thread>,
    markers: Vec<Marker>,
}

/// What rt-app leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The logs of all threads, by number.
    pub logs: Vec<Log>,
    /// The markers in the trace, in order.
    pub markers: Vec<Marker>,
}

/// One thread.
#[derive(Clone, Debug)]
struct Thread {
    task: usize,
    /// Position of the first marker that it wrote, or would have written.
    first_marker: usize,
    log: Log,
    thread_loop: u32,
    phase: u32,
    phase_loop: u32,
    /// The phase whose attributes were set last.
    attributes_of: Option<u32>,
    row: LogRow,
    started: Instant,
    event_started: Instant,
    /// When the timer used last is due, if it was not late.
    due: Option<Instant>,
}

impl<'a> Observer<'a> {
    /// An observer who has seen nothing yet.
    pub fn new(app: &'a RtApp, compiled: &'a Compiled) -> Self {
        let mut observer = Self { app, compiled, threads: BTreeMap::new(), markers: Vec::new() };
        if app.global.ftrace.main {
            observer.main_marker(compiled.start, "rtapp_main: event=start".into());
        }
        observer
    }

    /// Takes in a note.
    pub fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Mark(mark) => {
                let Some(meaning) = self.compiled.meaning(mark) else { return };
                match meaning.what {
                    What::ThreadStart => self.thread_start(note, meaning.task),
                    What::Ready => self.attributes(note, None),
                    What::PhaseStart(phase) => self.phase_start(note, phase),
                    What::Event { event, start: true, .. } => self.event_start(note, event),
                    What::Event { event, start: false, .. } => self.event_end(note, event),
                    What::PhaseEnd => self.phase_end(note),
                    What::ThreadEnd => self.thread_end(note),
                }
            }
            NoteKind::Timer { slack_ns } => self.timer(note, slack_ns),
            NoteKind::Released(_) => {}
        }
    }

    /// The run is over. `cut` says that the threads were stopped because the duration was over; `name` gives
    /// the names that the machine has for tasks.
    pub fn finish(mut self, now: Instant, cut: bool, name: impl Fn(TaskId) -> String) -> Record {
        let mut logs = BTreeMap::new();
        for (&task, thread) in &self.threads {
            let name = name(task);
            let Some(index) = self.number(thread, &name) else { continue };
            logs.insert(index, (thread.first_marker, thread.log.clone().of_thread(name, index)));
        }
        if let (true, Some((first_marker, _))) = (self.app.global.ftrace.task, logs.get(&0))
            && let Some(first) = self.markers.get(*first_marker).cloned()
        {
            let us = micros(Nanos(first.time.0));
            let text = format!("rtapp_main: event=clock_ref data={us}");
            self.markers.insert(*first_marker, Marker { text, ..first });
        }
        if self.app.global.ftrace.main {
            if cut {
                self.main_marker(now, "rtapp_main: event=shutdown".into());
            }
            self.main_marker(now, "rtapp_main: event=end".into());
        }
        Record { logs: logs.into_values().map(|(_, log)| log).collect(), markers: self.markers }
    }

    /// A thread's number: its name is `TASK-NUMBER`, or `TASK-NUMBER-NNNN` if it was forked.
    fn number(&self, thread: &Thread, name: &str) -> Option<u32> {
        let rest = name.strip_prefix(&self.app.tasks[thread.task].name)?.strip_prefix('-')?;
        rest.split('-').next()?.parse().ok()
    }

    fn main_marker(&mut self, time: Instant, text: String) {
        self.markers.push(Marker { time, by: None, text });
    }

    fn marker(&mut self, note: &Note, wanted: bool, text: impl FnOnce() -> String) {
        if wanted {
            self.markers.push(Marker { time: note.time, by: Some((note.task, note.cpu)), text: text() });
        }
    }

    fn task_of(&self, note: &Note) -> Option<(&'a Task, usize)> {
        let number = self.threads.get(&note.task)?.task;
        Some((&self.app.tasks[number], number))
    }

    fn thread_start(&mut self, note: &Note, task: usize) {
        self.threads.insert(
            note.task,
            Thread {
                task,
                first_marker: self.markers.len(),
                log: Log::new(String::new(), self.app.global.log),
                thread_loop: 0,
                phase: 0,
                phase_loop: 0,
                attributes_of: None,
                row: LogRow::default(),
                started: note.time,
                event_started: note.time,
                due: None,
            },
        );
        self.marker(note, self.app.global.ftrace.task, || "rtapp_task: event=start".into());
    }

    /// Attributes are set: the task's own, or a phase's. rt-app does so when they are not the ones set last.
    fn attributes(&mut self, note: &Note, phase: Option<u32>) {
        let Some((task, _)) = self.task_of(note) else { return };
        let scheduling = match phase {
            None => Some(&task.scheduling),
            Some(phase) => task.phases[phase as usize].scheduling.as_ref(),
        };
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        let Some(scheduling) = scheduling else { return };
        if phase.is_some() && thread.attributes_of == phase {
            return;
        }
        thread.attributes_of = phase;
        if self.app.global.ftrace.attrs {
            for text in marker::attribute_texts(scheduling) {
                self.marker(note, true, || text);
            }
        }
    }

    fn phase_start(&mut self, note: &Note, phase: u32) {
        self.attributes(note, Some(phase));
        let start = self.compiled.start;
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        thread.started = note.time;
        thread.due = None;
        thread.row = LogRow {
            start_us: micros(Nanos(note.time.0)),
            rel_start_us: micros(note.time.saturating_since(start)),
            ..LogRow::default()
        };
        let (thread_loop, phase_loop) = (thread.thread_loop, thread.phase_loop);
        self.marker(note, self.app.global.ftrace.phase, || {
            marker::loop_text("start", thread_loop, phase, phase_loop)
        });
    }

    fn event_start(&mut self, note: &Note, event: u32) {
        let Some((task, number)) = self.task_of(note) else { return };
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        thread.event_started = note.time;
        let this = &task.phases[thread.phase as usize].events[event as usize];
        let row = &mut thread.row;
        match &this.kind {
            EventKind::Run(span) => {
                let us = micros(*span);
                row.c_duration_us += us;
                row.perf += us / self.compiled.nanos_per_loop;
            }
            EventKind::Runtime(span) => row.c_duration_us += micros(*span),
            EventKind::Timer { period, .. } => row.c_period_us += micros(*period),
            _ => {}
        }
        self.marker(note, self.app.global.ftrace.event, || marker::event_text(event, this, task, number));
    }

    fn event_end(&mut self, note: &Note, event: u32) {
        let Some((task, _)) = self.task_of(note) else { return };
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        let row = &mut thread.row;
        let took = micros(note.time.saturating_since(thread.event_started));
        match task.phases[thread.phase as usize].events[event as usize].kind {
            EventKind::Run(_) => row.run_us += took,
            EventKind::Runtime(_) => {
                row.run_us += took;
                // Loops done between two looks at the clock, as if none had been taken away meanwhile.
                row.perf += took / 32 * (32 / self.compiled.nanos_per_loop);
            }
            EventKind::Timer { .. } => match thread.due.take() {
                Some(due) => row.wu_lat_us += micros(note.time.saturating_since(due)),
                None => row.wu_lat_us = 0,
            },
            _ => {}
        }
    }

    fn timer(&mut self, note: &Note, slack_ns: i64) {
        let cumulative = self.app.global.cumulative_slack;
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        let us = signed_micros(slack_ns);
        thread.row.slack_us = if cumulative { thread.row.slack_us + us } else { us };
        thread.due = u64::try_from(slack_ns).ok().filter(|&ns| ns > 0).map(|ns| note.time + Nanos(ns));
    }

    fn phase_end(&mut self, note: &Note) {
        let Some((task, _)) = self.task_of(note) else { return };
        let Some(thread) = self.threads.get_mut(&note.task) else { return };
        thread.row.end_us = micros(Nanos(note.time.0));
        thread.row.period_us = micros(note.time.saturating_since(thread.started));
        let row = thread.row;
        thread.log.push(row);
        let (thread_loop, phase, phase_loop) = (thread.thread_loop, thread.phase, thread.phase_loop);
        thread.advance(task);
        let wanted = self.app.global.ftrace;
        self.marker(note, wanted.phase, || marker::loop_text("end", thread_loop, phase, phase_loop));
        self.marker(note, wanted.stats, || marker::stats_text(&row));
    }

    fn thread_end(&mut self, note: &Note) {
        self.marker(note, self.app.global.ftrace.task, || "rtapp_task: event=end".into());
    }
}

impl Thread {
    /// To the next iteration, phase, or round through all phases.
    fn advance(&mut self, task: &Task) {
        self.phase_loop += 1;
        if Repeat::Times(self.phase_loop) != task.phases[self.phase as usize].repeat {
            return;
        }
        self.phase_loop = 0;
        self.phase += 1;
        if self.phase as usize == task.phases.len() {
            self.phase = 0;
            self.thread_loop += 1;
        }
    }
}

/// Microseconds, rounded to the nearest as rt-app does.
fn micros(span: Nanos) -> u64 {
    span.0.saturating_add(500) / 1000
}

/// Microseconds of either sign, halves rounded away from zero.
fn signed_micros(ns: i64) -> i64 {
    let us = (ns.unsigned_abs().saturating_add(500) / 1000) as i64;
    if ns < 0 { -us } else { us }
}
