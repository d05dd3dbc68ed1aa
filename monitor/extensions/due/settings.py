"""The key ``alerts.due``: series whose due dates are wanted."""

from __future__ import annotations

from typing import Final

from monitor.config.kinds import setting
from monitor.config.settings import Settings

KEY: Final = (
    bool,
    setting(
        default=False,
        description="Whether every series has a date by which it needs a reference "
        "(docs/beyond.md#who-needs-a-reference-next).",
    ),
)


def has_pages(settings: Settings) -> bool:
    """Return whether any series is asked for."""
    layers = [layer.alerts for layer in (*settings.groups, *settings.overrides)]
    sections = [settings.alerts, *layers]
    return any(getattr(section, "due", False) for section in sections)
