// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag timehist`: each time that a task left a CPU, in the layout of `perf sched timehist`.

use std::io::Write;

use serde_json::{Value, json};
use zerolag_core::ids::TaskId;
use zerolag_study::report::json::{loss, ms};
use zerolag_trace::TaskTable;
use zerolag_trace::analyses::timehist::{Row, Runs, letter};
use zerolag_trace::analyses::{Columns, Timehist};

use crate::args::low;
use crate::failure::Failure;
use crate::schedule::{Ending, Schedule};

/// Follows a schedule and prints its history.
pub(crate) fn run(args: &low::Timehist, out: &mut dyn Write) -> Result<(), Failure> {
    let schedule = Schedule::open(&args.schedule)?;
    let columns =
        Columns { state: args.state, next: args.next, wakeups: args.wakeups, migrations: args.migrations };
    let mut timehist = Timehist::new(columns, schedule.selection(&args.part));
    if args.json {
        print_json(args, schedule, &mut timehist, out)
    } else {
        print(args, schedule, &mut timehist, out)
    }
}

fn print(
    args: &low::Timehist,
    schedule: Schedule,
    timehist: &mut Timehist,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut text = String::new();
    if !args.summary {
        timehist.write_header(&mut text).expect(STRING);
    }
    let ending = schedule.follow(&mut |moment| {
        if let Some(row) = timehist.feed(moment.event, moment.names)
            && !args.summary
        {
            timehist.write_row(&row, moment.names, &mut text).expect(STRING);
        }
        out.write_all(text.as_bytes())?;
        text.clear();
        Ok(())
    })?;
    if args.summary || args.with_summary {
        timehist.write_summary(&ending.names, &mut text).expect(STRING);
    }
    Ok(out.write_all(text.as_bytes())?)
}

const STRING: &str = "a string takes anything";

/// One object, with a row on each line, as it comes.
fn print_json(
    args: &low::Timehist,
    schedule: Schedule,
    timehist: &mut Timehist,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    write!(out, "{{\n  \"schema\": \"zerolag.timehist/1\",\n  \"rows\": [")?;
    let mut separator = "\n";
    let ending = schedule.follow(&mut |moment| {
        if let Some(row) = timehist.feed(moment.event, moment.names)
            && !args.summary
        {
            write!(out, "{separator}    {}", row_json(&row, moment.names))?;
            separator = ",\n";
        }
        Ok(())
    })?;
    let summary = summary_json(timehist, &ending);
    let input = json!(ending.input);
    let loss = json!(ending.loss.as_ref().map(loss));
    Ok(writeln!(out, "\n  ],\n  \"input\": {input},\n  \"summary\": {summary},\n  \"loss\": {loss}\n}}")?)
}

/// A task by name and id; nothing is the idle task.
fn task(task: Option<TaskId>, names: &TaskTable) -> Value {
    task.map_or(Value::Null, |task| json!({ "comm": names.comm(task), "pid": names.pid(task) }))
}

fn row_json(row: &Row, names: &TaskTable) -> Value {
    match *row {
        Row::Out { time, cpu, task: who, state, next, times } => json!({
            "what": "out",
            "time_ns": time.0,
            "cpu": cpu.0,
            "task": task(who, names),
            "wait_ms": ms(times.wait),
            "delay_ms": ms(times.delay),
            "run_ms": ms(times.run),
            "state": if who.is_some() { letter(state) } else { 'I' },
            "next": task(next, names),
        }),
        Row::Awakened { time, cpu, task: who, .. } => {
            json!({ "what": "awakened", "time_ns": time.0, "cpu": cpu.0, "task": task(Some(who), names) })
        }
        Row::Migrated { time, cpu, task: who, from, to, .. } => json!({
            "what": "migrated",
            "time_ns": time.0,
            "cpu": cpu.0,
            "task": task(Some(who), names),
            "from": from.0,
            "to": to.0,
        }),
    }
}

fn summary_json(timehist: &Timehist, ending: &Ending) -> Value {
    let names = &ending.names;
    let runs = |runs: &Runs| {
        json!({
            "comm": names.comm(runs.task),
            "pid": names.pid(runs.task),
            "sched_in": runs.count,
            "run_ms": ms(runs.total),
            "min_run_ms": ms(runs.min),
            "avg_run_ms": ms(runs.mean),
            "max_run_ms": ms(runs.max),
            "stddev_percent": runs.error_percent,
            "migrations": runs.migrations,
            "ended": runs.ended,
        })
    };
    let (idle, total) = timehist.idle();
    let cpus: Vec<Value> = idle
        .iter()
        .map(|&(cpu, times, span)| json!({ "cpu": cpu.0, "idle": times, "idle_ms": ms(span) }))
        .collect();
    json!({
        "span_ms": ms(total),
        "tasks": timehist.runs(names).iter().map(runs).collect::<Vec<_>>(),
        "cpus": cpus,
    })
}
