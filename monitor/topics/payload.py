"""The payload of a series' topic, picked from the interface's document of the series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.core.formatting import finite, instant
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.selection import error_shown, statistic
from monitor.mqtt.topic_templates import topic_level

if TYPE_CHECKING:
    from monitor.http import models

LEVELS: Final = "verdict/+/+"  # below the prefix
_SCORES: Final = ("crps", "quadratic", "interval")


def verdict_topic(prefix: str, sensor: str, quantity: str) -> str:
    """Return the topic of a series' verdict."""
    return f"{prefix}/verdict/{topic_level(sensor)}/{topic_level(quantity)}"


class Documents:
    """The documents of the series of one snapshot."""

    def __init__(self, now: Snapshot) -> None:
        self._now: Final = now
        self._bias: Final = error_shown(now)
        self._lower: Final = statistic(now, "error_now_lower")
        self._upper: Final = statistic(now, "error_now_upper")

    def payload(self, row: int) -> bytes:
        """Return the message of a series, as JSON."""
        return msgspec.json.encode(self.document(row))

    def document(self, row: int) -> dict[str, Any]:
        """Return the published fields of a series; an undefined number is null (docs/mqtt.md)."""
        from monitor.http.documents import entry  # noqa: PLC0415 - slow, and not for the start

        found = entry(self._now, row)
        is_shown = not self._now.withdrawn[row]
        return {
            "sensor": found["sensor"],
            "quantity": found["quantity"],
            "unit": found["unit"],
            "group": found["group"],
            "state": found["state"],
            "problem": bool(found["alerts"]),
            "alerts": found["alerts"],
            "sentence": found["sentence"],
            "advice": found["advice"],
            "fault": found["verdict"]["fault"],
            "since": found["verdict"]["since"],
            "bias": {
                "value": finite(self._bias[row]) if is_shown else None,
                "lower": finite(self._lower[row]) if is_shown else None,
                "upper": finite(self._upper[row]) if is_shown else None,
            },
            **_numbers(found, is_shown=is_shown),
            "evidence": found["evidence"] if is_shown else None,
            "uncertainty": found["uncertainty"],
            "pairs": found["pairs"],
            "last_pair": None
            if found["last_pair"] is None
            else instant(found["last_pair"], "milliseconds"),
        }


def _numbers(found: models.SeriesEntry, *, is_shown: bool) -> dict[str, Any]:
    """Return ZMS and the three mean scores, null for a series whose numbers are withdrawn."""
    of = found["statistics"] if is_shown else {}
    return {
        "zms": {
            "value": of.get("calibration_zms"),
            "lower": of.get("calibration_zms_lower"),
            "upper": of.get("calibration_zms_upper"),
        },
        "scores": {name: of.get(f"score_{name}_mean") for name in _SCORES},
    }
