"""Pushes the numbers of /metrics by OTLP, for hosts that Prometheus cannot scrape.

Rules of this file: a thread of its own reads the last published page and posts it in
parts of a few thousand points; it delays nobody, and points that cannot be sent are dropped,
because the next page has newer numbers. OpenTelemetry's exporter encodes, posts and retries within
its time; credentials come from its own variables (OTEL_EXPORTER_OTLP_HEADERS), never from the
settings.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from monitor import __version__
from monitor.config.settings import Settings
from monitor.core.snapshot.snapshot import Snapshot
from monitor.daemon.listeners import Listener, ListenerContext, OpenBroker
from monitor.errors import USAGE, MonitorError, install_hint
from monitor.extensions.otlp.settings import Otlp, otlp_of
from monitor.http.metrics import OTHERS, reference_families, series_families
from monitor.http.process_metrics import ProcessMetrics
from monitor.http.published import Page
from monitor.http.telemetry import families
from monitor.http.text_format import Family, by, counters

if TYPE_CHECKING:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricsData

POINTS_A_POST: Final = 4000
_NANO: Final = 1e9

_log: Final = logging.getLogger("monitor")


class OtlpMissingError(MonitorError):
    """The exporter is not installed."""

    exit_code = USAGE


class Point(NamedTuple):
    """One number of a metric, with the values of its labels."""

    name: str
    kind: str
    help: str
    labels: dict[str, str]
    value: float


class OtlpFigures(NamedTuple):
    """How many posts of metrics by OTLP were sent, and failed."""

    sent: int = 0
    failed: int = 0


def _families_of(figures: OtlpFigures) -> Iterator[Family]:
    yield counters(
        "otlp_posts",
        "Posts of metrics by OTLP; what could not be sent is not sent later.",
        ("result",),
        by(figures._asdict()),
    )


EVERY_FAMILY: Final = tuple(_families_of(OtlpFigures()))


def otlp_listener(context: ListenerContext) -> OtlpPusher | None:
    """Return the pusher, None if the settings have no endpoint; raises OtlpMissingError."""
    otlp = otlp_of(context.settings)
    if otlp.endpoint is None:
        return None
    essential = context.settings.http.metrics == "essential"
    return OtlpPusher(otlp, otlp.endpoint, essential=essential)


def remarks(settings: Settings) -> Iterator[str]:
    """Yield that the exporter is missing on this machine, for ``check-config``."""
    try:
        otlp = otlp_of(settings)
        if otlp.endpoint is not None:
            _exporter(otlp.endpoint, otlp.timeout_seconds)
    except OtlpMissingError as error:
        yield f"on this machine: {error}"


class OtlpPusher(Listener):
    """Pushes published pages from :meth:`start` to :meth:`stop`.

    Raises OtlpMissingError where OpenTelemetry's exporter is not installed.
    """

    def __init__(self, settings: Otlp, endpoint: str, *, essential: bool) -> None:
        self._page: Page | None = None
        self._settings: Final = settings
        self._essential: Final = essential
        self._process: Final = ProcessMetrics()
        self._exporter: Final = _exporter(endpoint, settings.timeout_seconds)
        self._started_at: Final = time.time()
        self._figures = OtlpFigures()
        self._stopping: Final = Event()
        self._thread: Final = Thread(target=self._run, name="otlp", daemon=True)

    def start(self, connect: OpenBroker) -> None:  # noqa: ARG002 - it has its own way out
        """Begin to push."""
        self._thread.start()

    def publish(self, page: Page) -> None:
        """Push a page at the next push, unless a newer one comes first."""
        self._page = page

    def families(self) -> Iterator[Family]:
        """Yield how many posts were sent, and failed."""
        return _families_of(self._figures)

    def end(self) -> None:
        """Push no more."""
        self._stopping.set()

    def stop(self, seconds: float) -> None:
        """Wait for an attempt under way at most ``seconds``; it ends with the process."""
        self.end()
        self._thread.join(seconds)

    def _run(self) -> None:
        shown: Page | None = None
        while not self._stopping.wait(self._settings.interval_seconds):
            page = self._page
            if page is None or page is shown:
                continue
            shown = page
            try:
                self._push(page)
            except Exception:  # noqa: BLE001 - a fault here costs a push, not the thread its life
                _log.exception("otlp: cannot push")
                self._count(sent=False)

    def _push(self, page: Page) -> None:
        points = iter(self.points(page))
        while some := list(islice(points, POINTS_A_POST)):
            data = _metrics_data(some, page.snapshot.time, self._started_at)
            is_sent = self._exporter.export(data).name == "SUCCESS"
            self._count(sent=is_sent)
            if not is_sent or self._stopping.is_set():
                return

    def _count(self, *, sent: bool) -> None:
        done, failed = self._figures
        self._figures = OtlpFigures(done + sent, failed + (not sent))

    def points(self, page: Page) -> Iterator[Point]:
        """Yield every sample of the page of metrics."""
        yield from _of_series(page.snapshot, essential=self._essential)
        yield from _of_families(reference_families(page.snapshot))
        if page.figures is not None:
            yield from _of_families(families(page.figures))
        for family in text_string_to_metric_families(self._process.render().decode()):
            for sample in family.samples:
                help_ = family.documentation
                yield Point(sample.name, family.type, help_, sample.labels, sample.value)


def _of_series(now: Snapshot, *, essential: bool) -> Iterator[Point]:
    labels = [{"sensor": name.sensor, "quantity": name.quantity} for name in now.names]
    for name, words, columns in series_families(now, essential=essential):
        for column in columns:
            more = {}
            if column.label:  # ,alert="offset"
                key, _, text = column.label.decode()[1:].partition("=")
                more = {key: text[1:-1]}
            rows = np.flatnonzero(column.shown & np.isfinite(column.values))
            for row in rows.tolist():
                value = float(column.values[row])
                yield Point(name, "gauge", words, labels[row] | more, value)
    info = "monitor_series_info"
    for row in np.flatnonzero(now.present()).tolist():
        of = now.names[row]
        attributes = labels[row] | {"unit": of.unit, "group": of.group}
        yield Point(info, "gauge", OTHERS[info], attributes, 1.0)


def _of_families(of: Iterable[Family]) -> Iterator[Point]:
    for family in of:
        for values, number in family.samples.items():
            labels = dict(zip(family.labels, values, strict=True))
            yield Point(family.name, family.kind, family.help, labels, float(number))


def _exporter(endpoint: str, timeout_seconds: float) -> OTLPMetricExporter:
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415
            OTLPMetricExporter,
        )
    except ImportError as error:
        raise OtlpMissingError(
            f"otlp.endpoint needs OpenTelemetry's exporter: {install_hint('otlp')}"
        ) from error
    return OTLPMetricExporter(endpoint=endpoint, timeout=timeout_seconds)


def _metrics_data(points: Iterable[Point], at: float, started_at: float) -> MetricsData:
    """Return points in OpenTelemetry's types; times in s since 1970 UTC."""
    from opentelemetry.sdk.metrics import export  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415

    gathered: dict[str, list[export.NumberDataPoint]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for each in points:
        kinds[each.name] = (each.kind, each.help)
        gathered.setdefault(each.name, []).append(
            export.NumberDataPoint(
                each.labels, round(started_at * _NANO), round(at * _NANO), each.value
            )
        )
    metrics = [
        export.Metric(
            name,
            kinds[name][1],
            "",
            export.Sum(of, export.AggregationTemporality.CUMULATIVE, is_monotonic=True)
            if kinds[name][0] == "counter"
            else export.Gauge(of),
        )
        for name, of in gathered.items()
    ]
    scope = export.ScopeMetrics(InstrumentationScope("monitor", __version__), metrics, "")
    resource = Resource.create({"service.name": "monitor", "service.version": __version__})
    return export.MetricsData([export.ResourceMetrics(resource, [scope], "")])
