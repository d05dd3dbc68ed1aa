"""The daemon's own figures: messages received, their outcomes, and the progress of its work.

The data's thread reads the numbers when it publishes; HTTP renders them on request.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from monitor import __version__
from monitor.alerts.outlet import SinkFigures
from monitor.http.text_format import Family, by, counter, counters, gauge, gauges


@dataclass
class Figures:
    """The daemon's own figures at one instant.

    Messages are counted since the journal began, everything else since the process started; times
    in s.
    """

    received: int = 0
    committed: int = 0
    duplicate: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    records_rejected: Mapping[str, int] = field(default_factory=dict)
    expired_unpaired: int = 0
    corrections: int = 0
    limited_references: int = 0
    sessions_lost: int = 0
    reconnects: int = 0
    stale_acknowledgements: int = 0
    connected: bool = False
    last_message: Mapping[tuple[str, ...], float] = field(default_factory=dict)  # (filter, kind)
    delays: Mapping[str, float] = field(default_factory=dict)
    pending_readings: int = 0
    pending_references: int = 0
    series: int = 0
    series_waiting: int = 0
    series_forgotten: int = 0
    pairs_other_settings: int = 0
    commit_seconds: float = 0.0
    commits: int = 0
    publish_seconds: float = 0.0
    page_age_seconds: float = 0.0
    self_checks: Mapping[str, int] = field(default_factory=dict)
    journal_writable: bool = True
    clock_trusted: bool = True
    clock_doubts: int = 0
    reload_successful: bool = True
    tls_not_after: float | None = None
    settings_hash: str = ""
    public_url: str = ""
    transitions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sinks: Mapping[str, SinkFigures] = field(default_factory=dict)
    of_extensions: Sequence[Family] = ()


def families(now: Figures) -> Iterator[Family]:
    """Yield the metrics of the daemon itself."""
    yield from _messages(now)
    yield from _sources(now)
    yield from _work(now)
    yield from _alerts(now)
    yield from now.of_extensions


def _messages(now: Figures) -> Iterator[Family]:
    yield counter("messages_received", "Messages received.", now.received)
    yield counter("messages_committed", "Messages that are in the journal.", now.committed)
    yield counter("messages_duplicate", "Messages that had been received before.", now.duplicate)
    yield counters(
        "messages_rejected", "Messages that could not be used.", ("reason",), by(now.rejected)
    )
    yield counters(
        "records_rejected",
        "Bad records of messages that were otherwise used.",
        ("reason",),
        by(now.records_rejected),
    )
    yield counter(
        "readings_unpaired_expired", "Readings whose reference never came.", now.expired_unpaired
    )
    yield counter("corrections", "Revisions of references that changed pairs.", now.corrections)
    yield counter(
        "references_limited",
        "References that reached pairing.max_pairs_per_reference pairs with a series.",
        now.limited_references,
    )


def _sources(now: Figures) -> Iterator[Family]:
    yield counter("session_lost", "Times the broker lost the session.", now.sessions_lost)
    yield counter(
        "mqtt_reconnects", "Times the connection to the broker was restored.", now.reconnects
    )
    yield counter(
        "mqtt_stale_acknowledgements",
        "Acknowledgements withheld because their connection had ended.",
        now.stale_acknowledgements,
    )
    yield gauge("mqtt_connected", "1 while connected and subscribed.", now.connected)
    yield gauges(
        "mqtt_filter_last_message_timestamp_seconds",
        "When a topic filter last received a message; `kind` is that of its source, covariate or "
        "by_hand.",
        ("filter", "kind"),
        now.last_message,
    )
    yield gauges(
        "source_delay_seconds",
        "Median time from event to arrival of a source's last messages; below 0 its clock is ahead "
        "of this machine's.",
        ("filter",),
        by(now.delays),
    )


def _work(now: Figures) -> Iterator[Family]:
    yield gauge("pending_readings", "Readings held.", now.pending_readings)
    yield gauge("pending_references", "References held.", now.pending_references)
    yield gauge("series", "Series known.", now.series)
    yield gauge(
        "series_waiting",
        "New series that wait because of series.max_new_per_minute; their readings are held.",
        now.series_waiting,
    )
    yield counter(
        "series_forgotten",
        "Series evicted because they were silent, or are not allowed any more.",
        now.series_forgotten,
    )
    yield gauge(
        "pairs_other_settings",
        "Pairs that other settings made and that stay as they are, since the last event.",
        now.pairs_other_settings,
    )
    yield counter("commits", "Transactions of the journal.", now.commits)
    yield counter("commit_seconds", "Time spent in the journal's transactions.", now.commit_seconds)
    yield gauge(
        "journal_writable",
        "0 while the journal cannot be written and nothing is acknowledged.",
        now.journal_writable,
    )
    yield gauge(
        "clock_trusted",
        "0 while this machine's clock is in doubt: nothing is deleted, and no message is rejected "
        "for a time in the future.",
        now.clock_trusted,
    )
    yield counter("clock_doubts", "Times this machine's clock came into doubt.", now.clock_doubts)
    yield counters(
        "self_check",
        "Series checked against the journal: same, or different and computed again.",
        ("result",),
        by(now.self_checks),
    )
    yield gauge("publish_seconds", "Time the last round of publishing took.", now.publish_seconds)
    yield gauge(
        "page_age_seconds",
        "Age of the previous page when this one replaced it.",
        now.page_age_seconds,
    )
    yield gauge(
        "config_last_reload_successful",
        "1 if the settings last read are in force.",
        now.reload_successful,
    )
    if now.tls_not_after is not None:
        yield gauge(
            "tls_peer_not_after_seconds",
            "When the broker's certificate expires.",
            now.tls_not_after,
        )
    if now.public_url:
        yield gauges(
            "pages_info",
            "Where people reach the pages (http.public_url); always 1.",
            ("url",),
            {(now.public_url,): 1.0},
        )
    yield gauges(
        "build_info",
        "Versions and settings; always 1.",
        ("version", "python", "settings_hash"),
        {(__version__, platform.python_version(), now.settings_hash[:12]): 1.0},
    )


def _alerts(now: Figures) -> Iterator[Family]:
    """Yield the metrics of sinks and alerts; ``alert`` and ``state`` have bounded values."""
    yield counters(
        "alert_transitions",
        "Changes of an alert's state, by the state reached.",
        ("alert", "state"),
        dict(sorted(now.transitions.items())),
    )
    for name, words in _SINK_COUNTERS.items():
        counts = {sink: getattr(figures, name) for sink, figures in now.sinks.items()}
        yield counters(f"sink_{name}", words, ("sink",), by(counts))
    yield gauges(
        "sink_queue_length",
        "Alert transitions still to be delivered to a sink.",
        ("sink",),
        by({sink: figures.queued for sink, figures in now.sinks.items()}),
    )


_SINK_COUNTERS: Final = {
    "delivered": "Alert transitions delivered to a sink.",
    "failed": "Failed attempts to deliver to a sink.",
    "dropped": "Alert transitions that a sink will never receive: refused, too old, or too many.",
}
