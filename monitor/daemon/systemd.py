"""What the service manager is told: ready, alive, stopping (the protocol of sd_notify(3)).

Rules of this file: one datagram a message, never waited for; without a service manager nothing is
sent; a message that cannot be sent costs the daemon nothing but that message.

A library would be shorter, but the two that exist (sdnotify 0.3.2, systemd-watchdog 1.0.1) block
when the manager does not read: the thread of the data would stand still on a full queue. sdnotify
also drops a status that is not Latin-1. systemd-watchdog raises when the manager is gone, and takes
the time between two beats from the wall clock, so that a clock set back ends the beats.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

_MICROSECONDS: Final = 1_000_000.0
_BEATS_IN_TIME: Final = 3.0
_STATUS_CHARACTERS_MAX: Final = 300


class Supervisor:
    """Tells the service manager at ``address`` how the work goes; use it as a context.

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
        self._beat_seconds: Final = watchdog_seconds / _BEATS_IN_TIME
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
        """Return what tells the manager that started this process; nobody if none did."""
        for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        stated = environment.get("WATCHDOG_USEC", "") if for_us else ""
        seconds = int(stated) / _MICROSECONDS if stated.isdecimal() else 0.0
        return cls(environment.get("NOTIFY_SOCKET", ""), seconds)

    def alive(self, status: str) -> None:
        """Say that the work goes on: ready the first time, then a beat now and then.

        ``status`` is one line for people, sent when it changes.
        """
        lines = []
        if not self._ready:
            self._ready = True
            lines.append("READY=1")
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
        """Say that the work comes to its end."""
        self._send(["STOPPING=1"])

    def close(self) -> None:
        """Let go of the socket."""
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
