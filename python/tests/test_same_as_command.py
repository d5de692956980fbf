# SPDX-License-Identifier: GPL-2.0-only
"""The package and the command are the same engine: the same input and seed give the same bytes."""

import json
import re
from pathlib import Path

import pytest
import zerolag

from conftest import ROOT, SCENARIOS


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    """Reports name files as they were given."""
    monkeypatch.chdir(ROOT)


def test_a_run_prints_the_same(command):
    path = "scenarios/batch-and-service.toml"
    for arguments, options in [
        ([], {}),
        (["--kernel", "6.1", "--seed", "7"], {"kernel": "6.1", "seed": 7}),
        (["--machine", "4cpu", "--duration", "300ms"], {"machine": "4cpu", "duration": "300ms"}),
        (["--set", "base_slice=1ms", "--set", "RUN_TO_PARITY=off"], {"set": {"base_slice": "1ms", "RUN_TO_PARITY": False}}),
    ]:
        assert zerolag.run(path, **options).to_json() == command("run", path, "--json", *arguments)


def test_an_rtapp_file_prints_the_same(command):
    path = "scenarios/video-player.json"
    assert zerolag.run(path).to_json() == command("run", path, "--json")
    assert zerolag.run(path, machine="juno-r2").to_json() == command("run", path, "--json", "--machine", "juno-r2")


def test_a_dictionary_is_as_good_as_the_file(command):
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    for name in ["batch-and-service.toml", "video-player.json"]:
        path = SCENARIOS / name
        # rt-app allows for comments, Python does not.
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        report = zerolag.run(json.loads(text) if name.endswith("json") else tomllib.loads(text)).report
        expected = json.loads(command("run", path, "--json"))
        assert report.pop("input") == "dict"
        assert expected.pop("input") == str(path)
        assert report == expected


def test_a_benchmark_prints_the_same(command):
    for model, options in [("schbench", ["-m", "1", "-t", "2", "-r", "1"]), ("hackbench", ["-g", "1", "-l", "20"])]:
        ours = zerolag.benchmark(model, options, kernel="6.1", seed=3)
        arguments = [model, "--kernel", "6.1", "--seed", "3", *options]
        assert ours.text == command(*arguments)
        assert ours.to_json() == command(*arguments, "--json")


def test_a_sweep_ends_in_the_same_rows(command, sweep):
    store, csv = sweep.with_name("s.sqlite"), sweep.with_name("s.csv")
    summary = command("sweep", sweep, "--store", store, "--csv", csv, "--json")
    ours = zerolag.Sweep(sweep)
    with zerolag.Store() as kept:
        assert ours.run(kept) == len(ours) == 12
        assert kept.to_csv() == csv.read_text()
        assert ours.summary(kept) == json.loads(summary)
    assert [case.hash for case in ours.cases] == [point["hash"] for point in json.loads(summary)["points"]]


def test_a_comparison_prints_the_same(command, scenario):
    ours = zerolag.compare([zerolag.Case(scenario, kernel=kernel) for kernel in ["6.1", "6.12"]], seeds=5)
    arguments = ["compare", scenario, "--vary", "kernel=6.1,6.12", "--repeat", "5", "--json"]
    assert ours.to_json() == command(*arguments)
    assert ours.stuck == []


def test_the_version_is_the_command_s(command):
    assert command("--version") == f"zerolag {zerolag.__version__}\n"


def test_what_the_tests_run_is_installed():
    assert not Path(zerolag.__file__).is_relative_to(ROOT / "python"), "install the package first"
