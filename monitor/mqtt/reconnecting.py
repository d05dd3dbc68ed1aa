"""When to try again, and when another client is to blame: two small memories of a session."""

from __future__ import annotations

import random
from collections import deque
from typing import Final

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
    """Times at which another client of the same name seems to have taken the session over.

    Not every broker says so. Where it does not, a connection counts that the broker ends soon
    though it takes this client back at once; a broker that restarts looks alike, so that more of
    them are needed then.
    """

    def __init__(self) -> None:
        self._times: Final[deque[float]] = deque(maxlen=TAKEOVERS_MAX)

    def clear(self) -> None:
        """Forget all of them."""
        self._times.clear()

    def note(self, now: float, *, said: bool) -> bool:
        """Note one that the broker ``said``, or a suspected one; return whether it is enough."""
        self._times.append(now)
        count = TAKEOVERS_SAID_MAX if said else TAKEOVERS_MAX
        is_often = len(self._times) >= count
        return is_often and now - self._times[-count] <= TAKEOVER_WINDOW_SECONDS
