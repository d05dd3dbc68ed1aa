"""The documents of rankings and comparisons: their members, defined once."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from monitor.http.models import Number, about


class RankedScore(TypedDict):
    """A mean score and the rank by it with 95 % intervals, null for fewer than 20 events."""

    mean: Number
    lower: Number
    upper: Number
    rank: Number
    rank_lower: Number
    rank_upper: Number


class RankedSeries(TypedDict):
    """A line of the table."""

    sensor: str
    quantity: str
    unit: str
    group: str
    availability: Annotated[
        Number, about("Share that it saw of the events that any of those compared saw.")
    ]
    information: Annotated[
        Number, about("How well its u follows the size of the errors, common events.")
    ]
    scores: dict[str, RankedScore]
    zeta_zms: Annotated[Number, about("Where 1 lies in ZMS' interval, over its whole window.")]
    zeta_rce: Annotated[Number, about("Where 0 lies in RCE's interval, over its whole window.")]


class NotCompared(TypedDict):
    """A sensor that shares too few events with those that are ranked."""

    sensor: str
    quantity: str
    events: Annotated[int, about("How many of the common events it saw.")]


class Together(TypedDict):
    """How two mean scores go together over the sensors; null for fewer than three sensors."""

    x: str
    y: str
    pearson: Number
    spearman: Number
    p: Annotated[Number, about("Of the rank correlation; null for few.")]
    slope: Number
    intercept: Number


class OtherUnit(TypedDict):
    """A sensor in another unit than most of its quantity."""

    sensor: str
    unit: str


class RankingTable(TypedDict):
    """Sensors ranked on the events that all of them saw, the best first.

    Who shares too few events with the others is left out, so that one silent sensor empties
    nothing.
    """

    quantity: str
    unit: str
    profile: str
    density: str
    time: float
    primary: Annotated[str, about("The score that leads.")]
    events: Annotated[int, about("How many all of them saw; with none there is no table.")]
    left_out: Annotated[int, about("Series that were too many; those with most pairs are here.")]
    block: Annotated[int, about("Events drawn together by the bootstrap.")]
    replicates: int
    seed: Annotated[int, about("Of the bootstrap, derived from the pairs.")]
    level: float
    sentence: Annotated[str, about("Who reads best, and who may be as good.")]
    together: list[Together]
    series: list[RankedSeries]
    without: Annotated[list[str], about("Sensors invited while no two share an event.")]
    not_compared: Annotated[list[NotCompared], about("Who shares too few events, fewest first.")]
    other_units: Annotated[list[OtherUnit], about("Who is in another unit, and not ranked here.")]
    not_compared_sentence: Annotated[str, about("Who is not compared and why; empty if all are.")]


class ComparedScore(TypedDict):
    """Two mean scores, the first less the second, and the p-value of a permutation test."""

    first: Number
    second: Number
    difference: Number
    p: Number


class ComparedUncertainty(ComparedScore):
    """Areas of curves where values and references are shared, else areas saved."""

    measure: Literal["auucc", "auucc_gain"]
    events: int
    crossovers: Annotated[
        list[float] | None,
        about("Miss rates at which the narrower one changes; null where not comparable."),
    ]
    saved_at_first: Annotated[Number, about("Width saved over a constant one at the miss rate.")]
    saved_at_second: Number
    width_saved: Annotated[Number, about("Width that the first saves over the second.")]


class CurvePoint(TypedDict):
    """A point of a characteristics curve in units of the references' standard deviation."""

    scale: float
    bandwidth: float
    miss: float
    excess: float
    deficit: float


class ComparedCurves(TypedDict):
    """The two curves, thinned, and the standard deviation they are in units of."""

    sd: float
    first: list[CurvePoint]
    second: list[CurvePoint]


class Comparison(TypedDict):
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
    block: Annotated[int, about("Events permuted together.")]
    replicates: int
    seed: int
    scores: dict[str, ComparedScore]
    uncertainty: ComparedUncertainty | None
    savings: Annotated[dict[str, Number], about("1 - first/second of cost, least cost and MAE.")]
    curves: ComparedCurves | None
