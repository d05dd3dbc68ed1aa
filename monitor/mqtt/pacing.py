"""How long to wait: for more bytes before a read, and before the next attempt to connect.

A broker sends a limited number of messages before it waits for acknowledgements: our receive
maximum (MQTT 5.0 section 4.9), or fewer if it is so configured, which it does not announce. Waiting
for more than that only delays the data, so the limit is learned from how much a broker sends at a
time.

A session has two small memories: when to try again, and whether another client is to blame.
"""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Final

# -- before a read --------------------------------------------------------------------------------

MESSAGE_BYTES: Final = 6  # of a PUBLISH besides topic and payload: flags, lengths, identifier
_SHARE: Final = 0.8  # of a portion is enough: the next one starts sooner
_AGAIN: Final = 0.5
_ASK_LAST: Final = 64
_PROBE_FIRST: Final = 64
_PROBE_LAST: Final = 4096


class Coalescing:
    """State: the most messages that came at a time, and how many the last read brought.

    ``most`` is the number of messages a broker may send, ``usual`` the first guess of how many it
    does send; the wait is never for more than ``bytes_most``. Now and then one longer wait probes
    whether the broker sends more by now.
    """

    def __init__(self, most: int, usual: int, bytes_most: int) -> None:
        self._most: Final = most
        self._bytes_most: Final = bytes_most
        self._portion = min(usual, most)
        self._message_bytes = 0.0
        self._short = 0  # messages of the last read, if its wait brought no more
        self._until_asked = self._ask_after = 1  # such reads until the next probe for more
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
        """Return the bytes that show an acknowledgement was awaited; 0: do not ask."""
        return 0 if self._until_asked else math.ceil(self._short * _AGAIN * self._message_bytes)

    def came_again(self) -> None:
        """Note that such bytes came: the last read was all that the broker sends at a time."""
        self._portion = self._short
        self._until_asked = self._ask_after = 1

    def took(self, messages: int, message_bytes: float, *, was_enough: bool) -> None:
        """Note a read: its messages, the bytes of one, and whether enough came in time."""
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


# -- before a connection --------------------------------------------------------------------------

BACKOFF_FIRST_SECONDS: Final = 0.2
BACKOFF_CAP_SECONDS: Final = 30.0
_DOUBLINGS_MAX: Final = 20
TAKEOVERS_SAID_MAX: Final = 3
TAKEOVERS_MAX: Final = 10
TAKEOVER_WINDOW_SECONDS: Final = 60.0


class Backoff:
    """Pauses between attempts to connect: exponential, with full jitter."""

    def __init__(self, chance: random.Random) -> None:
        self._chance: Final = chance
        self.attempts = 0
        """Attempts since the last success."""

    def pause_seconds(self) -> float:
        """Return how long to wait after one more attempt that failed."""
        doublings = min(self.attempts, _DOUBLINGS_MAX)
        self.attempts += 1
        span = min(BACKOFF_CAP_SECONDS, BACKOFF_FIRST_SECONDS * 2.0**doublings)
        return self._chance.uniform(0.0, span)

    def succeeded(self) -> None:
        """Begin again with short pauses."""
        self.attempts = 0


class Takeovers:
    """Times at which another client with the same identifier seems to have taken over the session.

    Not every broker says so. For one that does not, a connection counts if the broker ends it soon
    although it accepts this client again at once; a restarting broker looks the same, so that more
    such connections are needed. They also end the daemon: mosquitto does not notify the client that
    it disconnects, and two daemons that continue for ever each commit a part of the messages.
    """

    def __init__(self) -> None:
        self._times: Final[deque[float]] = deque(maxlen=TAKEOVERS_MAX)

    def clear(self) -> None:
        """Remove all of them."""
        self._times.clear()

    def are_several(self, now: float) -> bool:
        """Return whether there was more than one recently."""
        times = self._times
        return len(times) > 1 and now - times[-2] <= TAKEOVER_WINDOW_SECONDS

    def record(self, now: float, *, is_stated: bool) -> bool:
        """Record one, suspected unless the broker stated it; return whether that is enough."""
        self._times.append(now)
        count = TAKEOVERS_SAID_MAX if is_stated else TAKEOVERS_MAX
        is_often = len(self._times) >= count
        return is_often and now - self._times[-count] <= TAKEOVER_WINDOW_SECONDS
