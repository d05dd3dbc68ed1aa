"""A broker that keeps its promises and no more: QoS 1 with a persistent session, in memory.

What it takes stays until it is acknowledged; at most ``window`` messages are under way; when the
client comes back, what is under way is sent again first, and more behind it as there is room. A
broker that restarts keeps the messages and their names, as MQTT wants it, or gives them new ones,
so that an acknowledgement that belongs to a former connection meets another message.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

_NAMES: Final = 16
_PUBLISH_AT_LEAST_ONCE: Final = 0x32
_AGAIN: Final = 0x08
_PUBACK: Final = 0x40


class Sent(NamedTuple):
    """A message as its publisher sent it."""

    topic: str
    payload: bytes


class Broker:
    """State: what waits, and what is under way by its name."""

    def __init__(self, window: int = 8) -> None:
        self._window: Final = window
        self._waiting: deque[Sent] = deque()
        self._under_way: dict[int, Sent] = {}
        self._wire: deque[bytes] = deque()
        self._last_name = 0

    @property
    def is_empty(self) -> bool:
        """Whether all that was ever taken has been acknowledged."""
        return not self._waiting and not self._under_way

    @property
    def left(self) -> int:
        """How many messages have not been acknowledged."""
        return len(self._waiting) + len(self._under_way)

    def take(self, message: Sent) -> None:
        """Promise a publisher that a message will arrive."""
        self._waiting.append(message)

    def begin_connection(self) -> None:
        """Let the client come back: what is under way is sent again, in its order."""
        self._wire = deque(
            _publish(name, message, again=True) for name, message in self._under_way.items()
        )
        self._fill()

    @property
    def is_silent(self) -> bool:
        """Whether all has been sent that may be."""
        return not self._wire

    def restart(self, *, keeps_names: bool = False) -> None:
        """End every connection and begin anew with what is stored."""
        if keeps_names:
            self.begin_connection()
            return
        self._waiting.extendleft(reversed(self._under_way.values()))
        self._under_way.clear()
        self._last_name = 0
        self.begin_connection()

    def send(self, most: int) -> bytes:
        """Return up to ``most`` messages as they stand on the wire (MQTT 5), empty if none."""
        self._fill()
        return b"".join(self._wire.popleft() for _ in range(min(most, len(self._wire))))

    def _fill(self) -> None:
        """Send on what waits as long as there is room."""
        while self._waiting and len(self._under_way) < self._window:
            name = self._new_name()
            self._under_way[name] = self._waiting.popleft()
            self._wire.append(_publish(name, self._under_way[name], again=False))

    def hear(self, packets: bytes) -> None:
        """Take acknowledgements, four bytes each; one of an unknown name means nothing."""
        for at in range(0, len(packets), 4):
            assert packets[at : at + 2] == bytes((_PUBACK, 2))
            self._under_way.pop(int.from_bytes(packets[at + 2 : at + 4], "big"), None)

    def _new_name(self) -> int:
        while True:
            self._last_name = self._last_name % _NAMES + 1
            if self._last_name not in self._under_way:
                return self._last_name


def _publish(name: int, message: Sent, *, again: bool) -> bytes:
    topic = message.topic.encode()
    body = len(topic).to_bytes(2, "big") + topic + name.to_bytes(2, "big") + b"\0" + message.payload
    first = _PUBLISH_AT_LEAST_ONCE | (_AGAIN if again else 0)
    return bytes((first,)) + _length(len(body)) + body


def _length(size: int) -> bytes:
    """Return a variable byte integer (MQTT 5.0 section 1.5.5)."""
    found = bytearray()
    while True:
        size, low = divmod(size, 128)
        found.append(low | (0x80 if size else 0))
        if not size:
            return bytes(found)
