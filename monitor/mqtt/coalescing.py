"""How many bytes to wait for before a read, learned from how much a broker sends at a time.

A broker sends a limited number of messages before it waits for acknowledgements: our receive
maximum (MQTT 5.0 section 4.9), or fewer if it is configured so, which it does not announce. Waiting
for more than that delays the data for nothing.
"""

from __future__ import annotations

import math
from typing import Final

MESSAGE_BYTES: Final = 6  # of a PUBLISH besides topic and payload: flags, lengths, identifier
_SHARE: Final = 0.8  # of a portion is enough: the next one is under way sooner
_AGAIN: Final = 0.5
_ASK_LAST: Final = 64
_PROBE_FIRST: Final = 64
_PROBE_LAST: Final = 4096


class Coalescing:
    """State: the most messages that have come at a time, and how many the last read brought.

    ``most`` is the number of messages a broker may send, ``usual`` the first guess of how many it
    does send; the wait is never for more than ``bytes_most``. From time to time one longer wait
    probes whether the broker sends more by now.
    """

    def __init__(self, most: int, usual: int, bytes_most: int) -> None:
        self._most: Final = most
        self._bytes_most: Final = bytes_most
        self._portion = min(usual, most)
        self._message_bytes = 0.0
        self._short = 0  # messages of the last read, if it had waited in vain
        self._until_asked = self._ask_after = 1  # such reads until it is seen whether more comes
        self._until_probe = self._probe_after = _PROBE_FIRST

    @property
    def enough_bytes(self) -> int:
        """How many bytes to wait for before reading."""
        if not self._message_bytes:
            return self._bytes_most
        portion = self._portion if self._until_probe else self._most
        return max(1, int(min(portion * _SHARE * self._message_bytes, self._bytes_most)))

    @property
    def again_bytes(self) -> int:
        """Bytes that, right after an acknowledgement, show it was waited for; 0: do not ask."""
        return 0 if self._until_asked else math.ceil(self._short * _AGAIN * self._message_bytes)

    def came_again(self) -> None:
        """Note that they did: the last read was all that the broker sends at a time."""
        self._portion = self._short
        self._until_asked = self._ask_after = 1

    def took(self, messages: int, message_bytes: float, *, was_enough: bool) -> None:
        """Note a read: its messages, the bytes of one, and whether enough had come in time."""
        self._message_bytes = message_bytes
        if not self._until_asked:
            self._ask_after = min(2 * self._ask_after, _ASK_LAST)
            self._until_asked = self._ask_after
        self._short = 0 if was_enough else messages
        self._until_asked -= bool(self._short)
        if messages > self._portion:
            self._portion = min(messages, self._most)
            self._probe_after = _PROBE_FIRST
        if not self._until_probe:
            self._probe_after = min(2 * self._probe_after, _PROBE_LAST)
            self._until_probe = self._probe_after
        elif self._portion < self._most and was_enough:
            self._until_probe -= 1
