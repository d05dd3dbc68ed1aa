"""A webhook's receiver on a free port of the loopback: keeps what came, and answers as told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from harness.programs import WAIT_SECONDS


class Post(NamedTuple):
    """What came: headers with their names in lower case; ``peer`` is the client's port."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int
    peer: int

    @property
    def json(self) -> dict:
        return json.loads(self.body)


class Answer(NamedTuple):
    """What is said: ``wait`` seconds before it; with ``drip`` the body comes byte by byte.

    With ``drip_head`` the head comes so, and never ends.
    """

    status: int = 204
    headers: Mapping[str, str] = {}
    wait: float = 0.0
    drip: bool = False
    body: bytes = b""
    drip_head: bool = False


class Receiver:
    """Answers with ``plan``, one answer a post, and after it with 204."""

    def __init__(self, tls: tuple[Path, Path] | None = None) -> None:
        self.posts: list[Post] = []
        self.plan: list[Answer] = []
        self.usual = Answer()
        self.closed = threading.Event()
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                receiver.take(self)

            def log_message(self, *_words: object) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_words: object) -> None:
                """A client that hangs up is what the tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def url(self, path: str = "/hook", scheme: str = "http", host: str = "127.0.0.1") -> str:
        """Return the address of a path here."""
        return f"{scheme}://{host}:{self.port}{path}"

    def take(self, request: BaseHTTPRequestHandler) -> None:
        """Keep a post and answer it."""
        body = request.rfile.read(int(request.headers["content-length"]))
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            answer = self.plan.pop(0) if self.plan else self.usual
            self.posts.append(
                Post(request.path, headers, body, answer.status, request.client_address[1])
            )
        self.closed.wait(answer.wait)
        if answer.drip_head:
            request.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
            while not self.closed.wait(0.05):
                request.wfile.write(b"y")
                request.wfile.flush()
        request.send_response(answer.status)
        for name, value in answer.headers.items():
            request.send_header(name, value)
        request.send_header("content-length", "1000" if answer.drip else str(len(answer.body)))
        request.end_headers()
        request.wfile.write(answer.body)
        for _ in range(1000 if answer.drip else 0):
            request.wfile.write(b".")
            request.wfile.flush()
            self.closed.wait(0.05)

    def told(self, sensor: str = "") -> list[tuple[str, str]]:
        """Return (alert, state reached) of what was taken, in its order, each id once."""
        found = {}
        for post in list(self.posts):
            if post.status < 300 and sensor in ("", post.json["sensor"]):
                found.setdefault(post.json["id"], (post.json["alert"], post.json["to"]))
        return list(found.values())

    def stop(self) -> None:
        """End it."""
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(WAIT_SECONDS)
