"""The sink ``webhook``: an HTTP POST of JSON for each transition, signed.

Rules of this file: certificates are checked, redirects are not followed, each attempt has one bound
in time whatever the server does; no address, header or secret is ever part of a message of ours.
The signature is that of https://www.standardwebhooks.com, so that its libraries verify it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import httpx

from monitor import __version__
from monitor.alerts.outlet import LaterError, RefusedError
from monitor.alerts.transition import Transition, document

VERSION: Final = 1
_ANSWER_BYTES_MAX: Final = 65_536
# Statuses below 500 that say "not now": a request time-out, too early, too many.
_LATER: Final = (408, 425, 429)


class Target(NamedTuple):
    """Where to post to; ``key`` signs, ``authorization`` is a header. Not to be printed."""

    url: str
    key: bytes | None = None
    authorization: str | None = None
    ca_file: str | None = None
    timeout_seconds: float = 10.0

    def __repr__(self) -> str:
        return "Target(...)"


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
        self._monotonic: Final = monotonic
        for name in ("httpx", "httpcore"):  # they would write the whole address into the log
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client: Final = httpx.Client(
            verify=ssl.create_default_context(cafile=target.ca_file),
            timeout=target.timeout_seconds,
            headers={"User-Agent": f"monitor/{__version__}"},
            limits=httpx.Limits(max_connections=1, keepalive_expiry=30.0),
        )

    def deliver(self, transition: Transition) -> None:
        """Post a transition; raises LaterError or RefusedError, see :func:`judge`."""
        if not transition.is_news:
            return
        content = body(transition)
        headers = {"Content-Type": "application/json"}
        headers |= signed(transition.id, content, self._clock(), self._target.key)
        if self._target.authorization is not None:
            headers["Authorization"] = self._target.authorization
        until = self._monotonic() + self._target.timeout_seconds
        try:
            with self._client.stream(
                "POST", self._target.url, content=content, headers=headers
            ) as answer:
                self._read(answer, until)
                status, told = answer.status_code, answer.headers
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LaterError(f"no answer ({type(error).__name__})") from None
        judge(status, told, self._clock())

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _read(self, answer: httpx.Response, until: float) -> None:
        """Read what the server says and forget it, with bounds in size and time."""
        size = 0
        for chunk in answer.iter_raw():
            size += len(chunk)
            if size > _ANSWER_BYTES_MAX:
                return
            if self._monotonic() > until:
                raise httpx.ReadTimeout("it says more and more")


def judge(status: int, headers: Mapping[str, str], now: float) -> None:
    """Return if a status says "taken"; raises LaterError for 5xx, 429 and the like, else Refused.

    A redirect is refused: what is signed for one address is not told to another.
    """
    if 200 <= status < 300:
        return
    why = f"the server answers {status}"
    if status >= 500 or status in _LATER:
        raise LaterError(why, retry_after(headers.get("retry-after", ""), now))
    raise RefusedError(why)


def retry_after(text: str, now: float) -> float | None:
    """Return the pause that the header Retry-After asks for, s (RFC 9110 section 10.2.3)."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def body(transition: Transition) -> bytes:
    """Return what is posted; ``text`` is for receivers that show a line and nothing else."""
    told = {"version": VERSION, "text": str(transition), **document(transition)}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def signed(name: str, content: bytes, now: float, key: bytes | None) -> dict[str, str]:
    """Return the headers that name a message, date it, and prove who sent it."""
    stamp = str(int(now))
    headers = {"webhook-id": name, "webhook-timestamp": stamp}
    if key is not None:
        told = b".".join((name.encode(), stamp.encode(), content))
        proof = base64.b64encode(hmac.digest(key, told, hashlib.sha256)).decode()
        headers["webhook-signature"] = f"v1,{proof}"
    return headers
