"""The HTTP service: a thread with a server that shows the last published page.

It reads one immutable page and touches nothing else of the daemon.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from monitor.errors import ADDRESS, CANNOT_CREATE, MonitorError
from monitor.extensions import Extension
from monitor.http.access import OPEN, Access
from monitor.http.published import Page, Published

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from monitor.http.server import QuietServer

_STOP_SECONDS: Final = 2.0


class ServiceError(MonitorError):
    """The service cannot start; the message says why and what to do."""

    exit_code = CANNOT_CREATE


class Service:
    """Serves pages on ``host:port`` (0 takes a free port) from :meth:`start` to :meth:`stop`."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        connections_max: int = 256,
        header_timeout_seconds: float = 5.0,
        access: Access = OPEN,
        host_names: tuple[str, ...] | None = None,
        root_path: str = "",
        essential_metrics: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        loaded: Callable[[], None] = lambda: None,
        extensions: Sequence[Extension] = (),
    ) -> None:
        """``loaded`` is called in the service's thread, once everything for answers is imported.

        Host in requests may be an address, localhost or one of ``host_names``; anything if it is
        None. A proxy shows the pages below ``root_path``. ``extensions`` have pages of their own.
        """
        self._host: Final = host
        self._port: Final = port
        self._bound = port
        self.connections_max: Final = connections_max
        self._header_timeout_seconds: Final = header_timeout_seconds
        self._access: Final = access
        self._host_names: Final = host_names
        self._root_path: Final = root_path
        self._essential_metrics: Final = essential_metrics
        self._loaded: Final = loaded
        self._extensions: Final = extensions
        self.published: Final = Published(monotonic)
        self.requests: Final = self.published.requests
        self._server: QuietServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Address of the page."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'http' if self._access.tls is None else 'https'}://{host}:{self._bound}"

    def start(self) -> None:
        """Listen, and answer in a thread; raises ServiceError if the address is taken."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit it; else the body waits 40 ms for the head's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            listener.bind((self._host, self._port))
        except (OSError, ValueError, OverflowError) as error:  # no host name, no port
            listener.close()
            reason = getattr(error, "strerror", None) or error
            raise ServiceError(
                f"cannot listen on {self._host}:{self._port}: {reason}; "
                f"set http.port (0 takes a free one) or http.host; see {ADDRESS}"
            ) from error
        listener.listen(128)  # those who come before the server is loaded wait
        self._bound = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(listener,), daemon=True)
        self._thread.start()

    def publish(self, page: Page) -> None:
        """Show ``page`` from now on."""
        self.published.publish(page)

    def tick(self, seconds: float = 0.0) -> None:
        """Note that the data's thread is alive, and may connect for ``seconds`` from now."""
        self.published.tick(seconds)

    def starting(self) -> None:
        """Note that the data's thread reads the journal, and is silent meanwhile."""
        self.published.starting()

    def page(self) -> Page | None:
        """Return the page shown now, None before the first."""
        return self.published.page()

    def stop(self) -> None:
        """Stop answering, within a bounded time."""
        self.published.stopping = True
        if self._server is not None:
            self._server.end()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _serve(self, listener: socket.socket) -> None:
        with listener:
            self._answer(listener)

    def _answer(self, listener: socket.socket) -> None:
        import asyncio  # noqa: PLC0415 - these would delay the start of the data's thread

        import uvicorn  # noqa: PLC0415

        from monitor.http.application import KnownHosts, application  # noqa: PLC0415
        from monitor.http.server import Authenticated, InParts, QuietServer  # noqa: PLC0415

        answering: ASGIApp = application(
            self.published,
            self.connections_max // 8,
            essential_metrics=self._essential_metrics,
            root_path=self._root_path,
            extensions=self._extensions,
        )
        if self._access.users:
            answering = Authenticated(answering, self._access.users)
        if self._host_names is not None:
            answering = KnownHosts(answering, self._host_names)
        settings = uvicorn.Config(
            InParts(answering),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
        )
        settings.load()
        settings.ssl = self._access.tls
        self._loaded()
        self._server = QuietServer(settings, self.connections_max, self._header_timeout_seconds)
        if self.published.stopping:  # it was told so while this thread loaded what it needs
            return
        asyncio.run(self._server.serve(sockets=[listener]))
