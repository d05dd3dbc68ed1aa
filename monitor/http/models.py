"""The documents of /api/v1: their members, defined once for writers and readers.

Functions return these types, so mypy holds every answer to its members; FastAPI makes
``/api/v1/openapi.json`` of the same types. They are plain dictionaries at run time, so an answer of
ten thousand series builds and checks no models.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import GenericAlias, new_class
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from monitor.alerts.transition import ALERT, TransitionDocument
from monitor.core.setting import About, Number
from monitor.core.verdict.verdict_document import Verdict
from monitor.http.selection import STATES


class Problem(TypedDict):
    """A refusal (RFC 9457)."""

    type: Annotated[str, About("The documentation of this kind of refusal.")]
    title: str
    status: int
    detail: Annotated[str, About("What is refused, and what to do.")]
    instance: Annotated[str, About("The path that was asked for.")]


class SeriesEntry(TypedDict):
    """One sensor's one quantity: state, sentence, statistics; extensions add keys."""

    sensor: str
    quantity: str
    unit: str
    group: str
    state: Annotated[str, About(names=STATES)]
    alerts: Annotated[list[str], About(f"The alerts that fire. {ALERT}")]
    sentence: Annotated[str, About("What is known about it.")]
    advice: Annotated[str, About("What would fix it; empty if there is nothing to do.")]
    withdrawn: Annotated[
        bool,
        About(
            "Whether it stopped, or is no longer compared: evidence and statistics are then null."
        ),
    ]
    evidence: Annotated[Number, About("Evidence that it is not as right as it says.")]
    pairs: Annotated[int, About("The last pairs, which figures and sentence are from.")]
    uncertainty: Annotated[
        Literal["stated", "assumed"],
        About("By the sensor, or by the settings, as of its last reading."),
    ]
    last_reading: Annotated[Number, About("Event time, s since 1970 UTC.")]
    last_pair: Annotated[Number, About("Event time, s since 1970 UTC.")]
    verdict: Verdict
    statistics: Annotated[dict[str, Number], About("docs/metrics.md has their meaning.")]


class SeriesList(TypedDict):
    """A page of the fleet."""

    time: Annotated[float, About("When it was published, s since 1970 UTC.")]
    matching: Annotated[int, About("How many series fit the query, on all pages.")]
    page: int
    pages: int
    states: Annotated[dict[str, int], About("How many fit, by state, whatever state was asked.")]
    series: list[SeriesEntry]


def series_models(members: Iterable[type]) -> tuple[type, type]:
    """Return the types of an entry and of a page of the fleet, with ``members`` of extensions."""
    entry = new_class("SeriesEntry", (SeriesEntry, *members))
    entry.__doc__ = SeriesEntry.__doc__
    types = {
        "__annotations__": {"series": GenericAlias(list, entry)},
        "__doc__": SeriesList.__doc__,
    }
    return entry, new_class("SeriesList", (SeriesList,), exec_body=lambda of: of.update(types))


class Pair(TypedDict):
    """A reading with its reference; what was not stated is derived from the normal distribution."""

    time: Annotated[float, About("Event time of the reading, s since 1970 UTC.")]
    value: Number
    u: Annotated[Number, About("Standard uncertainty.")]
    lower: Number
    upper: Number
    p: Annotated[float, About("Coverage probability of lower to upper.")]
    stated_by: Annotated[
        Literal["u", "interval", "both"], About("What the sensor stated; the rest is derived.")
    ]
    reference: Number
    u_ref: Annotated[Number, About("Standard uncertainty of reference and pairing.")]
    error: Annotated[Number, About("value - reference")]
    z: Annotated[Number, About("error over sqrt(u^2 + u_ref^2)")]
    inside: Annotated[bool, About("Whether lower to upper holds the reference.")]
    crps_stated: Annotated[Number, About("CRPS of the quantiles or ensemble; null if none.")]
    key: Annotated[str, About("Empty once the reference is dropped (pairing.max_wait_hours).")]
    identity: Annotated[str, About("Of the reference; empty if it has none, or was dropped.")]
    subject: Annotated[str, About("Whom the reference is about.")]
    reference_time: Number


class Pairs(TypedDict):
    """The last pairs of a series, the newest first."""

    sensor: str
    quantity: str
    unit: str
    time: float
    total: Annotated[int, About("Pairs in the window.")]
    pairs: list[Pair]


class Point(TypedDict):
    """An operating point."""

    scale: Annotated[Number, About("Factor on the stated interval.")]
    x: Number
    y: Number


class Ucc(TypedDict):
    """The uncertainty characteristics curve, beside that of one constant band."""

    axes: dict[str, str]
    unit: str
    total: Annotated[int, About("Pairs in the window.")]
    pairs: Annotated[int, About("The last pairs of the window, which all numbers here are of.")]
    statistics: dict[str, Number]
    curve: list[Point]
    constant: list[Point]
    stated: NotRequired[Annotated[Point | None, About("At scale 1.")]]
    optimal: NotRequired[Annotated[Point | None, About("At the scale of least interval score.")]]


class NamedPair(Pair):
    """A pair with the series it is of, and its scores."""

    sensor: str
    quantity: str
    unit: str
    crps: Number
    quadratic: Number
    interval: Number


class Charted(TypedDict):
    """A pair of a Levey-Jennings chart, in units of its stated standard uncertainty."""

    time: Annotated[float, About("Event time, s since 1970 UTC.")]
    z: Number
    en: Annotated[Number, About("z / 2")]
    rules: Annotated[list[str], About("Westgard's rules that are violated at this pair.")]


class Conventions(TypedDict):
    """What conventions say of a window; they raise no alert unless `thresholds` ask for it."""

    sensor: str
    quantity: str
    total: Annotated[int, About("Pairs in the window.")]
    pairs: Annotated[int, About("The last pairs of the window, which all numbers here are of.")]
    en: Annotated[dict[str, Number], About("The last, how many beyond 1, how many expected.")]
    zeta: Annotated[
        dict[str, Number],
        About("The last, how many in ISO 13528's warning and action bands (2 and 3)."),
    ]
    westgard: Annotated[dict[str, int], About("How many pairs violate each rule.")]
    levey_jennings: list[Charted]


class Occasion(TypedDict):
    """All pairs whose references share a key or an identity, while they are held."""

    key: str
    time: float
    sentences: Annotated[list[str], About("One a quantity: who read nearest, who held it.")]
    pairs: Annotated[list[NamedPair], About("Of each quantity the best CRPS first.")]


class Alert(TypedDict):
    """An alert that fires."""

    sensor: str
    quantity: str
    group: str
    alert: Annotated[str, About(ALERT)]
    evidence: Number
    sentence: str
    advice: str


class Transition(TransitionDocument):
    """A change of an alert's state; times are in RFC 3339."""


class Alerts(TypedDict):
    """The alerts that fire now, and the last changes if they were asked for, the newest first."""

    alerts: list[Alert]
    history: NotRequired[list[Transition]]


class DeadLetter(TypedDict):
    """A message that could not be used."""

    received: float
    topic: str
    reason: str
    detail: str
    place: Annotated[str, About("Where: a path in the payload, or a key of the settings.")]
    payload: Annotated[str, About("Its first bytes as text.")]


class DeadLetters(TypedDict):
    """The newest messages that could not be used."""

    deadletters: list[DeadLetter]


class SettingsInForce(TypedDict):
    """The settings in force, without credentials, and their hash."""

    version: str
    hash: Annotated[str, About("SHA-256 of the settings as canonical JSON.")]
    settings: dict[str, Any]


class Doctor(TypedDict):
    """Why there are no pairs."""

    findings: list[str]
    pairing: Annotated[list[str], About("Of the findings, those that say what does not pair.")]
    text: str
