# SPDX-License-Identifier: GPL-2.0-only
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Final, Optional, TypedDict, Union, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeAlias

_Path: TypeAlias = Union[str, PathLike[str]]
_Choice: TypeAlias = Union[str, int, float]
_Progress: TypeAlias = Callable[[int, Optional[int]], object]
_Scenario: TypeAlias = Union[_Path, Mapping[str, Any], "Case"]
_I32: TypeAlias = NDArray[np.int32]
_I64: TypeAlias = NDArray[np.int64]
_F64: TypeAlias = NDArray[np.float64]

__all__ = [
    "EVENT_KINDS",
    "Benchmark",
    "Case",
    "Comparison",
    "Outcome",
    "Replay",
    "Run",
    "Store",
    "Sweep",
    "Targets",
    "Tuning",
    "__version__",
    "benchmark",
    "compare",
    "put",
    "replay",
    "run",
    "run_all",
]

EVENT_KINDS: Final[tuple[str, ...]]
__version__: Final[str]

class _Wakeups(TypedDict):
    wakeups: _I64
    wakeup_p50_us: _F64
    wakeup_p90_us: _F64
    wakeup_p95_us: _F64
    wakeup_p99_us: _F64
    wakeup_p999_us: _F64
    wakeup_max_us: _F64

class _Figures(_Wakeups):
    cpu_ms: _F64
    share: _F64
    switches: _I64
    voluntary: _I64
    preempted: _I64
    migrations: _I64

class _Tasks(_Figures):
    task: _I32
    name: list[str]
    template: list[str]
    group: list[str]

class _Groups(_Figures):
    group: list[str]
    tasks: _I64

class _Cpus(TypedDict):
    cpu: _I32
    busy_ms: _F64
    idle_ms: _F64
    switches: _I64

class _Latencies(TypedDict):
    task: _I32
    from_ns: _I64
    to_ns: _I64
    count: _I64

class _Replayed(_Wakeups):
    cpu_ms: _F64
    share: _F64
    switches: _I64
    preempted: _I64

class _ReplayLatencies(_Latencies):
    simulated: NDArray[np.uint8]

class _Events(TypedDict):
    time_ns: _I64
    cpu: _I32
    kind: NDArray[np.uint8]
    task: _I32
    other: _I32
    to_cpu: _I32
    value: _I64

class _TaskSeries(TypedDict):
    time_ns: _I64
    task: _I32
    vruntime_ns: _I64
    lag_ns: _I64
    load: _I64
    util: _I64

class _CpuSeries(TypedDict):
    time_ns: _I64
    cpu: _I32
    running: _I32
    load: _I64
    util: _I64

@final
class Run:
    @property
    def end(self) -> str: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def tasks(self) -> _Tasks: ...
    @property
    def groups(self) -> _Groups: ...
    @property
    def cpus(self) -> _Cpus: ...
    @property
    def latencies(self) -> _Latencies: ...
    @property
    def events(self) -> _Events: ...
    @property
    def task_series(self) -> _TaskSeries: ...
    @property
    def cpu_series(self) -> _CpuSeries: ...
    def to_json(self) -> str: ...

def run(
    scenario: _Scenario,
    *,
    kernel: Optional[str] = None,
    machine: Optional[_Path] = None,
    duration: Optional[str] = None,
    seed: Optional[int] = None,
    set: Optional[Mapping[str, _Choice]] = None,
    choices: Optional[Mapping[str, _Choice]] = None,
    events: bool = False,
    sample: Optional[str] = None,
    progress: Optional[_Progress] = None,
) -> Run: ...
@final
class Replay:
    @property
    def remarks(self) -> list[str]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def tasks(self) -> dict[str, Any]: ...
    @property
    def what_if(self) -> dict[str, _Replayed]: ...
    @property
    def latencies(self) -> _ReplayLatencies: ...
    def to_json(self) -> str: ...

def put(path: _Path, text: str) -> None: ...
def replay(
    recording: _Path,
    *,
    context: Union[None, _Path, Mapping[str, Any]] = None,
    kernel: Optional[str] = None,
    machine: Optional[_Path] = None,
    set: Optional[Mapping[str, _Choice]] = None,
    duration: Optional[str] = None,
    repeat: int = ...,
    what_if: Sequence[str] = ...,
    progress: Optional[_Progress] = None,
) -> Replay: ...
@final
class Benchmark:
    @property
    def text(self) -> str: ...
    @property
    def metrics(self) -> dict[str, float]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...

def benchmark(
    model: str,
    options: Sequence[str] = ...,
    *,
    kernel: str = "6.12",
    machine: Optional[_Path] = None,
    seed: int = 1,
    set: Optional[Mapping[str, _Choice]] = None,
    progress: Optional[_Progress] = None,
) -> Benchmark: ...
@final
class Case:
    def __new__(
        cls,
        scenario: _Scenario,
        *,
        kernel: Optional[str] = None,
        machine: Optional[_Path] = None,
        duration: Optional[str] = None,
        set: Optional[Mapping[str, _Choice]] = None,
        choices: Optional[Mapping[str, _Choice]] = None,
    ) -> Case: ...
    @property
    def file(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def choices(self) -> dict[str, str]: ...
    @property
    def inputs(self) -> str: ...
    @property
    def hash(self) -> str: ...
    def run(self, seed: int) -> Outcome: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Outcome:
    @property
    def end(self) -> str: ...
    @property
    def rows(self) -> list[tuple[str, str, str, float]]: ...
    @property
    def metrics(self) -> dict[str, float]: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class Comparison:
    @property
    def stuck(self) -> list[tuple[int, int, str]]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...

def compare(
    cases: Sequence[_Scenario],
    *,
    seeds: Union[int, Sequence[int]] = ...,
    store: Optional[Store] = None,
    jobs: Optional[int] = None,
    metrics: Sequence[str] = ...,
    progress: Optional[_Progress] = None,
) -> Comparison: ...
@final
class Sweep:
    def __new__(cls, given: Union[_Path, Mapping[str, Any]]) -> Sweep: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def cases(self) -> list[Case]: ...
    @property
    def seeds(self) -> list[int]: ...
    def run(
        self,
        store: Store,
        *,
        jobs: Optional[int] = None,
        progress: Optional[_Progress] = None,
    ) -> int: ...
    def summary(self, store: Store, *, metrics: Sequence[str] = ...) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

@final
class Targets:
    @property
    def objectives(self) -> list[tuple[str, str, str]]: ...
    @property
    def constraints(self) -> list[tuple[str, str, str, float]]: ...
    def violation(self, at: int, figure: float, baseline: float) -> float: ...

@final
class Tuning:
    def __new__(cls, given: Union[_Path, Mapping[str, Any]]) -> Tuning: ...
    @property
    def file(self) -> str: ...
    @property
    def axes(self) -> list[tuple[str, list[str], Optional[tuple[int, int, bool, bool]]]]: ...
    @property
    def baseline(self) -> Case: ...
    @property
    def candidates(self) -> int: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def confirm(self) -> list[int]: ...
    @property
    def search_seed(self) -> int: ...
    @property
    def kernel(self) -> str: ...
    @property
    def not_modelled(self) -> list[str]: ...
    def candidate(self, choices: dict[str, str]) -> Case: ...
    def targets(self, baseline: Outcome) -> Targets: ...
    def commands(self, choices: dict[str, str]) -> str: ...

@final
class Store:
    def __new__(cls, path: Optional[_Path] = None, *, resume: bool = False) -> Store: ...
    @staticmethod
    def read(path: _Path) -> Store: ...
    @property
    def path(self) -> PathLike[str]: ...
    def add_cases(self, cases: Sequence[Case]) -> None: ...
    def add_runs(self, runs: Sequence[tuple[Case, int, Outcome]]) -> None: ...
    def figures(self, case: Case, seed: int) -> Optional[dict[str, float]]: ...
    def seeds_done(self, case: Case) -> list[int]: ...
    def to_csv(self) -> str: ...
    def write_csv(self, path: _Path) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Store: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None: ...

def run_all(
    cases: Sequence[Case],
    seeds: Sequence[int],
    store: Store,
    *,
    jobs: Optional[int] = None,
    progress: Optional[_Progress] = None,
) -> int: ...
