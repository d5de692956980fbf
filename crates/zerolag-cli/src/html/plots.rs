// SPDX-License-Identifier: GPL-2.0-only
//! The plots of a report, each by a name that also names its file.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use zerolag_core::ids::{Id, TaskId};
use zerolag_study::report::rows::Row;
use zerolag_trace::metrics::{Distribution, TaskFigures};

use super::collect::{Collected, KINDS};
use super::plot::{Axis, COLOURS, Picture, Plot, Scale};
use super::series::{Band, Counts};
use super::weights::competitors;
use super::{Run, Shown};

/// How many tasks are drawn in one plot.
const LINES_MAX: usize = 8;
/// Columns of the overview, and pieces that it has room for.
const COLUMNS: u64 = 600;
const PIECES_MAX: u64 = 12_000;

/// A drawing.
pub(crate) struct Drawing {
    /// Also the name of its file.
    pub(crate) name: String,
    pub(crate) picture: Picture,
}

/// All plots of all runs.
pub(crate) fn all(shown: &Shown) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let mut add = |name: String, picture: Option<Picture>| {
        drawings.extend(picture.map(|picture| Drawing { name, picture }));
    };
    if shown.runs.iter().any(|run| run.collected.is_some()) {
        add("latency".to_owned(), latency_of_runs(&shown.runs));
    }
    for (number, run) in (1..).zip(&shown.runs) {
        let Some(collected) = &run.collected else { continue };
        let named = |what: &str| format!("{what}-{number}");
        let title = |what: &str| format!("{what}: {}", run.name);
        add(named("timeline"), timeline(&title("Timeline"), collected));
        add(named("latency"), latency_of_tasks(&title("From wake-up to running"), collected, &run.rows));
        add(named("shares"), shares(&title("Share against weight"), collected));
        add(named("lag"), bands(&title("Lag"), "lag (ms of virtual time)", collected, &collected.lag, 1e6));
        add(named("load"), bands(&title("Load"), "load average", collected, &collected.load, 1.0));
        add(named("nodes"), nodes(&title("Runnable tasks by memory node"), collected));
        let moved: [&Counts; 4] = std::array::from_fn(|kind| &collected.moved[kind]);
        add(named("balance"), bars(&title("Tasks moved by balancing"), collected, moved));
        let passes: [&Counts; 4] = std::array::from_fn(|kind| &collected.passes[kind]);
        add(named("passes"), bars(&title("Balancing passes that moved a task"), collected, passes));
        add(named("nohz"), tickless(&title("CPUs that idle without a tick"), collected));
    }
    drawings
}

/// Points of a cumulative distribution, in microseconds and percent.
fn cumulative(distribution: &Distribution) -> Vec<(f64, f64)> {
    let at = |q: f64| distribution.quantile(q).map(|span| (span.0 as f64 / 1e3, q * 100.0));
    let even = (0..100).map(|n| f64::from(n) / 100.0);
    let tail = [0.99, 0.993, 0.995, 0.997, 0.998, 0.999, 0.9995, 0.9999, 1.0];
    even.chain(tail).filter_map(at).collect()
}

fn cumulative_plot(title: &str, lines: &[(String, Vec<(f64, f64)>)]) -> Option<Picture> {
    if lines.iter().all(|(_, points)| points.is_empty()) {
        return None;
    }
    let values = lines.iter().flat_map(|(_, points)| points.iter().map(|p| p.0));
    let x = Axis::new("from wake-up to running (µs)", Scale::Log, values);
    let y = Axis::new("% of wake-ups", Scale::Linear, [0.0, 100.0].into_iter());
    let mut plot = Plot::new(title, x, y);
    for (colour, (name, points)) in lines.iter().enumerate() {
        plot.line(colour, points.iter().copied());
        plot.name(colour, name);
    }
    Some(plot.finish())
}

fn latency_of_runs(runs: &[Run]) -> Option<Picture> {
    let line = |run: &Run| {
        let mut sum = TaskFigures::default();
        for figures in run.collected.as_ref()?.summary.tasks.values() {
            sum.add(figures);
        }
        Some((run.name.clone(), cumulative(&sum.wakeup)))
    };
    let lines: Vec<_> = runs.iter().filter_map(line).collect();
    cumulative_plot("From wake-up to running, all tasks of each run", &lines)
}

fn latency_of_tasks(title: &str, _: &Collected, rows: &[Row]) -> Option<Picture> {
    let mut rows: Vec<&Row> = rows.iter().filter(|row| !row.figures.wakeup.is_empty()).collect();
    rows.sort_by_key(|row| Reverse(row.figures.wakeup.len()));
    rows.truncate(LINES_MAX);
    let line = |row: &&Row| (row.name.clone(), cumulative(&row.figures.wakeup));
    cumulative_plot(title, &rows.iter().map(line).collect::<Vec<_>>())
}

/// Seconds since the beginning of the schedule.
fn seconds(run: &Collected) -> Axis {
    let span = run.ending.end.saturating_since(run.from).0 as f64 / 1e9;
    Axis::new("time (s)", Scale::Linear, [0.0, span].into_iter())
}

/// The colour of each task: those that ran most have their own.
pub(crate) fn colours(run: &Collected) -> BTreeMap<TaskId, usize> {
    let mut tasks: Vec<_> = run.summary.tasks.iter().map(|(&task, f)| (Reverse(f.run()), task)).collect();
    tasks.sort_unstable();
    tasks.into_iter().zip(0..).map(|((_, task), colour)| (task, colour)).collect()
}

fn called(run: &Collected, task: TaskId) -> String {
    let names = &run.ending.names;
    format!("{} {}", names.comm(task), names.pid(task).unwrap_or(0))
}

fn timeline(title: &str, run: &Collected) -> Option<Picture> {
    let colours = colours(run);
    let span = run.ending.end.saturating_since(run.from).0;
    let columns = COLUMNS.min(PIECES_MAX / run.timeline.cpus.len().max(1) as u64).max(20);
    let width = (span / columns).max(1);
    let rows: Vec<_> =
        run.timeline.cpus.iter().enumerate().filter(|(_, row)| !row.segments.is_empty()).collect();
    if rows.is_empty() || span == 0 {
        return None;
    }
    let names: Vec<String> = rows.iter().map(|(cpu, _)| format!("cpu{cpu}")).collect();
    let mut plot = Plot::rows(title, seconds(run), &names);
    for (place, (_, row)) in rows.iter().enumerate() {
        // Of each column, who ran most.
        let mut at = row.from.saturating_since(run.from).0;
        let mut column: BTreeMap<Option<TaskId>, u64> = BTreeMap::new();
        let mut drawn: Option<(u64, u64, TaskId)> = None;
        let mut index = at / width;
        let mut close = |index: u64, column: &mut BTreeMap<Option<TaskId>, u64>| {
            let most =
                std::mem::take(column).into_iter().max_by_key(|&(_, ran)| ran).and_then(|(who, _)| who);
            match (&mut drawn, most) {
                (Some((_, to, who)), Some(task)) if *who == task && *to == index * width => {
                    *to = (index + 1) * width;
                }
                (drawn, most) => {
                    if let Some((from, to, who)) = drawn.take() {
                        plot.piece(place, (from as f64 / 1e9, to as f64 / 1e9), colours[&who]);
                    }
                    *drawn = most.map(|who| (index * width, (index + 1) * width, who));
                }
            }
        };
        for segment in &row.segments {
            let end = at + segment.len.0;
            while at < end {
                if at / width != index {
                    close(index, &mut column);
                    index = at / width;
                }
                let until = end.min((index + 1) * width);
                *column.entry(segment.task).or_default() += until - at;
                at = until;
            }
        }
        close(index, &mut column);
        close(u64::MAX / width / 2, &mut BTreeMap::new());
    }
    let mut named: Vec<_> = colours.iter().map(|(&task, &colour)| (colour, task)).collect();
    named.sort_unstable();
    for (colour, task) in named.into_iter().take(COLOURS) {
        plot.name(colour, &called(run, task));
    }
    Some(plot.finish())
}

fn shares(title: &str, run: &Collected) -> Option<Picture> {
    let competitors = competitors(run);
    if competitors.len() < 2 {
        return None;
    }
    let percent = |values: Vec<f64>| values.into_iter().map(|v| v * 100.0).chain([0.0]);
    let x = Axis::new(
        "share of the weight among its siblings (%)",
        Scale::Linear,
        percent(competitors.iter().map(|c| c.of_weight).collect()),
    );
    let y = Axis::new(
        "share of their CPU time (%)",
        Scale::Linear,
        percent(competitors.iter().map(|c| c.of_time).collect()),
    );
    let end = x.most.min(y.most);
    let mut plot = Plot::new(title, x, y);
    plot.line(7, [(0.0, 0.0), (end, end)].into_iter());
    plot.name(7, "share = weight");
    let mut colours: BTreeMap<&str, usize> = BTreeMap::new();
    for c in &competitors {
        let next = colours.len();
        let colour = *colours.entry(&c.parent).or_insert(next);
        plot.point(colour, c.of_weight * 100.0, c.of_time * 100.0, &format!("{} in {}", c.name, c.parent));
    }
    for (parent, colour) in colours {
        plot.name(colour, &format!("in {parent}"));
    }
    Some(plot.finish())
}

fn tickless(title: &str, run: &Collected) -> Option<Picture> {
    let most = run.tickless.0.iter().flatten().map(|piece| piece.1).max().unwrap_or(0);
    if most == 0 {
        return None;
    }
    band_plot(title, "CPUs", run, &[("without a tick".to_owned(), &run.tickless)], 1.0)
}

fn bands(title: &str, what: &str, run: &Collected, bands: &[Band], unit: f64) -> Option<Picture> {
    let mut tasks: Vec<TaskId> = (0..bands.len())
        .map(TaskId::from_index)
        .filter(|t| bands[t.index()].0.iter().any(Option::is_some))
        .collect();
    tasks.sort_by_key(|task| Reverse(run.summary.tasks.get(task).map(TaskFigures::run)));
    tasks.truncate(LINES_MAX);
    let named: Vec<_> = tasks.iter().map(|&task| (called(run, task), &bands[task.index()])).collect();
    band_plot(title, what, run, &named, unit)
}

fn nodes(title: &str, run: &Collected) -> Option<Picture> {
    let named: Vec<_> =
        run.nodes.iter().take(LINES_MAX).enumerate().map(|(n, band)| (format!("node {n}"), band)).collect();
    band_plot(title, "tasks that run or wait", run, &named, 1.0)
}

/// Bands with names; nothing without.
fn band_plot(
    title: &str,
    what: &str,
    run: &Collected,
    bands: &[(String, &Band)],
    unit: f64,
) -> Option<Picture> {
    if bands.is_empty() {
        return None;
    }
    let values = bands.iter().flat_map(|(_, band)| band.0.iter().flatten());
    let y = Axis::new(what, Scale::Linear, values.flat_map(|&(l, m)| [l as f64 / unit, m as f64 / unit]));
    let mut plot = Plot::new(title, seconds(run), y);
    for (colour, (name, band)) in bands.iter().enumerate() {
        let points: Vec<(f64, f64, f64)> = band
            .0
            .iter()
            .enumerate()
            .filter_map(|(at, piece)| {
                let (least, most) = (*piece)?;
                let x = (at as f64 + 0.5) * run.piece_ns as f64 / 1e9;
                Some((x, least as f64 / unit, most as f64 / unit))
            })
            .collect();
        plot.band(colour, &points);
        plot.name(colour, name);
    }
    Some(plot.finish())
}

fn bars(title: &str, run: &Collected, kinds: [&Counts; 4]) -> Option<Picture> {
    let pieces = kinds.iter().map(|counts| counts.0.len()).max().unwrap_or(0);
    let sum = |at: usize| kinds.iter().map(|counts| counts.0.get(at).copied().unwrap_or(0)).sum::<u64>();
    let most = (0..pieces).map(sum).max().unwrap_or(0);
    if most == 0 {
        return None;
    }
    let per = format!("in {} ms", super::plot::short(run.piece_ns as f64 / 1e6));
    let mut plot =
        Plot::new(title, seconds(run), Axis::new(per, Scale::Linear, [0.0, most as f64].into_iter()));
    for at in 0..pieces {
        let x = |at: usize| at as f64 * run.piece_ns as f64 / 1e9;
        let mut below = 0;
        for (colour, counts) in kinds.iter().enumerate() {
            let count = counts.0.get(at).copied().unwrap_or(0);
            if count > 0 {
                plot.bar(colour, (x(at), x(at + 1)), (below as f64, (below + count) as f64));
                below += count;
            }
        }
    }
    for (colour, (_, name)) in KINDS.iter().enumerate() {
        plot.name(colour, name);
    }
    Some(plot.finish())
}
