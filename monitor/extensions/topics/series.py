"""Which series have news for the broker, and the messages that carry it.

Rules of this file: no clock, no socket; at most one entry per series waits. Rows are those of
the registry, which are never reused. A payload is picked from the interface's document of the
series.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np

from monitor.core.formatting import finite, instant
from monitor.core.model import Bool
from monitor.core.registry import SeriesName
from monitor.core.snapshot.additions import Press
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import REFERENCE_SUSPECT
from monitor.http.selection import error_shown, statistic
from monitor.mqtt.publish import Retained
from monitor.mqtt.topic_templates import level_name, topic_level

if TYPE_CHECKING:
    from monitor.http import models

LEVELS: Final = "verdict/+/+"  # below the prefix
_SCORES: Final = ("crps", "quadratic", "interval")


def verdict_topic(prefix: str, sensor: str, quantity: str) -> str:
    """Return the topic of a series' verdict."""
    return f"{prefix}/verdict/{topic_level(sensor)}/{topic_level(quantity)}"


class _Documents:
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
        """Return the fields of a series' message (docs/outlets.md); an undefined number is null."""
        from monitor.http.documents import entry  # noqa: PLC0415 - slow, and not for the start

        fields = entry(self._now, row)
        return {
            "sensor": fields["sensor"],
            "quantity": fields["quantity"],
            "unit": fields["unit"],
            "group": fields["group"],
            "state": fields["state"],
            "problem": bool({*fields["alerts"]} - {REFERENCE_SUSPECT}),
            "alerts": fields["alerts"],
            "sentence": fields["sentence"],
            "advice": fields["advice"],
            "fault": fields["verdict"]["fault"],
            "quality": fields["verdict"]["quality"],
            "since": fields["verdict"]["since"],
            "bias": {
                "value": finite(self._bias[row]),
                "lower": finite(self._lower[row]),
                "upper": finite(self._upper[row]),
            },
            **_numbers(fields),
            "evidence": fields["evidence"],
            "uncertainty": fields["uncertainty"],
            "pairs": fields["pairs"],
            "last_pair": None
            if fields["last_pair"] is None
            else instant(fields["last_pair"], "milliseconds"),
        }


def _numbers(series_entry: models.SeriesEntry) -> dict[str, Any]:
    """Return ZMS and the three mean scores."""
    of = series_entry["statistics"]
    return {
        "zms": {
            "value": of.get("calibration_zms"),
            "lower": of.get("calibration_zms_lower"),
            "upper": of.get("calibration_zms_upper"),
        },
        "scores": {name: of.get(f"score_{name}_mean") for name in _SCORES},
    }


_Numbers = np.ndarray[Any, np.dtype[Any]]
# The payload consists of these besides state, sentence and alerts.
_STATISTICS: Final = (
    *("calibration_bias", "error_now", "error_now_lower", "error_now_upper"),
    *("calibration_zms", "calibration_zms_lower", "calibration_zms_upper"),
    *("score_crps_mean", "score_quadratic_mean", "score_interval_mean", "uncertainty_assumed"),
)

_MEAN_AND_RATIO: Final = ("score_crps_mean", "score_crps_expected_ratio")


class DeviceSeries(NamedTuple):
    """What a subscriber has to know of a series beforehand.

    ``decimals`` show two digits of its usual standard uncertainty, None while that is not known.
    ``values`` are the topics of its values, ``presses`` its buttons, by their names.
    """

    name: SeriesName
    decimals: int | None = None
    values: Mapping[str, str] = {}
    presses: Mapping[str, Press] = {}


class Devices(Protocol):
    """Describes the series of a sensor to a subscriber that has to know them beforehand."""

    def announced(self, sensor: str, series: Iterable[DeviceSeries]) -> list[Retained]:
        """Return what is new about a sensor with these ``series``; without any it is removed."""

    def again(self) -> None:
        """Announce everything anew."""


class SeriesTopics:
    """State: the newest snapshot, what was sent for each series, and which series wait."""

    def __init__(self, prefix: str, devices: Devices | None = None) -> None:
        self._prefix: Final = prefix
        self._devices: Final = devices
        self._now: Snapshot | None = None
        self._documents: _Documents | None = None
        self._sent: Final[dict[int, bytes]] = {}  # digests of payloads by row
        self._urgent: Final[dict[int, None]] = {}
        self._waiting: Final[dict[int, None]] = {}
        self._rows: dict[str, list[int]] = {}  # by sensor
        self._decimals: Final[dict[int, int]] = {}  # as first known: a device stays as announced
        self._gone: frozenset[int] = frozenset()

    @property
    def waiting(self) -> int:
        """How many series have something new."""
        return len(self._urgent) + len(self._waiting)

    def update(self, snapshot: Snapshot) -> None:
        """Find what is new in ``snapshot`` since the one before."""
        before, self._now = self._now, snapshot
        self._documents = _Documents(snapshot)
        if (
            before is None
            or len(snapshot.names) != len(before.names)
            or snapshot.gone != self._gone
        ):
            self._learn(snapshot)
        urgent, changed = differing(before, snapshot)
        for row in np.flatnonzero(urgent).tolist():
            self._waiting.pop(row, None)
            self._urgent[row] = None
        for row in np.flatnonzero(changed & ~urgent).tolist():
            if row not in self._urgent:
                self._waiting[row] = None

    def again(self) -> None:
        """Send everything anew: the broker may have lost it, or a client asks."""
        self._sent.clear()
        if self._devices is not None:
            self._devices.again()
        if self._now is not None:
            self._urgent.clear()
            self._waiting.update(dict.fromkeys(range(len(self._now.names))))

    def messages(self, most: int) -> Iterator[Retained]:
        """Yield the messages of up to ``most`` series, the urgent ones first."""
        for _ in range(min(most, self.waiting)):
            place = self._urgent or self._waiting
            row = next(iter(place))
            del place[row]
            yield from self._news(row)

    def stray(self, topic: str) -> list[Retained]:
        """Return what clears a topic that the broker keeps and that belongs to no series."""
        if self._now is None or not topic.startswith(f"{self._prefix}/verdict/"):
            return []
        levels = topic.removeprefix(f"{self._prefix}/verdict/").split("/")
        sensor, quantity = map(level_name, levels)
        if sensor is None or quantity is None:
            return [Retained(topic, b"")]  # of another program: no series has that topic
        rows = self._rows.get(sensor, [])
        if any(self._now.names[row].quantity == quantity for row in rows):
            return []
        return [Retained(topic, b""), *self._announced(sensor)]

    # -- inside -------------------------------------------------------------------------------

    def _learn(self, snapshot: Snapshot) -> None:
        self._gone = snapshot.gone
        self._rows = {}
        for row, name in enumerate(snapshot.names):
            if row not in snapshot.gone:
                self._rows.setdefault(name.sensor, []).append(row)

    def _announced(self, sensor: str) -> list[Retained]:
        if self._devices is None or self._now is None:
            return []
        rows = self._rows.get(sensor, [])
        return self._devices.announced(sensor, [self._facts(self._now, row) for row in rows])

    def _facts(self, now: Snapshot, row: int) -> DeviceSeries:
        if row not in self._decimals and (decimals := _decimals(now, row)) is not None:
            self._decimals[row] = decimals
        name = now.names[row]
        values: dict[str, str] = {}
        presses: dict[str, Press] = {}
        for findings in now.additions.values():
            values |= findings.topics(name)
            presses |= findings.presses(name)
        return DeviceSeries(name, self._decimals.get(row), values, presses)

    def _news(self, row: int) -> Iterator[Retained]:
        if self._now is None or self._documents is None:
            return
        name = self._now.names[row]
        topic = verdict_topic(self._prefix, name.sensor, name.quantity)
        payload = b"" if row in self._gone else self._documents.payload(row)
        digest = blake2b(payload, digest_size=8).digest()
        if self._sent.get(row) != digest:
            self._sent[row] = digest
            # A client that learns of a device then subscribes to its topics and gets what they
            # retain.
            yield Retained(topic, payload)
        yield from self._announced(name.sensor)


def _decimals(now: Snapshot, row: int) -> int | None:
    """Return the decimals of two digits of the standard uncertainty of a series' errors.

    It is the one of a normal distribution with the CRPS that the series expects of itself.
    """
    mean, ratio = (now.statistics.get(name) for name in _MEAN_AND_RATIO)
    if mean is None or ratio is None or not ratio[row] > 0.0:
        return None
    u = math.sqrt(math.pi) * float(mean[row] / ratio[row])
    return max(0, 1 - math.floor(math.log10(u))) if 0.0 < u < math.inf else None


def differing(before: Snapshot | None, now: Snapshot) -> tuple[Bool, Bool]:
    """Return which series changed in state, words or alerts, and which in anything published."""
    size = len(now.names)
    if before is None:
        return np.zeros(size, dtype=np.bool_), np.ones(size, dtype=np.bool_)
    known = min(size, len(before.names))
    urgent = np.zeros(size, dtype=np.bool_)
    urgent[known:] = True
    urgent[list(now.gone ^ before.gone)] = True
    urgent[:known] |= _differ_in_words(before.states, now.states, known)
    urgent[:known] |= _differ_in_words(before.advice, now.advice, known)
    for alert, active in now.alerts.items():
        urgent[:known] |= _differ(before.alerts.get(alert), active, known)
    changed = urgent.copy()
    changed[:known] |= _differ_in_words(before.sentences, now.sentences, known)
    for name in ("window_pairs", "last_pair", "evidence", "withdrawn"):
        changed[:known] |= _differ(getattr(before, name), getattr(now, name), known)
    for name in _STATISTICS:
        one, other = before.statistics.get(name), now.statistics.get(name)
        if other is not None:
            changed[:known] |= _differ(one, other, known)
    return urgent, changed


def _differ_in_words(one: tuple[str, ...], other: tuple[str, ...], known: int) -> Bool:
    if one == other:
        return np.zeros(known, dtype=np.bool_)
    pairs = zip(one[:known], other[:known], strict=True)
    return np.fromiter((a != b for a, b in pairs), np.bool_, known)


def _differ(one: _Numbers | None, other: _Numbers, known: int) -> Bool:
    """Return where columns differ; NaN equals NaN, and a new column differs everywhere."""
    if one is None:
        return np.ones(known, dtype=np.bool_)
    a, b = one[:known], other[:known]
    different = a != b
    if a.dtype.kind == "f":
        different &= ~(np.isnan(a) & np.isnan(b))
    return np.asarray(different, dtype=np.bool_)
