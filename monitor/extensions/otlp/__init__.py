"""Metrics pushed by OTLP, for daemons that Prometheus cannot scrape.

``pusher`` is a thread that posts each published page in parts; ``settings`` is its section. It
needs OpenTelemetry's exporter (the extra ``otlp``), which encodes, posts and retries.

Invariants: it delays nobody; points that cannot be sent are dropped, because the next page has
newer numbers; credentials come from OpenTelemetry's own variables.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Extension

EXTENSION: Final = Extension(
    name="otlp",
    summary="metrics pushed to an OpenTelemetry collector",
    page="metrics.md",
    settings={"otlp": "monitor.extensions.otlp.settings:SECTION"},
    remarks="monitor.extensions.otlp.pusher:remarks",
    listener="monitor.extensions.otlp.pusher:otlp_listener",
    families="monitor.extensions.otlp.pusher:EVERY_FAMILY",
)
