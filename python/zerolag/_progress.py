# SPDX-License-Identifier: GPL-2.0-only
# IPython has no types for what is called here.
# mypy: allow-untyped-calls
"""Saying how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Optional, TextIO

# Is called with how much is done, and how much there is.
Progress = Callable[[int, Optional[int]], object]

WIDTH = 40


class ProgressBar:
    """A bar: below the cell in a notebook, else a line on standard error if that is a terminal.

    To be given wherever `progress` is taken:

        zerolag.sweep("slices.toml", "slices.sqlite", progress=zerolag.ProgressBar())
    """

    def __init__(self, file: Optional[TextIO] = None) -> None:
        self._file = sys.stderr if file is None else file
        self._begin: Optional[tuple[float, int]] = None
        self._shown = 0.0
        self._cell: Any = None

    def __call__(self, done: int, all: Optional[int]) -> None:
        if all is None:
            return
        now = time.monotonic()
        if self._begin is None:
            # What was done before does not say how fast it goes now.
            self._begin = (now, done)
        if done < all and now - self._shown < 0.1:
            return
        self._shown = now
        begin, before = self._begin
        left = (now - begin) / (done - before) * (all - done) if done > before else None
        text = f"{done} of {all}" + ("" if left is None or done == all else f", {left:.0f} s left")
        if _in_notebook():
            self._show(done, all, text)
        elif self._file.isatty():
            full = WIDTH * done // all if all else WIDTH
            end = "\n" if done == all else ""
            print(f"\r\x1b[K{'#' * full:<{WIDTH}} {text}", end=end, file=self._file, flush=True)

    def _show(self, done: int, all: int, text: str) -> None:
        from IPython.display import HTML, display

        bar = HTML(f'<progress value="{done}" max="{all}"></progress> {text}')
        if self._cell is None:
            self._cell = display(bar, display_id=True)
        else:
            self._cell.update(bar)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
