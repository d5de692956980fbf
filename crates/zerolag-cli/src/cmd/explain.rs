// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag explain`: why a task waited.

use std::cmp::Reverse;
use std::io::Write;

use serde_json::{Value, json};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::pattern::Pattern;
use zerolag_study::report::json::ms;

use crate::args::high::workload::Input;
use crate::args::low;
use crate::explain::scene::{Level, Standing};
use crate::explain::waits::{Begin, Wait};
use crate::explain::{self, Explanation};
use crate::failure::Failure;

/// Finds waits and explains them.
pub(crate) fn run(args: &low::Explain, out: &mut dyn Write) -> Result<(), Failure> {
    let input = Input::read(&args.file, &args.workload, false)?;
    let sim = input.scenario.simulate().map_err(Failure::input)?;
    let end = input.end()?;
    let pattern = args.task.as_deref().map(Pattern::new);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let (mut waits, end, matching) = explain::find(sim.clone(), end, wanted);
    if matching == 0 {
        let task = args.task.as_deref().unwrap_or_default();
        let names = names(&input);
        return Err(Failure::Input(format!("--task {task}: no such task; there are {names}")));
    }
    match args.at {
        Some(time) => {
            let at = match time {
                low::Time::Absolute(Nanos(ns)) | low::Time::Relative(Nanos(ns)) => Instant(ns),
            };
            waits = vec![at_time(waits, at, end, args.task.as_deref().unwrap_or("*"))?];
        }
        None => {
            waits.sort_by_key(|wait| (Reverse(wait.len(end)), wait.from, wait.task));
            waits.truncate(args.worst);
        }
    }
    waits.retain(|wait| wait.len(end) > Nanos::ZERO);
    let explanations = explain::explain(sim, waits, end);
    if args.json {
        let all = json!({
            "schema": "zerolag.explain/1",
            "input": input.scenario.file,
            "kernel": input.scenario.setup.config.kernel.name(),
            "waits": explanations.iter().map(to_json).collect::<Vec<_>>(),
        });
        return Ok(writeln!(out, "{all:#}")?);
    }
    if explanations.is_empty() {
        writeln!(out, "Nobody waited.")?;
    }
    for (number, explanation) in explanations.iter().enumerate() {
        if number > 0 {
            writeln!(out, "\n{}\n", "-".repeat(80))?;
        }
        write!(out, "{explanation}")?;
    }
    Ok(())
}

fn names(input: &Input) -> String {
    let mut names: Vec<&str> =
        input.scenario.workload.templates.iter().map(|(_, t)| t.name.as_str()).collect();
    names.extend(input.scenario.workload.starts.iter().filter_map(|start| start.name.as_deref()));
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The wait at this time, or the next after it.
fn at_time(waits: Vec<Wait>, at: Instant, end: Instant, task: &str) -> Result<Wait, Failure> {
    let later =
        waits.into_iter().filter(|wait| wait.len(end) > Nanos::ZERO && wait.from + wait.len(end) > at);
    let found = later.min_by_key(|wait| (wait.from.max(at), Reverse(wait.len(end)), wait.task));
    let found = found.ok_or_else(|| Failure::Input(format!("{task} does not wait at {at} s or later")))?;
    if found.from > at {
        eprintln!("zerolag: {task} does not wait at {at} s; this is the next time that it does");
    }
    Ok(found)
}

fn standing(s: &Standing) -> Value {
    json!({
        "name": s.name,
        "weight": s.weight,
        "lag_ms": s.lag as f64 / 1e6,
        "deadline_ms": s.deadline.map(|ns| ns as f64 / 1e6),
        "eligible": s.eligible,
        "protected": s.protected,
        "slice_ms": ms(s.slice),
    })
}

fn level(level: &Level) -> Value {
    json!({
        "group": level.group,
        "waiting": standing(&level.waiting),
        "running": level.running.as_ref().map(standing),
        "others": level.others,
    })
}

fn to_json(e: &Explanation) -> Value {
    let stretches: Vec<Value> = e
        .stretches
        .iter()
        .map(|s| {
            json!({
                "from_ns": s.from.0,
                "to_ns": s.to.0,
                "cpu": s.cpu.0,
                "task": s.ran.and_then(|task| e.names.get(&task)),
                "levels": s.levels.iter().map(level).collect::<Vec<_>>(),
                "reason": s.levels.last().and_then(Level::reason),
            })
        })
        .collect();
    json!({
        "task": e.name,
        "from_ns": e.wait.from.0,
        "to_ns": e.wait.to.map(|to| to.0),
        "waited_ms": ms(e.len),
        "begin": match e.wait.begin {
            Begin::Woken { .. } => "woken",
            Begin::New { .. } => "new",
            Begin::Preempted => "preempted",
        },
        "cpu": e.wait.cpu.0,
        "last_cpu": e.last_cpu.0,
        "allowed": e.places.allowed,
        "idle_then": e.places.idle.iter().map(|(cpu, _)| cpu.0).collect::<Vec<_>>(),
        "idle_meanwhile": e.idle.iter().map(|(cpu, span)| json!({ "cpu": cpu.0, "idle_ms": ms(*span) })).collect::<Vec<_>>(),
        "passes": e.passes.len(),
        "ran": stretches,
        "tried": e.tried.iter().map(|t| json!({ "change": t.what, "waited_ms": ms(t.waited) })).collect::<Vec<_>>(),
    })
}
