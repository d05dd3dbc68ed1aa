"""A folder is watched: each file that is new or has grown is sent, until a signal ends it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from threading import Event
from typing import Final

from monitor.errors import MonitorError, UsageError
from monitor.mqtt.publish import PublishError

_POLL_SECONDS: Final = 1.0
_REST: Final = 10.0  # times as long as a look took, so that large files are not read all the time

_Stamp = tuple[int, int, int]


def watch(folder: Path, send: Callable[[Path], bool], without: Collection[Path]) -> None:
    """Send the files of a folder until SIGTERM or SIGINT; raises UsageError.

    ``send`` returns whether it need not see the file again before that changes.
    """
    if not folder.is_dir():
        raise UsageError(f"--watch {folder}: is no folder")
    ended = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    sys.stderr.write(f"watching {folder}\n")
    files = _Files(folder, send, without)
    while not ended.is_set():
        began = time.monotonic()
        files.look(ended)
        ended.wait(max(_POLL_SECONDS, _REST * (time.monotonic() - began)))


class _Files:
    """The files of a folder, and which were sent as they are now."""

    def __init__(
        self, folder: Path, send: Callable[[Path], bool], without: Collection[Path]
    ) -> None:
        self._folder: Final = folder
        self._send: Final = send
        self._without: Final = without
        self._before: Mapping[Path, _Stamp] = {}
        self._done: dict[Path, _Stamp] = {}
        self._fault = ""

    def look(self, ended: Event) -> None:
        """Send what has not changed since the last look and was not sent, the oldest first.

        A file that cannot be used is named, and tried again when it changes. Where the broker or
        the folder cannot be reached, that is said once, and the next look tries again.
        """
        try:
            stamps = self._stamps()
            ready = [path for path, stamp in stamps.items() if stamp == self._before.get(path)]
            self._before = stamps
            for path in sorted(ready, key=stamps.__getitem__):
                if stamps[path] != self._done.get(path) and not ended.is_set():
                    self._sent_or_named(path, stamps[path])
            self._fault = ""
        except (OSError, PublishError) as error:
            if str(error) != self._fault:
                self._fault = str(error)
                sys.stderr.write(f"monitor: {error}; tried again until it works\n")

    def _sent_or_named(self, path: Path, stamp: _Stamp) -> None:
        is_done = True
        try:
            is_done = self._send(path)
        except PublishError:
            raise
        except MonitorError as error:
            sys.stderr.write(f"monitor: {error}\n")
        if is_done:
            self._done[path] = stamp

    def _stamps(self) -> dict[Path, _Stamp]:
        """Return when each file was last written, its size and its number."""
        stamps = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                path, is_hidden = Path(entry.path), entry.name.startswith(".")
                if entry.is_file() and not is_hidden and path.resolve() not in self._without:
                    stat = entry.stat()
                    stamps[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        return stamps
