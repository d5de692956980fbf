// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as JSON; docs/json.md describes the schema.

use serde_json::{Value, json};

use super::{Comparison, Figures, Task};
use crate::report::json::{latency, ms};

impl Comparison {
    /// All of it, schema `zerolag.replay/2`.
    pub fn to_json(&self) -> Value {
        let task = |t: &Task| {
            let mut task = json!({
                "comm": t.comm,
                "pid": t.pid,
                "group": t.group,
                "measured": figures(&t.measured),
                "simulated": figures(&t.simulated),
            });
            if let Some(f) = &t.as_recorded {
                task["as_recorded"] = figures(f);
            }
            if !t.what_if.is_empty() {
                task["what_if"] = t.what_if.iter().map(figures).collect();
            }
            task
        };
        json!({
            "schema": "zerolag.replay/2",
            "input": self.input,
            "kernel": self.kernel,
            "cpu_count": self.cpus,
            "duration_ms": ms(self.duration),
            "events": self.events,
            "what_if": self.changes,
            "verdict": self.verdict().to_json(),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
        })
    }
}

fn figures(f: &Figures) -> Value {
    let mut object = json!({
        "share": f.share,
        "switches": f.switches,
        "preempted": f.preempted,
        "wakeup_us": latency(&f.wakeup),
    });
    if !f.repeated.is_empty() {
        object["repeated"] = f.repeated.iter().map(figures).collect();
    }
    object
}
