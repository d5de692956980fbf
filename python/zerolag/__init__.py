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

from typing import TYPE_CHECKING

from zerolag._engine import (
    EVENT_KINDS,
    Benchmark,
    Case,
    Comparison,
    Outcome,
    Replay,
    Run,
    Store,
    Sweep,
    Targets,
    Tuning,
    __version__,
    benchmark,
    compare,
    replay,
    run,
)
from zerolag._progress import ProgressBar
from zerolag._sweep import sweep
from zerolag.errors import ClusterError, Error, InputError, StoreError, StuckError, VersionError

if TYPE_CHECKING:
    from zerolag._tune.tune import tune

__all__ = [
    "EVENT_KINDS",
    "Benchmark",
    "Case",
    "ClusterError",
    "Comparison",
    "Error",
    "InputError",
    "Outcome",
    "ProgressBar",
    "Replay",
    "Run",
    "Store",
    "StoreError",
    "StuckError",
    "Sweep",
    "Targets",
    "Tuning",
    "VersionError",
    "__version__",
    "benchmark",
    "compare",
    "replay",
    "run",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> object:
    # Optuna takes a second to be imported, and need not be there.
    if name == "tune":
        from zerolag._tune.tune import tune

        globals()["tune"] = tune
        return tune
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
