"""The interface's documents as models: what /api/v1/openapi.json promises.

Rules of this file: they describe and never run; a test holds the answers to them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

Number = float | None


class SeriesEntry(BaseModel):
    """One sensor's one quantity: state, sentence and statistics."""

    sensor: str
    quantity: str
    unit: str
    group: str
    state: Literal["firing", "pending", "stale", "unknown", "ok"]
    alerts: list[str] = Field(description="Names of the alerts that fire.")
    sentence: str = Field(description="What is known of it.")
    advice: str = Field(description="What would mend it; empty where nothing is to be done.")
    evidence: Number = Field(description="Evidence that it is not as right as it says.")
    pairs: int = Field(description="Pairs in its window.")
    last_reading: Number = Field(description="Event time, s since 1970 UTC.")
    last_pair: Number = Field(description="Event time, s since 1970 UTC.")
    statistics: dict[str, Number] = Field(description="docs/metrics.md has their meaning.")


class SeriesList(BaseModel):
    """A page of the fleet."""

    time: float = Field(description="When it was published, s since 1970 UTC.")
    matching: int = Field(description="How many series fit the query, on all pages.")
    page: int
    pages: int
    states: dict[str, int] = Field(description="How many fit, by state, whatever state was asked.")
    series: list[SeriesEntry]


class Pair(BaseModel):
    """A reading with its reference; what the sensor did not state is taken through the normal."""

    time: float = Field(description="Event time of the reading, s since 1970 UTC.")
    value: Number
    u: Number = Field(description="Standard uncertainty.")
    lower: Number
    upper: Number
    p: Number = Field(description="Coverage probability of lower to upper.")
    reference: Number
    u_ref: Number = Field(description="Standard uncertainty of reference and pairing.")
    error: Number = Field(description="value - reference")
    z: Number = Field(description="error over sqrt(u^2 + u_ref^2)")
    inside: bool = Field(description="Whether lower to upper holds the reference.")
    crps_stated: Number = Field(description="CRPS of the quantiles or ensemble; null if none.")
    key: str = Field(description="Empty once the reference is let go (pairing.max_wait_hours).")
    identity: str = Field(description="Of the reference; empty if it has none, or is let go.")
    subject: str = Field(description="Whom the reference is about.")
    reference_time: Number


class Pairs(BaseModel):
    """The last pairs of a series, the newest first."""

    sensor: str
    quantity: str
    unit: str
    time: float
    total: int = Field(description="Pairs in the window.")
    pairs: list[Pair]


class Point(BaseModel):
    """An operating point."""

    scale: Number = Field(description="Factor on the stated interval.")
    x: Number
    y: Number


class Ucc(BaseModel):
    """The uncertainty characteristics curve, beside that of one constant band."""

    axes: dict[str, str]
    unit: str
    pairs: int
    statistics: dict[str, Number]
    curve: list[Point]
    constant: list[Point]
    stated: Point | None = Field(None, description="At scale 1.")
    optimal: Point | None = Field(None, description="At the scale of least interval score.")


class NamedPair(Pair):
    """A pair with the series it is of, and its scores."""

    sensor: str
    quantity: str
    unit: str
    crps: Number
    quadratic: Number
    interval: Number


class Charted(BaseModel):
    """A pair of a Levey-Jennings chart, in units of its stated standard uncertainty."""

    time: float = Field(description="Event time, s since 1970 UTC.")
    z: Number
    en: Number = Field(description="z / 2")
    rules: list[str] = Field(description="Westgard's rules that are violated at this pair.")


class Conventions(BaseModel):
    """What conventions say of a window; they raise no alert unless `thresholds` ask for it."""

    sensor: str
    quantity: str
    pairs: int
    en: dict[str, Number] = Field(description="The last, how many beyond 1, how many expected.")
    zeta: dict[str, Number] = Field(
        description="The last, how many in ISO 13528's warning and action bands (2 and 3)."
    )
    westgard: dict[str, int] = Field(description="How many pairs violate each rule.")
    levey_jennings: list[Charted]


class Occasion(BaseModel):
    """All pairs whose references share a key or an identity, while they are held."""

    key: str
    time: float
    sentences: list[str] = Field(description="One a quantity: who read nearest, who held it.")
    pairs: list[NamedPair] = Field(description="Of each quantity the best CRPS first.")


class RankedScore(BaseModel):
    """A mean score and the rank by it with 95 % intervals, null for fewer than 20 events."""

    mean: Number
    lower: Number
    upper: Number
    rank: Number
    rank_lower: Number
    rank_upper: Number


class RankedSeries(BaseModel):
    """A line of the table."""

    sensor: str
    quantity: str
    unit: str
    group: str
    availability: Number = Field(description="Share of the events that it saw.")
    gain: Number = Field(description="What its uncertainty is worth, on the common events.")
    scores: dict[str, RankedScore]
    zeta_zms: Number = Field(description="Where 1 lies in ZMS' interval, over its whole window.")
    zeta_rce: Number = Field(description="Where 0 lies in RCE's interval, over its whole window.")


class Together(BaseModel):
    """How two mean scores go together over the sensors; null for fewer than three sensors."""

    x: str
    y: str
    pearson: Number
    spearman: Number
    p: Number = Field(description="Of the rank correlation; null for few.")
    slope: Number
    intercept: Number


class RankingTable(BaseModel):
    """Sensors ranked on the events that all of them saw, the best first."""

    quantity: str
    unit: str
    profile: str
    density: str
    time: float
    primary: str = Field(description="The score that leads.")
    events: int = Field(description="How many all of them saw; none, and there is no table.")
    left_out: int = Field(description="Series that were too many; those with most pairs are here.")
    block: int = Field(description="Events drawn together by the bootstrap.")
    replicates: int
    seed: int = Field(description="Of the bootstrap, derived from the pairs.")
    level: float
    sentence: str = Field(description="Who reads best, and who may be as good.")
    together: list[Together]
    series: list[RankedSeries]
    without: list[str] = Field(description="Sensors invited while there is no common event.")


class ComparedScore(BaseModel):
    """Two mean scores, the first less the second, and the p-value of a permutation test."""

    first: Number
    second: Number
    difference: Number
    p: Number


class ComparedUncertainty(ComparedScore):
    """Areas of curves where values and references are shared, else gains."""

    measure: Literal["auucc", "auucc_gain"]
    events: int
    crossovers: list[float] | None = Field(
        description="Miss rates at which the narrower one changes; null where not comparable."
    )
    gain_at_first: Number = Field(description="Width saved over a constant one at the miss rate.")
    gain_at_second: Number
    width_gain: Number = Field(description="Width that the first saves over the second.")


class CurvePoint(BaseModel):
    """A point of a characteristics curve in units of the references' standard deviation."""

    scale: float
    bandwidth: float
    miss: float
    excess: float
    deficit: float


class ComparedCurves(BaseModel):
    """The two curves, thinned, and the standard deviation they are in units of."""

    sd: float
    first: list[CurvePoint]
    second: list[CurvePoint]


class Comparison(BaseModel):
    """Two sensors on their common events, or two parts of one sensor's window."""

    quantity: str
    time: float
    first: str
    second: str
    unit: str
    density: str
    profile: str
    primary: str
    miss: float
    sentences: list[str]
    paired: bool
    events: list[int]
    block: int = Field(description="Events permuted together.")
    replicates: int
    seed: int
    scores: dict[str, ComparedScore]
    uncertainty: ComparedUncertainty | None
    gains: dict[str, Number] = Field(description="1 - first/second of cost, least cost and MAE.")
    curves: ComparedCurves | None


class Alert(BaseModel):
    """An alert that fires."""

    sensor: str
    quantity: str
    group: str
    alert: str
    evidence: Number
    sentence: str
    advice: str


class Estimate(BaseModel):
    """A number with its 95 % interval."""

    value: Number
    lower: Number
    upper: Number
    unit: str


class Transition(BaseModel):
    """A change of an alert's state; times are in RFC 3339."""

    id: str
    incident: str = Field(description="Id of the change by which the alert began.")
    time: str = Field(description="Event time of the change.")
    told: str = Field(description="When it was found.")
    sensor: str = Field(description="The sensor, or the reference that is suspect.")
    quantity: str
    unit: str
    group: str
    alert: str
    from_: Literal["ok", "pending", "firing"] = Field(alias="from")
    to: Literal["ok", "pending", "firing", "resolved", "unknown"]
    corrected: bool = Field(description="Taken back: the past has changed.")
    began: str | None = Field(description="When it began to fire.")
    since: str | None = Field(description="When the fault began.")
    estimate: Estimate | None
    evidence: Number
    sentence: str
    advice: str


class Alerts(BaseModel):
    """The alerts that fire now, and the last changes if they were asked for, the newest first."""

    alerts: list[Alert]
    history: list[Transition] | None = None


class DeadLetter(BaseModel):
    """A message that could not be used."""

    received: float
    topic: str
    reason: str
    detail: str
    payload: str = Field(description="Its first bytes as text.")


class DeadLetters(BaseModel):
    """The newest messages that could not be used."""

    deadletters: list[DeadLetter]


class SettingsInForce(BaseModel):
    """The settings in force, without who logs in and how, and what names them."""

    version: str
    hash: str = Field(description="SHA-256 of the settings as canonical JSON.")
    settings: dict[str, Any]


class Doctor(BaseModel):
    """Why there are no pairs."""

    findings: list[str]
    text: str
