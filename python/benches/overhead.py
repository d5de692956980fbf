#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a run costs from Python beyond the run itself, and whether memory stays flat.

The scenario is over after a millisecond of simulated time, so that nearly all of what is measured is overhead. Prints for
each way of running it milliseconds per run over 1,000 runs, by the clock and of CPU time, and by how much the process grew
during the second half of them.
"""

import resource
import tempfile
import time
from pathlib import Path

import zerolag

RUNS = 1000
SCENARIO = {
    "machine": "2cpu",
    "duration": "1ms",
    "workload": [{"name": "x", "count": 4, "program": "forever { run 100us; sleep 50us }"}],
}


def resident_kib():
    """What the process has in memory now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


def measure(what, work):
    """Times `work` with each seed."""
    clock, cpu, half = time.perf_counter(), time.process_time(), 0
    for seed in range(1, RUNS + 1):
        work(seed)
        if seed == RUNS // 2:
            half = resident_kib()
    clock, cpu = (time.perf_counter() - clock) / RUNS * 1e3, (time.process_time() - cpu) / RUNS * 1e3
    grown = resident_kib() - half
    print(f"{what:32} {clock:7.3f} ms per run, {cpu:7.3f} ms of CPU time, {grown:+5} KiB over the last {RUNS // 2}")


def main():
    case = zerolag.Case(SCENARIO)
    measure("case.run(seed)", case.run)
    measure("run(case, seed=seed)", lambda seed: zerolag.run(case, seed=seed))
    measure("run(dict, seed=seed).report", lambda seed: zerolag.run(SCENARIO, seed=seed).report)
    measure("run(..., events, sample).tasks", lambda seed: zerolag.run(case, seed=seed, events=True, sample="100us").tasks)
    with tempfile.TemporaryDirectory() as directory, zerolag.Store(Path(directory) / "runs.sqlite") as store:
        store.add_cases([case])
        measure("case.run, store.add_runs", lambda seed: store.add_runs([(case, seed, case.run(seed))]))


if __name__ == "__main__":
    main()
