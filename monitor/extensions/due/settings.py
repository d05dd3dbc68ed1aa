"""The key ``alerts.due``: series whose due dates are wanted."""

from __future__ import annotations

from typing import Final

from monitor.config.kinds import setting
from monitor.config.settings import Settings

KEY: Final = (
    bool,
    setting(
        default=False,
        description="Report for every series, not only for one that drifts, when its error leaves "
        "the tolerance if no reference comes, and what a reference would be worth now: on the page "
        "/due, in `/due.ics` and in the metrics `monitor_due_*_seconds`.",
    ),
)


def has_pages(settings: Settings) -> bool:
    """Return whether any series is asked for."""
    layers = [layer.alerts for layer in (*settings.groups, *settings.overrides)]
    sections = [settings.alerts, *layers]
    return any(getattr(section, "due", False) for section in sections)
