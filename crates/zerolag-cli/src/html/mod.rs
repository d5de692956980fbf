// SPDX-License-Identifier: GPL-2.0-only
//! Reports that people look at: one HTML file with everything in it, and each plot as SVG.
//!
//! Plots are drawn here, once, for the page and for files of their own. Only the timelines are drawn by the
//! page's script, because one can move in them; printed, and without scripts, a plot stands in their place. A
//! policy in the page forbids it to ask anybody for anything.

mod base64;
mod collect;
mod plot;
pub(crate) mod plots;
pub(crate) mod png;
mod series;
mod timeline;
mod weights;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};
use zerolag_study::report::rows::{self, Row};
use zerolag_trace::metrics::{Percentiles, TaskFigures};

pub(crate) use collect::{Collected, Collector};
pub(crate) use plot::alone;
use plot::{STYLE, escape};
use plots::Drawing;
use timeline::Timeline;

use crate::report::figures::{COLUMNS, cells};
use crate::report::text::{self, ms, us};

/// How many rows a table has at most.
const TABLE_MAX: usize = 200;

/// Everything that a report shows.
pub(crate) struct Shown {
    /// The command that makes the report again.
    pub(crate) command: String,
    pub(crate) runs: Vec<Run>,
}

/// One schedule in a report.
pub(crate) struct Run {
    pub(crate) name: String,
    /// What is known of it, in words.
    pub(crate) about: Vec<(&'static str, String)>,
    /// Nothing of a run of which only figures are known.
    pub(crate) collected: Option<Collected>,
    /// Figures by name of the tasks.
    pub(crate) rows: Vec<Row>,
    /// What `zerolag run --json` said, if that is all there is.
    pub(crate) figures: Option<Value>,
}

/// Figures of tasks added up by name, those that ran most first.
pub(crate) fn rows_by_name(collected: &Collected) -> Vec<Row> {
    let Collected { ending, summary, .. } = collected;
    let group =
        |task| ending.groups.as_ref().and_then(|groups| groups.get(&task)).cloned().unwrap_or_default();
    let keys = |task| vec![(ending.names.comm(task).to_owned(), group(task))];
    let mut rows = rows::added_up(summary.tasks.keys().copied(), summary, keys);
    rows.sort_by_key(|row| Reverse(row.figures.run()));
    rows
}

/// The page.
pub(crate) fn page(shown: &Shown, drawings: &[Drawing]) -> String {
    let mut out = String::new();
    let title = match shown.runs.as_slice() {
        [one] => one.name.clone(),
        runs => format!("{} runs compared", runs.len()),
    };
    _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">\n\
         <title>zerolag: {title}</title>\n<style>{STYLE}{}</style></head>\n<body>\n<h1>{title}</h1>\n",
        include_str!("assets/report.css"),
        title = escape(&title)
    );
    _ = writeln!(
        out,
        "<p class=\"about\">Made by zerolag {} with</p><pre>{}</pre>",
        env!("CARGO_PKG_VERSION"),
        escape(&shown.command)
    );
    if shown.runs.len() > 1 {
        comparison(shown, &mut out);
        figure(drawings, "latency", "", &mut out);
    }
    for (number, run) in (1..).zip(&shown.runs) {
        section(number, run, drawings, &mut out);
    }
    let data = json!({ "runs": shown.runs.iter().map(run_data).collect::<Vec<_>>() });
    let data = data.to_string().replace('<', "\\u003c");
    _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\">{data}</script>\n<script>{}</script>\n</body></html>\n",
        include_str!("assets/report.js")
    );
    out
}

fn figure(drawings: &[Drawing], name: &str, class: &str, out: &mut String) {
    if let Some(drawing) = drawings.iter().find(|drawing| drawing.name == name) {
        _ = writeln!(out, "<figure id=\"{name}\" class=\"{class}\">{}</figure>", drawing.picture.svg());
    }
}

/// A table; columns whose heading starts with `>` are numbers.
fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>, out: &mut String) {
    let class = |column: &str| if column.starts_with('>') { "" } else { " class=\"l\"" };
    _ = write!(out, "<div class=\"scroll\"><table class=\"sorts\"><thead><tr>");
    for column in columns {
        let name = escape(column.trim_start_matches('>'));
        _ = write!(out, "<th{}><button type=\"button\">{name}</button></th>", class(column));
    }
    _ = write!(out, "</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in columns.iter().zip(row) {
            _ = write!(out, "<td{}>{}</td>", class(column), escape(&cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
}

fn latencies(percentiles: Option<Percentiles>) -> [String; 5] {
    percentiles.map_or_else(
        || std::array::from_fn(|_| "-".to_owned()),
        |p| [p.n.to_string(), us(p.p50), us(p.p95), us(p.p99), us(p.max)],
    )
}

fn comparison(shown: &Shown, out: &mut String) {
    let columns = [
        "run",
        ">CPU ms",
        ">switches",
        ">migrations",
        ">idle while overloaded ms",
        ">wake-ups",
        ">p50 µs",
        ">p95 µs",
        ">p99 µs",
        ">max µs",
    ];
    let row = |run: &Run| {
        let summary = &run.collected.as_ref()?.summary;
        let mut sum = TaskFigures::default();
        summary.tasks.values().for_each(|figures| sum.add(figures));
        let counts = [
            run.name.clone(),
            ms(sum.run()),
            sum.switches_in.to_string(),
            sum.migrations.to_string(),
            ms(summary.idle_while_overloaded),
        ];
        Some(counts.into_iter().chain(latencies(sum.wakeup.percentiles())).collect())
    };
    out.push_str("<h2>All runs</h2>\n");
    table(&columns, shown.runs.iter().filter_map(row), out);
    // Tasks of the same name side by side.
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for row in shown.runs.iter().flat_map(|run| &run.rows) {
        *names.entry(&row.name).or_default() += 1;
    }
    let mut columns = vec!["task".to_owned()];
    for number in 1..=shown.runs.len() {
        columns.extend([
            format!(">{number}: CPU ms"),
            format!(">{number}: p50 µs"),
            format!(">{number}: p99 µs"),
        ]);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let side_by_side = names.into_iter().filter(|&(_, count)| count > 1).take(TABLE_MAX).map(|(name, _)| {
        let mut cells = vec![name.to_owned()];
        for run in &shown.runs {
            let mut sum = TaskFigures::default();
            run.rows.iter().filter(|row| row.name == name).for_each(|row| sum.add(&row.figures));
            let [_, p50, _, p99, _] = latencies(sum.wakeup.percentiles());
            cells.extend([ms(sum.run()), p50, p99]);
        }
        cells
    });
    let side_by_side: Vec<_> = side_by_side.collect();
    if !side_by_side.is_empty() {
        out.push_str("<h3>Tasks of the same name</h3>\n");
        table(&columns, side_by_side, out);
    }
}

fn section(number: usize, run: &Run, drawings: &[Drawing], out: &mut String) {
    let name = escape(&run.name);
    _ = writeln!(out, "<h2 id=\"run-{number}\">{number}: {name}</h2>\n<p class=\"about\">");
    for (what, value) in &run.about {
        _ = write!(out, "{what}: {}<br>", escape(value));
    }
    out.push_str("</p>\n");
    let Some(collected) = &run.collected else {
        figures_only(run, out);
        return;
    };
    _ = writeln!(
        out,
        "<h3>Timeline</h3>\n<div class=\"timeline\" data-run=\"{}\"><div class=\"bar\">\
         <label>Search <input type=\"search\" size=\"18\" placeholder=\"name or pid\"></label>\
         <button type=\"button\" data-do=\"previous\">previous</button>\
         <button type=\"button\" data-do=\"next\">next</button><span class=\"hits dim\"></span>\
         <button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
         <button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
         <button type=\"button\" data-do=\"left\" aria-label=\"to the left\">←</button>\
         <button type=\"button\" data-do=\"right\" aria-label=\"to the right\">→</button>\
         <button type=\"button\" data-do=\"all\">all</button></div>\
         <canvas tabindex=\"0\" role=\"img\" aria-label=\"Who runs on each CPU over time\"></canvas>\
         <p class=\"readout dim\" aria-live=\"polite\">Keys: + − zoom, ← → move, 0 all, / search, n p next \
         and previous; Ctrl or Shift and the wheel zoom, dragging moves.</p></div>",
        number - 1
    );
    figure(drawings, &format!("timeline-{number}"), "screenless", out);
    let grain = collected.timeline.grain.0;
    if grain > 1 {
        _ = writeln!(
            out,
            "<p class=\"about\">Runs shorter than {} µs are put together; a paler piece is one in which others \
             ran too.</p>",
            plot::short(grain as f64 / 1e3)
        );
    }
    out.push_str("<h3>Tasks</h3>\n");
    let headings: Vec<&str> = ["TASK", "GROUP", ">N"].into_iter().chain(COLUMNS).collect();
    let cell = |row: &Row| {
        let names = [row.name.clone(), row.group.clone(), row.tasks.to_string()];
        let share = collected.summary.share(row.figures.run());
        names.into_iter().chain(cells(&row.figures, share)).collect::<Vec<_>>()
    };
    table(&headings, run.rows.iter().take(TABLE_MAX).map(cell), out);
    if run.rows.len() > TABLE_MAX {
        _ = writeln!(out, "<p class=\"about\">and {} more names</p>", run.rows.len() - TABLE_MAX);
    }
    figure(drawings, &format!("latency-{number}"), "", out);
    let competitors = weights::competitors(collected);
    if competitors.len() > 1 {
        out.push_str(
            "<h3>Share against weight</h3>\n<p class=\"about\">Only who always wants to run gets what its weight \
             says; who sleeps lies below the line.</p>\n",
        );
        figure(drawings, &format!("shares-{number}"), "", out);
        let columns = ["who", "in", ">weight", ">of the weight", ">of the time"];
        let percent = |part: f64| format!("{:.2}%", part * 100.0);
        let rows = competitors.into_iter().take(TABLE_MAX);
        let cells = rows
            .map(|c| vec![c.name, c.parent, c.weight.to_string(), percent(c.of_weight), percent(c.of_time)]);
        table(&columns, cells, out);
    }
    if collected.lag.is_empty() {
        out.push_str("<p class=\"about\">A recording does not say lags and loads.</p>\n");
    } else {
        out.push_str(
            "<h3>Lag and load over time</h3>\n<p class=\"about\">Of each piece of time the least and the greatest \
             value at switches, wake-ups and ticks.</p>\n",
        );
        figure(drawings, &format!("lag-{number}"), "", out);
        figure(drawings, &format!("load-{number}"), "", out);
    }
    balance(number, collected, drawings, out);
    out.push_str("<h3>CPUs</h3>\n");
    let columns = [
        ">CPU",
        ">busy ms",
        ">idle ms",
        ">switches",
        ">wake-ups",
        ">p50 µs",
        ">p95 µs",
        ">p99 µs",
        ">max µs",
    ];
    let rows = collected.summary.cpus.iter().map(|(cpu, f)| {
        let counts = [cpu.to_string(), ms(f.busy), ms(f.idle), f.switches.to_string()];
        counts.into_iter().chain(latencies(f.wakeup.percentiles())).collect()
    });
    table(&columns, rows, out);
}

fn balance(number: usize, collected: &Collected, drawings: &[Drawing], out: &mut String) {
    out.push_str("<h3>Balancing and NOHZ</h3>\n");
    let sum = |counts: &series::Counts| counts.0.iter().sum::<u64>();
    if let Some(simulated) = &collected.ending.simulated {
        let rows = collect::KINDS.iter().enumerate().map(|(kind, (_, name))| {
            let [passes, moved] = [&collected.passes[kind], &collected.moved[kind]].map(sum);
            vec![(*name).to_owned(), passes.to_string(), moved.to_string()]
        });
        table(&["kind", ">passes that moved some", ">tasks moved"], rows, out);
        figure(drawings, &format!("nodes-{number}"), "", out);
        figure(drawings, &format!("balance-{number}"), "", out);
        figure(drawings, &format!("passes-{number}"), "", out);
        figure(drawings, &format!("nohz-{number}"), "", out);
        if let Some(sentence) = text::nohz(&simulated.nohz) {
            _ = writeln!(out, "<p>{sentence}</p>");
        }
    } else {
        out.push_str("<p class=\"about\">A recording says migrations, but not who balanced.</p>\n");
    }
    _ = writeln!(
        out,
        "<p>Migrations: {}; idle while overloaded: {} ms.</p>",
        sum(&collected.migrations),
        ms(collected.summary.idle_while_overloaded)
    );
}

/// What `zerolag run --json` said of tasks.
fn figures_only(run: &Run, out: &mut String) {
    out.push_str("<p class=\"about\">Only figures are known of this run, not its schedule.</p>\n");
    let Some(tasks) = run.figures.as_ref().and_then(|json| json["tasks"].as_array()) else { return };
    let columns = [
        "TASK",
        "GROUP",
        ">CPU_MS",
        ">SHARE",
        ">SWITCHES",
        ">MIGRATIONS",
        ">WAKEUPS",
        ">P50_US",
        ">P99_US",
        ">MAX_US",
    ];
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = tasks.iter().take(TABLE_MAX).map(|task| {
        let wakeup = &task["wakeup_us"];
        [
            &task["name"],
            &task["group"],
            &task["cpu_ms"],
            &task["share"],
            &task["switches"],
            &task["migrations"],
            &wakeup["n"],
            &wakeup["p50"],
            &wakeup["p99"],
            &wakeup["max"],
        ]
        .map(text)
        .to_vec()
    });
    table(&columns, rows, out);
}

/// What the page's script needs of a run.
fn run_data(run: &Run) -> Value {
    let Some(collected) = &run.collected else { return Value::Null };
    let colours = plots::colours(collected);
    // Only tasks that ran are named.
    let mut numbers = BTreeMap::new();
    let mut tasks = Vec::new();
    for &task in collected.summary.tasks.keys() {
        let names = &collected.ending.names;
        tasks.push(json!({ "name": names.comm(task), "pid": names.pid(task), "colour": colours[&task] }));
        numbers.insert(task, tasks.len() as u64);
    }
    let rows = collected.timeline.cpus.iter().enumerate().filter(|(_, row)| !row.segments.is_empty());
    let cpus: Vec<Value> = rows
        .map(|(cpu, row)| {
            let packed = Timeline::pack(row, |task| numbers.get(&task).copied().unwrap_or(0));
            let from = row.from.saturating_since(collected.from).0;
            json!({ "cpu": cpu, "from": from, "segments": base64::encode(&packed) })
        })
        .collect();
    let span = collected.ending.end.saturating_since(collected.from).0;
    json!({ "span": span, "tasks": tasks, "cpus": cpus })
}
