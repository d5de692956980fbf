// SPDX-License-Identifier: GPL-2.0-only
//! Recordings beside their replays.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use zerolag_sim::duration;
use zerolag_study::replay::{Change, Comparison, ContextFile, Figures, Heard, Recording, Request, Task};
use zerolag_trace::metrics::Distribution;
use zerolag_trace::read;

use crate::columns::{self, Column, Table};
use crate::error::{self, Raised, Where, exception};
use crate::follow::Pulse;
use crate::latency;
use crate::scenario::{self, NAMELESS};

/// A recording beside its replays: what was measured beside what was simulated, task by task.
///
/// `report` is what `zerolag replay --json` prints (schema zerolag.replay/2). The tables are dictionaries of
/// columns, as those of `Run`.
#[pyclass(frozen, module = "zerolag")]
#[derive(Debug)]
pub(crate) struct Replay {
    comparison: Comparison,
    remarks: Vec<String>,
}

/// Run what a recording shows under a scheduler, and say how far the two are apart.
///
/// Args:
///     recording: a file: perf.data, perf script text, trace.dat, ftrace or trace-cmd text, Perfetto; each also
///         packed by gzip or zstd; told apart by content.
///     context: what the recording cannot carry, as a file or the same as a dictionary: kernel, tick rate, groups
///         with weights and limits, and each task's group, CPUs, nice level, slice and policy.
///     kernel: the kernel whose scheduler replays it, in place of the context's, or 6.12.
///     machine: the machine it is replayed on, in place of the context's, or as many equal CPUs as it shows: a
///         name, Ncpu for N equal CPUs, or a file.
///     set: features (True or False), tunables and costs ("3ms", or numbers), hz, costs, by name. Costs are
///         measured in the recording without.
///     duration: only so much of its beginning, with a unit: "10s", "500ms".
///     repeat: how often each replay is done, with ticks that come a few microseconds earlier or later.
///     what_if: what is tried, each by itself: "kernel=6.1", "cpus=4", "weight=/batch=50", "nice=worker*=5",
///         "slice=worker*=3ms".
///     progress: is called now and then with how many nanoseconds have been replayed, and how many there are to
///         replay. What it raises ends the work.
///
/// Other threads run meanwhile, and Ctrl-C ends it.
///
/// Raises:
///     InputError: the recording cannot be read, or something beside it makes no sense.
///     StuckError: a task went on and on without time passing.
#[pyfunction]
#[pyo3(signature = (
    recording, *, context=None, kernel=None, machine=None, set=None, duration=None, repeat=NonZeroU32::MIN,
    what_if=Vec::new(), progress=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn replay(
    py: Python<'_>,
    recording: PathBuf,
    context: Option<&Bound<'_, PyAny>>,
    kernel: Option<&str>,
    machine: Option<PathBuf>,
    set: Option<&Bound<'_, PyMapping>>,
    duration: Option<&str>,
    repeat: NonZeroU32,
    what_if: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Replay> {
    let change = |text: &String| text.parse::<Change>().map_err(|e| error::input(&e.to_string(), "what_if"));
    let request = Request {
        context: context.map(file).transpose()?,
        kernel: kernel.map(scenario::kernel).transpose()?,
        machine: machine.map(|m| m.display().to_string()),
        settings: scenario::settings(set)?,
        repeat,
        changes: what_if.iter().map(change).collect::<PyResult<_>>()?,
    };
    let wrong = |text: &str, why: String| error::input(&format!("duration = {text}: {why}"), "duration");
    let limit = duration.map(|text| {
        duration::parse(text).map_err(|e| wrong(text, format!("{e}; accepted: {}", duration::ACCEPTED)))
    });
    let limit = limit.transpose()?;
    py.detach(|| {
        let read = |goes_on: &mut dyn FnMut() -> bool| {
            let trace = read::open_path(&recording)?;
            Recording::read(recording.display().to_string(), trace, limit, goes_on)
        };
        let (mut pulse, mut signal) = (Pulse::new(None, None), Ok(()));
        let read = read(&mut || {
            signal = pulse.beat(0);
            signal.is_ok()
        });
        signal?;
        let read = read.map_err(|e| unreadable(&recording, &e))?;
        follow(&request, read, progress)
    })
}

fn follow(request: &Request, recording: Recording, progress: Option<Py<PyAny>>) -> PyResult<Replay> {
    // All replays take the same time.
    let mut each = 0;
    let mut pulse = Pulse::new(progress, None);
    let heard = |heard: Heard<'_>| -> Result<(), Raised> {
        if each == 0 {
            each = heard.replay.duration.0;
            pulse.all = Some(each.saturating_mul(request.replays()));
        }
        let since = heard.event.time.saturating_since(heard.replay.begin());
        Ok(pulse.beat(heard.number.saturating_mul(each).saturating_add(since.0))?)
    };
    let comparison = request.run(&recording, heard).map_err(|Raised(error)| error)?;
    if let Some(all) = pulse.all {
        pulse.tell(all)?;
    }
    let remarks = recording.remarks.iter().chain(&comparison.remarks).cloned().collect();
    Ok(Replay { comparison, remarks })
}

/// A context as a user gives it.
fn file(given: &Bound<'_, PyAny>) -> PyResult<ContextFile> {
    if let Ok(mapping) = given.cast::<PyMapping>() {
        let text = scenario::toml(mapping, "context")?;
        return Ok(ContextFile::new(NAMELESS.into(), text.into_bytes(), Path::new("")));
    }
    let Ok(path) = given.extract::<PathBuf>() else {
        let kind = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a context is a path or a dict, not a {kind}")));
    };
    ContextFile::open(&path).map_err(|e| unreadable(&path, &e))
}

fn unreadable(path: &Path, error: &(impl ToString + ?Sized)) -> PyErr {
    let file = path.display().to_string();
    exception("InputError", &format!("{file}: {}", error.to_string()), Where::file(file))
}

#[pymethods]
impl Replay {
    /// What is odd about the recording, or about replaying it.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// All of it as a dictionary, schema zerolag.replay/2.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// What `zerolag replay --json` prints, byte for byte.
    fn to_json(&self) -> String {
        format!("{:#}\n", self.comparison.to_json())
    }

    /// A row for each task that had a CPU, in the order of the recording: task (the row's number), name, pid, group
    /// (path), and beside each other measured_... and simulated_...: cpu_ms, share (1 is one CPU all the time),
    /// switches, preempted, wakeups, and from wake-up to running wakeup_p50_us, ..., wakeup_max_us (not a number if
    /// it was never woken). If kernel, machine or set change the replay as a whole, as_recorded_... is without them.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let tasks = &self.comparison.tasks;
        let who: Table = vec![
            ("task", Column::I32((0..tasks.len() as i32).collect())),
            ("name", Column::Text(tasks.iter().map(|t| t.comm.clone()).collect())),
            ("pid", Column::I64(tasks.iter().map(|t| i64::from(t.pid)).collect())),
            ("group", Column::Text(tasks.iter().map(|t| t.group.clone()).collect())),
        ];
        let table = columns::to_python(py, who)?;
        let as_recorded = tasks.iter().map(|t| t.as_recorded.as_ref()).collect::<Option<Vec<_>>>();
        let schedules = [
            ("measured", Some(tasks.iter().map(|t| &t.measured).collect())),
            ("simulated", Some(tasks.iter().map(|t| &t.simulated).collect())),
            ("as_recorded", as_recorded.filter(|known| !known.is_empty())),
        ];
        for (schedule, figures) in schedules {
            let Some(figures) = figures else { continue };
            for (name, column) in self::figures(py, &figures)?.bind(py).iter() {
                table.bind(py).set_item(format!("{schedule}_{name}"), column)?;
            }
        }
        Ok(table)
    }

    /// What each change comes to, by what it is called (`report["what_if"]`): tables with a row for each row of
    /// `tasks`, and its columns without what stands before them.
    #[getter]
    fn what_if(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let changes = PyDict::new(py);
        for (at, change) in self.comparison.changes.iter().enumerate() {
            let of: Vec<&Figures> = self.comparison.tasks.iter().filter_map(|t| t.what_if.get(at)).collect();
            changes.set_item(change, figures(py, &of)?)?;
        }
        Ok(changes.unbind())
    }

    /// From wake-up to running, as a histogram for each task as measured and as simulated: task, simulated (0 or
    /// 1), from_ns, to_ns (both included), count.
    #[getter]
    fn latencies(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let (mut task, mut simulated, mut bins) = (Vec::new(), Vec::new(), latency::Bins::default());
        for (at, Task { measured, simulated: replayed, .. }) in self.comparison.tasks.iter().enumerate() {
            for (which, figures) in [(0, measured), (1, replayed)] {
                let added = bins.add(&figures.wakeup);
                task.extend(std::iter::repeat_n(at as i32, added));
                simulated.extend(std::iter::repeat_n(which, added));
            }
        }
        let mut table = vec![("task", Column::I32(task)), ("simulated", Column::U8(simulated))];
        table.extend(bins.into_table());
        columns::to_python(py, table)
    }

    fn __repr__(&self) -> String {
        let Comparison { input, kernel, tasks, duration, .. } = &self.comparison;
        let ms = duration.0 / 1_000_000;
        format!("<zerolag.Replay {input}: {} tasks, {ms} ms, by Linux {kernel}>", tasks.len())
    }

    /// How far the replay as recorded is from the recording, in words.
    fn __str__(&self) -> String {
        self.comparison.verdict().to_string()
    }
}

fn figures(py: Python<'_>, all: &[&Figures]) -> PyResult<Py<PyDict>> {
    let wakeups: Vec<&Distribution> = all.iter().map(|f| &f.wakeup).collect();
    let mut table: Table = vec![
        ("cpu_ms", Column::F64(all.iter().map(|f| f.run.0 as f64 / 1e6).collect())),
        ("share", Column::F64(all.iter().map(|f| f.share).collect())),
        ("switches", Column::I64(all.iter().map(|f| f.switches as i64).collect())),
        ("preempted", Column::I64(all.iter().map(|f| f.preempted as i64).collect())),
    ];
    table.extend(latency::figures(&wakeups));
    columns::to_python(py, table)
}
