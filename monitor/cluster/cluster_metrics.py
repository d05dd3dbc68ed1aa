"""The bridge's and the job's own figures for Prometheus, on a port: of the loopback if not told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from monitor.http.text_format import CONTENT_TYPE, Family, ProcessMetrics, render


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
            def do_GET(self) -> None:
                body = render(families()) + process.render() + page()
                self.send_response(200 if self.path == "/metrics" else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: a scrape is no news."""

        self._server = ThreadingHTTPServer((host, port), Answer)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url: Final = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
