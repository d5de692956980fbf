# SPDX-License-Identifier: GPL-2.0-only
"""Long runs: the interpreter goes on, Ctrl-C is heard, progress is told."""

import os
import signal
import threading

import pytest
import zerolag

# More than anybody waits for: hours of simulated time.
LONG = {
    "machine": "4cpu",
    "duration": "100000s",
    "workload": [
        {"name": "x", "count": 8, "program": "forever { run exponential(100us); sleep exponential(100us) }"}
    ],
}


def interrupt_soon():
    """Sends what Ctrl-C sends, as soon as somebody else can run."""
    thread = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    thread.start()
    return thread


@pytest.mark.parametrize(
    "work",
    [
        lambda: zerolag.run(LONG),
        lambda: zerolag.run(LONG, sample="1s"),
        lambda: zerolag.Case(LONG).run(1),
        lambda: zerolag.compare([LONG], seeds=2),
        lambda: zerolag.benchmark("schbench", ["-r", "86400"]),
    ],
    ids=["run", "samples", "case", "study", "benchmark"],
)
def test_ctrl_c_ends_it(work):
    # That the timer's thread gets to run at all shows that the interpreter was let go.
    thread = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        work()
    thread.join()


def test_other_threads_run_meanwhile():
    seen = threading.Event()
    told = threading.Event()

    def other():
        # Both at once: this can only be seen while the run goes on in the other thread.
        told.wait()
        seen.set()

    def progress(done, end):
        told.set()
        if seen.is_set():
            raise StopIteration

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(StopIteration):
        zerolag.run(LONG, progress=progress)
    thread.join()


def test_progress_counts_up_to_the_end():
    scenario = {**LONG, "duration": "20s"}
    told = []
    zerolag.run(scenario, progress=lambda done, end: told.append((done, end)))
    assert told[-1] == (20_000_000_000, 20_000_000_000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_what_progress_raises_comes_through():
    def progress(done, end):
        raise LookupError(done)

    with pytest.raises(LookupError):
        zerolag.run(LONG, progress=progress)
    with pytest.raises(LookupError):
        zerolag.benchmark("schbench", ["-r", "86400"], progress=progress)
