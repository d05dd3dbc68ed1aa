"""The documents of /api/v1: their members, defined once for writers and readers.

The functions of :mod:`monitor.http.documents` return these types, so mypy holds every answer to
its members; FastAPI makes ``/api/v1/openapi.json`` of the same types. They are plain dictionaries
at run time, so an answer of ten thousand series builds and checks no models.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from monitor.core.verdict import FAULTS, alert_meanings
from monitor.http.selection import STATES

Number = float | None
ALERT: Final = f"One of {', '.join(alert_meanings())}, or the name of a threshold."


def about(words: str) -> FieldInfo:
    """Return the text about a member in the description of the interface."""
    description: FieldInfo = Field(description=words)
    return description


class Remedy(TypedDict):
    """What to do: add to v; intercept + slope v, u times abs(slope); u times scale_u; or none."""

    kind: Literal["add", "linear", "scale_u", "add_and_scale_u", "none"]
    add: Number
    slope: Number
    intercept: Number
    scale_u: Number
    pairs: Annotated[int, about("Pairs after those it was chosen from, on which it was tried.")]
    crps_before: Number
    crps_after: Number


class Estimate(TypedDict):
    """A number with its 95 % interval; only the upper end for a factor on u that may be 0."""

    value: Number
    lower: Number
    upper: Number
    unit: str


class Verdict(TypedDict):
    """What is wrong, how large, since when, and what would fix it; null where not known."""

    state: Literal["right", "fault", "undecided"]
    fault: Annotated[str | None, Field(json_schema_extra={"enum": [*FAULTS, None]})]
    sentence: str
    advice: str
    error_model: Annotated[
        Literal["classical", "predictive", "undecided"],
        about("Whether its errors are independent of the measurand, or of its own value."),
    ]
    estimate: Annotated[
        Number,
        about(
            "How large the fault is now; of an understated or overstated uncertainty the factor on "
            "u that is missing, so 0.25 where the sentence says 4 times. Null where only a bound "
            "is known."
        ),
    ]
    lower: Number
    upper: Number
    unit: Annotated[str, about("Of the estimate; empty for a factor or a share.")]
    fault_estimate: Annotated[
        Estimate | None,
        about(
            "The number that the sentence is about, as monitor_fault_estimate: the estimate, but "
            "of a drift the change a day and of a lag the seconds. Null without a fault."
        ),
    ]
    slope_per_day: Annotated[Number, about("Of a drift, in the unit of the quantity a day.")]
    since: Annotated[str | None, about("When the fault began.")]
    changed: Annotated[
        str | None,
        about(
            "When it took the form that is reported; null if it began with it, or if that is "
            "unknown."
        ),
    ]
    due: Annotated[str | None, about("When a drift leaves its tolerance.")]
    right_since: Annotated[str | None, about("Null: only files tell when a sensor was repaired.")]
    explained: Annotated[
        Number,
        about(
            "Largest bias that the declared systematic part of its uncertainty explains, in the "
            "unit of the quantity; null where none is declared."
        ),
    ]
    pairs: Annotated[int, about("Pairs that the size is from.")]
    remedy: Remedy | None


WherePart = TypedDict(
    "WherePart",
    {
        "fault": Literal["offset", "understated", "overstated"],
        "from": Annotated[Number, about("Null: no lower edge.")],
        "to": Annotated[Number, about("Null: no upper edge.")],
        "n": int,
        "estimate": Annotated[
            Number, about("Of an offset the bias, else by how many times u is wrong.")
        ],
        "estimate_lower": Number,
        "estimate_upper": Number,
        "unit": str,
        "log_evidence": float,
    },
)

WhereBin = TypedDict(
    "WhereBin",
    {
        "from": Number,
        "to": Number,
        "n": int,
        "zms": Number,
        "zms_lower": Number,
        "zms_upper": Number,
        "bias": Number,
        "bias_lower": Number,
        "bias_upper": Number,
    },
)


class Where(TypedDict):
    """In which parts of a covariate a sensor is wrong, since its last event."""

    covariate: str
    unit: str
    state: Literal["found", "nothing", "everywhere", "missing", "constant", "few"]
    sentence: str
    false_findings: Annotated[float, about("Share of honest series with any finding, at most.")]
    rest_is_right: bool
    without: Annotated[int, about("Pairs without such a number.")]
    clear_after_pairs: int | None
    findings: list[WherePart]
    bins: list[WhereBin]


class SeriesEntry(TypedDict):
    """One sensor's one quantity: state, sentence, statistics; extensions add keys."""

    sensor: str
    quantity: str
    unit: str
    group: str
    state: Annotated[str, Field(json_schema_extra={"enum": list(STATES)})]
    alerts: Annotated[list[str], about(f"The alerts that fire. {ALERT}")]
    sentence: Annotated[str, about("What is known about it.")]
    advice: Annotated[str, about("What would fix it; empty if there is nothing to do.")]
    withdrawn: Annotated[
        bool,
        about(
            "Whether it stopped, or is no longer compared: evidence and statistics are then null."
        ),
    ]
    evidence: Annotated[Number, about("Evidence that it is not as right as it says.")]
    pairs: Annotated[int, about("Pairs in its window.")]
    uncertainty: Annotated[
        Literal["stated", "assumed"],
        about("By the sensor, or by the settings, as of its last reading."),
    ]
    last_reading: Annotated[Number, about("Event time, s since 1970 UTC.")]
    last_pair: Annotated[Number, about("Event time, s since 1970 UTC.")]
    verdict: Verdict
    statistics: Annotated[dict[str, Number], about("docs/metrics.md has their meaning.")]


class SeriesList(TypedDict):
    """A page of the fleet."""

    time: Annotated[float, about("When it was published, s since 1970 UTC.")]
    matching: Annotated[int, about("How many series fit the query, on all pages.")]
    page: int
    pages: int
    states: Annotated[dict[str, int], about("How many fit, by state, whatever state was asked.")]
    series: list[SeriesEntry]


class Pair(TypedDict):
    """A reading with its reference; what was not stated is derived from the normal distribution."""

    time: Annotated[float, about("Event time of the reading, s since 1970 UTC.")]
    value: Number
    u: Annotated[Number, about("Standard uncertainty.")]
    lower: Number
    upper: Number
    p: Annotated[float, about("Coverage probability of lower to upper.")]
    stated_by: Annotated[
        Literal["u", "interval", "both"], about("What the sensor stated; the rest is derived.")
    ]
    reference: Number
    u_ref: Annotated[Number, about("Standard uncertainty of reference and pairing.")]
    error: Annotated[Number, about("value - reference")]
    z: Annotated[Number, about("error over sqrt(u^2 + u_ref^2)")]
    inside: Annotated[bool, about("Whether lower to upper holds the reference.")]
    crps_stated: Annotated[Number, about("CRPS of the quantiles or ensemble; null if none.")]
    key: Annotated[str, about("Empty once the reference is dropped (pairing.max_wait_hours).")]
    identity: Annotated[str, about("Of the reference; empty if it has none, or was dropped.")]
    subject: Annotated[str, about("Whom the reference is about.")]
    reference_time: Number


class Pairs(TypedDict):
    """The last pairs of a series, the newest first."""

    sensor: str
    quantity: str
    unit: str
    time: float
    total: Annotated[int, about("Pairs in the window.")]
    pairs: list[Pair]


class Point(TypedDict):
    """An operating point."""

    scale: Annotated[Number, about("Factor on the stated interval.")]
    x: Number
    y: Number


class Ucc(TypedDict):
    """The uncertainty characteristics curve, beside that of one constant band."""

    axes: dict[str, str]
    unit: str
    total: Annotated[int, about("Pairs in the window.")]
    pairs: Annotated[int, about("The last pairs of the window, which all numbers here are of.")]
    statistics: dict[str, Number]
    curve: list[Point]
    constant: list[Point]
    stated: NotRequired[Annotated[Point | None, about("At scale 1.")]]
    optimal: NotRequired[Annotated[Point | None, about("At the scale of least interval score.")]]


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

    time: Annotated[float, about("Event time, s since 1970 UTC.")]
    z: Number
    en: Annotated[Number, about("z / 2")]
    rules: Annotated[list[str], about("Westgard's rules that are violated at this pair.")]


class Conventions(TypedDict):
    """What conventions say of a window; they raise no alert unless `thresholds` ask for it."""

    sensor: str
    quantity: str
    total: Annotated[int, about("Pairs in the window.")]
    pairs: Annotated[int, about("The last pairs of the window, which all numbers here are of.")]
    en: Annotated[dict[str, Number], about("The last, how many beyond 1, how many expected.")]
    zeta: Annotated[
        dict[str, Number],
        about("The last, how many in ISO 13528's warning and action bands (2 and 3)."),
    ]
    westgard: Annotated[dict[str, int], about("How many pairs violate each rule.")]
    levey_jennings: list[Charted]


class Occasion(TypedDict):
    """All pairs whose references share a key or an identity, while they are held."""

    key: str
    time: float
    sentences: Annotated[list[str], about("One a quantity: who read nearest, who held it.")]
    pairs: Annotated[list[NamedPair], about("Of each quantity the best CRPS first.")]


class Alert(TypedDict):
    """An alert that fires."""

    sensor: str
    quantity: str
    group: str
    alert: Annotated[str, about(ALERT)]
    evidence: Number
    sentence: str
    advice: str


Transition = TypedDict(
    "Transition",
    {
        "id": str,
        "incident": Annotated[str, about("Id of the change by which the alert began.")],
        "time": Annotated[str, about("Event time of the change.")],
        "told": Annotated[str, about("When it was found.")],
        "sensor": Annotated[str, about("The sensor, or the reference that is suspect.")],
        "quantity": str,
        "unit": str,
        "group": str,
        "alert": Annotated[str, about(ALERT)],
        "severity": Annotated[str, about("warning, or info for a suspect reference.")],
        "from": Literal["ok", "pending", "firing"],
        "to": Literal["ok", "pending", "firing", "resolved", "unknown"],
        "corrected": Annotated[bool, about("Withdrawn: the past has changed.")],
        "began": Annotated[str | None, about("When it began to fire.")],
        "since": Annotated[str | None, about("When the fault began.")],
        "estimate": Estimate | None,
        "evidence": Number,
        "sentence": str,
        "advice": str,
    },
)
Transition.__doc__ = """A change of an alert's state; times are in RFC 3339."""


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
    place: Annotated[str, about("Where: a path in the payload, or a key of the settings.")]
    payload: Annotated[str, about("Its first bytes as text.")]


class DeadLetters(TypedDict):
    """The newest messages that could not be used."""

    deadletters: list[DeadLetter]


class SettingsInForce(TypedDict):
    """The settings in force, without credentials, and their hash."""

    version: str
    hash: Annotated[str, about("SHA-256 of the settings as canonical JSON.")]
    settings: dict[str, Any]


class Doctor(TypedDict):
    """Why there are no pairs."""

    findings: list[str]
    pairing: Annotated[list[str], about("Of the findings, those that say what does not pair.")]
    text: str
