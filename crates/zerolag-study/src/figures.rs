// SPDX-License-Identifier: GPL-2.0-only
//! What a run comes to, as figures with names that are the same in every run of a case.
//!
//! Tasks are added up by what they were made from and the group they were in at the end, because single tasks
//! come and go. `NAME` is the template's, followed by the group in brackets where that is needed to tell two
//! apart; `PATH` is a group with everybody below it.
//!
//! | figure | unit | better |
//! |---|---|---|
//! | `MODEL …`: the benchmark's own figures, before all others | | as it says |
//! | `NAME wake-up mean`, `p50`, `p90`, `p99`, `p99.9`, `max`, also with `PATH`: from wake-up to running | us | less |
//! | `NAME wake-up of 1 ms or more`, also with `PATH`: of all wake-ups that were answered, but the first of a new task | % | less |
//! | `NAME share`, `PATH share`: CPU time, 100 % is one CPU all the time | % | neither |
//! | `NAME preempted`, `NAME voluntary`, `NAME migrations` | 1/s | less, neither, less |
//! | `THREAD late` (rt-app): periods that were over before the work was done | % | less |
//! | `THREAD slack` (rt-app): what was left of the period, on average | us | more |
//! | `machine elapsed`: until all tasks had ended, or all benchmarks were over | s | less |
//! | `machine busy`: of all CPUs | % | neither |
//! | `machine switches`, `machine migrations` | 1/s | neither, less |
//! | `machine idle while overloaded`: time in which a CPU was idle while a task waited behind another elsewhere | % | less |
//! | `machine wasted`: CPUs lost to that: in each moment as many as could have been put to work | CPUs | less |
//! | `PATH on node N at T`: tasks that are runnable there, on average over a piece of time that ends at `T`; where the scenario asks for it (`runnable_per_node`) | tasks | neither |
//! | `clock CPUS mean`: frequency over time, where clocks have levels | MHz | neither |
//! | `nohz idle entries`: ticks of idle CPUs stopped; `nohz kicks to age`, `nohz kicks needless` (to age what has decayed), `nohz kicks to balance`; `nohz passes`, `nohz passes newly idle`, `nohz passes useless`, `nohz aborts`; CPUs in them: `nohz visited`, `nohz skipped`, `nohz updated`; `nohz survey updates` | 1/s | neither |
//! | `nohz visited a pass`, `nohz visited a pass to age` (one that does not balance) | CPUs | neither |
//! | `nohz decay mean`, `nohz decay max`: from a CPU's going idle until 99 % of its load were seen to have decayed | ms | neither |

use std::collections::BTreeMap;

use zerolag_core::balance::counts::NohzCounts;
use zerolag_core::ids::TaskId;
use zerolag_core::units::Nanos;
use zerolag_sim::pattern::Pattern;
use zerolag_sim::scenario::ModelPart;
use zerolag_sim::sim::Sim;
use zerolag_sim::workload::model::{self, Better, Metric};
use zerolag_sim::workload::rtapp::Record;
use zerolag_trace::metrics::{Distribution, Summary, TaskFigures};

use crate::report::rows::ancestors;
use crate::run::End;

/// Picks figures whose names match one of these patterns; all of them if there are none.
pub fn wanted(patterns: &[String]) -> impl Fn(&str) -> bool + use<> {
    let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
    move |name| patterns.is_empty() || patterns.iter().any(|p| p.matches(name))
}

/// What benchmarks say themselves.
pub(crate) fn of_models(models: &[(ModelPart, model::Outcome)]) -> Vec<Metric> {
    let named = |(part, outcome): &(ModelPart, model::Outcome)| {
        let name = |m: &Metric| Metric { name: format!("{} {}", part.name, m.name), ..m.clone() };
        outcome.metrics.iter().map(name).collect::<Vec<_>>()
    };
    models.iter().flat_map(named).collect()
}

/// Figures of all tasks, groups, and the machine.
pub(crate) fn of_machine(sim: &Sim, end: End, summary: &Summary) -> Vec<Metric> {
    let span = Nanos(sim.now().0);
    let mut metrics = Vec::new();
    let (tasks, groups) = added_up(sim, summary);
    for ((template, group), figures) in &tasks {
        let alone = tasks.keys().filter(|(name, _)| name == template).count() == 1;
        let name = if alone { template.clone() } else { format!("{template} ({group})") };
        of_tasks(&name, figures, span, &mut metrics);
    }
    for (path, figures) in &groups {
        of_wakeups(path, &figures.wakeup, &figures.waking, &mut metrics);
        metrics.push(Metric::neutral(format!("{path} share"), "%", percent(figures.run, span)));
    }
    of_cpus(sim, end, summary, span, &mut metrics);
    for clock in sim.clocks() {
        let name = format!("clock {} mean", clock.domain.cpus);
        metrics.push(Metric::neutral(name, "MHz", clock.mean_mhz(sim.now())));
    }
    of_nohz(&sim.scheduler().nohz().counts, span, &mut metrics);
    metrics
}

/// A wait that somebody notices.
const LATE: Nanos = Nanos::from_millis(1);

type Tasks = BTreeMap<(String, String), TaskFigures>;

/// What everybody in a group and below it comes to.
#[derive(Default)]
struct GroupFigures {
    run: Nanos,
    wakeup: Distribution,
    waking: Distribution,
}

/// Figures by template and group, and by group.
fn added_up(sim: &Sim, summary: &Summary) -> (Tasks, BTreeMap<String, GroupFigures>) {
    let workload = sim.workload();
    let mut tasks = Tasks::new();
    let paths = workload.groups.iter().skip(1).map(|(_, group)| group.path.clone());
    let mut groups: BTreeMap<String, GroupFigures> =
        paths.map(|path| (path, GroupFigures::default())).collect();
    for index in 0..sim.task_count() {
        let task = TaskId(index as u32);
        let template = workload.templates[sim.template_of(task)].name.clone();
        let path = &workload.groups[sim.scheduler().tasks()[task].group].path;
        let sum = tasks.entry((template, path.clone())).or_default();
        let Some(figures) = summary.tasks.get(&task) else { continue };
        sum.add(figures);
        // The root is nobody's group here: what it comes to is the machine's.
        for group in ancestors(path).skip(1) {
            let sum = groups.entry(group.to_owned()).or_default();
            sum.run += figures.run();
            sum.wakeup.merge(&figures.wakeup);
            sum.waking.merge(&figures.waking);
        }
    }
    (tasks, groups)
}

fn of_wakeups(name: &str, wakeup: &Distribution, waking: &Distribution, metrics: &mut Vec<Metric>) {
    if let (Some(p), Some(mean)) = (wakeup.percentiles(), wakeup.mean()) {
        for (which, time) in [
            ("mean", mean),
            ("p50", p.p50),
            ("p90", p.p90),
            ("p99", p.p99),
            ("p99.9", p.p999),
            ("max", p.max),
        ] {
            metrics.push(Metric::time(format!("{name} wake-up {which}"), "us", time.0 as f64 / 1e3));
        }
    }
    // A new task is not woken: how long it waits says where it was put, and a short run has many new ones.
    if let Some(p) = waking.percentiles() {
        let late = waking.at_least(LATE) as f64 / p.n as f64 * 100.0;
        metrics.push(Metric::time(format!("{name} wake-up of 1 ms or more"), "%", late));
    }
}

fn of_tasks(name: &str, figures: &TaskFigures, span: Nanos, metrics: &mut Vec<Metric>) {
    of_wakeups(name, &figures.wakeup, &figures.waking, metrics);
    metrics.push(Metric::neutral(format!("{name} share"), "%", percent(figures.run(), span)));
    for (what, n, better) in [
        ("preempted", figures.preempted, Better::Lower),
        ("voluntary", figures.voluntary, Better::Neither),
        ("migrations", figures.migrations, Better::Lower),
    ] {
        metrics.push(Metric {
            name: format!("{name} {what}"),
            unit: "1/s".into(),
            value: per_second(n, span),
            better,
        });
    }
}

fn of_cpus(sim: &Sim, end: End, summary: &Summary, span: Nanos, metrics: &mut Vec<Metric>) {
    if end == End::Finished {
        metrics.push(Metric::time("machine elapsed", "s", span.0 as f64 / 1e9));
    }
    let cpus = sim.scheduler().cpus().len().max(1) as f64;
    let busy: Nanos = summary.cpus.values().fold(Nanos::ZERO, |sum, cpu| sum + cpu.busy);
    let switches = summary.cpus.values().map(|cpu| cpu.switches).sum();
    let migrations = summary.tasks.values().map(|task| task.migrations).sum();
    metrics.push(Metric::neutral("machine busy", "%", percent(busy, span) / cpus));
    metrics.push(Metric::neutral("machine switches", "1/s", per_second(switches, span)));
    metrics.push(Metric::time("machine migrations", "1/s", per_second(migrations, span)));
    let idle = percent(summary.idle_while_overloaded, span);
    metrics.push(Metric::time("machine idle while overloaded", "%", idle));
    let wasted = percent(summary.idle_while_overloaded_cpu, span) / 100.0;
    metrics.push(Metric::time("machine wasted", "CPUs", wasted));
}

/// Balancing for idle CPUs.
fn of_nohz(counts: &NohzCounts, span: Nanos, metrics: &mut Vec<Metric>) {
    for (what, n) in [
        ("idle entries", counts.enter),
        ("kicks to age", counts.kicks_stats),
        ("kicks needless", counts.kicks_needless),
        ("kicks to balance", counts.kicks_balance),
        ("passes", counts.passes()),
        ("passes newly idle", counts.passes_newly_idle),
        ("passes useless", counts.passes_useless),
        ("aborts", counts.abort),
        ("visited", counts.visit),
        ("skipped", counts.skip),
        ("updated", counts.updates),
        ("survey updates", counts.survey_updates),
    ] {
        metrics.push(Metric::neutral(format!("nohz {what}"), "1/s", per_second(n, span)));
    }
    if counts.passes() > 0 {
        let each = counts.visit as f64 / counts.passes() as f64;
        metrics.push(Metric::neutral("nohz visited a pass", "CPUs", each));
    }
    let ageing = counts.passes_stats + counts.passes_newly_idle;
    if ageing > 0 {
        let each = counts.visit_ageing as f64 / ageing as f64;
        metrics.push(Metric::neutral("nohz visited a pass to age", "CPUs", each));
    }
    if let Some(mean) = counts.decay_mean() {
        for (which, time) in [("mean", mean), ("max", counts.decay_max)] {
            metrics.push(Metric::neutral(format!("nohz decay {which}"), "ms", time.0 as f64 / 1e6));
        }
    }
}

/// Figures of the threads of an rt-app file.
pub(crate) fn of_rtapp(record: &Record) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for log in &record.logs {
        // Without a timer there is no period that could be kept.
        let slacks: Vec<i64> = log.rows().filter(|row| row.c_period_us > 0).map(|row| row.slack_us).collect();
        if slacks.is_empty() {
            continue;
        }
        let n = slacks.len() as f64;
        let late = slacks.iter().filter(|&&slack| slack < 0).count() as f64;
        let mean = slacks.iter().sum::<i64>() as f64 / n;
        metrics.push(Metric::time(format!("{} late", log.thread), "%", late / n * 100.0));
        metrics.push(Metric::rate(format!("{} slack", log.thread), "us", mean));
    }
    metrics
}

fn percent(run: Nanos, span: Nanos) -> f64 {
    run.0 as f64 / span.0 as f64 * 100.0
}

fn per_second(n: u64, span: Nanos) -> f64 {
    n as f64 / (span.0 as f64 / 1e9)
}
