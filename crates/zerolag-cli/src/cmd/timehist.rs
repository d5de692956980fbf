// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag timehist`: each time that a task left a CPU, in the layout of `perf sched timehist`.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};
use zerolag_core::ids::TaskId;
use zerolag_core::units::Nanos;
use zerolag_study::report::json::{loss, ms};
use zerolag_study::report::rows;
use zerolag_trace::TaskTable;
use zerolag_trace::analyses::timehist::{Row, Runs, letter};
use zerolag_trace::analyses::{Columns, Timehist};

use crate::args::low;
use crate::failure::Failure;
use crate::report::text;
use crate::schedule::{Ending, Schedule};
use crate::table;

/// Follows a schedule and prints its history.
pub(crate) fn run(args: &low::Timehist, out: &mut dyn Write) -> Result<(), Failure> {
    let schedule = Schedule::open(&args.schedule, &args.beside)?;
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
    let mut lines = String::new();
    if !args.summary {
        timehist.write_header(&mut lines).expect(STRING);
    }
    let ending = schedule.follow(&mut |moment| {
        if let Some(row) = timehist.feed(moment.event, moment.names)
            && !args.summary
        {
            timehist.write_row(&row, moment.names, &mut lines).expect(STRING);
        }
        out.write_all(lines.as_bytes())?;
        lines.clear();
        Ok(())
    })?;
    if args.summary || args.with_summary {
        timehist.write_summary(&ending.names, &mut lines).expect(STRING);
    }
    out.write_all(lines.as_bytes())?;
    if args.beside.context.is_some() && (args.summary || args.with_summary) {
        writeln!(out)?;
        let row = |g: &GroupRuns| {
            vec![g.path.clone(), g.tasks.to_string(), g.count.to_string(), text::ms(g.total), text::ms(g.max)]
        };
        let columns = ["GROUP", ">TASKS", ">SCHED_IN", ">RUN_MS", ">MAX_RUN_MS"];
        table::write(out, &columns, group_runs(timehist, &ending).iter().map(row))?;
    }
    Ok(())
}

/// The runs of all tasks of a group and of the groups below it.
struct GroupRuns {
    path: String,
    tasks: usize,
    count: u64,
    total: Nanos,
    max: Nanos,
}

fn group_runs(timehist: &Timehist, ending: &Ending) -> Vec<GroupRuns> {
    let Some(groups) = &ending.groups else { return Vec::new() };
    let mut sums: BTreeMap<&str, GroupRuns> = BTreeMap::new();
    for runs in timehist.runs(&ending.names) {
        for path in rows::ancestors(groups.get(&runs.task).map_or("/", String::as_str)) {
            let none = || GroupRuns {
                path: path.to_owned(),
                tasks: 0,
                count: 0,
                total: Nanos::ZERO,
                max: Nanos::ZERO,
            };
            let sum = sums.entry(path).or_insert_with(none);
            sum.tasks += 1;
            sum.count += runs.count;
            sum.total += runs.total;
            sum.max = sum.max.max(runs.max);
        }
    }
    sums.into_values().collect()
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
    let group = |g: &GroupRuns| {
        json!({
            "group": g.path,
            "tasks": g.tasks,
            "sched_in": g.count,
            "run_ms": ms(g.total),
            "max_run_ms": ms(g.max),
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
        "groups": ending.groups.as_ref().map(|_| group_runs(timehist, ending).iter().map(group).collect::<Vec<_>>()),
        "cpus": cpus,
    })
}
