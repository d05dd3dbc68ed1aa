"""The sink ``webhook``: an HTTP POST of JSON for each transition, signed.

Rules of this file: no address, header or secret ever appears in one of our messages. The signature
is that of https://www.standardwebhooks.com, so that its libraries verify it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Final

from monitor.alerts.posting import Poster, Target, check_status
from monitor.alerts.transition import Transition, links, transition_document

VERSION: Final = 1


class WebhookSink:
    """Posts to one address over a connection that is kept."""

    def __init__(
        self,
        target: Target,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._target: Final = target
        self._clock: Final = clock
        self._poster: Final = Poster(target, monotonic)

    def deliver(self, transition: Transition) -> None:
        """Post a transition; raises LaterError or RefusedError, see :func:`check_status`."""
        if not transition.is_news:
            return
        content = body(transition, self._target.public_url)
        headers = signed_headers(transition.id, content, self._clock(), self._target.key)
        answer = self._poster.post(content, headers)
        check_status(answer.status, answer.headers, self._clock())

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def body(transition: Transition, public_url: str = "") -> bytes:
    """Return the posted body; ``text`` is for receivers that show a single line."""
    document = {**transition_document(transition), **links(transition, public_url)}
    message = {"version": VERSION, "text": str(transition), **document}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def signed_headers(name: str, content: bytes, now: float, key: bytes | None) -> dict[str, str]:
    """Return the headers that name a message, date it, and prove who sent it."""
    stamp = str(int(now))
    headers = {"webhook-id": name, "webhook-timestamp": stamp}
    if key is not None:
        signed_bytes = b".".join((name.encode(), stamp.encode(), content))
        proof = base64.b64encode(hmac.digest(key, signed_bytes, hashlib.sha256)).decode()
        headers["webhook-signature"] = f"v1,{proof}"
    return headers
