# SPDX-License-Identifier: GPL-2.0-only
"""Recordings beside their replays: as the command prints them, as columns, and what is wrong with them."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zerolag

from conftest import ROOT

DATA = ROOT / "crates" / "zerolag-trace" / "tests" / "data"
HOGS = DATA / "hogs.v7.dat.gz"
GROUPS = DATA / "measured" / "groups_1_to_2.perf.txt.gz"

CONTEXT = {
    "kernel": "6.18",
    "cpus": 2,
    "cgroup": {"/gA": {"cpu.shares": 1024}, "/gB": {"cpu.shares": 2048}},
    "task": [
        {"match": "a0", "cgroup": "/gA", "cpus": "1"},
        {"match": "b0", "cgroup": "/gB", "cpus": "1"},
    ],
}
CONTEXT_FILE = """\
kernel = "6.18"
cpus = 2
[cgroup."/gA"]
"cpu.shares" = 1024
[cgroup."/gB"]
"cpu.shares" = 2048
[[task]]
match = "a0"
cgroup = "/gA"
cpus = "1"
[[task]]
match = "b0"
cgroup = "/gB"
cpus = "1"
"""


@pytest.fixture
def context(tmp_path):
    path = tmp_path / "context.toml"
    path.write_text(CONTEXT_FILE)
    return path


def test_a_replay_prints_the_same_as_the_command(command, context):
    for words, options in [
        ([], {}),
        (["--duration", "500ms"], {"duration": "500ms"}),
        (["--kernel", "6.1", "--set", "hz=1000", "--repeat", "2"], {"kernel": "6.1", "set": {"hz": 1000}, "repeat": 2}),
        (["--machine", "1cpu", "--weight", "/gA=200"], {"machine": "1cpu", "what_if": ["weight=/gA=200"]}),
    ]:
        replay = zerolag.replay(GROUPS, context=context, **options)
        assert replay.to_json() == command("replay", GROUPS, "--context", context, "--json", *words)
    assert zerolag.replay(GROUPS, context=CONTEXT).report == zerolag.replay(GROUPS, context=context).report


def test_what_is_tried_is_named_as_by_the_command(command, context):
    what_if = ["kernel=6.1", "kernel=6.12", "cpus=1", "weight=/gA=200", "nice=b0=5", "slice=a*=0.5ms"]
    words = ["--kernel", "6.1,6.12", "--cpus", "1", "--weight", "/gA=200", "--nice", "b0=5", "--slice", "a*=0.5ms"]
    replay = zerolag.replay(GROUPS, context=context, what_if=what_if)
    assert replay.to_json() == command("replay", GROUPS, "--context", context, "--json", *words)
    assert list(replay.what_if) == ["6.1", "6.12", "1 cpus", "weight /gA=200", "nice b0=5", "slice a*=500us"]
    for at, table in enumerate(replay.what_if.values()):
        assert table["share"].tolist() == [task["what_if"][at]["share"] for task in replay.report["tasks"]]


def test_columns_are_the_report_and_taken_as_they_are():
    replay = zerolag.replay(GROUPS, context=CONTEXT, kernel="6.1")
    tasks, report = replay.tasks, replay.report["tasks"]
    assert tasks["name"] == [task["comm"] for task in report]
    assert tasks["pid"].tolist() == [task["pid"] for task in report]
    assert tasks["group"] == [task["group"] for task in report]
    for schedule in ["measured", "simulated", "as_recorded"]:
        for name in ["share", "switches", "preempted"]:
            assert tasks[f"{schedule}_{name}"].tolist() == [task[schedule][name] for task in report]
        assert tasks[f"{schedule}_wakeups"].tolist() == [task[schedule]["wakeup_us"]["n"] for task in report]
        for found, task in zip(tasks[f"{schedule}_wakeup_p99_us"], report):
            p99 = task[schedule]["wakeup_us"].get("p99")
            assert found == p99 if p99 is not None else np.isnan(found)
    for table in [tasks, replay.latencies]:
        assert pl.DataFrame(table).columns == list(pd.DataFrame(table).columns) == list(table)
        assert all(isinstance(column, list) or isinstance(column.base, bytes) for column in table.values())
    latencies = pd.DataFrame(replay.latencies).groupby(["simulated", "task"])["count"].sum()
    for simulated, schedule in enumerate(["measured", "simulated"]):
        for task, wakeups in zip(tasks["task"], tasks[f"{schedule}_wakeups"]):
            assert latencies.get((simulated, task), 0) == wakeups
    assert not any(name.startswith("as_recorded") for name in zerolag.replay(HOGS).tasks)
    assert str(replay).startswith("As recorded, the replay is off by at most ")


def test_progress_counts_all_replays_and_ends_them():
    told = []
    zerolag.replay(HOGS, repeat=3, what_if=["cpus=1"], progress=lambda *at: told.append(at))
    (every,) = {all_of_them for _, all_of_them in told}
    assert told[-1] == (every, every) and told == sorted(told)
    assert every == 6 * zerolag.replay(HOGS).report["duration_ms"] * 1e6

    def stop(done, all_of_them):
        raise LookupError(done)

    with pytest.raises(LookupError):
        zerolag.replay(GROUPS, repeat=10_000, progress=stop)


def test_ctrl_c_ends_it():
    thread = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        zerolag.replay(GROUPS, repeat=1_000_000)
    thread.join()


def test_what_is_odd_is_told(tmp_path):
    path = tmp_path / "noise.txt"
    path.write_text((DATA / "hogs.perf.txt").read_text() + "what is this\n")
    assert any("not understood" in remark for remark in zerolag.replay(path).remarks)


@pytest.mark.parametrize(
    ("options", "key", "said"),
    [
        ({"kernel": "7.77"}, "kernel", "kernel = 7.77: there are "),
        ({"machine": "toaster"}, "machine", "toaster"),
        ({"set": {"base_slise": "3ms"}}, "set:base_slise", "did you mean 'base_slice'?"),
        ({"duration": "5"}, "duration", "the unit is missing"),
        ({"what_if": ["weight=/x=5"]}, "what_if", "weight /x: groups that the context has: none"),
        ({"what_if": ["nice=hog=99"]}, "what_if", "nice hog=99: nice levels are from -20 to 19"),
        ({"what_if": ["cpus=0"]}, "what_if", "a machine has 1 to "),
        ({"what_if": ["kernel=2"]}, "what_if", "there are "),
        ({"what_if": ["hertz=5"]}, "what_if", "accepted: kernel=K, cpus=N"),
    ],
)
def test_what_is_chosen_wrong_is_named(options, key, said):
    with pytest.raises(zerolag.InputError) as refused:
        zerolag.replay(HOGS, **options)
    assert said in str(refused.value) and refused.value.key == key


def test_what_cannot_be_read_is_said_with_its_place(tmp_path, context):
    for name, contents, said in [
        ("empty", b"", "empty: "),
        ("noise", bytes([0x80, 0, 0xFF, 7]) * 100, "not a trace of a known format"),
        ("cut.dat.gz", HOGS.read_bytes()[:1000], "cut.dat.gz: "),
    ]:
        path = tmp_path / name
        path.write_bytes(contents)
        with pytest.raises(zerolag.InputError) as refused:
            zerolag.replay(path)
        assert said in str(refused.value) and refused.value.file == str(path)
    with pytest.raises(zerolag.InputError, match="nowhere") as refused:
        zerolag.replay("nowhere")
    assert refused.value.file == "nowhere"
    with pytest.raises(zerolag.InputError, match="a replay of no time"):
        zerolag.replay(HOGS, duration="0s")
    context.write_text(CONTEXT_FILE.replace("match = \"b0\"", "match = \"b0\"\nnise = 5"))
    with pytest.raises(zerolag.InputError, match="did you mean 'nice'") as refused:
        zerolag.replay(GROUPS, context=context)
    assert (refused.value.file, refused.value.line, refused.value.key) == (str(context), 13, "nise")
    with pytest.raises(TypeError, match="a context is a path or a dict"):
        zerolag.replay(HOGS, context=7)
    with pytest.raises(ValueError):
        zerolag.replay(HOGS, repeat=0)
