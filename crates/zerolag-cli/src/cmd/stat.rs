// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag stat`: what each task, group and CPU of a schedule got, and who ran while tasks waited.

use std::cmp::Reverse;
use std::io::Write;

use serde_json::{Value, json};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_study::report::json::{self, latency, loss, ms, with};
use zerolag_study::report::rows::{self, ROWS_MAX, Row};
use zerolag_trace::TaskTable;
use zerolag_trace::analyses::Selection;
use zerolag_trace::metrics::{CpuFigures, Metrics, Rivals, Summary, TaskFigures};

use crate::args::low;
use crate::context::Bindings;
use crate::failure::Failure;
use crate::report::figures::{self, COLUMNS, LATENCIES};
use crate::report::text;
use crate::schedule::{Ending, Moment, Schedule};
use crate::table;

/// How many rivals of a task are named.
const RIVALS_MAX: usize = 5;

/// Follows a schedule and prints its figures.
pub(crate) fn run(args: &low::Stat, out: &mut dyn Write) -> Result<(), Failure> {
    let schedule = Schedule::open(&args.schedule, &args.beside)?;
    let selection = schedule.selection(&args.part);
    let mut count = Count::new(&selection);
    let ending = schedule.follow(&mut |moment| {
        count.feed(moment);
        Ok(())
    })?;
    let stat = Stat::new(count, selection, ending, args.sort);
    if args.json {
        return Ok(writeln!(out, "{:#}", stat.to_json(args.rivals))?);
    }
    Ok(stat.write_text(args.rivals, out)?)
}

/// Counts within the selected time.
struct Count {
    metrics: Metrics,
    rivals: Rivals,
    bindings: Bindings,
    from: Option<Instant>,
    to: Instant,
}

impl Count {
    fn new(selection: &Selection) -> Self {
        let (from, to) = (selection.from, selection.to.unwrap_or(Instant::MAX));
        Self { metrics: Metrics::new(), rivals: Rivals::new(), bindings: Bindings::default(), from, to }
    }

    fn feed(&mut self, moment: &Moment<'_>) {
        let event = moment.event;
        if event.time > self.to {
            return;
        }
        if let Some(beside) = moment.beside
            && let Some((task, cpus)) = self.bindings.news(event, moment.names, beside)
        {
            self.metrics.bind(task, cpus);
        }
        if let Some(from) = self.from.filter(|&from| from <= event.time) {
            self.metrics.restart(from);
            self.rivals.restart(from);
            self.from = None;
        }
        self.metrics.feed(event);
        self.rivals.feed(event);
    }

    /// Nothing more happens until `end`.
    fn finish(&mut self, end: Instant) {
        let end = end.min(self.to);
        if let Some(from) = self.from.filter(|&from| from <= end) {
            self.metrics.restart(from);
            self.rivals.restart(from);
        }
        self.metrics.advance(end);
    }
}

struct Stat {
    ending: Ending,
    summary: Summary,
    rivals: Rivals,
    selection: Selection,
    /// Tasks that are wanted, in the order that is.
    tasks: Vec<TaskId>,
}

/// A task, or the idle task, and how long it ran while another waited.
type Rival = (Option<TaskId>, Nanos);

/// Time spent ready but not running.
fn waited(figures: &TaskFigures) -> Nanos {
    figures.wakeup.sum() + figures.preempt_delay.sum()
}

impl Stat {
    fn new(mut count: Count, selection: Selection, ending: Ending, sort: low::Sort) -> Self {
        count.finish(ending.end);
        let summary = count.metrics.summary();
        let ran_there = |figures: &TaskFigures| {
            selection.cpus.is_none() || figures.per_cpu.keys().any(|&cpu| selection.has_cpu(cpu))
        };
        let mut tasks: Vec<TaskId> = summary
            .tasks
            .iter()
            .filter(|&(&task, figures)| selection.has_task(Some(task), &ending.names) && ran_there(figures))
            .map(|(&task, _)| task)
            .collect();
        let largest_first = |tasks: &mut Vec<TaskId>, key: &dyn Fn(&TaskFigures) -> u64| {
            tasks.sort_by_key(|task| Reverse(key(&summary.tasks[task])));
        };
        let at = |span: Option<Nanos>| span.map_or(0, |span| span.0);
        match sort {
            low::Sort::Appearance => {}
            low::Sort::Name => tasks.sort_by_key(|&task| ending.names.comm(task).to_owned()),
            low::Sort::Cpu => largest_first(&mut tasks, &|f| f.run().0),
            low::Sort::Wait => largest_first(&mut tasks, &|f| waited(f).0),
            low::Sort::Switches => largest_first(&mut tasks, &|f| f.switches_in),
            low::Sort::Migrations => largest_first(&mut tasks, &|f| f.migrations),
            low::Sort::P99 => largest_first(&mut tasks, &|f| at(f.wakeup.quantile(0.99))),
            low::Sort::Max => largest_first(&mut tasks, &|f| at(f.wakeup.max())),
        }
        Self { ending, summary, rivals: count.rivals, selection, tasks }
    }

    fn names(&self) -> &TaskTable {
        &self.ending.names
    }

    fn group(&self, task: TaskId) -> &str {
        let groups = self.ending.groups.as_ref();
        groups.and_then(|groups| groups.get(&task)).map_or("-", String::as_str)
    }

    /// `hog 7`
    fn called(&self, task: Option<TaskId>) -> String {
        match task {
            None => "idle".to_owned(),
            Some(task) => format!("{} {}", self.names().comm(task), self.names().pid(task).unwrap_or(0)),
        }
    }

    /// Tasks added up by their names.
    fn name_rows(&self) -> Vec<Row> {
        let keys = |task| vec![(self.names().comm(task).to_owned(), self.group(task).to_owned())];
        rows::added_up(self.tasks.iter().copied(), &self.summary, keys)
    }

    fn group_rows(&self) -> Vec<Row> {
        if self.ending.groups.is_none() {
            return Vec::new();
        }
        let keys =
            |task| rows::ancestors(self.group(task)).map(|path| (String::new(), path.to_owned())).collect();
        rows::added_up(self.tasks.iter().copied(), &self.summary, keys)
    }

    fn cpus(&self) -> impl Iterator<Item = (CpuId, &CpuFigures)> {
        let all = self.summary.cpus.iter().map(|(&cpu, figures)| (cpu, figures));
        all.filter(|&(cpu, _)| self.selection.has_cpu(cpu))
    }

    /// Those who waited longest, each with who ran meanwhile, the longest first.
    fn waits(&self, count: usize) -> Vec<(TaskId, Vec<Rival>)> {
        let mut tasks: Vec<TaskId> = self.tasks.clone();
        tasks.retain(|task| waited(&self.summary.tasks[task]) > Nanos::ZERO);
        tasks.sort_by_key(|task| Reverse(waited(&self.summary.tasks[task])));
        tasks.truncate(count);
        let rivals = |task| {
            let mut rivals: Vec<_> = self.rivals.of(task).filter(|&(_, span)| span > Nanos::ZERO).collect();
            rivals.sort_by_key(|&(_, span)| Reverse(span));
            (task, rivals)
        };
        tasks.into_iter().map(rivals).collect()
    }

    fn write_text(&self, rivals: usize, out: &mut dyn Write) -> std::io::Result<()> {
        let Summary { span, events, .. } = self.summary;
        let (cpus, tasks) = (self.summary.cpus.len(), self.summary.tasks.len());
        writeln!(
            out,
            "{}: {} ms from {}, {events} events, CPUs: {cpus}, tasks: {tasks}\n",
            self.ending.input,
            text::ms(span),
            self.summary.first
        )?;
        let cells = |names: Vec<String>, f: &TaskFigures| {
            let waited = text::ms(waited(f));
            names.into_iter().chain(figures::cells(f, self.summary.share(f.run()))).chain([waited]).collect()
        };
        if self.tasks.len() <= ROWS_MAX {
            let columns = [&["TASK", ">PID", "GROUP"][..], &COLUMNS, &[">WAIT_MS"]].concat();
            let rows = self.tasks.iter().map(|&task| {
                let pid = self.names().pid(task).map_or("-".to_owned(), |pid| pid.to_string());
                let names = vec![self.names().comm(task).to_owned(), pid, self.group(task).to_owned()];
                cells(names, &self.summary.tasks[&task])
            });
            table::write(out, &columns, rows)?;
        } else {
            let columns = [&["TASKS CALLED", "GROUP", ">N"][..], &COLUMNS, &[">WAIT_MS"]].concat();
            let rows = self
                .name_rows()
                .into_iter()
                .map(|row| cells(vec![row.name, row.group, row.tasks.to_string()], &row.figures));
            table::write(out, &columns, rows)?;
        }
        let groups = self.group_rows();
        if groups.len() > 1 {
            writeln!(out)?;
            let columns = [&["GROUP", ">TASKS"][..], &COLUMNS, &[">WAIT_MS"]].concat();
            let rows =
                groups.into_iter().map(|row| cells(vec![row.group, row.tasks.to_string()], &row.figures));
            table::write(out, &columns, rows)?;
        }
        writeln!(out)?;
        let columns = [&["CPU", ">BUSY_MS", ">IDLE_MS", ">SWITCHES"][..], &LATENCIES].concat();
        let rows = self.cpus().map(|(cpu, f)| {
            let counts = [cpu.to_string(), text::ms(f.busy), text::ms(f.idle), f.switches.to_string()];
            counts.into_iter().chain(figures::latencies(f.wakeup.percentiles())).collect()
        });
        table::write(out, &columns, rows)?;
        writeln!(
            out,
            "\nIdle while overloaded: {} ms, in which {} ms of CPU time were lost",
            text::ms(self.summary.idle_while_overloaded),
            text::ms(self.summary.idle_while_overloaded_cpu)
        )?;
        let waits = self.waits(rivals);
        if !waits.is_empty() {
            writeln!(out, "\nWho ran while others waited:")?;
        }
        for (task, rivals) in waits {
            let total = waited(&self.summary.tasks[&task]);
            let named = rivals.iter().take(RIVALS_MAX);
            let named: Vec<String> =
                named.map(|&(who, span)| format!("{} {} ms", self.called(who), text::ms(span))).collect();
            let more = rivals.len().saturating_sub(RIVALS_MAX);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            let who = self.called(Some(task));
            writeln!(out, "  {who} waited {} ms: {}{more}", text::ms(total), named.join(", "))?;
        }
        Ok(())
    }

    fn to_json(&self, rivals: usize) -> Value {
        let figures = |f: &TaskFigures| {
            let more = json!({
                "wait_ms": ms(waited(f)),
                "waking_us": latency(&f.waking),
                "preempt_delay_us": latency(&f.preempt_delay),
                "slice_us": latency(&f.slice),
            });
            with(json::figures(f, self.summary.share(f.run())), more)
        };
        let task = |&task: &TaskId| {
            let f = &self.summary.tasks[&task];
            let per_cpu: serde_json::Map<_, _> =
                f.per_cpu.iter().map(|(cpu, &run)| (cpu.to_string(), json!(ms(run)))).collect();
            let group = self.ending.groups.as_ref().map(|_| self.group(task));
            let who =
                json!({ "comm": self.names().comm(task), "pid": self.names().pid(task), "group": group });
            with(with(who, figures(f)), json!({ "per_cpu_ms": per_cpu }))
        };
        let group =
            |row: &Row| with(json!({ "group": row.group, "tasks": row.tasks }), figures(&row.figures));
        let cpu = |(cpu, f): (CpuId, &CpuFigures)| {
            json!({
                "cpu": cpu.0,
                "busy_ms": ms(f.busy),
                "idle_ms": ms(f.idle),
                "switches": f.switches,
                "wakeup_us": latency(&f.wakeup),
                "preempt_delay_us": latency(&f.preempt_delay),
            })
        };
        let who = |task: Option<TaskId>| {
            task.map_or(Value::Null, |t| json!({ "comm": self.names().comm(t), "pid": self.names().pid(t) }))
        };
        let wait = |(task, rivals): (TaskId, Vec<Rival>)| {
            let ran: Vec<Value> =
                rivals.iter().map(|&(task, span)| json!({ "task": who(task), "ran_ms": ms(span) })).collect();
            let waited = ms(waited(&self.summary.tasks[&task]));
            json!({ "task": who(Some(task)), "waited_ms": waited, "meanwhile": ran })
        };
        json!({
            "schema": "zerolag.stat/1",
            "input": self.ending.input,
            "first_ns": self.summary.first.0,
            "span_ms": ms(self.summary.span),
            "events": self.summary.events,
            "idle_while_overloaded_ms": ms(self.summary.idle_while_overloaded),
            "idle_while_overloaded_cpu_ms": ms(self.summary.idle_while_overloaded_cpu),
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "groups": self.group_rows().iter().map(group).collect::<Vec<_>>(),
            "cpus": self.cpus().map(cpu).collect::<Vec<_>>(),
            "waits": self.waits(rivals).into_iter().map(wait).collect::<Vec<_>>(),
            "loss": self.ending.loss.as_ref().map(loss),
        })
    }
}
