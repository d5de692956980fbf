// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag explain`: why a task waited.

use std::cmp::Reverse;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};

use serde_json::{Value, json};
use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::pattern::Pattern;
use zerolag_study::report::json::ms;

use crate::args::high::Source;
use crate::args::high::workload::{Input, is_workload};
use crate::args::low;
use crate::explain::recorded::{Ran, Told};
use crate::explain::scene::{Level, Standing};
use crate::explain::waits::{Begin, Wait};
use crate::explain::{self, Explanation};
use crate::failure::Failure;
use crate::schedule::{self, Schedule};

/// Finds waits and explains them.
pub(crate) fn run(args: &low::Explain, out: &mut dyn Write) -> Result<(), Failure> {
    if is_recording(&Source::new(&args.file))? {
        return recorded(args, out);
    }
    if let Some(path) = &args.beside.context {
        let path = path.display();
        return Err(Failure::Input(format!("--context {path}: a workload says all that a context does")));
    }
    let input = Input::read(&args.file, &args.workload, false)?;
    let sim = input.scenario.simulate().map_err(Failure::input)?;
    let end = input.end()?;
    let pattern = args.task.as_deref().map(Pattern::new);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let (waits, end, matching) = explain::find(sim.clone(), end, wanted);
    if matching == 0 {
        let task = args.task.as_deref().unwrap_or_default();
        let names = names(&input);
        return Err(Failure::Input(format!("--task {task}: no such task; there are {names}")));
    }
    let waits = choose(args, waits, Instant::ZERO, end)?;
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
    Ok(write_all(out, &explanations)?)
}

fn write_all<E: Display>(out: &mut dyn Write, explanations: &[E]) -> std::io::Result<()> {
    for (number, explanation) in explanations.iter().enumerate() {
        if number > 0 {
            writeln!(out, "\n{}\n", "-".repeat(80))?;
        }
        write!(out, "{explanation}")?;
    }
    Ok(())
}

/// Whether there is something that is no workload. What comes through a pipe is taken for one: a recording is
/// read twice.
fn is_recording(source: &Source) -> Result<bool, Failure> {
    if source.is_standard_input() || !source.path().is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    let file = File::open(source.path()).map_err(|e| source.failure(e))?;
    file.take(schedule::HEAD_LEN).read_to_end(&mut head).map_err(|e| source.failure(e))?;
    Ok(!is_workload(&head))
}

/// Finds waits in a recording and says what it shows of them.
fn recorded(args: &low::Explain, out: &mut dyn Write) -> Result<(), Failure> {
    let file = low::Schedule { file: args.file.clone(), workload: args.workload.clone() };
    let open = || Schedule::open(&file, &args.beside);
    let schedule = open()?;
    let start = schedule.start();
    let (mut waits, ending) = explain::recorded::find(schedule)?;
    let pattern = args.task.as_deref().map(Pattern::new);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    if !ending.names.iter().any(|(_, info)| wanted(&info.comm)) {
        let task = args.task.as_deref().unwrap_or_default();
        return Err(Failure::Input(format!("--task {task}: no task of the recording is called that")));
    }
    waits.retain(|wait| wanted(ending.names.comm(wait.task)));
    let waits = choose(args, waits, start, ending.end)?;
    let found = explain::recorded::look(open()?, waits, ending.end)?;
    let told: Vec<_> = found.iter().map(|found| Told { found, ending: &ending }).collect();
    if args.json {
        let all = json!({
            "schema": "zerolag.explain-recording/1",
            "input": ending.input,
            "waits": told.iter().map(told_json).collect::<Vec<_>>(),
        });
        return Ok(writeln!(out, "{all:#}")?);
    }
    if told.is_empty() {
        writeln!(out, "Nobody waited.")?;
    }
    write_all(out, &told)?;
    writeln!(
        out,
        "\nA recording shows who ran, not why: lags, deadlines and balancing are not in it. What would have helped can be \
         tried with `zerolag replay`."
    )?;
    Ok(())
}

fn told_json(told: &Told<'_>) -> Value {
    let names = &told.ending.names;
    let who = |ran: Ran| match ran {
        Ran::Unknown => json!("unknown"),
        Ran::Idle => Value::Null,
        Ran::Task(task) => json!({ "comm": names.comm(task), "pid": names.pid(task) }),
    };
    let group = |task| told.ending.groups.as_ref().and_then(|groups| groups.get(&task));
    let found = told.found;
    json!({
        "task": who(Ran::Task(found.wait.task)),
        "group": group(found.wait.task),
        "from_ns": found.wait.from.0,
        "to_ns": found.wait.to.map(|to| to.0),
        "waited_ms": ms(found.len),
        "begin": begin(found.wait.begin),
        "woken_by": who(found.waker),
        "cpu": found.wait.cpu.0,
        "last_cpu": found.last_cpu.map(|cpu| cpu.0),
        "allowed": told.allowed().map(|cpus| cpus.to_string()),
        "idle_then": found.idle_then.iter().map(|cpu| cpu.0).collect::<Vec<_>>(),
        "idle_meanwhile": idle(&found.idle),
        "migrated": found.migrated.iter().map(|(at, from, to)| json!({ "at_ns": at.0, "from": from.0, "to": to.0 }))
            .collect::<Vec<_>>(),
        "ran": found.stretches.iter().map(|s| json!({
            "from_ns": s.from.0,
            "to_ns": s.to.0,
            "cpu": s.cpu.0,
            "task": who(s.ran),
        })).collect::<Vec<_>>(),
    })
}

fn begin(begin: Begin) -> &'static str {
    match begin {
        Begin::Woken { .. } => "woken",
        Begin::New { .. } => "new",
        Begin::Preempted => "preempted",
    }
}

fn idle(idle: &[(CpuId, Nanos)]) -> Value {
    idle.iter().map(|(cpu, span)| json!({ "cpu": cpu.0, "idle_ms": ms(*span) })).collect()
}

/// The waits that the user asks for: the one at a time, or the longest.
fn choose(
    args: &low::Explain,
    mut waits: Vec<Wait>,
    start: Instant,
    end: Instant,
) -> Result<Vec<Wait>, Failure> {
    match args.at {
        Some(time) => {
            let at = match time {
                low::Time::Absolute(Nanos(ns)) => Instant(ns),
                low::Time::Relative(span) => start + span,
            };
            waits = vec![at_time(waits, at, end, args.task.as_deref().unwrap_or("*"))?];
        }
        None => {
            waits.sort_by_key(|wait| (Reverse(wait.len(end)), wait.from, wait.task));
            waits.truncate(args.worst);
        }
    }
    waits.retain(|wait| wait.len(end) > Nanos::ZERO);
    Ok(waits)
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
        "begin": begin(e.wait.begin),
        "cpu": e.wait.cpu.0,
        "last_cpu": e.last_cpu.0,
        "allowed": e.places.allowed,
        "idle_then": e.places.idle.iter().map(|(cpu, _)| cpu.0).collect::<Vec<_>>(),
        "idle_meanwhile": idle(&e.idle),
        "passes": e.passes.len(),
        "ran": stretches,
        "tried": e.tried.iter().map(|t| json!({ "change": t.what, "waited_ms": ms(t.waited) })).collect::<Vec<_>>(),
    })
}
