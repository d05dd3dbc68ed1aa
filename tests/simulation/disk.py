"""A disk that fails at a chosen statement: full, broken, or the process is killed before or after.

SQLite itself is real and writes to memory-backed files; a kill leaves the files as they are at that
instant. That a process killed between two system calls leaves a file that SQLite can read is shown
elsewhere, with strace.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any, Final, NoReturn

KINDS: Final = ("full", "broken", "killed before", "killed after")


class KilledError(BaseException):
    """The process is gone; nothing of it runs any more."""


class Disk:
    """State: the folder that holds the files, and when the next failure comes.

    ``fail(kind, statements, times)`` lets the statement after so many others fail, so many times.
    """

    def __init__(self, folder: Path) -> None:
        self._folders: Final = folder
        self._lives = 0
        self._open: list[sqlite3.Connection] = []
        self.folder: Path = folder / "0"
        self.folder.mkdir()
        self.calm()

    def calm(self) -> None:
        """Let nothing fail from now on."""
        self._kind, self._after, self._times = "", 0, 0

    def fail(self, kind: str, statements: int, times: int = 1) -> None:
        """Let a statement to come fail."""
        self._kind, self._after, self._times = kind, statements, times

    def kill(self) -> NoReturn:
        """End the process: the next one finds what the files hold at this instant."""
        self.calm()
        self._lives += 1
        former, self.folder = self.folder, self._folders / str(self._lives)
        shutil.copytree(former, self.folder)
        raise KilledError

    def connect(self, path: Path, **options: Any) -> sqlite3.Connection:
        """Stand in for ``sqlite3.connect``."""
        connection = sqlite3.connect(path, factory=_Watched, **options)
        connection.disk = self
        self._open.append(connection)
        return connection

    def evict(self) -> None:
        """Close what a process that is gone had open."""
        while self._open:
            self._open.pop().close()

    def before(self) -> None:
        """Be told that a statement is about to run."""
        if not self._kind:
            return
        self._after -= 1
        if self._after >= 0 or self._kind == "killed after":
            return
        kind = self._kind
        self._times -= 1
        if not self._times:
            self.calm()
        if kind == "killed before":
            self.kill()
        raise _failure(kind)

    def after(self) -> None:
        """Be told that a statement has run."""
        if self._kind == "killed after" and self._after < 0:
            self.kill()


class _Watched(sqlite3.Connection):
    disk: Disk | None = None

    def execute(self, *given: Any) -> sqlite3.Cursor:
        return self._watch(super().execute, given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        return self._watch(super().executemany, given)

    def _watch(self, run: Any, given: Any) -> sqlite3.Cursor:
        if self.disk is None:
            return run(*given)
        if given[0] != "rollback":  # it follows a failure and cannot fail itself
            self.disk.before()
        found = run(*given)
        self.disk.after()
        return found


def _failure(kind: str) -> sqlite3.OperationalError:
    is_full = kind == "full"
    error = sqlite3.OperationalError("database or disk is full" if is_full else "disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL if is_full else sqlite3.SQLITE_IOERR
    return error
