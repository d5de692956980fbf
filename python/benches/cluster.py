#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How much of the time the workers of a Dask cluster are at work on a sweep, and how much of it is the sweep's end.

    python/benches/cluster.py RUNS [SECONDS]

does so many runs, of about so many seconds each (1.3 without), on two workers of one thread. Prints the part of the whole
time, from the call of `zerolag.sweep` until it returns, in which both were at work; and how long one had nothing to do at the
end, because the other had the last run. Aim: 95 % for runs of a second or more.
"""

import sys
import tempfile
import time

from distributed import Client, LocalCluster, get_task_stream

import zerolag

WORKERS = 2
SCENARIO = {
    "machine": "4cpu",
    "duration": "1s",
    "workload": [{"name": "x", "count": 8, "program": "forever { run exponential(1ms); sleep exponential(500us) }"}],
}


def length(seconds):
    """The simulated time that takes about so long: the second of two tries, each a fifth of it."""
    simulated = 1.0
    for _ in range(2):
        begin = time.perf_counter()
        zerolag.Case(SCENARIO, duration=f"{round(simulated * 1e3)}ms").run(1)
        simulated *= seconds / 5 / (time.perf_counter() - begin)
    return f"{round(simulated * 5e3)}ms"


def main():
    runs, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.3
    sweep = {"scenario": SCENARIO, "seeds": runs, "point": [{"duration": length(seconds)}]}
    with tempfile.TemporaryDirectory() as directory, LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, local_directory=directory, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        with get_task_stream(client) as stream:
            begin = time.time()
            zerolag.sweep(sweep, f"{directory}/store.sqlite", client=client)
            whole = time.time() - begin
            # The scheduler tells of a task a moment after it is over.
            time.sleep(1)
    spans = {}
    for task in stream.data:
        spans.setdefault(task["worker"], []).extend(
            (at["start"], at["stop"]) for at in task["startstops"] if at["action"] == "compute"
        )
    work = sum(stop - start for worker in spans.values() for start, stop in worker)
    ends = sorted(max(stop for _, stop in worker) for worker in spans.values())
    print(
        f"{runs} runs of {work / runs:.2f} s on {WORKERS} workers took {whole:.1f} s: both were at work "
        f"{work / WORKERS / whole:.1%} of it; one of them the last {ends[-1] - ends[0]:.2f} s alone"
    )


if __name__ == "__main__":
    main()
