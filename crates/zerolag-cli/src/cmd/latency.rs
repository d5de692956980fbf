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
    let schedule = Schedule::open(&args.schedule)?;
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
            "loss": ending.loss.as_ref().map(loss),
        });
        return Ok(writeln!(out, "{all:#}")?);
    }
    let mut table = String::new();
    latency.write(&ending.names, args.pids, &args.sort, &mut table).expect("a string takes anything");
    Ok(out.write_all(table.as_bytes())?)
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
