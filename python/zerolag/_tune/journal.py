# SPDX-License-Identifier: GPL-2.0-only
"""The journal of a search, as a file that several processes write to."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any, Optional

from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from zerolag.errors import InputError

# How each line begins.
BEGINNING = b'{"op_code"'


class FileLock(JournalFileOpenLock):
    """A lock that is gone when its process is: whoever was killed does not keep others waiting."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.fspath(path))
        self._path = path
        self._file: Optional[IO[Any]] = None

    def acquire(self) -> bool:
        self._file = open(self._path, "ab")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def open_journal(path: Optional[Path]) -> BaseStorage:
    """The storage in this file; in memory without one.

    Raises:
        InputError: the file is something else, and has been left alone.
    """
    if path is None:
        return InMemoryStorage()
    if path.exists():
        _check(path)
    lock = FileLock(path.with_name(path.name + ".lock"))
    lock.acquire()
    try:
        _cut_unfinished(path)
    finally:
        lock.release()
    return JournalStorage(JournalFileBackend(os.fspath(path), lock_obj=lock))


def _check(path: Path) -> None:
    """Refuses what is no journal, before anything is written to it."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                # Whoever was killed while writing left half a line, the last one.
                whole = line.endswith(b"\n")
                fits = "op_code" in dict(json.loads(line)) if whole else line[: len(BEGINNING)] == BEGINNING[: len(line)]
            except (ValueError, TypeError):
                fits = False
            if not fits:
                message = f"{path}:{number}: not the journal of a search; name another file"
                raise InputError(message, file=str(path), line=number)


def _cut_unfinished(path: Path) -> None:
    """Whoever was killed while writing left half a line, which nobody could read on from."""
    with open(path, "ab+") as file:
        file.seek(0)
        text = file.read()
        if text and not text.endswith(b"\n"):
            file.truncate(text.rfind(b"\n") + 1)
