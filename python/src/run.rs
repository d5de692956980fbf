// SPDX-License-Identifier: GPL-2.0-only
//! One run that is followed: everything that `zerolag run --json` says about it, and more.

use std::path::PathBuf;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use zerolag_core::ids::Id;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::duration;
use zerolag_sim::input::RTAPP_MACHINE;
use zerolag_sim::sim::Sim;
use zerolag_study::choice::Key;
use zerolag_study::follow::Follower;
use zerolag_study::report::Report;
use zerolag_study::report::rows::Row;
use zerolag_trace::metrics::TaskFigures;

use crate::case::{self, Case};
use crate::columns::{self, Column, Table};
use crate::error::{self, raise};
use crate::events::Events;
use crate::follow::{Ear, Pulse};
use crate::latency;
use crate::series::Series;

/// A run that is over.
///
/// `report` is what `zerolag run --json` prints (schema zerolag.run/1). The other attributes are tables: each a
/// dictionary of columns, which `pandas.DataFrame` and `polars.DataFrame` take as it is. Numbers are arrays of
/// NumPy that cannot be written; names are lists. Units are in the columns' names.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Run {
    report: Report,
    events: Option<Py<PyDict>>,
    /// Of tasks, of CPUs.
    series: Option<(Py<PyDict>, Py<PyDict>)>,
}

/// Run a workload and say what each task and group got.
///
/// Args:
///     scenario: a scenario (TOML) or an rt-app file (JSON) by its path, the same as a dictionary, or a Case.
///     kernel: the kernel whose scheduler runs it, such as "6.12", in place of the scenario's own.
///     machine: the machine, in place of the scenario's own: a name, Ncpu for N equal CPUs, or a file.
///     duration: how long it runs, simulated, with a unit: "10s", "500ms".
///     seed: where chance comes from, in place of the scenario's own, or 1.
///     set: features (True or False), tunables and costs ("3ms", or numbers), hz, costs, by name.
///     choices: anything else that can vary, by key: "cgroup:PATH:KEY", "workload:NAME:KEY", ...
///     events: keep all scheduling events, in the attribute `events`.
///     sample: keep values of all tasks and CPUs at regular times, this far apart ("1ms"), in the attributes
///         `task_series` and `cpu_series`.
///     progress: is called now and then with how many nanoseconds have been simulated, and how many there are
///         to simulate (None if that is not known). What it raises ends the run.
///
/// Other threads run meanwhile, and Ctrl-C ends it.
///
/// Raises:
///     InputError: something in the scenario, or chosen beside it, makes no sense.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, kernel=None, machine=None, duration=None, seed=None, set=None, choices=None, events=false,
    sample=None, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    kernel: Option<&str>,
    machine: Option<PathBuf>,
    duration: Option<&str>,
    seed: Option<u64>,
    set: Option<&Bound<'_, PyMapping>>,
    choices: Option<&Bound<'_, PyMapping>>,
    events: bool,
    sample: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let case = Case::of(scenario, case::choices(kernel, machine, duration, set, choices)?)?;
    let period = sample.map(period).transpose()?;
    let wanted = Wanted { events, period, progress };
    let seen = py.detach(|| wanted.follow(&case, seed))?;
    let python = |table| columns::to_python(py, table);
    let events = seen.events.map(|events| python(events.into_table())).transpose()?;
    let series = seen.series.map(Series::into_tables);
    let series = series.map(|(tasks, cpus)| Ok::<_, PyErr>((python(tasks)?, python(cpus)?))).transpose()?;
    Ok(Run { report: seen.report, events, series })
}

fn period(text: &str) -> PyResult<Nanos> {
    let wrong = |why: String| error::input(&format!("sample = {text}: {why}"), "sample");
    let period =
        duration::parse(text).map_err(|e| wrong(format!("{e}; accepted: {}", duration::ACCEPTED)))?;
    if period == Nanos::ZERO { Err(wrong("no time passes between samples".into())) } else { Ok(period) }
}

/// What is to be seen of a run.
struct Wanted {
    events: bool,
    /// Of samples.
    period: Option<Nanos>,
    progress: Option<Py<PyAny>>,
}

struct Seen {
    report: Report,
    events: Option<Events>,
    series: Option<Series>,
}

impl Wanted {
    fn follow(self, case: &Case, seed: Option<u64>) -> PyResult<Seen> {
        let input = case.0.input(seed).map_err(|e| raise(&e))?;
        let scenario = &input.scenario;
        let mut sim = scenario.simulate().map_err(|e| raise(&e))?;
        let end = Instant(scenario.duration.0);
        let mut ear = Ear {
            watcher: zerolag_study::report::Watcher::new(&sim),
            events: self.events.then(Events::default),
            pulse: Pulse::until(self.progress, end),
        };
        let mut follower = Follower::new(scenario.watches());
        let series = match self.period {
            None => follower.run_until(&mut sim, end, &mut ear).map(|_| None)?,
            Some(period) => Some(sampled(&mut follower, &mut sim, end, period, &mut ear)?),
        };
        ear.pulse.tell(sim.now().0)?;
        let chosen = case.0.case().choices.get(&Key::Machine).cloned();
        let machine = chosen.or_else(|| input.app.as_ref().map(|_| RTAPP_MACHINE.to_owned()));
        let watches = follower.into_watches();
        let report = ear.watcher.finish(scenario, machine, &sim, watches, Vec::new());
        Ok(Seen { report, events: ear.events, series })
    }
}

/// Goes from sample to sample, the first at time 0, up to the end.
fn sampled(
    follower: &mut Follower,
    sim: &mut Sim,
    end: Instant,
    period: Nanos,
    ear: &mut Ear,
) -> PyResult<Series> {
    let mut series = Series::default();
    let mut next = Instant::ZERO;
    while next < end && follower.run_until(sim, next, ear)? {
        series.sample(sim);
        next = Instant(next.0.saturating_add(period.0));
    }
    if next >= end && follower.run_until(sim, end, ear)? && next == end {
        series.sample(sim);
    }
    Ok(series)
}

#[pymethods]
impl Run {
    /// Why it ended: "duration", "models", "finished", "deadlock", "livelock" (see docs/json.md).
    #[getter]
    fn end(&self) -> &'static str {
        self.report.end.name()
    }

    /// All of it as a dictionary, schema zerolag.run/1.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// What `zerolag run --json` prints, byte for byte.
    fn to_json(&self) -> String {
        format!("{:#}\n", self.report.to_json())
    }

    /// A row for each task: task (its number), name, template (what it was made from), group (path), cpu_ms,
    /// share (1 is one CPU all the time), switches, voluntary, preempted, migrations, wakeups, and from wake-up
    /// to running wakeup_p50_us, ..., wakeup_max_us (not a number if it was never woken).
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let names = || self.report.tasks.values();
        let figures = self.report.tasks.keys().map(|task| self.report.summary.tasks.get(task).cloned());
        let figures: Vec<TaskFigures> = figures.map(Option::unwrap_or_default).collect();
        let mut table: Table = vec![
            ("task", Column::I32(self.report.tasks.keys().map(|task| task.0 as i32).collect())),
            ("name", Column::Text(names().map(|task| task.name.clone()).collect())),
            ("template", Column::Text(names().map(|task| task.template.clone()).collect())),
            ("group", Column::Text(names().map(|task| task.group.clone()).collect())),
        ];
        table.extend(self.figures(&figures));
        columns::to_python(py, table)
    }

    /// A row for each group with tasks in it or below: group (path), tasks (how many), and what `tasks` has,
    /// over everybody below.
    #[getter]
    fn groups(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let rows = self.report.group_rows();
        let figures: Vec<TaskFigures> = rows.iter().map(|row| row.figures.clone()).collect();
        let mut table: Table = vec![
            ("group", Column::Text(rows.iter().map(|row| row.group.clone()).collect())),
            ("tasks", Column::I64(rows.iter().map(|row: &Row| row.tasks as i64).collect())),
        ];
        table.extend(self.figures(&figures));
        columns::to_python(py, table)
    }

    /// A row for each CPU: cpu, busy_ms, idle_ms, switches.
    #[getter]
    fn cpus(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let cpus = &self.report.summary.cpus;
        let table = vec![
            ("cpu", Column::I32(cpus.keys().map(|cpu| cpu.0 as i32).collect())),
            ("busy_ms", Column::F64(cpus.values().map(|f| ms(f.busy)).collect())),
            ("idle_ms", Column::F64(cpus.values().map(|f| ms(f.idle)).collect())),
            ("switches", Column::I64(cpus.values().map(|f| f.switches as i64).collect())),
        ];
        columns::to_python(py, table)
    }

    /// From wake-up to running, as a histogram for each task: task, from_ns, to_ns (both included), count. Up to
    /// 1024 wake-ups each value has a bin of its own; beyond, bins are at most a thousandth wide.
    #[getter]
    fn latencies(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let (mut task, mut bins) = (Vec::new(), latency::Bins::default());
        for (id, figures) in &self.report.summary.tasks {
            let added = bins.add(&figures.wakeup);
            task.extend(std::iter::repeat_n(id.index() as i32, added));
        }
        let mut table = vec![("task", Column::I32(task))];
        table.extend(bins.into_table());
        columns::to_python(py, table)
    }

    /// A row for each scheduling event, in order: time_ns, cpu (where it happened), kind (a place in
    /// EVENT_KINDS), task, other, to_cpu, value. What does not apply is -1, or a value of 0.
    ///
    /// switch: task runs now, other ran before (-1 is the idle task); value is 1 if it could have run on.
    /// waking, wakeup, wakeup_new: task, to_cpu. migrate: task, to_cpu, value is the CPU that it left.
    /// fork: task is the new one, other its parent. exit: task. runtime: task, value is what it was charged in
    /// nanoseconds. balance_...: to_cpu, value is how many tasks were moved there.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        recorded(self.events.as_ref(), "events=True").map(|table| table.clone_ref(py))
    }

    /// Values of all tasks at regular times: time_ns, task, vruntime_ns, lag_ns (both of virtual time), load,
    /// util (1024 is one CPU all the time). As of the last update of the task, as in the kernel.
    #[getter]
    fn task_series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        recorded(self.series.as_ref(), "sample=\"1ms\"").map(|(tasks, _)| tasks.clone_ref(py))
    }

    /// Values of all CPUs at regular times: time_ns, cpu, running (tasks that run or wait there), load, util
    /// (1024 is one CPU all the time).
    #[getter]
    fn cpu_series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        recorded(self.series.as_ref(), "sample=\"1ms\"").map(|(_, cpus)| cpus.clone_ref(py))
    }

    fn __repr__(&self) -> String {
        let Report { input, kernel, seed, duration, .. } = &self.report;
        let ms = duration.0 / 1_000_000;
        format!("<zerolag.Run {input}: Linux {kernel}, seed {seed}, {ms} ms, {}>", self.end())
    }
}

fn recorded<'r, T>(what: Option<&'r T>, how: &str) -> PyResult<&'r T> {
    what.ok_or_else(|| PyAttributeError::new_err(format!("it was not recorded; run with {how}")))
}

impl Run {
    fn figures(&self, all: &[TaskFigures]) -> Table {
        let floats = |of: &dyn Fn(&TaskFigures) -> f64| Column::F64(all.iter().map(of).collect());
        let counts =
            |of: &dyn Fn(&TaskFigures) -> u64| Column::I64(all.iter().map(|f| of(f) as i64).collect());
        let mut table = vec![
            ("cpu_ms", floats(&|f| ms(f.run()))),
            ("share", floats(&|f| self.report.share(f))),
            ("switches", counts(&|f| f.switches_in)),
            ("voluntary", counts(&|f| f.voluntary)),
            ("preempted", counts(&|f| f.preempted)),
            ("migrations", counts(&|f| f.migrations)),
        ];
        table.extend(latency::figures(&all.iter().map(|f| &f.wakeup).collect::<Vec<_>>()));
        table
    }
}

fn ms(span: Nanos) -> f64 {
    span.0 as f64 / 1e6
}
