// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag latency`: how long tasks waited for a CPU, in the layout of `perf sched latency`.

use std::io::Write;

use serde_json::{Value, json};
use zerolag_study::report::json::{loss, ms};
use zerolag_trace::analyses::Latency;
use zerolag_trace::analyses::latency::Row;

use crate::args::low;
use crate::failure::Failure;
use crate::schedule::Schedule;

/// Follows a schedule and prints the table.
pub(crate) fn run(args: &low::Latency, out: &mut dyn Write) -> Result<(), Failure> {
    let schedule = Schedule::open(&args.schedule, &args.beside)?;
    let mut latency = Latency::new(args.perf.into(), schedule.selection(&args.part));
    let ending = schedule.follow(&mut |moment| {
        latency.feed(moment.event);
        Ok(())
    })?;
    if args.json {
        let rows = latency.rows(&ending.names, args.pids, &args.sort);
        let all = json!({
            "schema": "zerolag.latency/1",
            "input": ending.input,
            "rows": rows.iter().map(row).collect::<Vec<_>>(),
            "groups": ending.groups.as_ref().map(|groups| {
                latency.group_rows(&ending.names, groups, &args.sort).iter().map(group).collect::<Vec<_>>()
            }),
            "loss": ending.loss.as_ref().map(loss),
        });
        return Ok(writeln!(out, "{all:#}")?);
    }
    let mut table = String::new();
    latency.write(&ending.names, args.pids, &args.sort, &mut table).expect(STRING);
    if let Some(groups) = ending.groups.as_ref().filter(|_| args.beside.context.is_some()) {
        latency.write_groups(&ending.names, groups, &args.sort, &mut table).expect(STRING);
    }
    Ok(out.write_all(table.as_bytes())?)
}

const STRING: &str = "a string takes anything";

/// Of a group there is no pid.
fn group(of: &Row) -> Value {
    let mut group = row(of);
    if let Some(fields) = group.as_object_mut() {
        fields.remove("pid");
        let path = fields.remove("comm");
        fields.insert("group".into(), path.unwrap_or_default());
    }
    group
}

fn row(row: &Row) -> Value {
    json!({
        "comm": row.comm,
        "pid": row.pid,
        "tasks": row.tasks,
        "runtime_ms": ms(row.run),
        "switches": row.switches,
        "avg_delay_ms": ms(row.mean),
        "max_delay_ms": ms(row.max),
        "max_start_ns": row.max_start.0,
        "max_end_ns": row.max_end.0,
    })
}
