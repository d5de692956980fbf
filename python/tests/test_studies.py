# SPDX-License-Identifier: GPL-2.0-only
"""Cases, outcomes, stores and sweeps: what an engine that distributes runs is made of."""

import pickle
import threading

import pytest
import zerolag

from conftest import SCENARIO


def test_a_case_can_be_run_where_its_files_are_not(scenario, tmp_path):
    machine = tmp_path / "m.toml"
    scenario.with_name("a.json").write_text('{"tasks": {"t": {"run": 1000, "timer": {"ref": "u", "period": 5000}}}}')
    scenario.write_text(SCENARIO + '[[workload]]\nkind = "rt-app"\nfile = "a.json"\n')
    case = zerolag.Case(scenario, kernel="6.1", choices={"workload:hog:nice": 5})
    packed = pickle.dumps(case)
    outcome = case.run(7)
    for path in tmp_path.iterdir():
        path.unlink()
    again = pickle.loads(packed)
    assert (again, hash(again), again.inputs) == (case, hash(case), case.inputs)
    assert again.choices == {"kernel": "6.1", "workload:hog:nice": "5"}
    assert again.run(7) == outcome
    assert not machine.exists()


def test_an_outcome_comes_through_unchanged(scenario):
    outcome = zerolag.Case(scenario).run(1)
    again = pickle.loads(pickle.dumps(outcome))
    assert again == outcome
    assert again.rows == outcome.rows
    assert again.metrics["x wake-up p99"] == dict((name, value) for name, _, _, value in outcome.rows)["x wake-up p99"]
    assert outcome.end == "duration"


def test_what_another_version_made_is_refused(scenario):
    case = zerolag.Case(scenario)
    version = zerolag.__version__.encode()
    other = b"9" * len(version)
    for made in [case, case.run(1)]:
        with pytest.raises(zerolag.VersionError, match="9+; this is zerolag"):
            pickle.loads(pickle.dumps(made).replace(version, other))


def test_rows_are_the_same_one_by_one_and_all_at_once(sweep, tmp_path):
    study = zerolag.Sweep(sweep)
    with zerolag.Store(tmp_path / "one.sqlite") as store:
        store.add_cases(study.cases)
        runs = [(case, seed) for case in study.cases for seed in study.seeds]
        for case, seed in reversed(runs):
            store.add_runs([(case, seed, case.run(seed))])
        assert store.seeds_done(study.cases[0]) == [1, 2, 3]
        one_by_one = store.to_csv()
    with zerolag.Store() as store:
        study.run(store, jobs=2)
        assert store.to_csv() == one_by_one
    with zerolag.Store(tmp_path / "one.sqlite", resume=True) as store:
        assert study.run(store) == 0
    store = zerolag.Store.read(tmp_path / "one.sqlite")
    store.write_csv(tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_text() == one_by_one


def test_a_sweep_that_is_interrupted_goes_on(sweep, tmp_path):
    class Enough(Exception):
        pass

    def progress(done, runs):
        assert runs == 12
        if done >= 2:
            raise Enough

    study = zerolag.Sweep(sweep)
    with zerolag.Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(Enough):
            study.run(store, jobs=1, progress=progress)
    with zerolag.Store(tmp_path / "s.sqlite", resume=True) as store:
        assert 0 < study.run(store) <= 10
        whole = store.to_csv()
    with zerolag.Store() as store:
        study.run(store)
        assert store.to_csv() == whole


def test_a_comparison_takes_what_is_in_the_store(scenario, tmp_path):
    cases = [zerolag.Case(scenario), zerolag.Case(scenario, set={"base_slice": "1ms"})]
    done = []
    with zerolag.Store(tmp_path / "c.sqlite") as store:
        first = zerolag.compare(cases, seeds=[3, 5], store=store, metrics=["machine *"])
        second = zerolag.compare(
            cases, seeds=[3, 5], store=store, metrics=["machine *"], progress=lambda *at: done.append(at)
        )
    assert first.report == second.report
    assert done == [(4, 4)]
    assert all(metric["name"].startswith("machine ") for metric in first.report["metrics"])


def test_a_store_can_be_used_from_any_thread_but_not_by_two_at_once(sweep):
    store = zerolag.Store()
    said = []

    def progress(done, runs):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    def use():
        try:
            said.append(store.to_csv())
        except RuntimeError as error:
            said.append(str(error))

    zerolag.Sweep(sweep).run(store, progress=progress)
    assert set(said) == {"the store is being used"}
    said.clear()
    progress(0, 0)
    assert said == [store.to_csv()]
