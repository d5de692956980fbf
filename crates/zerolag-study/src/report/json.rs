// SPDX-License-Identifier: GPL-2.0-only
//! A report, and what others are made of, as JSON; docs/json.md describes the schema.

use serde_json::{Map, Value, json};
use zerolag_core::balance::counts::NohzCounts;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::{Cause, Conservation};
use zerolag_sim::workload::model::Metric;
use zerolag_trace::LossReport;
use zerolag_trace::metrics::{Distribution, TaskFigures};

use super::{Report, Row};

impl Report {
    /// The report, schema `zerolag.run/1`.
    pub fn to_json(&self) -> Value {
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .map(|(id, task)| {
                let figures = self.summary.tasks.get(id).cloned().unwrap_or_default();
                let named = json!({ "name": task.name, "template": task.template, "group": task.group });
                with(named, self.figures(&figures))
            })
            .collect();
        let groups: Vec<Value> = self
            .group_rows()
            .into_iter()
            .map(|Row { group, tasks, figures, .. }| {
                with(json!({ "group": group, "tasks": tasks }), self.figures(&figures))
            })
            .collect();
        let cpus: Vec<Value> = self
            .summary
            .cpus
            .iter()
            .map(|(cpu, f)| {
                json!({ "cpu": cpu.0, "busy_ms": ms(f.busy), "idle_ms": ms(f.idle), "switches": f.switches })
            })
            .collect();
        let models: Vec<Value> = self
            .models
            .iter()
            .map(|(part, outcome)| {
                json!({
                    "name": part.name,
                    "model": part.model,
                    "options": part.options,
                    "metrics": metrics(&outcome.metrics),
                    "text": outcome.text,
                })
            })
            .collect();
        let dumps: Vec<Value> = self
            .dumps
            .iter()
            .map(|d| json!({ "time_ms": ms(Nanos(d.time.0)), "task": d.task, "text": d.text }))
            .collect();
        let cpu_stat: Vec<Value> = self
            .limited
            .iter()
            .map(|(group, stat)| {
                json!({
                    "group": group,
                    "nr_periods": stat.nr_periods,
                    "nr_throttled": stat.nr_throttled,
                    "throttled_usec": stat.throttled_time.0 / 1000,
                    "nr_bursts": stat.nr_bursts,
                    "burst_usec": stat.burst_time.0 / 1000,
                })
            })
            .collect();
        let end = Instant(self.duration.0);
        let clocks: Vec<Value> = self
            .clocks
            .iter()
            .map(|c| {
                json!({
                    "cpus": c.domain.cpus.to_string(),
                    "governor": c.domain.governor.name(),
                    "mhz": c.mhz(),
                    "mean_mhz": c.mean_mhz(end),
                    "changes": c.changes,
                })
            })
            .collect();
        json!({
            "schema": "zerolag.run/1",
            "input": self.input,
            "kernel": self.kernel,
            "machine": self.machine,
            "cpu_count": self.cpus,
            "seed": self.seed,
            "duration_ms": ms(self.duration),
            "end": self.end.name(),
            "events": self.summary.events,
            "idle_while_overloaded_ms": ms(self.summary.idle_while_overloaded),
            "tasks": tasks,
            "groups": groups,
            "cpus": cpus,
            "models": models,
            "conservation": conservation(&self.conservation),
            "clocks": clocks,
            "nohz": nohz(&self.nohz),
            "cpu_stat": cpu_stat,
            "dumps": dumps,
        })
    }

    fn figures(&self, f: &TaskFigures) -> Value {
        figures(f, self.share(f))
    }
}

/// The figures of a task, or of several added up; `share` is of one CPU's time.
pub fn figures(f: &TaskFigures, share: f64) -> Value {
    json!({
        "cpu_ms": ms(f.run()),
        "share": share,
        "switches": f.switches_in,
        "voluntary": f.voluntary,
        "preempted": f.preempted,
        "migrations": f.migrations,
        "wakeup_us": latency(&f.wakeup),
    })
}

/// Time during which CPUs idled beside waiting tasks, by cause.
fn conservation(found: &Conservation) -> Value {
    let causes: Map<String, Value> =
        Cause::ALL.iter().map(|&c| (format!("{}_ms", c.name()), ms(found.time(c)).into())).collect();
    json!({
        "stealable_ms": ms(found.stealable()),
        "causes": causes,
        "short_of_ideal_ms": ms(found.short_of_ideal()),
    })
}

/// What balancing for idle CPUs did.
fn nohz(n: &NohzCounts) -> Value {
    let mut all = json!({
        "idle_entries": n.enter,
        "joined": n.first,
        "left": n.exit,
        "kicks_to_age": n.kicks_stats,
        "kicks_to_age_needless": n.kicks_needless,
        "kicks_to_balance": n.kicks_balance,
        "kicks_without_target": n.no_target,
        "kicks_pending": n.pending,
        "passes_to_age": n.passes_stats,
        "passes_to_balance": n.passes_balance,
        "passes_newly_idle": n.passes_newly_idle,
        "passes_useless": n.passes_useless,
        "passes_aborted": n.abort,
        "visited": n.visit,
        "visited_to_age": n.visit_ageing,
        "skipped": n.skip,
        "updated": n.updates,
        "updated_in_surveys": n.survey_updates,
        "found_decayed": n.cleared,
        "put_off_by_surveys": n.push,
        "newly_idle_too_short": n.newly_idle_short,
        "newly_idle_nothing_due": n.newly_idle_none,
        "decays": n.decays,
    });
    if let Some(mean) = n.decay_mean() {
        all = with(all, json!({ "decay_mean_ms": ms(mean), "decay_max_ms": ms(n.decay_max) }));
    }
    all
}

/// Figures of a model.
pub fn metrics(metrics: &[Metric]) -> Vec<Value> {
    let metric =
        |m: &Metric| json!({ "name": m.name, "value": m.value, "unit": m.unit, "better": m.better.name() });
    metrics.iter().map(metric).collect()
}

/// What was missing in a recording.
pub fn loss(loss: &LossReport) -> Value {
    json!({
        "events": loss.events,
        "cut_short": loss.cut_short,
        "lost": loss.lost,
        "lost_unknown": loss.lost_unknown,
        "not_understood": loss.not_understood,
        "reordered": loss.reordered,
        "steps_back": loss.steps_back,
        "leaps": loss.leaps,
        "broken_chains": loss.broken_chains,
        "runs_without_wakeup": loss.runs_without_wakeup,
        "wakeups_without_run": loss.wakeups_without_run,
        "reused_pids": loss.reused_pids,
        "head_ms": ms(loss.head),
        "tail_ms": ms(loss.tail),
    })
}

/// A distribution of latencies in microseconds.
pub fn latency(distribution: &Distribution) -> Value {
    match distribution.percentiles() {
        None => json!({ "n": 0 }),
        Some(p) => json!({
            "n": p.n,
            "p50": us(p.p50),
            "p90": us(p.p90),
            "p95": us(p.p95),
            "p99": us(p.p99),
            "p999": us(p.p999),
            "max": us(p.max),
        }),
    }
}

/// Both objects in one.
pub fn with(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

/// Milliseconds.
pub fn ms(t: Nanos) -> f64 {
    t.0 as f64 / 1e6
}

fn us(t: Nanos) -> f64 {
    t.0 as f64 / 1e3
}
