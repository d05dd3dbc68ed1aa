"""One message as sent, and a recording of many with the truth about the sensors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

from monitor.simulate.playback import RawMessage as Sent


class Recording(NamedTuple):
    """Messages in the order of arrival, and the fault of each faulty sensor."""

    messages: list[Sent]
    faults: Mapping[str, str]


def recording(messages: Iterable[Sent], faults: Mapping[str, str]) -> Recording:
    """Return messages in the order of arrival; with equal times the first made comes first."""
    return Recording(sorted(messages, key=lambda sent: sent.time), faults)


def stated(time: float, topic: str, **fields: Any) -> Sent:  # noqa: ANN401 - whatever JSON can say
    """Return a message in JSON."""
    return Sent(time, topic, json.dumps(fields, separators=(",", ":")).encode())


def local_instant(time: float, offset_hours: float = 0.0) -> str:
    """Return a time in ISO 8601, to the second, in a time zone."""
    zone = UTC if offset_hours == 0.0 else timezone(timedelta(hours=offset_hours))
    text = datetime.fromtimestamp(time, zone).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


__all__ = ["Recording", "Sent", "local_instant", "recording", "stated"]
