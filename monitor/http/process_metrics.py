"""The usual metrics of a process, and a port that serves metrics alone.

prometheus_client collects the process and its garbage collector, and nothing else here. A process
without pages for people, such as a bridge, serves its metrics by :func:`serve_metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prometheus_client import GC_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.process_collector import ProcessCollector

from monitor.http.text_format import CONTENT_TYPE, Family, render


class ProcessMetrics:
    """Renders ``process_`` and, if asked for, ``python_gc_`` metrics."""

    def __init__(self, *, with_collector: bool = True) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        if with_collector:
            self._registry.register(GC_COLLECTOR)

    def render(self, *, is_open: bool = False) -> bytes:
        """Return the present metrics as text; in OpenMetrics it ends the page."""
        return (openmetrics.generate_latest if is_open else generate_latest)(self._registry)


@contextmanager
def serve_metrics(
    port: int | None,
    families: Callable[[], Iterable[Family]],
    page: Callable[[], bytes] = bytes,
    host: str = "127.0.0.1",
) -> Iterator[str]:
    """Serve metrics on a port within the context, and give their address; None: serve nothing.

    ``page`` are further lines in the text format.
    """
    if port is None:
        yield ""
        return
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

    server = ThreadingHTTPServer((host, port), Answer)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
