# SPDX-License-Identifier: GPL-2.0-only
"""Tables: what is in them, and that pandas and polars take them in one piece."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zerolag

SCENARIO = {
    "machine": "2cpu",
    "duration": "500ms",
    "cgroup": {"/a": {"cpu.weight": 300}},
    "workload": [
        {"kind": "hog", "name": "hog", "count": 3, "cgroup": "/a"},
        {"name": "x", "program": "forever { run exponential(1ms); sleep exponential(2ms) }"},
        {"name": "brief", "program": "run 5ms"},
    ],
}


@pytest.fixture(scope="module")
def run():
    return zerolag.run(SCENARIO, events=True, sample="10ms")


def tables(run):
    return [run.tasks, run.groups, run.cpus, run.latencies, run.events, run.task_series, run.cpu_series]


def test_frames_take_them_as_they_are(run):
    for table in tables(run):
        pandas, polars = pd.DataFrame(table), pl.DataFrame(table)
        assert list(pandas.columns) == polars.columns == list(table)
        assert len(pandas) == len(polars) > 0


def test_numbers_are_looked_at_where_they_lie(run):
    for table in tables(run):
        for name, column in table.items():
            if isinstance(column, list):
                assert all(isinstance(value, str) for value in column)
                continue
            # One piece of bytes, not owned by the array and not copied by looking at it again.
            assert not column.flags.owndata and column.flags.c_contiguous and not column.flags.writeable
            assert isinstance(column.base, bytes)
            assert np.shares_memory(np.asarray(column), column)
            assert np.shares_memory(pd.Series(column, copy=False).to_numpy(), column), name


def test_tasks_are_those_of_the_report(run):
    report, tasks = run.report["tasks"], run.tasks
    assert tasks["name"] == [task["name"] for task in report]
    for name in ["cpu_ms", "share", "switches", "voluntary", "preempted", "migrations"]:
        assert tasks[name].tolist() == [task[name] for task in report]
    for row, task in enumerate(report):
        p99 = task["wakeup_us"].get("p99")
        assert tasks["wakeup_p99_us"][row] == p99 if p99 is not None else np.isnan(tasks["wakeup_p99_us"][row])
        assert tasks["wakeups"][row] == task["wakeup_us"]["n"]
    assert run.groups["group"] == [group["group"] for group in run.report["groups"]]
    assert run.groups["tasks"].tolist() == [group["tasks"] for group in run.report["groups"]]
    assert run.cpus["busy_ms"].tolist() == [cpu["busy_ms"] for cpu in run.report["cpus"]]


def test_histograms_hold_all_wake_ups(run):
    latencies, tasks = pd.DataFrame(run.latencies), run.tasks
    counts = latencies.groupby("task")["count"].sum()
    for task, wakeups in zip(tasks["task"], tasks["wakeups"]):
        assert counts.get(task, 0) == wakeups
    woken = latencies[latencies.task == tasks["name"].index("x")]
    assert woken.to_ns.max() / 1e3 == tasks["wakeup_max_us"][tasks["name"].index("x")]
    assert (latencies.from_ns <= latencies.to_ns).all()


def test_events_tell_what_the_report_adds_up(run):
    events = pd.DataFrame(run.events)
    assert len(events) == run.report["events"]
    assert events.time_ns.is_monotonic_increasing
    kinds = pd.Categorical.from_codes(events.kind, zerolag.EVENT_KINDS)
    switches = events[kinds == "switch"]
    tasks = run.tasks
    for task, switched, preempted in zip(tasks["task"], tasks["switches"], tasks["preempted"]):
        assert (switches.task == task).sum() == switched
        assert ((switches.other == task) & (switches.value == 1)).sum() == preempted
    charged = events[kinds == "runtime"].groupby("task").value.sum()
    assert charged[0] == pytest.approx(tasks["cpu_ms"][0] * 1e6, rel=0.02)
    migrated = events[kinds == "migrate"].groupby("task").size()
    assert [migrated.get(task, 0) for task in tasks["task"]] == tasks["migrations"].tolist()


def test_series_have_a_row_for_everybody_at_each_time(run):
    cpus = pd.DataFrame(run.cpu_series)
    times = np.arange(0, 510, 10) * 1_000_000
    assert cpus[cpus.cpu == 0].time_ns.tolist() == cpus[cpus.cpu == 1].time_ns.tolist() == times.tolist()
    tasks = pd.DataFrame(run.task_series)
    assert tasks[tasks.task == 0].time_ns.tolist() == times.tolist()
    # Who has ended has no values any more.
    brief = run.tasks["name"].index("brief")
    assert 0 < (tasks.task == brief).sum() < len(times)
    # Three hogs beside others on two CPUs: there is always somebody who waits.
    assert (cpus.groupby("time_ns").running.sum()[1:] >= 3).all()
    assert (np.diff(tasks[tasks.task == 0].vruntime_ns) >= 0).all()
    assert tasks.lag_ns.abs().max() < 100_000_000
    assert cpus.util.max() > 500


def test_looking_changes_nothing(run):
    assert zerolag.run(SCENARIO).to_json() == run.to_json()


def test_what_was_not_kept_is_not_there():
    run = zerolag.run({**SCENARIO, "duration": "10ms"})
    for name in ["events", "task_series", "cpu_series"]:
        assert not hasattr(run, name)
        with pytest.raises(AttributeError, match="run with"):
            getattr(run, name)
