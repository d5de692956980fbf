# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a cluster: a scheduler and workers as processes on loopback, which are killed, or are not what they should be."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import zerolag

distributed = pytest.importorskip("distributed")

from zerolag._dask import Todo  # noqa: E402

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


class Clusters:
    """One after the other: processes take seconds to start, so a cluster serves all tests for as long as it is whole."""

    def __init__(self, places):
        self.places = places
        self.now = None

    def whole(self, workers):
        """One with so many workers at least."""
        if self.now is not None and self.now.scheduler.poll() is not None:
            self.end()
        if self.now is None:
            self.now = Cluster(self.places.mktemp("cluster"))
        self.now.workers = [worker for worker in self.now.workers if worker.poll() is None]
        self.now.work(max(workers - len(self.now.workers), 0))
        return self.now

    def end(self):
        if self.now is not None:
            self.now.end()
        self.now = None


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    clusters = Clusters(tmp_path_factory)
    yield clusters
    clusters.end()


@pytest.fixture
def cluster(clusters):
    return clusters.whole(3)


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
    victims = iter([cluster.workers[0], cluster.workers[1]])

    def kill(done, every):
        if done in (2, 10) or done == every // 2:
            for victim in victims:
                victim.send_signal(signal.SIGKILL)
                break

    with cluster.client(3) as client:
        zerolag.sweep(path, tmp_path / "c.sqlite", client=client, progress=kill)
    assert rows(tmp_path / "c.sqlite") == alone(tmp_path, path)


OTHER = "9" * len(zerolag.__version__)


@pytest.fixture
def other_version(tmp_path):
    """The environment of a process that finds a zerolag of another version: its engine is ours but for that."""
    package = tmp_path / "other" / "zerolag"
    shutil.copytree(os.path.dirname(zerolag.__file__), package, ignore=shutil.ignore_patterns("__pycache__"))
    (engine,) = package.glob("_engine*.so")
    engine.write_bytes(engine.read_bytes().replace(zerolag.__version__.encode(), OTHER.encode()))
    environment = {"PYTHONPATH": str(package.parent)}
    said = subprocess.run(
        [sys.executable, "-c", "import zerolag; print(zerolag.__version__)"],
        env={**os.environ, **environment},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout.strip() == OTHER
    return environment


def test_a_worker_of_another_version_is_refused(tmp_path, other_version, monkeypatch):
    path = sweep_file(tmp_path)
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.work(1, environment=other_version)
        with cluster.client(1) as client:
            # Before anything is run.
            with pytest.raises(zerolag.VersionError) as refused:
                zerolag.sweep(path, tmp_path / "c.sqlite", client=client)
            mixed = f"has zerolag {OTHER}; this is zerolag {zerolag.__version__}, and versions are not mixed"
            assert mixed in str(refused.value) and "worker tcp://127.0.0.1:" in str(refused.value)
            assert not (tmp_path / "c.sqlite").exists()
            # By its first task, if it comes later.
            monkeypatch.setattr("zerolag._dask.same_versions", lambda client: None)
            with pytest.raises(zerolag.VersionError) as refused:
                zerolag.sweep(path, tmp_path / "c.sqlite", client=client)
            monkeypatch.undo()
            assert mixed in str(refused.value) and "worker tcp://127.0.0.1:" in str(refused.value)
            assert rows(tmp_path / "c.sqlite").count("\n") == 1
            # One that has none at all.
            (tmp_path / "none" / "zerolag").mkdir(parents=True)
            (tmp_path / "none" / "zerolag" / "__init__.py").write_text("raise ModuleNotFoundError('none here')")
            cluster.workers[0].kill()
            cluster.work(1, environment={"PYTHONPATH": str(tmp_path / "none")})
            wait(lambda: cluster.workers[0].poll() is not None and len(client.nthreads()) == 1)
            with pytest.raises(zerolag.VersionError, match="none here.*; this is zerolag"):
                zerolag.sweep(path, client=client)
    finally:
        cluster.end()


def test_a_scheduler_that_is_lost_is_said_and_one_can_go_on(tmp_path, cluster):
    path = sweep_file(tmp_path, seeds=6, duration="1s")

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

    def stop(done, every):
        if done:
            raise RuntimeError("enough")

    with cluster.client(3) as client:
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


def test_whatever_is_killed_when_one_can_go_on_to_the_same_rows(tmp_path, clusters):
    """ZEROLAG_KILLS=50 is the long form: some seconds a kill, in which Python starts again."""
    path, store = sweep_file(tmp_path, seeds=20, duration="1s"), tmp_path / "c.sqlite"
    whole = alone(tmp_path, path)
    chance = random.Random(1)
    client, kills, wholes = None, 0, 0
    while kills < int(os.environ.get("ZEROLAG_KILLS", "3")):
        cluster = clusters.whole(2)
        if client is None:
            command = [sys.executable, "-c", CLIENT, str(cluster.file), str(path), str(store)]
            client = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            wait(lambda: os.path.exists(f"{store}-wal") or client.poll() is not None)
        time.sleep(chance.uniform(0, 0.5))
        if client.poll() is None:
            victim = ("client", "worker", "scheduler")[kills % 3]
            {"client": client, "worker": cluster.workers[-1], "scheduler": cluster.scheduler}[victim].kill()
            kills += 1
            if victim == "worker":
                # The client goes on with the other.
                cluster.workers[-1].wait()
                continue
            assert client.wait(timeout=60) in {"client": (-signal.SIGKILL,), "scheduler": (0, 1)}[victim]
        if client.returncode == 0:
            # It has come to its end: begin anew.
            assert rows(store) == whole
            store.unlink()
            wholes += 1
        client = None
    if client is not None:
        client.kill()
        client.wait()
    zerolag.sweep(path, store, resume=True)
    assert rows(store) == whole
    print(f"{kills} kills, {wholes + 1} sweeps to their end")


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
