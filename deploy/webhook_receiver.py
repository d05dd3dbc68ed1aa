"""A receiver of webhooks that verifies them, and drops old and repeated ones (docs/alerts.md).

``SECRET=whsec_... PORT=8099 python webhook_receiver.py`` prints each alert; needs Python alone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import os
import time
from email.message import Message
from typing import Final

SECRET: Final = os.environ["SECRET"]
KEY: Final = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
SEEN: Final[set[str]] = set()


def is_verified(headers: Message, body: bytes) -> bool:
    """Return whether the daemon sent the message, lately."""
    name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > 300:
        return False  # not signed, an old message played back, or a clock is wrong
    proof = hmac.new(KEY, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(proof).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(each.encode(), wanted.encode()) for each in given)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Prints each message once."""

    def do_POST(self) -> None:
        """Take one message."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        is_ours = is_verified(self.headers, body)
        message = json.loads(body) if is_ours else {}
        if is_ours and message["id"] not in SEEN:
            SEEN.add(message["id"])
            print(message["to"], message["text"], flush=True)  # noqa: T201 - a program's output
        self.send_response(204 if is_ours else 401)
        self.end_headers()


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ.get("PORT", "8099")))
    http.server.HTTPServer(address, Receiver).serve_forever()
