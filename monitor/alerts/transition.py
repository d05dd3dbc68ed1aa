"""A change of an alert's state, as people and programs are told of it.

Rules of this file: plain values, immutable; the same transition has the same id wherever and
however often it is told.
"""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

PENDING: Final = "pending"
FIRING: Final = "firing"
OVER: Final = ("resolved", "unknown")
SHOWN: Final = 1000  # the last ones, of which pages and the interface tell


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One alert of one series went from ``before`` to ``after``.

    States are ok, pending, firing, resolved (the evidence says that the fault is over), unknown
    (the evidence begins anew, after an adjustment say). ``time`` is the event time of the change,
    ``told`` when it was found, ``began`` when the alert began to fire, ``since`` when the fault
    did; all in s since 1970 UTC. ``incident`` is the id of the transition that began the alert.
    ``corrected`` marks an alert taken back: a late or revised reference changed the past.
    """

    seq: int
    id: str
    incident: str
    time: float
    told: float
    sensor: str
    quantity: str
    unit: str
    group: str
    alert: str
    before: str
    after: str
    sentence: str
    advice: str = ""
    began: float | None = None
    since: float | None = None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    estimate_unit: str = ""
    evidence: float | None = None
    corrected: bool = False

    @property
    def fires(self) -> bool:
        """Whether the alert fires from now on."""
        return self.after == FIRING

    @property
    def is_news(self) -> bool:
        """Whether people want to hear of it: an alert begins to fire, or ends."""
        return FIRING in (self.before, self.after)

    def __str__(self) -> str:
        return f"{self.sensor} {self.sentence}"


def name_of(seq: int, sensor: str, quantity: str, alert: str, after: str, time: float) -> str:
    """Return the id of a transition, 32 hexadecimal digits."""
    told = "\0".join((str(seq), sensor, quantity, alert, after, repr(time)))
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def document(transition: Transition) -> dict[str, Any]:
    """Return a transition as the webhook, MQTT and the interface tell it (docs/alerts.md)."""
    of = transition
    estimate = None
    if of.estimate is not None:
        estimate = {
            "value": of.estimate,
            "lower": of.lower,
            "upper": of.upper,
            "unit": of.estimate_unit,
        }
    return {
        "id": of.id,
        "incident": of.incident,
        "time": instant(of.time),
        "told": instant(of.told),
        "sensor": of.sensor,
        "quantity": of.quantity,
        "unit": of.unit,
        "group": of.group,
        "alert": of.alert,
        "from": of.before,
        "to": of.after,
        "corrected": of.corrected,
        "began": None if of.began is None else instant(of.began),
        "since": None if of.since is None else instant(of.since),
        "estimate": estimate,
        "evidence": of.evidence,
        "sentence": of.sentence,
        "advice": of.advice,
    }


def instant(time: float) -> str:
    """Return a time in RFC 3339, to the millisecond."""
    stamp = datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")


def finite(value: float) -> float | None:
    """Return a number, None for what is not finite."""
    return float(value) if math.isfinite(value) else None
