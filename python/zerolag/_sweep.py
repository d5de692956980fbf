# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps from Python: one call, here or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Optional, Union

from zerolag._engine import Store, Sweep
from zerolag._progress import Progress

if TYPE_CHECKING:
    from distributed import Client


def sweep(
    sweep: Union[str, PathLike[str], Mapping[str, Any], Sweep],
    store: Union[None, str, PathLike[str], Store] = None,
    *,
    resume: bool = False,
    client: Optional[Client] = None,
    jobs: Optional[int] = None,
    progress: Optional[Progress] = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Run a scenario at many points, and return the figures of each point.

    What is returned is what `zerolag sweep --json` prints (schema zerolag.sweep/1). The rows in the store are the
    same as with `zerolag sweep`, whoever did the runs, how many at a time, and in which order.

    Args:
        sweep: a file (docs/sweep.md); a dictionary of the same form, whose `scenario` is a file or a dictionary;
            or a Sweep.
        store: the file for the results, or an open Store; in memory without.
        resume: go on from what is in the store: runs that are there are not done again.
        client: a dask.distributed Client: its workers do the runs, and this process alone writes the store.
        jobs: how many runs at a time in this process; as many as it has CPUs without.
        progress: is called with how many runs are done, and how many there are; see ProgressBar.
        metrics: patterns of names ("* wake-up p99") of what is returned; all without.

    Raises:
        InputError: the sweep makes no sense.
        StoreError: the store cannot be used, or not any more; it has all runs that were over.
        VersionError: a worker has another version of zerolag.
        ClusterError: the scheduler is lost, or a run takes its workers down; the store has all runs that were over.
        KeyboardInterrupt: Ctrl-C; the store has all runs that were over.
    """
    if client is not None and jobs is not None:
        raise ValueError("jobs is for runs in this process: on a cluster each worker does as many as it has threads")
    swept = sweep if isinstance(sweep, Sweep) else Sweep(sweep)
    if client is not None:
        from zerolag import _dask

        # Before there is a file that would be in the way the next time.
        _dask.same_versions(client)
    kept = store if isinstance(store, Store) else Store(store, resume=resume)
    try:
        if client is None:
            swept.run(kept, jobs=jobs, progress=progress)
        else:
            _dask.run(swept, kept, client, progress)
        return swept.summary(kept, metrics=list(metrics))
    finally:
        if kept is not store:
            kept.close()
