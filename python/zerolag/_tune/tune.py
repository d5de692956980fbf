# SPDX-License-Identifier: GPL-2.0-only
"""`zerolag.tune()`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Optional, Union

from zerolag._engine import Store, Tuning
from zerolag._progress import Progress
from zerolag._tune.answer import Answer, confirm
from zerolag._tune.search import Search

_Path = Union[str, PathLike[str]]


def tune(
    tuning: Union[_Path, Mapping[str, Any], Tuning],
    *,
    journal: Optional[_Path] = None,
    store: Optional[_Path] = None,
    jobs: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> Answer:
    """Look for settings that reach what is wanted.

    Each candidate is run with the seeds of the search, and what none other beats is run again with seeds that the
    search has not seen. Without disturbance by other processes the same file gives the same answer, also if it was
    interrupted and called again.

    Args:
        tuning: a file (docs/tuning.md); a dictionary of the same form, whose `scenario` is a file or a dictionary.
        journal: the file that the search is written to, for going on and for several processes; in memory without.
        store: the file for the runs of the confirmation; in memory without.
        jobs: how many runs at a time; as many as there are CPUs without.
        progress: is called with how many runs are done, and how many there are.

    Raises:
        InputError: the tuning makes no sense, or the journal belongs to another one.
        StoreError: the store cannot be used, or not any more.
        OSError: the journal cannot be read or written.
        ModuleNotFoundError: Optuna is not installed (`pip install 'zerolag[tune]'`).
    """
    known = tuning if isinstance(tuning, Tuning) else Tuning(tuning)
    runs = known.candidates * len(known.seeds)
    found = Search(known, None if journal is None else Path(fspath(journal)), jobs=jobs)
    tell = None if progress is None else (lambda done: progress(done * len(known.seeds), runs))
    found.run(tell)
    with Store(store, resume=store is not None) as kept:
        return confirm(known, found, kept, jobs=jobs, progress=progress)
