# SPDX-License-Identifier: GPL-2.0-only
# distributed has no types.
# mypy: allow-untyped-calls, allow-any-generics
"""Runs on the workers of a Dask cluster.

    client                          scheduler            workers
    pending runs ─ tasks (some) ──────▶ ───────────────────▶ Case.run
    Store.add_runs ◀──────────────────── ◀── outcomes ─────────┘

Only so many tasks are under way that no worker has to wait for one, so that neither the scheduler nor this process
holds more of a long sweep than of a short one. A task is several runs if they are short. What a run comes to
depends on its case and seed alone, so a task that is done again because its worker is gone brings the same rows; and
rows are written once, when the task's result is here.
"""

from __future__ import annotations

import contextlib
import pickle
import time
import uuid
from typing import Optional

from distributed import Client, Future, KilledWorker, as_completed, get_worker

from zerolag._engine import Case, Outcome, Store, Sweep, __version__
from zerolag._progress import Progress
from zerolag.errors import ClusterError, VersionError

# A task takes about this long, in seconds, or as long as one run: what Dask does for each task, some milliseconds,
# is then little beside it.
TASK_S = 0.5
# More runs than this are not put into one task.
TASK_RUNS = 256

# A case, pickled, and the seeds to run it with.
Work = tuple[bytes, list[int]]
# Of each part the outcome with each seed.
Outcomes = list[list[Outcome]]


def work(version: str, parts: list[Work]) -> tuple[float, bytes]:
    """What a worker does: the seconds that it took, and the outcomes of each part, pickled."""
    if version != __version__:
        raise other_version(get_worker().address, __version__, version)
    begin = time.monotonic()
    outcomes: Outcomes = []
    for case, seeds in parts:
        known = pickle.loads(case)
        outcomes.append([known.run(seed) for seed in seeds])
    # Were it Dask who unpickles them, it would wait for ever for what it cannot read.
    return time.monotonic() - begin, pickle.dumps(outcomes)


def run(sweep: Sweep, store: Store, client: Client, progress: Optional[Progress]) -> int:
    """Do all runs that are not in the store, and put them there. Returns how many that were."""
    cases, seeds, name = sweep.cases, sweep.seeds, str(store.path)
    store.add_cases(cases)
    done = [set(store.seeds_done(case)) for case in cases]
    pending = [(at, seed) for at in range(len(cases)) for seed in seeds if seed not in done[at]]
    every = len(cases) * len(seeds)
    if progress is not None:
        progress(every - len(pending), every)
    if not pending:
        return 0
    todo = Todo(pending)
    batch = f"zerolag-{uuid.uuid4().hex[:12]}"
    under_way: dict[object, list[tuple[int, list[int]]]] = {}
    results = as_completed(with_results=True, raise_errors=False)
    threads = Threads(client)
    kept = 0

    def so_far() -> str:
        done = every - len(pending) + kept
        return f"{done} of {every} runs are in {name}, and resume=True goes on from there"

    def submit() -> None:
        try:
            while todo.left() and len(under_way) < 2 * threads.number() + 2:
                parts = todo.take(threads.number())
                sent = [(pickle.dumps(cases[at]), some) for at, some in parts]
                future = client.submit(work, __version__, sent, key=f"{batch}-{todo.tasks}", pure=False)
                under_way[future] = parts
                results.add(future)
        except OSError as error:
            raise lost(client, so_far()) from error

    try:
        submit()
        for future, result in results:
            parts = under_way.pop(future)
            if future.status != "finished":
                raise reason(future, client, cases, parts, so_far())
            took, pickled = result
            outcomes: Outcomes = pickle.loads(pickled)
            rows = [
                (cases[at], seed, outcome)
                for (at, some), theirs in zip(parts, outcomes)
                for seed, outcome in zip(some, theirs)
            ]
            store.add_runs(rows)
            kept += len(rows)
            todo.took(took, len(rows))
            del future, result, pickled, outcomes, rows
            if progress is not None:
                progress(every - len(pending) + kept, every)
            submit()
    finally:
        if under_way and client.status == "running":
            # If the scheduler is lost too, so are its tasks.
            with contextlib.suppress(OSError):
                client.cancel(list(under_way), force=True)
    return kept


class Threads:
    """How many threads the workers have, asked now and then: workers come and go."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known = 1
        self._asked = 0.0

    def number(self) -> int:
        now = time.monotonic()
        if now - self._asked > 1:
            self._known = max(sum(self._client.nthreads().values()), 1)
            self._asked = now
        return self._known


class Todo:
    """Runs that nobody has been given yet."""

    def __init__(self, runs: list[tuple[int, int]]) -> None:
        self.runs = runs
        self.next = 0
        self.tasks = 0
        self.run_s: Optional[float] = None

    def left(self) -> int:
        return len(self.runs) - self.next

    def took(self, seconds: float, runs: int) -> None:
        """Notes how long so many runs took: recent tasks count more."""
        each = seconds / runs
        self.run_s = each if self.run_s is None else 0.8 * self.run_s + 0.2 * each

    def take(self, threads: int) -> list[tuple[int, list[int]]]:
        """The runs of the next task, by case."""
        size = 1
        if self.run_s is not None:
            size = min(int(TASK_S / max(self.run_s, 1e-6)), TASK_RUNS)
            # Towards the end tasks get shorter, so that no worker is left with a long one alone.
            size = max(min(size, self.left() // (4 * max(threads, 1))), 1)
        taken = self.runs[self.next : self.next + size]
        self.next += len(taken)
        self.tasks += 1
        parts: list[tuple[int, list[int]]] = []
        for at, seed in taken:
            if parts and parts[-1][0] == at:
                parts[-1][1].append(seed)
            else:
                parts.append((at, [seed]))
        return parts


def same_versions(client: Client) -> None:
    """Refuses a cluster whose workers have another zerolag. Those who come later are refused by their first task."""
    # Asked of the engine itself, and without anything that another version may not have.
    try:
        found = client.run(eval, "__import__('zerolag').__version__", on_error="return")
    except OSError as error:
        raise lost(client, "nothing was run") from error
    for worker, theirs in sorted(found.items()):
        if isinstance(theirs, ImportError):
            raise VersionError(f"worker {worker} has no zerolag ({theirs}); this is zerolag {__version__}")
        if isinstance(theirs, BaseException):
            raise ClusterError(f"worker {worker} does not answer: {theirs}") from theirs
        if theirs != __version__:
            raise other_version(worker, theirs, __version__)


def other_version(worker: str, theirs: str, ours: str) -> VersionError:
    return VersionError(f"worker {worker} has zerolag {theirs}; this is zerolag {ours}, and versions are not mixed")


def lost(client: Client, kept: str) -> ClusterError:
    where = getattr(client.scheduler, "addr", None) or getattr(client.scheduler, "address", "?")
    return ClusterError(f"the scheduler at {where} is lost, or has cancelled the tasks; {kept}")


def reason(
    future: Future, client: Client, cases: list[Case], parts: list[tuple[int, list[int]]], kept: str
) -> BaseException:
    """Why a task did not end well."""
    if future.status in ("cancelled", "lost"):
        return lost(client, kept)
    error = future.exception()
    if isinstance(error, KilledWorker):
        runs = ", ".join(f"case {cases[at].hash[:12]} with seeds {seeds}" for at, seeds in parts)
        return ClusterError(f"every worker that was given this task died (too little memory?): {runs}; {kept}")
    if isinstance(error, (ImportError, AttributeError)):
        return VersionError(f"a worker cannot read what zerolag {__version__} sends it: {error}; {kept}")
    return error if error is not None else lost(client, kept)

