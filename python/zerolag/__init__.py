# SPDX-License-Identifier: GPL-2.0-only
"""The Linux fair scheduler as a laboratory, for notebooks and programs.

The same engine as the command `zerolag`: the same input and seed give the same bytes.

    >>> import zerolag
    >>> hog = {"kind": "hog", "name": "hog", "count": 2}
    >>> run = zerolag.run({"machine": "1cpu", "duration": "1s", "workload": [hog]}, kernel="6.1")
    >>> [round(task["share"], 1) for task in run.report["tasks"]]
    [0.5, 0.5]

Times are simulated, and stand with their unit in the name of what holds them.
"""

from zerolag._engine import (
    EVENT_KINDS,
    Benchmark,
    Case,
    Comparison,
    Outcome,
    Run,
    Store,
    Sweep,
    __version__,
    benchmark,
    compare,
    run,
)
from zerolag.errors import Error, InputError, StoreError, StuckError, VersionError

__all__ = [
    "EVENT_KINDS",
    "Benchmark",
    "Case",
    "Comparison",
    "Error",
    "InputError",
    "Outcome",
    "Run",
    "Store",
    "StoreError",
    "StuckError",
    "Sweep",
    "VersionError",
    "__version__",
    "benchmark",
    "compare",
    "run",
]
