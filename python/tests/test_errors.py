# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong is said with its place: file, line, column, key."""

import os
import pickle
import shutil
import subprocess

import pytest
import zerolag

HOG = {"kind": "hog", "name": "hog"}
MANY = {"scenario": {"machine": "1cpu", "duration": "1ms", "workload": [HOG]}, "axis": [{"key": "kernel", "values": ["6.12"]}]}


def refused(kind, match, make):
    with pytest.raises(kind, match=match) as raised:
        make()
    return raised.value


def test_a_scenario_s_error_has_its_place(scenario):
    scenario.write_text(scenario.read_text().replace("count = 3", "cuont = 3"))
    error = refused(zerolag.InputError, "did you mean 'count'", lambda: zerolag.run(scenario))
    assert (error.file, error.line, error.column, error.key) == (str(scenario), 7, 1, "cuont")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.file, again.line, again.key) == (str(error), error.file, 7, "cuont")


def test_an_rtapp_file_s_error_has_its_place(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{\n "tasks": {\n  "t": {"run": 10, "prioritty": 3}\n }\n}\n')
    error = refused(zerolag.InputError, "prioritty", lambda: zerolag.run(path))
    assert (error.file, error.line, error.key) == (str(path), 3, "prioritty")


def test_lines_of_a_dictionary_are_those_of_its_text():
    error = refused(
        zerolag.InputError, "'nice' is 30", lambda: zerolag.run(scenario({**HOG, "nice": 30}))
    )
    assert (error.file, error.key) == ("dict", "nice")
    text = zerolag.Case(scenario({**HOG, "nice": 3})).text.splitlines()
    assert text[error.line - 1] == "nice = 3"


def scenario(*workloads):
    return {"machine": "1cpu", "duration": "100ms", "workload": list(workloads)}


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("kernel", {"kernel": "7.77"}),
        ("machine", {"machine": "toaster"}),
        ("duration", {"duration": "5"}),
        ("set:base_slise", {"set": {"base_slise": "3ms"}}),
        ("nonsense", {"choices": {"nonsense": 1}}),
        ("set:hz", {"set": {"hz": 100}, "choices": {"set:hz": 1000}}),
        ("sample", {"sample": "0ms"}),
    ],
)
def test_what_is_chosen_wrong_is_named(key, options):
    error = refused(zerolag.InputError, ".", lambda: zerolag.run(scenario(HOG), **options))
    assert error.key == key


def test_values_of_other_kinds_are_refused():
    refused(TypeError, r'scenario\["workload"\]\[0\]\["x"\] is a object', lambda: zerolag.run(scenario({"x": object()})))
    refused(TypeError, "which is no text", lambda: zerolag.run({1: 2}))
    refused(TypeError, "a path, a dict or a Case", lambda: zerolag.run(7))
    refused(TypeError, r'set\["hz"\] is None', lambda: zerolag.run(scenario(HOG), set={"hz": None}))
    refused(zerolag.InputError, "No such file", lambda: zerolag.run("nowhere.toml"))


def test_benchmarks_refuse_what_the_tool_would():
    error = refused(zerolag.InputError, "nonebench", lambda: zerolag.benchmark("nonebench"))
    assert error.key == "model"
    error = refused(zerolag.InputError, "--frobnicate", lambda: zerolag.benchmark("schbench", ["--frobnicate"]))
    assert error.key == "options"
    error = refused(zerolag.InputError, "there are", lambda: zerolag.benchmark("schbench", kernel="1.0"))
    assert error.key == "kernel"


def test_a_sweep_s_error_has_its_place(sweep):
    sweep.write_text("colour = 3\n" + sweep.read_text())
    error = refused(zerolag.InputError, "unknown key 'colour'", lambda: zerolag.Sweep(sweep))
    assert (error.file, error.line, error.key) == (str(sweep), 1, "colour")


def test_a_point_s_error_is_at_its_axis_in_the_sweep(sweep):
    text = sweep.read_text() + '[[axis]]\nkey = "workload:z:nice"\nvalues = [5]\n'
    sweep.write_text(text)
    error = refused(zerolag.InputError, "has no workload 'z'", lambda: zerolag.Sweep(sweep))
    # Not the scenario's file with the sweep's line, nor the other way round.
    assert (error.file, error.line) == (str(sweep), 1 + text.splitlines().index('key = "workload:z:nice"'))


def test_an_error_of_the_scenario_of_a_sweep_is_in_the_scenario(sweep, scenario):
    scenario.write_text(scenario.read_text().replace("count = 3", "cuont = 3"))
    error = refused(zerolag.InputError, "did you mean 'count'", lambda: zerolag.Sweep(sweep))
    assert (error.file, error.line, error.column, error.key) == (str(scenario), 7, 1, "cuont")


def test_stores_say_what_is_wrong_with_them(tmp_path, scenario):
    path = tmp_path / "s.sqlite"
    zerolag.Store(path).close()
    error = refused(zerolag.StoreError, "exists already", lambda: zerolag.Store(path))
    assert error.file == str(path)
    refused(zerolag.StoreError, "does not exist", lambda: zerolag.Store.read(tmp_path / "none"))
    refused(zerolag.StoreError, "not a result store", lambda: zerolag.Store(scenario, resume=True))
    error = refused(zerolag.StoreError, "resume=True goes on", lambda: zerolag.Store(path))
    assert "--resume" not in str(error)
    store = zerolag.Store()
    store.close()
    refused(ValueError, "closed", store.to_csv)


def test_on_a_full_disk_nothing_is_left_half(tmp_path, sweep):
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounts a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk]).returncode != 0:
        pytest.skip("may not mount")
    try:
        swept, whole = zerolag.Sweep(sweep), zerolag.Store()
        swept.run(whole)
        many = zerolag.Sweep({**MANY, "seeds": 2000})
        path = disk / "s.sqlite"
        refused(zerolag.StoreError, "the disk is full; what was finished before is kept", lambda: zerolag.sweep(many, path))
        error = refused(zerolag.StoreError, "full", lambda: zerolag.Store(disk / "new.sqlite"))
        assert error.file == str(disk / "new.sqlite")
        refused(OSError, "new.csv: No space left", lambda: whole.write_csv(disk / "new.csv"))
        assert [p.name for p in disk.iterdir() if not p.name.startswith("s.sqlite")] == []
        # With room again it goes on, to the same rows as if nothing had been.
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        zerolag.sweep(many, path, resume=True)
        with zerolag.Store.read(path) as store, zerolag.Store() as undisturbed:
            many.run(undisturbed)
            assert store.to_csv() == undisturbed.to_csv()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_comparisons_refuse_what_makes_no_sense(scenario):
    refused(zerolag.InputError, "cases 0 and 1 are the same", lambda: zerolag.compare([scenario, scenario]))
    refused(zerolag.InputError, "seed 3 is there twice", lambda: zerolag.compare([scenario], seeds=[3, 3]))
    refused(zerolag.InputError, "at least one seed", lambda: zerolag.compare([scenario], seeds=0))
