"""Rankings and comparisons of sensors: their documents, computed beside the event loop and kept.

The bootstrap takes its time, so one table is made at a time, in a thread of its own. A table is
kept as long as its contenders are the same. :mod:`monitor.http.models` has the other documents.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

from typing_extensions import TypedDict

from monitor.core.analysis.comparison import of_parts, of_two
from monitor.core.analysis.correlation import P_VALUE_SENSORS, correlation
from monitor.core.analysis.ranking import PROFILES, Profile, Ranked, Ranking, ranking, score_of
from monitor.core.analysis.ranking import ranking_sentence as told
from monitor.core.analysis.side_by_side import SEED, Sides
from monitor.core.analysis.side_by_side import comparison_document as compared
from monitor.core.formatting import finite
from monitor.core.model import Float
from monitor.core.registry import SeriesName
from monitor.core.scores.intervals import LEVEL, abc_rce, zms_interval
from monitor.core.snapshot.details import Contenders, Contest
from monitor.http.models import Number, about

# -- their documents ------------------------------------------------------------------------------


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
    availability: Annotated[Number, about("Share of the events that it saw.")]
    information: Annotated[Number, about("What its uncertainty tells apart, on the common events.")]
    scores: dict[str, RankedScore]
    zeta_zms: Annotated[Number, about("Where 1 lies in ZMS' interval, over its whole window.")]
    zeta_rce: Annotated[Number, about("Where 0 lies in RCE's interval, over its whole window.")]


class Together(TypedDict):
    """How two mean scores go together over the sensors; null for fewer than three sensors."""

    x: str
    y: str
    pearson: Number
    spearman: Number
    p: Annotated[Number, about("Of the rank correlation; null for few.")]
    slope: Number
    intercept: Number


class RankingTable(TypedDict):
    """Sensors ranked on the events that all of them saw, the best first."""

    quantity: str
    unit: str
    profile: str
    density: str
    time: float
    primary: Annotated[str, about("The score that leads.")]
    events: Annotated[int, about("How many all of them saw; none, and there is no table.")]
    left_out: Annotated[int, about("Series that were too many; those with most pairs are here.")]
    block: Annotated[int, about("Events drawn together by the bootstrap.")]
    replicates: int
    seed: Annotated[int, about("Of the bootstrap, derived from the pairs.")]
    level: float
    sentence: Annotated[str, about("Who reads best, and who may be as good.")]
    together: list[Together]
    series: list[RankedSeries]
    without: Annotated[list[str], about("Sensors invited while there is no common event.")]


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


# -- how they are computed and kept ---------------------------------------------------------------

_KEPT: Final = 8
# The bootstrap draws fewer replicates where there are many sensors.
_DRAWN: Final = 100_000
_REPLICATES: Final = (500, 2_000)


def usual_quantity(names: Sequence[SeriesName]) -> str:
    """Return the quantity that most series have, empty if there are none."""
    counts = Counter(name.quantity for name in names)
    return min(counts, key=lambda quantity: (-counts[quantity], quantity), default="")


def table(found: Contenders, profile: Profile) -> dict[str, Any]:
    """Return the ranking of contenders as a document."""
    units = {name.unit for name in found.names}
    document: dict[str, Any] = {
        "quantity": found.contest.quantity,
        "unit": units.pop() if len(units) == 1 else "",
        "profile": profile,
        "density": found.density,
        "time": found.time,
        "primary": score_of(profile, found.density),
        "left_out": found.left_out,
        "level": LEVEL,
    }
    ranked = _ranked(found, profile)
    if ranked is None:
        nothing: dict[str, Any] = {"events": 0, "block": 1, "replicates": 0, "seed": 0}
        nothing |= {"sentence": "", "series": [], "together": []}
        return document | nothing | {"without": [name.sensor for name in found.names]}
    zetas = _zetas(found)
    return document | {
        "sentence": told(ranked, [name.sensor for name in found.names]),
        "together": _together(ranked, found),
        "events": ranked.events,
        "block": ranked.block,
        "replicates": ranked.replicates,
        "seed": ranked.seed,
        "series": [
            _line(found.names[row], ranked, row)
            | {name: finite(zeta[row]) for name, zeta in zetas.items()}
            for row in ranked.best_first.tolist()
        ],
        "without": [],
    }


def _zetas(found: Contenders) -> dict[str, Float]:
    """Return where 0 and 1 lie in the intervals of RCE and ZMS, over each window (B-17)."""
    if found.pairs is None:
        return {}
    return {"zeta_zms": zms_interval(found.pairs).zeta, "zeta_rce": abc_rce(found.pairs).zeta}


def _together(ranked: Ranking, found: Contenders) -> list[dict[str, Any]]:
    """Return how each other score goes together with the one of accuracy, over the sensors."""
    names = dict.fromkeys(score_of(profile, found.density) for profile in PROFILES)
    first, *others = names
    return [
        {"x": first, "y": name, **{key: finite(value) for key, value in each._asdict().items()}}
        | ({} if len(found.names) >= P_VALUE_SENSORS else {"p": None})
        for name in others
        for each in [correlation(ranked.scores[first].mean, ranked.scores[name].mean)]
    ]


def comparison(
    found: Contenders, profile: Profile, miss: float, at: float | None
) -> dict[str, Any]:
    """Return two contenders side by side as a document; one alone: two parts of its window."""
    names = [name.sensor for name in found.names]
    halves = ("before", "since") if at is not None else ("first half", "second half")
    labels = names if len(names) == 2 else [f"{names[0]} ({half})" for half in halves]
    unit = found.names[0].unit
    sides = Sides(labels[0], labels[1], unit, found.density, profile, miss)
    if found.pairs is None:
        duel = None
    elif len(names) == 2:
        duel = of_two(found.pairs, found.event, sides.scores, seed=SEED, miss=miss)
    else:
        duel = of_parts(found.pairs, at, sides.scores, seed=SEED, miss=miss)
    return {"quantity": found.contest.quantity, "time": found.time, **compared(duel, sides)}


def _ranked(found: Contenders, profile: Profile) -> Ranking | None:
    if found.pairs is None or len(found.names) < 2:
        return None
    content = blake2b(found.event.tobytes(), digest_size=4)
    content.update(found.pairs.value.tobytes())
    few, many = _REPLICATES
    return ranking(
        found.pairs,
        found.event,
        seed=int.from_bytes(content.digest(), "little"),
        profile=profile,
        density=found.density,
        replicates=min(many, max(few, _DRAWN // len(found.names))),
    )


def _line(name: SeriesName, ranked: Ranking, row: int) -> dict[str, Any]:
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "unit": name.unit,
        "group": name.group,
        "availability": finite(ranked.availability[row]),
        "information": finite(ranked.information[row]),
        "scores": {score: _score(column, row) for score, column in ranked.scores.items()},
    }


def _score(column: Ranked, row: int) -> dict[str, float | None]:
    return {key: finite(values[row]) for key, values in zip(Ranked._fields, column, strict=True)}


class RankingCache:
    """State: the rankings that were made last."""

    def __init__(self) -> None:
        self._lock: Final = asyncio.Lock()
        self._made: dict[tuple[Contest, Profile], dict[str, Any]] = {}

    async def comparison(
        self, found: Contenders, profile: Profile | None, miss: float, at: float | None
    ) -> dict[str, Any]:
        """Return two contenders side by side."""
        async with self._lock:
            return await asyncio.to_thread(comparison, found, profile or found.profile, miss, at)

    async def table(self, found: Contenders, wanted: Profile | None = None) -> dict[str, Any]:
        """Return the ranking of contenders, from what was made if it still holds.

        Without a profile that is wanted, the one of their settings.
        """
        profile = wanted or found.profile
        async with self._lock:
            key = (found.contest, profile)
            made = self._made.pop(key, None)
            if made is None or made["time"] != found.time:
                made = await asyncio.to_thread(table, found, profile)
            self._made[key] = made
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
            return {**made, "series": [{**each} for each in made["series"]]}
