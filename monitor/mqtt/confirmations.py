"""Up to which number the broker is known to have received the acknowledgements.

A broker does not answer an acknowledgement (PUBACK). But it takes packets in their order, so that
its answer to a PINGREQ confirms all that was written before.

Rules of this file: the sender numbers its acknowledgements; a PINGREQ is sent at most once a
second, and none in the first seconds of a connection, while messages of the former connection may
come again.
"""

from __future__ import annotations

from collections import deque
from typing import Final

ASK_EVERY_SECONDS: Final = 1.0
SETTLED_SECONDS: Final = 10.0  # of a connection


class Confirmations:
    """State: the last number that was acknowledged, and what each open PINGREQ will confirm."""

    def __init__(self) -> None:
        self.confirmed = 0
        self._latest = 0
        self._since = 0.0  # when the connection was made
        self._asked_at = 0.0
        self._questions: Final[deque[int]] = deque()

    def acknowledged(self, number: int) -> None:
        """Note that everything up to ``number`` was acknowledged, as far as connected."""
        self._latest = number

    def connected(self, now: float) -> None:
        """Begin a connection."""
        self._since = self._asked_at = now

    def disconnected(self) -> None:
        """End the connection: no open PINGREQ will be answered any more."""
        self._questions.clear()

    def session_lost(self) -> None:
        """Note that the broker no longer knows what it sent: none of that comes again."""
        self.confirmed = self._latest

    def is_due(self, now: float) -> bool:
        """Return whether to send a PINGREQ."""
        asked = self._questions[-1] if self._questions else self.confirmed
        is_settled = now - self._since >= SETTLED_SECONDS
        return self._latest > asked and is_settled and now - self._asked_at >= ASK_EVERY_SECONDS

    def asked(self, now: float) -> None:
        """Note that a PINGREQ was sent."""
        is_settled = now - self._since >= SETTLED_SECONDS
        self._questions.append(self._latest if is_settled else self.confirmed)
        self._asked_at = now

    def answered(self) -> None:
        """Note that a PINGRESP came."""
        if self._questions:
            self.confirmed = max(self.confirmed, self._questions.popleft())
