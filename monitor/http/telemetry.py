"""The daemon's own figures: what came, what became of it, how the work goes.

Rules of this file: numbers are read when a page is made, on the data's thread; nothing global.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import GC_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from monitor import __version__
from monitor.alerts.outlet import SinkFigures


@dataclass
class Figures:
    """What the daemon knows of itself at one instant.

    Messages are counted since the journal began, everything else since the process did; in s.
    """

    received: int = 0
    committed: int = 0
    duplicate: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    records_rejected: Mapping[str, int] = field(default_factory=dict)
    expired_unpaired: int = 0
    corrections: int = 0
    sessions_lost: int = 0
    reconnects: int = 0
    stale_acknowledgements: int = 0
    connected: bool = False
    last_message: Mapping[str, float] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    pending_readings: int = 0
    pending_references: int = 0
    series: int = 0
    series_forgotten: int = 0
    commit_seconds: float = 0.0
    commits: int = 0
    publish_seconds: float = 0.0
    journal_writable: bool = True
    reload_successful: bool = True
    tls_not_after: float | None = None
    settings_hash: str = ""
    transitions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sinks: Mapping[str, SinkFigures] = field(default_factory=dict)


class Telemetry(Collector):
    """Renders figures in the text format."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._registry.register(GC_COLLECTOR)
        ProcessCollector(registry=self._registry)

    def render(self) -> bytes:
        """Return the part of the page that is about the daemon."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Yield the families, as prometheus_client asks for them."""
        yield from _messages(self._figures())
        yield from _work(self._figures())
        yield from _told(self._figures())


def _messages(now: Figures) -> Iterator[Metric]:
    yield _counter("messages_received", "Messages that came.", now.received)
    yield _counter("messages_committed", "Messages that are in the journal.", now.committed)
    yield _counter("messages_duplicate", "Messages that had come before.", now.duplicate)
    yield _by_reason("messages_rejected", "Messages that could not be used.", now.rejected)
    yield _by_reason(
        "records_rejected",
        "Bad records of messages that were otherwise used.",
        now.records_rejected,
    )
    yield _counter(
        "readings_unpaired_expired", "Readings whose reference never came.", now.expired_unpaired
    )
    yield _counter("corrections", "Revisions of references that changed pairs.", now.corrections)
    yield _counter("session_lost", "Times the broker lost the session.", now.sessions_lost)
    yield _counter("mqtt_reconnects", "Times the broker was connected again.", now.reconnects)
    yield _counter(
        "mqtt_stale_acknowledgements",
        "Acknowledgements kept back because their connection had ended.",
        now.stale_acknowledgements,
    )
    yield _gauge("mqtt_connected", "1 while connected and subscribed.", float(now.connected))
    heard = GaugeMetricFamily(
        "monitor_mqtt_filter_last_message_timestamp_seconds",
        "When a message last came by a topic filter.",
        labels=["filter"],
    )
    for wanted, time in now.last_message.items():
        heard.add_metric([wanted], time)
    yield heard
    delay = GaugeMetricFamily(
        "monitor_source_delay_seconds",
        "Median time from event to arrival of a source's last messages; below 0 its clock is ahead "
        "of this machine's.",
        labels=["filter"],
    )
    for wanted, seconds in now.delays.items():
        delay.add_metric([wanted], seconds)
    yield delay


def _work(now: Figures) -> Iterator[Metric]:
    yield _gauge("pending_readings", "Readings held.", now.pending_readings)
    yield _gauge("pending_references", "References held.", now.pending_references)
    yield _gauge("series", "Series known.", now.series)
    yield _counter(
        "series_forgotten",
        "Series that were let go of because they were silent.",
        now.series_forgotten,
    )
    yield _counter("commits", "Transactions of the journal.", now.commits)
    yield _counter("commit_seconds", "Time spent in them.", now.commit_seconds)
    yield _gauge(
        "journal_writable",
        "0 while the journal takes nothing, and nothing is acknowledged.",
        float(now.journal_writable),
    )
    yield _gauge("publish_seconds", "Work of the last round of publishing.", now.publish_seconds)
    yield _gauge(
        "config_last_reload_successful",
        "1 if the settings last read are in force.",
        float(now.reload_successful),
    )
    if now.tls_not_after is not None:
        yield _gauge(
            "tls_peer_not_after_seconds", "When the broker's certificate ends.", now.tls_not_after
        )
    build = GaugeMetricFamily(
        "monitor_build_info",
        "Versions and settings; always 1.",
        labels=["version", "python", "settings_hash"],
    )
    build.add_metric([__version__, platform.python_version(), now.settings_hash[:12]], 1)
    yield build


def _told(now: Figures) -> Iterator[Metric]:
    """Yield what was told of alerts; ``alert`` and ``state`` have a bounded number of values."""
    changed = CounterMetricFamily(
        "monitor_alert_transitions",
        "Changes of an alert's state, by the state reached.",
        labels=["alert", "state"],
    )
    for (alert, state), count in sorted(now.transitions.items()):
        changed.add_metric([alert, state], count)
    yield changed
    for name, words in _SINK_COUNTERS.items():
        family = CounterMetricFamily(f"monitor_sink_{name}", words, labels=["sink"])
        for sink, figures in now.sinks.items():
            family.add_metric([sink], getattr(figures, name))
        yield family
    queue = GaugeMetricFamily(
        "monitor_sink_queue_length",
        "Transitions that a sink has still to be told of.",
        labels=["sink"],
    )
    for sink, figures in now.sinks.items():
        queue.add_metric([sink], figures.queued)
    yield queue


_SINK_COUNTERS: Final = {
    "delivered": "Transitions of alerts that a sink was told of.",
    "failed": "Attempts to tell a sink that failed.",
    "dropped": "Transitions that a sink will never be told of: refused, too old, or too many.",
}


def _by_reason(name: str, words: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"monitor_{name}", words, labels=["reason"])
    for reason, count in counts.items():
        family.add_metric([reason], count)
    return family


def _counter(name: str, words: str, value: float) -> Metric:
    return CounterMetricFamily(f"monitor_{name}", words, value=value)


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"monitor_{name}", words, value=value)
