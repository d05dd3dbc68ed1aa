"""Which host names a request may give: this keeps foreign web pages from reading the daemon.

A web page open in a browser on this machine may point its own host name at 127.0.0.1 (DNS
rebinding) and then read whatever answers there as if from its own origin. Its requests carry its
name in Host. An address in Host cannot be pointed elsewhere, and neither can localhost.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_PARTS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:[0-9]*)?")
_REFUSAL: Final = (
    b"the name in this address (Host) is not one of this daemon's; ask for localhost or an "
    b"address, or add the name to http.host_names\n"
)


class KnownHosts:
    """Answers 421 if Host is neither an address, nor localhost, nor one of ``names``."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app: Final = app
        self._names: Final = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; one without Host (HTTP/1.0) is not from a browser."""
        given = [value for name, value in scope.get("headers", ()) if name == b"host"]
        if all(self._is_known(each.decode("latin-1")) for each in given):
            await self._app(scope, receive, send)
            return
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(_REFUSAL)).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": 421, "headers": headers})
        await send({"type": "http.response.body", "body": _REFUSAL})

    def _is_known(self, host: str) -> bool:
        parts = _PARTS.fullmatch(host)
        if parts is None:
            return False
        name = parts[1].strip("[]").lower().removesuffix(".")
        if name == "localhost" or name.endswith(".localhost") or name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
