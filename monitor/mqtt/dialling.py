"""A connection that is being made: name, address and handshake share one time limit.

The system's resolver knows no limit, so a thread of its own asks it, and is left behind where it
takes too long.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, Final, Self

_READ_BYTES: Final = 65_536


class Dialled:
    """State: a connected socket, and when the attempt ends, s of the monotonic clock."""

    def __init__(self, connected: socket.socket, ends_at: float) -> None:
        self.socket: Final = connected
        self._ends_at: Final = ends_at

    @classmethod
    def to(cls, host: str, port: int, seconds: float) -> Self:
        """Connect to the first address of a host that answers.

        The addresses that are left to try share the time that is left. Raises OSError, and
        ValueError where ``host`` is not a host name.
        """
        ends_at = time.monotonic() + seconds
        addresses = _addresses(host, port, seconds)
        failed = OSError(f"{host} has no address")
        for at, address in enumerate(addresses):
            try:
                share = _seconds_until(ends_at) / (len(addresses) - at)
                return cls(_connected(address, share), ends_at)
            except OSError as error:  # also of a family that this machine does not have
                failed = error
        raise failed

    def send(self, data: bytes) -> None:
        """Send all of it; raises OSError."""
        self.socket.settimeout(_seconds_until(self._ends_at))
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """Return what comes next, nothing at the end; raises OSError."""
        self.socket.settimeout(_seconds_until(self._ends_at))
        return self.socket.recv(_READ_BYTES)


def _seconds_until(ends_at: float) -> float:
    left = ends_at - time.monotonic()
    if left <= 0.0:
        raise TimeoutError("timed out")
    return left


_Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]


def _connected(to: _Address, seconds: float) -> socket.socket:
    """Return a socket that is connected; raises OSError."""
    family, kind, protocol, _, address = to
    made = socket.socket(family, kind, protocol)
    try:
        made.settimeout(seconds)
        made.connect(address)
    except OSError:
        made.close()
        raise
    return made


def _addresses(host: str, port: int, seconds: float) -> list[_Address]:
    """Return the addresses of a host; raises OSError, and ValueError for what is no name."""
    addresses: list[_Address] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            addresses.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            errors.append(error)

    asking = threading.Thread(target=ask, name="name resolution", daemon=True)
    asking.start()
    asking.join(seconds)
    if asking.is_alive():
        raise TimeoutError(f"no answer in time to what the address of {host} is")
    if errors:
        raise errors[0]
    return addresses
