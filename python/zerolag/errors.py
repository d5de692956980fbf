# SPDX-License-Identifier: GPL-2.0-only
"""What can go wrong, with its place as far as that is known."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """Something is wrong with what the engine was given.

    `file`, `line` and `column` (from 1) say where, `key` says which key or choice; each is None if it is not
    known. The message says all of that, what was found, and what would be accepted.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Optional[str] = None,
        line: Optional[int] = None,
        column: Optional[int] = None,
        key: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.key = key

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are copied by their positional arguments only.
        return (_remake, (type(self), str(self), self.file, self.line, self.column, self.key))


def _remake(
    kind: type[Error],
    message: str,
    file: Optional[str],
    line: Optional[int],
    column: Optional[int],
    key: Optional[str],
) -> Error:
    return kind(message, file=file, line=line, column=column, key=key)


class InputError(Error):
    """A scenario, a sweep, a recording, or what is chosen beside it, makes no sense."""


class StoreError(Error):
    """A result store cannot be used, or cannot be written any more."""


class StuckError(Error):
    """A benchmark came to a deadlock, or it or a replay went on and on without time passing."""


class VersionError(Error):
    """Results of different versions of zerolag would be mixed."""


class ClusterError(Error):
    """Runs on a cluster did not end: its scheduler is lost, or a run takes its workers down."""
