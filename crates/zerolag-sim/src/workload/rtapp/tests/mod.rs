// SPDX-License-Identifier: GPL-2.0-only
//! What files mean, and in which words they are refused.

mod meaning;
mod programs;
mod refusal;
mod running;

use super::*;
use std::fmt::Write;

/// A file as read, one line per task, phase and event, then the remarks; or the message.
fn show(text: &str, mode: Mode, suspend: SuspendName) -> String {
    match read("f.json", text.as_bytes(), mode, suspend) {
        Ok(file) => draw(&file),
        Err(error) => format!("! {error}\n"),
    }
}

fn strict(text: &str) -> String {
    show(text, Mode::Strict, SuspendName::Task)
}

fn compatible(text: &str) -> String {
    show(text, Mode::Compatible, SuspendName::Task)
}

fn draw(file: &RtApp) -> String {
    let mut out = String::new();
    for task in &file.tasks {
        write!(out, "{} x{} loop {}", task.name, task.instances, times(task.repeat)).unwrap();
        if task.delay.0 > 0 {
            write!(out, " delay {}", task.delay.0 / 1000).unwrap();
        }
        writeln!(out, "{}{}", scheduling(&task.scheduling), placement(&task.placement)).unwrap();
        for phase in &task.phases {
            write!(out, "  '{}' loop {}", phase.name, times(phase.repeat)).unwrap();
            let change = phase.scheduling.as_ref().map(scheduling).unwrap_or_default();
            writeln!(out, "{change}{}", placement(&phase.placement)).unwrap();
            for event in &phase.events {
                writeln!(out, "    {}: {}", event.key, kind(&event.kind, &task.own_timers)).unwrap();
            }
        }
    }
    for timer in file.shared_timers.iter().filter(|timer| timer.absolute) {
        writeln!(out, "timer {} absolute", timer.name).unwrap();
    }
    for remark in &file.remarks {
        writeln!(out, "{} {}", remark.at, remark.text).unwrap();
    }
    out
}

fn times(repeat: Repeat) -> String {
    match repeat {
        Repeat::Times(n) => n.to_string(),
        Repeat::Forever => "-1".into(),
    }
}

fn scheduling(s: &Scheduling) -> String {
    let mut out = format!(" {}", s.policy.name());
    if let Some(priority) = s.priority {
        write!(out, " prio {priority}").unwrap();
    }
    if s.runtime.0 > 0 {
        let us = [s.runtime, s.deadline, s.period].map(|span| span.0 / 1000);
        write!(out, " dl {us:?}").unwrap();
    }
    for (name, value) in [("min", s.util_min), ("max", s.util_max)] {
        if let Some(value) = value {
            write!(out, " {name} {value}").unwrap();
        }
    }
    out
}

fn placement(p: &Placement) -> String {
    let mut out = String::new();
    if let Some(cpus) = &p.cpus {
        write!(out, " cpus {cpus:?}").unwrap();
    }
    if let Some(nodes) = &p.nodes_membind {
        write!(out, " nodes {nodes:?}").unwrap();
    }
    if let Some(group) = &p.taskgroup {
        write!(out, " in {group}").unwrap();
    }
    out
}

fn kind(kind: &EventKind, own: &[TimerSpec]) -> String {
    match kind {
        EventKind::Run(t) => format!("run {}", t.0 / 1000),
        EventKind::Runtime(t) => format!("runtime {}", t.0 / 1000),
        EventKind::Sleep(t) => format!("sleep {}", t.0 / 1000),
        EventKind::Timer { timer: TimerName::Shared(name), period } => {
            format!("timer {name} {}", period.0 / 1000)
        }
        EventKind::Timer { timer: TimerName::Own(n), period } => {
            let timer = &own[usize::from(*n)];
            let mode = if timer.absolute { " absolute" } else { "" };
            format!("timer {} (own {n}{mode}) {}", timer.name, period.0 / 1000)
        }
        EventKind::Wait { condition, mutex } => format!("wait {condition} with {mutex}"),
        EventKind::Sync { condition, mutex } => format!("sync {condition} with {mutex}"),
        EventKind::Mem { bytes } => format!("mem {bytes}"),
        EventKind::IoRun { bytes } => format!("iorun {bytes}"),
        other => format!("{other:?}"),
    }
}
