// SPDX-License-Identifier: GPL-2.0-only
//! The lines that rt-app writes into the kernel's trace (`trace_marker`).

use std::fmt;

use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::Instant;

use super::log::LogRow;
use super::spec::{Event, EventKind, MemAccess, Policy, Scheduling, Task, TimerName};

/// A line in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When it was written.
    pub time: Instant,
    /// Who wrote it and where; nothing for rt-app's main thread, which is not simulated.
    pub by: Option<(TaskId, CpuId)>,
    /// What it says.
    pub text: String,
}

/// The text of `rtapp_loop`.
pub(super) fn loop_text(event: &str, thread_loop: u32, phase: u32, phase_loop: u32) -> String {
    format!("rtapp_loop: event={event} thread_loop={thread_loop} phase={phase} phase_loop={phase_loop}")
}

/// The text of `rtapp_stats`.
pub(super) fn stats_text(row: &LogRow) -> String {
    format!(
        "rtapp_stats: period={} run={} wu_lat={} slack={} c_period={} c_run={}",
        row.period_us, row.run_us, row.wu_lat_us, row.slack_us, row.c_period_us, row.c_duration_us
    )
}

/// The texts of `rtapp_attrs` when attributes are set (`set_thread_param()`).
pub(super) fn attribute_texts(s: &Scheduling) -> Vec<String> {
    let mut texts = Vec::new();
    let name = s.policy.name();
    let Some(priority) = s.priority.or((s.policy == Policy::Deadline).then_some(0)) else {
        return clamp_texts(s);
    };
    if s.policy == Policy::Deadline {
        let (runtime, deadline, period) = (s.runtime.0, s.deadline.0, s.period.0);
        texts.push(format!(
            "rtapp_attrs: event=policy policy=dl runtime={runtime} deadline={deadline} period={period}"
        ));
        return texts;
    }
    if matches!(s.policy, Policy::Other | Policy::Batch) {
        let runtime = s.runtime.0;
        texts.push(format!("rtapp_attrs: event=policy policy={name} nice={priority} runtime={runtime}"));
    }
    texts.push(format!("rtapp_attrs: event=policy policy={name} prio={priority}"));
    texts.extend(clamp_texts(s));
    texts
}

fn clamp_texts(s: &Scheduling) -> Vec<String> {
    let clamps = [("util_min", s.util_min), ("util_max", s.util_max)];
    let set = clamps.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    set.map(|(name, value)| format!("rtapp_attrs: event=uclamp {name}={value}")).collect()
}

/// The text of `rtapp_event`. `number` is that of the task in the file: rt-app makes names of things that
/// belong to one thread unique by an address, which has no equal here.
pub(super) fn event_text(id: u32, event: &Event, task: &Task, number: usize) -> String {
    let name = Description { event, task, number };
    format!("rtapp_event: id={id} type={} desc={name}", type_number(&event.kind))
}

/// The number that rt-app has for a kind of event (`resource_t`, of 2026-04).
fn type_number(kind: &EventKind) -> u32 {
    match kind {
        EventKind::Wait { .. } => 2,
        EventKind::Signal(_) => 3,
        EventKind::Broadcast(_) => 4,
        EventKind::Sleep(_) => 5,
        EventKind::Run(_) => 6,
        EventKind::Sync { .. } => 7,
        EventKind::Lock(_) => 8,
        EventKind::Unlock(_) => 9,
        EventKind::Timer { timer: TimerName::Shared(_), .. } => 10,
        EventKind::Timer { timer: TimerName::Own(_), .. } => 11,
        EventKind::Suspend(_) => 12,
        EventKind::Resume(_) => 13,
        EventKind::Mem { .. } => 14,
        EventKind::MemRun(run) => match run.access {
            MemAccess::Write => 15,
            MemAccess::Read => 16,
            MemAccess::Chase { .. } => 17,
        },
        EventKind::IoRun { .. } => 18,
        EventKind::Runtime(_) => 19,
        EventKind::Yield => 20,
        EventKind::Barrier(_) => 21,
        EventKind::Fork(_) => 22,
        EventKind::SemWait(_) => 23,
        EventKind::SemPost(_) => 24,
    }
}

/// An event's name, cut to what rt-app's 48 bytes hold.
struct Description<'a> {
    event: &'a Event,
    task: &'a Task,
    number: usize,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event: Event { key, kind, .. }, task, number } = self;
        let (text, longest) = match kind {
            EventKind::Run(_) | EventKind::Runtime(_) | EventKind::Sleep(_) | EventKind::Yield => {
                (key.clone(), 47)
            }
            EventKind::Mem { .. } | EventKind::IoRun { .. } => (format!("mem{number:x}"), 47),
            EventKind::MemRun(run) => {
                let size = run.size_bytes;
                let text = match (&run.shared, run.access) {
                    (Some(name), _) => name.clone(),
                    (None, MemAccess::Read) => format!("memrun_read_{size}{number:x}"),
                    (None, MemAccess::Write) => format!("memrun_write_{size}{number:x}"),
                    (None, MemAccess::Chase { stride_bytes, random }) => {
                        let order = if random { 'r' } else { 's' };
                        format!("memrun_{order}_{stride_bytes}_{size}{number:x}")
                    }
                };
                (text, 47)
            }
            EventKind::Lock(name)
            | EventKind::Unlock(name)
            | EventKind::Signal(name)
            | EventKind::Broadcast(name)
            | EventKind::Barrier(name)
            | EventKind::Fork(name)
            | EventKind::SemPost(name)
            | EventKind::SemWait(name)
            | EventKind::Timer { timer: TimerName::Shared(name), .. } => (format!("{key}:{name}"), 46),
            EventKind::Timer { timer: TimerName::Own(n), .. } => {
                (format!("{key}:{}{number:x}", task.own_timers[usize::from(*n)].name), 46)
            }
            EventKind::Wait { condition, mutex } | EventKind::Sync { condition, mutex } => {
                (format!("{key}:{condition}:{mutex}"), 46)
            }
            EventKind::Suspend(name) | EventKind::Resume(name) => (format!("{key}:{name}:{name}"), 46),
        };
        let end = (0..=longest.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        f.write_str(&text[..end])
    }
}
