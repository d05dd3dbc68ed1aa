"""The usual metrics of a process, and a port that serves metrics alone.

prometheus_client collects the process and its garbage collector, and nothing else here. A process
without pages for people, such as a bridge, serves its metrics by :class:`Served`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from prometheus_client import GC_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.process_collector import ProcessCollector

from monitor.http.text_format import CONTENT_TYPE, Family, render


class ProcessMetrics:
    """Renders ``process_`` and, if asked for, ``python_gc_`` metrics."""

    def __init__(self, *, with_collector: bool = True) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        if with_collector:
            self._registry.register(GC_COLLECTOR)

    def render(self) -> bytes:
        """Return the present metrics as text."""
        return generate_latest(self._registry)


class Served:
    """Metrics on a port until :meth:`close`; ``page`` are further lines in the text format."""

    def __init__(
        self,
        port: int,
        families: Callable[[], Iterable[Family]],
        page: Callable[[], bytes] = bytes,
        host: str = "127.0.0.1",
    ) -> None:
        process = ProcessMetrics(with_collector=False)

        class Answer(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # the body does not wait for the head to be acknowledged

            def do_GET(self) -> None:
                body = render(families()) + process.render() + page()
                self.send_response(200 if self.path == "/metrics" else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing: a scrape is not news."""

        self._server = ThreadingHTTPServer((host, port), Answer)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url: Final = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
