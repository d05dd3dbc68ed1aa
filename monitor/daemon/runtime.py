"""The process in its system: service manager, signals, log and memory.

Rules of this file: the daemon notifies the service manager that it is ready, alive or stopping (the
protocol of sd_notify(3)), with one datagram per message and without waiting; without a service
manager nothing is sent; a message that cannot be sent is dropped and has no other effect. SIGTERM
and SIGINT stop the daemon in good order, SIGHUP reloads its settings; a handler only sets a flag,
and the loop acts on it between two batches. What exists after the start is frozen, so that no cycle
collection walks it again; nothing is switched off, because pages and connections do make cycles.

A library for sd_notify would be shorter, but the two that exist (sdnotify 0.3.2, systemd-watchdog
1.0.1) block when the manager does not read: the thread of the data would stand still on a full
queue. sdnotify also drops a status that is not Latin-1. systemd-watchdog raises when the manager is
gone, and takes the time between two beats from the wall clock, so that a clock set back ends the
beats.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FrameType, ModuleType, TracebackType
from typing import Final, Self

import numpy as np

from monitor.core.formatting import instant

# -- the service manager --------------------------------------------------------------------------

_MICROSECONDS: Final = 1_000_000.0
_BEATS_IN_TIME: Final = 3.0
_STATUS_CHARACTERS_MAX: Final = 300


class Supervisor:
    """Reports the daemon's state to the service manager at ``address``; use it as a context.

    ``address`` is the path of a datagram socket, ``@name`` an abstract one, empty for nobody.
    ``watchdog_seconds`` is how long the manager waits for a sign of life; 0 for ever.
    """

    def __init__(
        self,
        address: str = "",
        watchdog_seconds: float = 0.0,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address: Final = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog_seconds: Final = watchdog_seconds
        self._beat_seconds: Final = watchdog_seconds / _BEATS_IN_TIME
        self._is_reading = False
        self._monotonic: Final = monotonic
        self._beat_due = -float("inf")
        self._ready = False
        self._status = ""
        self._socket: Final = (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            if self._address
            else None
        )
        if self._socket is not None:
            self._socket.settimeout(0.0)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Return a supervisor that reports to the manager of this process, or to nobody."""
        for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        stated = environment.get("WATCHDOG_USEC", "") if for_us else ""
        seconds = int(stated) / _MICROSECONDS if stated.isdecimal() else 0.0
        return cls(environment.get("NOTIFY_SOCKET", ""), seconds)

    def reading(self, seconds: float) -> None:
        """Report that the daemon reads its journal, and is silent for ``seconds`` at most."""
        if self._watchdog_seconds and self._ready:  # no watchdog waits before
            self._is_reading = True
            self._send([f"WATCHDOG_USEC={seconds * _MICROSECONDS:.0f}", "WATCHDOG=1"])

    def alive(self, status: str) -> None:
        """Report that the daemon works: ready at the first call, then a watchdog beat at intervals.

        ``status`` is one line for people, sent when it changes.
        """
        lines = []
        if not self._ready:
            self._ready = True
            lines.append("READY=1")
        if self._is_reading:
            self._is_reading, self._beat_due = False, -float("inf")
            lines.append(f"WATCHDOG_USEC={self._watchdog_seconds * _MICROSECONDS:.0f}")
        status = " ".join(status.split())[:_STATUS_CHARACTERS_MAX]
        if status != self._status:
            self._status = status
            lines.append(f"STATUS={status}")
        now = self._monotonic()
        if self._beat_seconds and now >= self._beat_due:
            self._beat_due = now + self._beat_seconds
            lines.append("WATCHDOG=1")
        self._send(lines)

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self._send(["STOPPING=1"])

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send(self, lines: list[str]) -> None:
        if self._socket is None or not lines:
            return
        try:
            self._socket.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return


# -- signals --------------------------------------------------------------------------------------

_log: Final = logging.getLogger("monitor")


class StoppedError(BaseException):
    """A stop signal arrived while there is nothing to finish first."""


class Signals:
    """State: whether to stop, and whether to reload; ``sentence`` is logged of a stop."""

    def __init__(self, sentence: str = "stopping after the current batch is committed") -> None:
        self._said: Final = sentence
        self.stop = False
        self.reload = False
        self._stops_at_once = False

    @contextmanager
    def stopping_at_once(self) -> Iterator[None]:
        """Within it a signal to stop, or one that came before, raises StoppedError."""
        self._stops_at_once = True
        try:
            if self.stop:
                raise StoppedError
            yield
        finally:
            self._stops_at_once = False

    def install(self) -> None:
        """Listen to SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)

    def install_reload(self) -> None:
        """Listen to SIGHUP, which else ends the process."""
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.stop = True
        name = signal.Signals(number).name
        if self._stops_at_once:
            _log.info("%s: stopping; the journal is as it was", name)
            raise StoppedError
        _log.info("%s: %s", name, self._said)

    def _on_reload(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.reload = True


# -- the log --------------------------------------------------------------------------------------


def _instant(record: logging.LogRecord) -> str:
    return instant(record.created, "seconds")


class _Json(logging.Formatter):
    """One object per line, which no message can break out of; it has a record's ``fields``."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class _Text(logging.Formatter):
    """Time, level, message; control characters are replaced."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as logging names it
        del datefmt
        return _instant(record)

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in line)


def configure(level: str, layout: str) -> None:
    """Send the program's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = _Text("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(_Json() if layout == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


# -- memory ---------------------------------------------------------------------------------------

# New containers before a collection of the youngest generation: batches make many, hardly a cycle.
_YOUNGEST: Final = 50_000
_ROUNDS: Final = 20
# Options of glibc's malloc, which by default returns blocks above 128 kB to the system at once.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def collect_rarely() -> None:
    """Let the collector of cycles run rarely."""
    gc.set_threshold(_YOUNGEST, _ROUNDS, _ROUNDS)


def freeze_after_start() -> None:
    """Exclude modules, settings and recovered state from all further collections."""
    gc.unfreeze()  # what a daemon before a reload left behind may be in cycles
    freeze()
    collect_rarely()
    return_freed()


def freeze() -> None:
    """Collect, then exclude everything that exists now from further collections."""
    gc.collect()
    gc.freeze()


OF_WORKERS: Final = 256 << 20, 64 << 20  # what workers of the cluster keep of states they decode


def retain_freed(kept_bytes: int, block_bytes: int) -> None:
    """Let malloc keep up to ``kept_bytes`` of freed memory, where the C library allows it.

    For loops that allocate large blocks again and again: much of their time goes into page faults.
    Blocks larger than ``block_bytes`` still go back at once.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, kept_bytes)
        set_option(_MMAP_THRESHOLD, block_bytes)


def return_freed() -> None:
    """Let malloc return the free pages between its blocks, where the C library allows it.

    Columns that grew for hours, and a start, leave a fifth of the memory so.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


# What scipy.special imports of numpy, only because it lists all names that numpy has.
_ONLY_LISTED: Final = "ctypeslib", "f2py", "ma", "random", "testing"


class _Unloaded(ModuleType):
    """Stands for a module of numpy until one of its names is asked for."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


def postpone_imports() -> None:
    """Let parts of numpy load when they are used, not with scipy.special: a daemon has 8 MB less.

    ``numpy.unique`` and ``numpy.median`` ask ``numpy.ma`` whether an array is masked; before that
    is loaded, none is.
    """
    for name in _ONLY_LISTED:
        if f"numpy.{name}" not in sys.modules:
            setattr(np, name, _Unloaded(f"numpy.{name}"))
    for name in ("is_masked", "isMaskedArray"):
        vars(np.ma).setdefault(name, lambda _: False)
