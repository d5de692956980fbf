# SPDX-License-Identifier: GPL-2.0-only
"""Tuning: the search, its front, its answer, and the commands."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

import zerolag

pytest.importorskip("optuna")

from zerolag._tune import answer, plot, text  # noqa: E402
from zerolag._tune.journal import open_journal  # noqa: E402
from zerolag._tune.search import Candidate  # noqa: E402

SCENARIO = """
machine = "1cpu"
duration = "60ms"
[cgroup."/web"]
[[workload]]
name = "web"
cgroup = "/web"
program = "forever { sleep exponential(2ms); run exponential(500us) }"
[[workload]]
kind = "hog"
name = "batch"
count = 2
"""
TUNING = """
scenario = "s.toml"
candidates = 12
seeds = 2
confirm = 3
[[axis]]
key = "set:base_slice"
from = "500us"
to = "8ms"
scale = "log"
[[axis]]
key = "cgroup:/web:cpu.weight"
from = 10
to = 1000
scale = "log"
[[axis]]
key = "workload:batch:policy"
values = ["normal", "batch"]
[[objective]]
metric = "/web wake-up p99"
[[objective]]
metric = "batch share"
better = "higher"
[[constraint]]
metric = "batch share"
loss_at_most = "20%"
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "t.toml").write_text(TUNING)
    return tmp_path


def command(place, *words, file="t.toml"):
    return subprocess.Popen(
        [sys.executable, "-m", "zerolag", "tune", file, *words],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(place, *words, file="t.toml"):
    process = command(place, *words, file=file)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_a_search_is_repeated_to_the_byte_and_beats_the_baseline(place):
    first = zerolag.tune(place / "t.toml", jobs=1)
    again = zerolag.tune(place / "t.toml", journal=place / "j", store=place / "s.sqlite", jobs=2)
    assert first.json() == again.json()
    report = first.report
    assert report["tried"] == 12 and report["failed"] == 0
    assert report["confirm"] == [3, 4, 5]
    best = first.best
    assert best is not None and best["confirmed"]
    waits = [r["confirm"]["/web wake-up p99"]["mean"] for r in (best, report["baseline"])]
    assert waits[0] < waits[1]
    assert best["held"] == [{"search": 2, "confirm": 3}]
    # The store has the runs of the confirmation, and no others.
    rows = zerolag.Store.read(place / "s.sqlite").to_csv().splitlines()[1:]
    runs = {tuple(row.split(",")[-1:]) + (row.split(",")[-8],) for row in rows}
    assert len(runs) == 3 * len({c["hash"] for c in report["front"]} | {report["baseline"]["hash"]})


def test_a_dictionary_is_as_good_as_a_file(place):
    axis = {"key": "set:base_slice", "values": ["1ms", "20ms"]}
    scenario = {"machine": "1cpu", "duration": "200ms", "workload": [{"kind": "hog", "name": "a", "count": 2}]}
    wish = {"metric": "a preempted"}
    given = {"scenario": scenario, "seeds": 1, "confirm": 1, "candidates": 8, "axis": [axis], "objective": [wish]}
    found = zerolag.tune(given)
    assert [c["choices"] for c in found.report["front"]] == [{"set:base_slice": "20ms"}]
    # There are two, however often they were tried.
    assert sorted(c["number"] for c in found.report["candidates"]) == [1, 2]


def written(place):
    """How much there is in its files."""
    return sum(file.stat().st_size for file in place.iterdir())


def test_whoever_is_killed_goes_on_as_if_nothing_had_happened(place):
    """ZEROLAG_KILLS=50 is the long form."""
    code, whole, err = run(place, "--json", "--jobs", "1")
    assert code == 0, err
    chance = random.Random(7)
    other = place / "other"
    kills, wholes = 0, 0
    while kills < int(os.environ.get("ZEROLAG_KILLS", "3")):
        if not other.exists():
            other.mkdir()
            for name in ("s.toml", "t.toml"):
                shutil.copy(place / name, other)
        before, begin = written(other), time.monotonic()
        process = command(other, "--json", "--jobs", "1")
        # Past the imports, where there is something to kill.
        while written(other) == before and process.poll() is None and time.monotonic() - begin < 60:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        # It has come to its end: begin anew.
        assert (process.returncode, out) == (0, whole), err
        shutil.rmtree(other)
        wholes += 1
    code, resumed, err = run(other, "--json", "--jobs", "1")
    assert (code, resumed) == (0, whole), err
    print(f"{kills} kills, {wholes + 1} searches to their end")


def test_half_a_line_of_a_journal_is_cut_off(tmp_path):
    import optuna

    path = tmp_path / "j"
    optuna.create_study(study_name="a", storage=open_journal(path))
    with open(path, "ab") as file:
        file.write(b'{"op_code":')
    optuna.create_study(study_name="b", storage=open_journal(path))
    assert [s.study_name for s in open_journal(path).get_all_studies()] == ["a", "b"]


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        (b"# A report\n\nwithout an end", 1),
        (b'{"tasks": {}}\n', 1),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 1),
        (b"7\n", 1),
        (b"[[1, 2]]", 1),
        (b'{"op_code":0,"worker_id":"w"}\nnonsense\n', 2),
    ],
)
def test_a_file_that_is_no_journal_is_named_and_left_alone(place, contents, line):
    path = place / "report.md"
    path.write_bytes(contents)
    with pytest.raises(zerolag.InputError) as refused:
        zerolag.tune(place / "t.toml", journal=path)
    assert str(refused.value) == f"{path}:{line}: not the journal of a search; name another file"
    assert (refused.value.file, refused.value.line) == (str(path), line)
    assert path.read_bytes() == contents
    assert sorted(p.name for p in place.iterdir()) == ["report.md", "s.toml", "t.toml"]


def test_several_processes_search_together(place):
    helper = command(place, "--search-only")
    code, out, err = run(place, "--json")
    assert code in (0, 1), err
    out_helper, err_helper = helper.communicate(timeout=60)
    assert (helper.returncode, out_helper) == (0, ""), err_helper
    report = json.loads(out)
    # Whoever was still at one when the last was over has it counted the next time.
    assert 12 <= report["tried"] <= 13


def test_what_is_printed_is_a_table_a_picture_and_commands(place):
    code, out, err = run(place, "--svg", "front.svg")
    assert code == 0, err
    assert "constraint 1  batch share: loss at most 20 %" in out
    assert "Not modelled:" in out and "switches, wake-ups and ticks take no time here" in out
    assert "\n#!/bin/sh\n# For Linux 6.12, as root.\n" in out
    table = [line for line in out.splitlines() if line.startswith(("baseline", "  ")) or line[:1].isdigit()]
    assert table
    root = ElementTree.parse(place / "front.svg").getroot()
    circles = root.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) >= 12
    number = json.loads(run(place, "--json")[1])["front"][-1]["number"]
    code, script, err = run(place, "--commands", str(number))
    assert code == 0, err
    assert subprocess.run(["sh", "-n"], input=script, text=True).returncode == 0
    code, _, err = run(place, "--commands", "999")
    assert code == 2 and "candidate 999 is not on the front; it has " in err


def test_nothing_that_keeps_the_constraints_is_said(place):
    text = TUNING.replace('loss_at_most = "20%"', 'at_least = "99.9%"')
    (place / "t.toml").write_text(text)
    code, out, err = run(place)
    assert code == 1, err
    assert "No candidate keeps all constraints; these break them least:" in out
    assert "To set candidate" not in out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('metric = "/web wake-up p99"', 'metric = "/web wakeup p99"'), "(did you mean '/web wake-up p99'?)"),
        (("candidates = 12", "candidate = 12"), "t.toml:3:1: unknown key 'candidate'"),
        (('from = "500us"', 'from = "500"'), "t.toml:8:8: 'from' is '500'"),
        (('key = "set:base_slice"', 'key = "set:base_slise"'), "t.toml:7:7: "),
        (('better = "higher"', 'better = "more"'), "'better' is 'more'; accepted: lower, higher"),
        (('scenario = "s.toml"', 'scenario = "q.toml"'), "q.toml"),
    ],
)
def test_bad_input_is_refused_with_its_place(place, change, said):
    assert change[0] in TUNING
    (place / "t.toml").write_text(TUNING.replace(*change))
    with pytest.raises(zerolag.InputError) as refused:
        zerolag.tune(place / "t.toml")
    assert said in str(refused.value)
    assert refused.value.file is not None and (refused.value.line or "q.toml" in said)


def test_a_journal_of_another_search_is_refused_and_more_candidates_are_not(place):
    zerolag.tune(place / "t.toml", journal=place / "j")
    (place / "t.toml").write_text(TUNING.replace("candidates = 12", "candidates = 14"))
    assert zerolag.tune(place / "t.toml", journal=place / "j").report["tried"] == 14
    (place / "t.toml").write_text(TUNING.replace("seeds = 2", "seeds = 3"))
    with pytest.raises(zerolag.InputError, match="belongs to another search"):
        zerolag.tune(place / "t.toml", journal=place / "j")


def test_a_candidate_that_makes_no_sense_counts_as_tried(place):
    # Each policy and each nice value by itself is fine, and so is each slice; a machine that is busy all the time is not.
    tuning = TUNING.replace('metric = "/web wake-up p99"', 'metric = "/web wake-up of 1 ms or more"')
    (place / "t.toml").write_text(tuning.replace('values = ["normal", "batch"]', 'values = ["normal", "fifo:5"]'))
    report = zerolag.tune(place / "t.toml").report
    assert report["failed"] > 0 and report["tried"] == 12
    assert any("there is no '/web wake-up of 1 ms or more'" in why for why in report["failures"])


def test_the_front_is_what_none_beats():
    chance = random.Random(3)

    def drawn(number):
        values = [float(chance.randrange(8)) for _ in range(2)]
        return Candidate(number, {}, {}, values, [chance.choice([-0.1, 0.0, 0.2])])

    for signs in ([1, 1], [1, -1]):
        all_of_them = [drawn(n) for n in range(60)]
        keep = [c for c in all_of_them if c.violations[0] <= 0]
        beaten = lambda c: any(answer.dominates(o.values, c.values, signs) for o in keep)  # noqa: E731
        expected = {tuple(c.values) for c in keep if not beaten(c)}
        found = answer.front(all_of_them, signs)
        assert {tuple(c.values) for c in found} == expected and len(found) == len(expected)
        assert found == sorted(found, key=lambda c: signs[0] * c.values[0])


def test_numbers_on_axes_are_round_and_durations_readable():
    assert plot.ticks(0.3, 9.7) == [2.0, 4.0, 6.0, 8.0]
    assert text.chosen("2371842ns") == "2.372ms" and text.chosen("500ns") == "500ns" and text.chosen("normal") == "normal"
    assert [text.figure(v) for v in (0, 12345.6, 3.14159, 0.001234)] == ["0", "12346", "3.142", "0.001234"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")
def test_the_commands_do_on_linux_what_they_say(place):
    release = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])
    if release < (6, 12) or shutil.which("chrt") is None or shutil.which("renice") is None:
        pytest.skip("needs Linux 6.12 and util-linux")
    tuning = zerolag.Tuning(place / "t.toml")
    choices = {"workload:zlsleep:nice": "7", "workload:zlsleep:policy": "batch", "workload:zlsleep:slice": "3ms"}
    link = place / "zlsleep"
    link.symlink_to(shutil.which("sleep"))
    sleeper = subprocess.Popen([str(link), "60"])
    try:
        script = tuning.commands(choices)
        done = subprocess.run(["sh"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        policy = subprocess.run(["chrt", "-p", str(sleeper.pid)], capture_output=True, text=True).stdout
        assert "SCHED_BATCH" in policy
        assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 7
        assert slice_ns(sleeper.pid) == 3_000_000
    finally:
        sleeper.kill()
        sleeper.wait()


def slice_ns(pid):
    import ctypes
    import platform
    import struct

    number = 315 if platform.machine() == "x86_64" else 275
    attributes = ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall(number, pid, attributes, 48, 0) == 0
    return struct.unpack_from("=Q", attributes, 24)[0]
