"""What one recipe has sent: a log beside it, so that no row is sent twice and revised ones count.

Rules of this file: a batch of rows and their revisions is written before it is sent, and closed by
the line of its file once the broker has all of it. After a kill in between, the same rows go out
again as they were, which a daemon recognises; one that was revised meanwhile gets a higher
revision. A line that was cut short is dropped. One process at a time has the log.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from monitor.core.pairing.identities import digest, reference_identity
from monitor.errors import USAGE, MonitorError
from monitor.files.reference_table import ReferenceRow

_BATCH, _ROW, _FILE = "batch", "row", "file"


class SentRowsError(MonitorError):
    """The log of what was sent cannot be used."""

    exit_code = USAGE


class _Sent(NamedTuple):
    """What was last sent of one reference; ``is_open`` until the broker has it."""

    content: int
    revision: int
    is_open: bool = True


class Due(NamedTuple):
    """A row to send, with its revision, and what the log will say of it."""

    row: ReferenceRow
    name: int
    sent: _Sent


class SentRows:
    """The log of what was sent; use it as a context."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._sent: dict[int, _Sent] = {}
        self._files: dict[int, int] = {}
        self._batch: list[int] = []  # the references that are on their way
        try:
            self._log = path.open("a+b")
        except OSError as error:
            raise SentRowsError(f"{path}: cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        try:
            fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._log.close()
            raise SentRowsError(f"{self._path}: another process sends by this recipe") from error
        self._log.seek(0)
        whole, end, _ = self._log.read().rpartition(b"\n")
        self._log.truncate(len(whole + end))
        for line in whole.decode(errors="replace").splitlines():
            with suppress(ValueError):  # a damaged line costs a repetition
                self._take(line)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log.close()

    def has_file(self, name: str, content: bytes) -> bool:
        """Return whether all of a file with this content was sent."""
        return self._files.get(digest(name)) == digest(content)

    def due(self, rows: Iterable[ReferenceRow], *, again: bool = False) -> list[Due]:
        """Return the rows that were not sent, or with ``again`` all of them.

        Of the rows of one reference the last counts.
        """
        last = {digest(*reference_identity(row.reference)): row for row in rows}
        due = []
        for name, row in last.items():
            sent, content = self._sent.get(name), digest(*row)
            stated, rank = divmod(row.reference.revision, 4)
            if sent is None:
                sent = _Sent(content, stated)
            elif sent.content != content:
                sent = _Sent(content, max(stated, sent.revision + 1))
            elif not (sent.is_open or again):
                continue
            revised = msgspec.structs.replace(row.reference, revision=4 * sent.revision + rank)
            due.append(Due(row._replace(reference=revised), name, sent))
        return due

    def begin(self, due: Sequence[Due]) -> None:
        """Write down what is sent before it is."""
        lines = (f"{_ROW} {name:016x} {sent.content:016x} {sent.revision}" for _, name, sent in due)
        self._append([_BATCH, *lines])

    def end(self, name: str, content: bytes) -> None:
        """Write down that the broker has all that was begun, and with it all of a file.

        A file without a name will be looked at again.
        """
        self._append([f"{_FILE} {digest(name):016x} {digest(content):016x}"])

    def _append(self, lines: Sequence[str]) -> None:
        try:
            self._log.write("".join(f"{line}\n" for line in lines).encode())
            self._log.flush()
            os.fsync(self._log.fileno())
        except OSError as error:
            raise SentRowsError(f"{self._path}: cannot be written: {error.strerror}") from error
        for line in lines:
            self._take(line)

    def _take(self, line: str) -> None:
        """Learn from a line of the log; raises ValueError if it is none."""
        kind, *numbers = line.split(" ")
        if kind == _BATCH:
            self._batch.clear()
        elif kind == _ROW:
            name, content, revision = numbers
            self._sent[int(name, 16)] = _Sent(int(content, 16), int(revision))
            self._batch.append(int(name, 16))
        else:
            file, content = numbers
            self._files[int(file, 16)] = int(content, 16)
            for each in self._batch:
                self._sent[each] = self._sent[each]._replace(is_open=False)
