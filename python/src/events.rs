// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling events as columns.

use zerolag_core::event::{BalanceKind, EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};

use crate::columns::{Column, Table};

/// What kinds of events there are; a column has their places in here.
pub(crate) const KINDS: [&str; 13] = [
    "switch",
    "waking",
    "wakeup",
    "wakeup_new",
    "migrate",
    "fork",
    "exit",
    "runtime",
    "tick",
    "balance_periodic",
    "balance_newly_idle",
    "balance_nohz",
    "balance_active",
];

/// Events, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Events {
    time_ns: Vec<i64>,
    cpu: Vec<i32>,
    kind: Vec<u8>,
    task: Vec<i32>,
    other: Vec<i32>,
    to_cpu: Vec<i32>,
    value: Vec<i64>,
}

/// What an event says beside its time and place: see the table in `_engine.pyi`.
#[derive(Default)]
struct Said {
    kind: u8,
    task: Option<TaskId>,
    other: Option<TaskId>,
    to_cpu: Option<CpuId>,
    value: i64,
}

impl Said {
    fn new(kind: EventKind) -> Self {
        match kind {
            EventKind::Switch { prev, prev_state, next } => {
                let value = i64::from(prev.is_some() && prev_state.is_runnable());
                Self { kind: 0, task: next, other: prev, value, ..Self::default() }
            }
            EventKind::Waking { task, target } => Self::woken(1, task, target),
            EventKind::Wakeup { task, target } => Self::woken(2, task, target),
            EventKind::WakeupNew { task, target } => Self::woken(3, task, target),
            EventKind::Migrate { task, from, to } => Self {
                kind: 4,
                task: Some(task),
                to_cpu: Some(to),
                value: i64::from(from.0),
                ..Self::default()
            },
            EventKind::Fork { parent, child } => {
                Self { kind: 5, task: Some(child), other: parent, ..Self::default() }
            }
            EventKind::Exit { task } => Self { kind: 6, task: Some(task), ..Self::default() },
            EventKind::Runtime { task, ran } => {
                Self { kind: 7, task: Some(task), value: ran.0 as i64, ..Self::default() }
            }
            EventKind::Balance { kind, target, moved } => {
                let kind = match kind {
                    BalanceKind::Periodic => 9,
                    BalanceKind::NewlyIdle => 10,
                    BalanceKind::Nohz => 11,
                    BalanceKind::Active => 12,
                };
                Self { kind, to_cpu: Some(target), value: i64::from(moved), ..Self::default() }
            }
            _ => Self { kind: 8, ..Self::default() },
        }
    }

    fn woken(kind: u8, task: TaskId, target: CpuId) -> Self {
        Self { kind, task: Some(task), to_cpu: Some(target), ..Self::default() }
    }
}

impl Events {
    pub(crate) fn add(&mut self, event: &SchedEvent) {
        let said = Said::new(event.kind);
        let task = |task: Option<TaskId>| task.map_or(-1, |task| task.0 as i32);
        self.time_ns.push(event.time.0 as i64);
        self.cpu.push(event.cpu.0 as i32);
        self.kind.push(said.kind);
        self.task.push(task(said.task));
        self.other.push(task(said.other));
        self.to_cpu.push(said.to_cpu.map_or(-1, |cpu| cpu.0 as i32));
        self.value.push(said.value);
    }

    pub(crate) fn into_table(self) -> Table {
        vec![
            ("time_ns", Column::I64(self.time_ns)),
            ("cpu", Column::I32(self.cpu)),
            ("kind", Column::U8(self.kind)),
            ("task", Column::I32(self.task)),
            ("other", Column::I32(self.other)),
            ("to_cpu", Column::I32(self.to_cpu)),
            ("value", Column::I64(self.value)),
        ]
    }
}
