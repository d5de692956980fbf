# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a cluster: a scheduler and workers as processes on loopback, which are killed, or are not what they should be."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import pytest

import zerolag

distributed = pytest.importorskip("distributed")

from zerolag._dask import Todo, work  # noqa: E402

SCENARIO = """
machine = "2cpu"
duration = "50ms"
[[workload]]
name = "x"
count = 5
program = "forever { run exponential(2ms); sleep exponential(1ms) }"
"""
SWEEP = """
scenario = "s.toml"
seeds = SEEDS
[choices]
duration = "DURATION"
[[axis]]
key = "kernel"
values = ["6.1", "6.12"]
[[axis]]
key = "workload:x:count"
from = 2
to = 6
steps = 3
"""


class Cluster:
    """A scheduler, and workers with a thread each."""

    def __init__(self, place):
        self.place = place
        self.file = place / "scheduler.json"
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self.file)
        self.workers = []
        wait(self.file.exists)

    def start(self, what, *words, environment=None):
        log = open(self.place / f"{what}-{random.getrandbits(32)}.log", "w")
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, words), "--no-dashboard"]
        return subprocess.Popen(command, stderr=log, stdout=log, env={**os.environ, **(environment or {})}, cwd=self.place)

    def work(self, count=1, environment=None):
        words = ("--scheduler-file", self.file, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
        self.workers += [self.start("worker", *words, environment=environment) for _ in range(count)]

    def client(self, workers):
        client = distributed.Client(scheduler_file=str(self.file), timeout=30)
        client.wait_for_workers(workers, timeout=60)
        return client

    def end(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
        for process in [*self.workers, self.scheduler]:
            process.wait()


def wait(until, seconds=60):
    begin = time.monotonic()
    while not until():
        assert time.monotonic() - begin < seconds
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.end()


def sweep_file(place, seeds=4, duration="50ms"):
    (place / "s.toml").write_text(SCENARIO)
    path = place / "sweep.toml"
    path.write_text(SWEEP.replace("SEEDS", str(seeds)).replace("DURATION", duration))
    return path


def alone(place, path):
    """The rows of an undisturbed sweep in this process, one run at a time."""
    zerolag.sweep(path, place / "alone.sqlite", jobs=1)
    return rows(place / "alone.sqlite")


def rows(path):
    store = zerolag.Store.read(path)
    try:
        return store.to_csv()
    finally:
        store.close()


def test_rows_are_those_of_one_process(tmp_path, cluster):
    path = sweep_file(tmp_path)
    cluster.work(3)
    told = []
    with cluster.client(3) as client:
        summary = zerolag.sweep(path, tmp_path / "c.sqlite", client=client, progress=lambda *at: told.append(at))
        assert rows(tmp_path / "c.sqlite") == alone(tmp_path, path)
        assert told[0] == (0, 24) and told[-1] == (24, 24) and told == sorted(told)
        assert summary == zerolag.sweep(path, tmp_path / "alone.sqlite", resume=True)
        # All is done: nothing is sent.
        assert zerolag.sweep(path, tmp_path / "c.sqlite", resume=True, client=client) == summary
        with pytest.raises(zerolag.StoreError, match="exists already"):
            zerolag.sweep(path, tmp_path / "c.sqlite", client=client)
        with pytest.raises(ValueError, match="jobs is for runs in this process"):
            zerolag.sweep(path, client=client, jobs=2)


def test_a_worker_that_is_killed_takes_nothing_with_it(tmp_path, cluster):
    path = sweep_file(tmp_path, seeds=4, duration="3s")
    cluster.work(3)
    victims = iter([cluster.workers[0], cluster.workers[1]])

    def kill(done, every):
        if done in (2, 10) or done == every // 2:
            for victim in victims:
                victim.send_signal(signal.SIGKILL)
                break

    with cluster.client(3) as client:
        zerolag.sweep(path, tmp_path / "c.sqlite", client=client, progress=kill)
    assert rows(tmp_path / "c.sqlite") == alone(tmp_path, path)


def test_a_worker_of_another_version_is_refused(tmp_path, cluster):
    path = sweep_file(tmp_path)
    other = tmp_path / "other" / "zerolag-0.0.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: zerolag\nVersion: 0.0.9\n")
    cluster.work(2)
    cluster.work(1, environment={"PYTHONPATH": str(other.parent)})
    with cluster.client(3) as client:
        with pytest.raises(zerolag.VersionError) as refused:
            zerolag.sweep(path, tmp_path / "c.sqlite", client=client)
    assert f"has zerolag 0.0.9; this is zerolag {zerolag.__version__}, and versions are not mixed" in str(refused.value)
    assert "tcp://127.0.0.1:" in str(refused.value)


def test_a_scheduler_that_is_lost_is_said_and_one_can_go_on(tmp_path, cluster):
    path = sweep_file(tmp_path, seeds=6, duration="1s")
    cluster.work(3)

    def lose(done, every):
        if done >= 4:
            cluster.scheduler.send_signal(signal.SIGKILL)

    client = cluster.client(3)
    with pytest.raises(zerolag.ClusterError) as lost:
        zerolag.sweep(path, tmp_path / "c.sqlite", client=client, progress=lose)
    assert "the scheduler at tcp://127.0.0.1:" in str(lost.value) and "of 36 runs are in" in str(lost.value)
    client.close(timeout=1)
    kept = rows(tmp_path / "c.sqlite")
    whole = alone(tmp_path, path)
    assert kept != whole and set(kept.splitlines()) <= set(whole.splitlines())
    zerolag.sweep(path, tmp_path / "c.sqlite", resume=True)
    assert rows(tmp_path / "c.sqlite") == whole


def test_whoever_gives_up_leaves_nothing_on_the_cluster(tmp_path, cluster):
    path = sweep_file(tmp_path)
    cluster.work(1)

    def stop(done, every):
        if done:
            raise RuntimeError("enough")

    with cluster.client(1) as client:
        with pytest.raises(RuntimeError, match="enough"):
            zerolag.sweep(path, tmp_path / "c.sqlite", client=client, progress=stop)
        wait(lambda: not client.run_on_scheduler(lambda dask_scheduler: [k for k in dask_scheduler.tasks if "zerolag" in str(k)]))
        # What was done is in the store; a client can be used again.
        zerolag.sweep(path, tmp_path / "c.sqlite", resume=True, client=client)
    assert rows(tmp_path / "c.sqlite") == alone(tmp_path, path)


CLIENT = """
import sys, distributed, zerolag
with distributed.Client(scheduler_file=sys.argv[1]) as client:
    zerolag.sweep(sys.argv[2], sys.argv[3], resume=True, client=client)
"""


def test_whatever_is_killed_when_one_can_go_on_to_the_same_rows(tmp_path):
    """ZEROLAG_KILLS=50 is the long form."""
    path, store = sweep_file(tmp_path, seeds=20, duration="1s"), tmp_path / "c.sqlite"
    chance = random.Random(1)
    kills = {"client": 0, "worker": 0, "scheduler": 0}
    cluster, number = None, 0
    while sum(kills.values()) < int(os.environ.get("ZEROLAG_KILLS", "3")):
        if cluster is None:
            number += 1
            (tmp_path / str(number)).mkdir()
            cluster = Cluster(tmp_path / str(number))
            cluster.work(2)
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(cluster.file), str(path), str(store)], stderr=subprocess.DEVNULL
        )
        wait(lambda: os.path.exists(f"{store}-wal") or client.poll() is not None)
        time.sleep(chance.uniform(0, 0.5))
        if client.poll() is not None:
            # It was faster: begin anew.
            store.unlink(missing_ok=True)
            continue
        victim = ("client", "worker", "scheduler")[sum(kills.values()) % 3]
        kills[victim] += 1
        {"client": client, "worker": cluster.workers[-1], "scheduler": cluster.scheduler}[victim].kill()
        if victim == "worker":
            cluster.work(1)
        elif victim == "scheduler":
            assert client.wait(timeout=60) in (0, 1)
            cluster.end()
            cluster = None
        client.kill()
        client.wait()
    if cluster is not None:
        cluster.end()
    zerolag.sweep(path, store, resume=True)
    assert rows(store) == alone(tmp_path, path)


def test_who_comes_later_with_another_version_is_refused_by_its_first_task(tmp_path, monkeypatch):
    case = zerolag.Sweep(sweep_file(tmp_path)).cases[0]
    sent = pickle.dumps(case)
    own = zerolag.__version__.encode()
    assert sent.count(own) == 1
    other = sent.replace(own, b"9.9.9"[: len(own)])
    monkeypatch.setattr("zerolag._dask.get_worker", lambda: type("Worker", (), {"address": "tcp://w:1"}))
    with pytest.raises(zerolag.VersionError) as refused:
        work([(other, [1])])
    assert str(refused.value).startswith("worker tcp://w:1: ")
    assert "9.9.9" in str(refused.value) and zerolag.__version__ in str(refused.value)


def test_tasks_are_as_long_as_they_should_be_and_short_at_the_end():
    runs = [(at, seed) for at in range(50) for seed in range(20)]
    todo = Todo(runs)
    assert todo.take(2) == [(0, [0])]
    todo.took(0.001, 1)
    sizes = []
    seen = [(0, 0)]
    while todo.left():
        parts = todo.take(2)
        seen += [(at, seed) for at, some in parts for seed in some]
        sizes.append(sum(len(some) for _, some in parts))
    assert seen == runs
    assert sizes[0] == 999 // 8 and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True)
    slow = Todo(runs)
    slow.take(2)
    slow.took(2.0, 1)
    assert slow.take(2) == [(0, [1])]


def test_the_example_for_kubernetes_is_yaml_and_an_indexed_job():
    yaml = pytest.importorskip("yaml")
    path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "cluster", "kubernetes.yaml")
    with open(path) as file:
        job = yaml.safe_load(file)
    assert (job["kind"], job["spec"]["completionMode"]) == ("Job", "Indexed")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    script = container["args"][0]
    assert subprocess.run(["sh", "-n"], input=script, text=True).returncode == 0
    assert f'/{job["spec"]["completions"]}"' in script
