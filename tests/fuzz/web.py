"""Raw bytes to the HTTP service: its own protocol and application, no socket.

Rules of this file: an input is a script: ``0x1F`` begins another connection (or goes on with an
older one where a digit follows), ``0x1E`` divides what comes at once. Nothing may be answered but
well-formed HTTP, nothing with 500, and there are never more connections than allowed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import selectors
from typing import Any, Final
from unittest.mock import patch

import anyio.to_thread
import uvicorn
from harness.yard import Yard

from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contest
from monitor.extensions import all_extensions
from monitor.http.application import application
from monitor.http.server import HttpConnection, InParts, QuietServer
from monitor.http.service import Service
from monitor.simulate.carts import CARTS

from .invariants import holds

CONNECTION: Final = b"\x1f"
CHUNK: Final = b"\x1e"
CONNECTIONS_MAX: Final = 3
_CONNECTIONS_A_SCRIPT: Final = 8
_ANSWER_SECONDS: Final = 100.0
_LOOK_SECONDS: Final = 1.0
_ALLOWED: Final = frozenset(
    (200, 301, 302, 304, 307, 400, 404, 405, 406, 413, 414, 422, 431, 501, 503)
)


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose time is what is waited for, and whose threads are calls."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Return the simulated time, in s."""
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def run_in_executor(self, _executor: Any, function: Any, *args: Any) -> asyncio.Future[Any]:
        """Call at once what a thread would."""
        future = self.create_future()
        try:
            future.set_result(function(*args))
        except Exception as error:  # noqa: BLE001 - it is whoever awaits that is told
            future.set_exception(error)
        return future


async def _at_once(function: Any, *args: Any, **_options: Any) -> Any:
    """Call what a thread would."""
    return function(*args)


class _Selector(selectors.SelectSelector):
    """Never waits: nothing comes from outside."""

    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass that would be waited."""
        self._of.wait(timeout or 0.0)
        return super().select(0)


class _Transport(asyncio.Transport):
    """Takes what is written; closing tells the protocol, as a loop does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.loop = loop
        self.written = bytearray()
        self.protocol: HttpConnection | None = None
        self._closing = False

    def is_closing(self) -> bool:
        """Whether nothing is written any more."""
        return self._closing

    def write(self, data: Any) -> None:
        """Keep what would be sent."""
        if not self._closing:
            self.written += data

    def close(self) -> None:
        """End the connection after this."""
        if not self._closing:
            self._closing = True
            if self.protocol is not None:
                self.loop.call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        """End it."""
        self.close()

    def pause_reading(self) -> None:
        """Take no more for a while."""

    def resume_reading(self) -> None:
        """Go on."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is no buffer."""


class _Socket:
    """A socket that has sent all that was written."""

    def fileno(self) -> int:
        """Return a descriptor: it is open."""
        return 0

    def getsockopt(self, _level: int, _option: int, size: int) -> bytes:
        """Return that nothing is unsent."""
        return bytes(size)


class Web:
    """The service without its socket, with a yard of simulated sensors on its pages."""

    def __init__(self) -> None:
        service = Service(
            "127.0.0.1",
            0,
            connections_max=CONNECTIONS_MAX,
            monotonic=lambda: 0.0,
            extensions=[each for each in all_extensions() if each.routes],
        )
        yard = Yard(service, CARTS[:3])
        for cart in CARTS[:2]:
            service.requests.request_series(SeriesKey(cart.sensor, "mass"))
        service.requests.request_contest(Contest("mass"))
        yard.work(1800.0)
        self._config: Final = uvicorn.Config(
            InParts(application(service.published, service.connections_max // 8)),
            log_config=None, access_log=False, server_header=False, date_header=False, ws="none",
            lifespan="off",
        )  # fmt: skip
        for name in ("uvicorn.error", "uvicorn.asgi"):  # refused heads are told there
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._config.load()
        self._loop_made: _Loop | None = None
        self._errors: list[str] = []

    @property
    def _loop(self) -> _Loop:
        """The loop, made at its first use: processes that are forked have one each."""
        if self._loop_made is None:
            self._loop_made = _Loop()
            self._loop_made.set_exception_handler(lambda _, told: self._errors.append(str(told)))
        return self._loop_made

    def close(self) -> None:
        """Close the loop."""
        if self._loop_made is not None:
            self._loop_made.close()
            self._loop_made = None

    def answers(self, script: bytes) -> tuple[tuple[int, str], ...]:
        """Return the status and a digest of every answer, connection by connection."""
        self._errors.clear()
        with (
            patch.object(anyio.to_thread, "run_sync", _at_once),
            patch("monitor.http.server.formatdate", lambda *_, **__: "now"),
        ):
            return self._loop.run_until_complete(self._answers(script))

    async def _answers(self, script: bytes) -> tuple[tuple[int, str], ...]:
        server = QuietServer(self._config, CONNECTIONS_MAX, 5.0)
        state = server.server_state
        made: list[tuple[HttpConnection, _Transport]] = []
        for part in script.split(CONNECTION)[:_CONNECTIONS_A_SCRIPT]:
            older, body = (int(part[:1]), part[1:]) if part[:1].isdigit() else (len(made), part)
            if older >= len(made):
                made.append(self._connected(server))
                older = len(made) - 1
            one, transport = made[older]
            for chunk in body.split(CHUNK):
                places = server._connections()
                holds(len(places) <= CONNECTIONS_MAX, "there are too many connections")
                if not transport.is_closing() and chunk:
                    one.data_received(chunk)
                await asyncio.sleep(0)
        await self._settled(server)
        for one, transport in made:
            if not transport.is_closing():
                one.eof_received()
                transport.close()
        await self._settled(server)
        await asyncio.sleep(0)
        holds(not state.connections, "a closed connection is still counted")
        holds(not server._connections(), "a closed connection still has its place")
        holds(not self._errors, f"the loop had errors: {self._errors[:1]}")
        return tuple(answer for _, transport in made for answer in _read(bytes(transport.written)))

    def _connected(self, server: QuietServer) -> tuple[HttpConnection, _Transport]:
        transport = _Transport(self._loop)
        client: Any = _Socket()
        one = HttpConnection(server, client, "127.0.0.1")
        transport.protocol = one
        server.enter(one)
        one.connection_made(transport)
        return one, transport

    async def _settled(self, server: QuietServer) -> None:
        """Wait until all is answered: streams end by themselves too."""
        ends = self._loop.time() + _ANSWER_SECONDS
        while server.server_state.tasks:
            holds(self._loop.time() < ends, "a request is never answered")
            await asyncio.sleep(_LOOK_SECONDS)


def _read(written: bytes) -> list[tuple[int, str]]:
    """Return status and digest of the answers, read by another implementation of HTTP."""
    found: list[tuple[int, str]] = []
    rest = written
    while rest:
        head, divided, after = rest.partition(b"\r\n\r\n")
        holds(bool(divided), "an answer's head does not end")
        try:
            status = int(head.split(b" ", 2)[1])
            for line in head.split(b"\r\n")[1:]:
                name, colon, value = line.partition(b": ")
                holds(bool(colon and name) and b"\0" not in value, "a header is broken")
        except (IndexError, ValueError):
            holds(condition=False, what="an answer is not HTTP")
            raise
        holds(status in _ALLOWED, f"the answer is {status}")
        found.append((status, hashlib.sha256(rest).hexdigest()[:16]))
        rest = _after(head, after)
    return found


def _after(head: bytes, after: bytes) -> bytes:
    """Return what follows an answer's body; a body without length is the last."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length: "):
            length = int(line.split(b" ")[1])
            # An answer to HEAD has a length and no body: the next begins at once, or nothing does.
            return after if after[:9] == b"HTTP/1.1 " or not after else after[length:]
    return b""
