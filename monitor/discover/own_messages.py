"""What `monitor` itself publishes: verdicts, alerts, corrected readings and announcements.

Rules of this file: a message is known by its content, because every topic of theirs can be chosen.
"""

from __future__ import annotations

from typing import Final

from monitor.discover.heard import Heard, said

_NAME: Final = "monitor"
_VERDICT: Final = frozenset(("sensor", "quantity", "state", "problem", "sentence", "advice"))
_ALERT: Final = frozenset(("incident", "sensor", "quantity", "alert", "severity", "sentence"))
_CORRECTED: Final = frozenset(("time", "value", "compared"))
_BESIDE: Final = frozenset(("u", "lower", "upper", "p", "unit"))  # of a corrected reading


def is_own(heard: Heard) -> bool:
    """Return whether a message is one that ``monitor`` publishes."""
    whole = said(heard)
    if whole is None or not isinstance(whole.content, dict):
        return False
    content = whole.content
    keys = content.keys()
    if keys >= _VERDICT or keys >= _ALERT:
        return True
    if keys >= _CORRECTED:
        return isinstance(content["compared"], bool) and keys <= _CORRECTED | _BESIDE
    origin, device = content.get("origin"), content.get("device")
    return (
        isinstance(origin, dict)
        and isinstance(device, dict)
        and origin.get("name") == device.get("manufacturer") == _NAME
    )
