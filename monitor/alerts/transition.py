"""A change of an alert's state, as people and programs receive it.

Rules of this file: plain values, immutable; a transition has the same id wherever and however often
it is delivered.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

import msgspec
from typing_extensions import TypedDict

from monitor.core.formatting import instant, series_path
from monitor.core.setting import About, Number
from monitor.core.verdict.faults import (
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
    alert_meanings,
    noun_of,
)
from monitor.core.verdict.verdict_document import Estimate

PENDING: Final = "pending"
FIRING: Final = "firing"
SHOWN: Final = 1000  # how many of the last transitions pages and the API show
ALERT: Final = f"One of {', '.join(alert_meanings())}, or the name of a threshold."
# Rules about what is no fault; another name is that of a threshold.
_RULES: Final = {
    REFERENCE_STALE: "SensorReferenceStale",
    REFERENCE_SUSPECT: "MonitorReferenceSuspect",
    REJECTED_SHARE: "SensorRejected",
}


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One alert of one series went from ``before`` to ``after``.

    States are ok, pending, firing, resolved (the evidence says that the fault is over), unknown
    (the evidence starts afresh, for example after an adjustment). ``time`` is the event time of the
    change, ``notified`` when it was found, ``began`` when the alert began to fire, ``since`` when
    the fault did; all in s since 1970 UTC. ``incident`` is the id of the transition that began the
    alert. ``corrected`` marks the end of an alert that should never have fired: a late or revised
    reference changed the past. ``severity`` is what settings mark, and ``peers`` is how many
    sensors the group has at the site, 0 if unknown. ``looks_like`` is the fault of the sentence and
    the estimate, where an alert that is said again keeps the name of another.
    """

    seq: int
    id: str
    incident: str
    time: float
    notified: float = msgspec.field(name="told")
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
    site: str = ""
    severity: str = ""
    peers: int = 0
    looks_like: str = ""

    @property
    def fires(self) -> bool:
        """Whether the alert starts to fire."""
        return self.after == FIRING

    @property
    def is_news(self) -> bool:
        """Whether all sinks receive it: an alert starts to fire, or stops."""
        return FIRING in (self.before, self.after)

    def __str__(self) -> str:
        text = f"{self.sensor} {self.sentence}"
        if self.before != FIRING:
            return text
        over = "withdrawn" if self.corrected else self.after
        return f"{text} ({noun_of(self.alert)}: {over})"


def transition_id(seq: int, sensor: str, quantity: str, alert: str, after: str, time: float) -> str:
    """Return the id of a transition, 32 hexadecimal digits."""
    text = "\0".join((str(seq), sensor, quantity, alert, after, repr(time)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def severity_of(of: Transition) -> str:
    """Return the severity of an alert, as in its rule for Prometheus."""
    return of.severity or (FAULTS[of.alert].severity if of.alert in FAULTS else "warning")


def rule_name(alert: str) -> str:
    """Return the name of the rule for Prometheus that passes an alert on."""
    return FAULTS[alert].rule if alert in FAULTS else _RULES.get(alert, "SensorThreshold")


def links(of: Transition, public_url: str) -> dict[str, str]:
    """Return links to the page of the series and to the section on the alert.

    Empty if the settings do not say at which address the pages are reached.
    """
    if not public_url:
        return {}
    is_reference = of.alert == REFERENCE_SUSPECT
    page = "/alerts" if is_reference else series_path(of.sensor, of.quantity)
    section = rule_name(of.looks_like or of.alert).lower()
    return {"page_url": public_url + page, "runbook_url": f"{public_url}/docs/alerts#{section}"}


TransitionDocument = TypedDict(
    "TransitionDocument",
    {
        "id": str,
        "incident": Annotated[str, About("Id of the change by which the alert began.")],
        "time": Annotated[str, About("Event time of the change.")],
        "told": Annotated[str, About("When it was found.")],
        "sensor": Annotated[str, About("The sensor, or the reference that is suspect.")],
        "quantity": str,
        "unit": str,
        "group": str,
        "alert": Annotated[str, About(ALERT)],
        "severity": Annotated[str, About(names=("warning", "critical"))],
        "from": Annotated[str, About(names=("ok", PENDING, FIRING))],
        "to": Annotated[str, About(names=("ok", PENDING, FIRING, "resolved", "unknown"))],
        "corrected": Annotated[bool, About("Withdrawn: the past has changed.")],
        "began": Annotated[str | None, About("When it began to fire.")],
        "since": Annotated[str | None, About("When the fault began.")],
        "estimate": Estimate | None,
        "evidence": Number,
        "sentence": str,
        "advice": str,
    },
)


def log_fields(of: Transition) -> dict[str, dict[str, Any]]:
    """Return the fields of a log line about a transition, beside its message (``extra``)."""
    document = transition_document(of)
    fields = {name: document[name] for name in ("sensor", "quantity", "alert", "estimate")}
    return {"fields": fields | {"fault": of.alert if of.alert in FAULTS else None}}


def transition_document(of: Transition) -> TransitionDocument:
    """Return a transition as the webhook, MQTT and the API publish it (docs/alerts.md)."""
    estimate = None
    if (of.estimate, of.lower, of.upper) != (None, None, None):
        estimate = Estimate(
            value=of.estimate, lower=of.lower, upper=of.upper, unit=of.estimate_unit
        )
    return {
        "id": of.id,
        "incident": of.incident,
        "time": instant(of.time, "milliseconds"),
        "told": instant(of.notified, "milliseconds"),
        "sensor": of.sensor,
        "quantity": of.quantity,
        "unit": of.unit,
        "group": of.group,
        "alert": of.alert,
        "severity": severity_of(of),
        "from": of.before,
        "to": of.after,
        "corrected": of.corrected,
        "began": None if of.began is None else instant(of.began, "milliseconds"),
        "since": None if of.since is None else instant(of.since, "milliseconds"),
        "estimate": estimate,
        "evidence": of.evidence,
        "sentence": of.sentence,
        "advice": of.advice,
    }
