"""Rankings and comparisons of sensors: their documents, computed off the event loop and kept.

The bootstrap takes long, so one table is made at a time, in a thread of its own. A table is kept as
long as its contenders are the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from itertools import compress
from typing import Annotated, Final

import numpy as np
from typing_extensions import TypedDict

from monitor.core.analysis.comparison import of_parts, of_two
from monitor.core.analysis.correlation import P_VALUE_SENSORS, correlation
from monitor.core.analysis.ranking import (
    PROFILES,
    Profile,
    Ranked,
    Ranking,
    left_out_sentence,
    ranking,
    ranking_sentence,
    score_of,
)
from monitor.core.analysis.side_by_side import SEED, ComparisonDocument, Sides, comparison_document
from monitor.core.formatting import finite
from monitor.core.registry import SeriesName
from monitor.core.scores.intervals import LEVEL, abc_rce, zms_interval
from monitor.core.scores.proper_scores import Density
from monitor.core.setting import About, Number
from monitor.core.snapshot.details import Contenders, Contest
from monitor.core.snapshot.snapshot import Snapshot
from monitor.decode.units import is_same_unit
from monitor.http.answers import turn

_KEPT: Final = 8
# The bootstrap draws fewer replicates if there are many sensors.
_DRAWN: Final = 100_000
_REPLICATES: Final = (500, 2_000)


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
        Number, About("Share that it saw of the events that any of those compared saw.")
    ]
    information: Annotated[
        Number, About("How well its u follows the size of the errors, common events.")
    ]
    scores: dict[str, RankedScore]
    zeta_zms: Annotated[Number, About("Where 1 lies in ZMS' interval, over its whole window.")]
    zeta_rce: Annotated[Number, About("Where 0 lies in RCE's interval, over its whole window.")]


class NotCompared(TypedDict):
    """A sensor that shares too few events with those that are ranked."""

    sensor: str
    quantity: str
    events: Annotated[int, About("How many of the common events it saw.")]


class Together(TypedDict):
    """How two mean scores go together over the sensors; null for fewer than three sensors."""

    x: str
    y: str
    pearson: Number
    spearman: Number
    p: Annotated[Number, About("Of the rank correlation; null for few.")]
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
    primary: Annotated[str, About("The score that leads.")]
    events: Annotated[int, About("How many all of them saw; with none there is no table.")]
    left_out: Annotated[int, About("Series that were too many; those with most pairs are here.")]
    block: Annotated[int, About("Events drawn together by the bootstrap.")]
    replicates: int
    seed: Annotated[int, About("Of the bootstrap, derived from the pairs.")]
    level: float
    sentence: Annotated[str, About("Who reads best, and who may be as good.")]
    together: list[Together]
    series: list[RankedSeries]
    without: Annotated[list[str], About("Sensors invited while no two share an event.")]
    not_compared: Annotated[list[NotCompared], About("Who shares too few events, fewest first.")]
    other_units: Annotated[list[OtherUnit], About("Who is in another unit, and not ranked here.")]
    not_compared_sentence: Annotated[str, About("Who is not compared and why; empty if all are.")]


class Comparison(ComparisonDocument):
    """Two sensors on their common events, or two parts of one sensor's window."""

    quantity: str
    time: float


def usual_quantity(now: Snapshot) -> str:
    """Return the quantity of most series with pairs, else of most; empty if there are none."""
    present = now.present()
    paired = present & (now.window_pairs > 0)
    rows = np.flatnonzero(paired if paired.any() else present).tolist()
    counts = Counter(now.names[row].quantity for row in rows)
    return min(counts, key=lambda quantity: (-counts[quantity], quantity), default="")


def table(rivals: Contenders, profile: Profile) -> RankingTable:
    """Return the ranking of contenders as a document."""
    rivals, others = _of_one_unit(rivals)
    units = {name.unit for name in rivals.names}
    sensors = [name.sensor for name in rivals.names]
    document = RankingTable(
        quantity=rivals.contest.quantity,
        unit=units.pop() if len(units) == 1 else "",
        profile=profile,
        density=rivals.density,
        time=rivals.time,
        primary=score_of(profile, rivals.density),
        left_out=rivals.left_out,
        level=LEVEL,
        other_units=[OtherUnit(sensor=name.sensor, unit=name.unit) for name in others],
        sentence="",
        together=[],
        events=0,
        block=1,
        replicates=0,
        seed=0,
        series=[],
        without=sensors,
        not_compared=[],
        not_compared_sentence="",
    )
    ranked = _ranked(rivals, profile)
    if ranked is not None:
        document["sentence"] = ranking_sentence(
            ranked, [sensors[row] for row in ranked.common.kept.tolist()]
        )
        document["together"] = _together(ranked, rivals.density)
        document["events"], document["block"] = ranked.events, ranked.block
        document["replicates"], document["seed"] = ranked.replicates, ranked.seed
        document["series"] = _lines(ranked, rivals)
        document["without"] = []
        aside = zip(ranked.common.seen.tolist(), ranked.common.left_out.tolist(), strict=True)
        document["not_compared"] = [
            NotCompared(sensor=sensors[row], quantity=rivals.names[row].quantity, events=events)
            for events, row in sorted(aside)
        ]
        document["not_compared_sentence"] = left_out_sentence(ranked, sensors)
    return document


def _of_one_unit(rivals: Contenders) -> tuple[Contenders, list[SeriesName]]:
    """Return the contenders in the unit that most have, and the names of the others."""
    counts = Counter(name.unit for name in rivals.names)
    usual = max(counts, key=lambda unit: counts[unit], default="")
    is_kept = np.array([is_same_unit(name.unit, usual) for name in rivals.names], np.bool_)
    if is_kept.all() or rivals.pairs is None:
        return rivals, []
    comparable = replace(
        rivals,
        names=tuple(compress(rivals.names, is_kept)),
        pairs=rivals.pairs.take(np.flatnonzero(is_kept)),
        event=rivals.event[np.repeat(is_kept, rivals.pairs.counts)],
    )
    return comparable, [*compress(rivals.names, ~is_kept)]


def _together(ranked: Ranking, density: Density) -> list[Together]:
    """Return the correlation of each other score with that of accuracy, over the sensors."""
    names = dict.fromkeys(score_of(profile, density) for profile in PROFILES)
    first, *others = names
    many = ranked.common.kept.size >= P_VALUE_SENSORS
    return [
        Together(
            x=first,
            y=name,
            pearson=finite(line.pearson),
            spearman=finite(line.spearman),
            p=finite(line.p) if many else None,
            slope=finite(line.slope),
            intercept=finite(line.intercept),
        )
        for name in others
        for line in [correlation(ranked.scores[first].mean, ranked.scores[name].mean)]
    ]


def comparison(rivals: Contenders, profile: Profile, miss: float, at: float | None) -> Comparison:
    """Return two contenders side by side as a document; one alone: two parts of its window."""
    names = [name.sensor for name in rivals.names]
    halves = ("before", "since") if at is not None else ("first half", "second half")
    labels = names if len(names) == 2 else [f"{names[0]} ({half})" for half in halves]
    unit = rivals.names[0].unit
    sides = Sides(labels[0], labels[1], unit, rivals.density, profile, miss)
    units = [name.unit for name in rivals.names]
    is_one_unit = is_same_unit(units[0], units[-1])
    if rivals.pairs is None or not is_one_unit:
        duel = None
    elif len(names) == 2:
        duel = of_two(rivals.pairs, rivals.event, sides.scores, seed=SEED, miss=miss)
    else:
        duel = of_parts(rivals.pairs, at, sides.scores, seed=SEED, miss=miss)
    document = comparison_document(duel, sides)
    if not is_one_unit:
        (first, other), (unit, another) = names, units
        why = f"{first} is in {unit} and {other} in {another}, so they are not compared; give both"
        document["sentences"] = [f"{why} one unit in the settings (unit of their sources)."]
    return Comparison(quantity=rivals.contest.quantity, time=rivals.time, **document)


def _ranked(rivals: Contenders, profile: Profile) -> Ranking | None:
    if rivals.pairs is None or len(rivals.names) < 2:
        return None
    content = blake2b(rivals.event.tobytes(), digest_size=4)
    content.update(rivals.pairs.value.tobytes())
    few, many = _REPLICATES
    return ranking(
        rivals.pairs,
        rivals.event,
        seed=int.from_bytes(content.digest(), "little"),
        profile=profile,
        density=rivals.density,
        replicates=min(many, max(few, _DRAWN // len(rivals.names))),
    )


def _lines(ranked: Ranking, rivals: Contenders) -> list[RankedSeries]:
    """Return the lines of the table; 1 and 0 in the intervals of ZMS and RCE over each window."""
    if rivals.pairs is None:
        return []
    zms, rce = zms_interval(rivals.pairs).zeta, abc_rce(rivals.pairs).zeta  # (B-17)
    return [
        RankedSeries(
            sensor=name.sensor,
            quantity=name.quantity,
            unit=name.unit,
            group=name.group,
            availability=finite(ranked.availability[row]),
            information=finite(ranked.information[row]),
            scores={score: _score(column, row) for score, column in ranked.scores.items()},
            zeta_zms=finite(zms[at]),
            zeta_rce=finite(rce[at]),
        )
        for row in ranked.best_first.tolist()
        for at in [ranked.common.kept[row]]
        for name in [rivals.names[at]]
    ]


def _score(column: Ranked, row: int) -> RankedScore:
    mean, lower, upper, rank, rank_lower, rank_upper = (finite(values[row]) for values in column)
    return RankedScore(
        mean=mean, lower=lower, upper=upper, rank=rank, rank_lower=rank_lower, rank_upper=rank_upper
    )


class RankingCache:
    """State: the rankings made last."""

    def __init__(self) -> None:
        self._lock: Final = asyncio.Lock()
        self._made: dict[tuple[Contest, Profile], RankingTable] = {}

    async def comparison(
        self, rivals: Contenders, profile: Profile | None, miss: float, at: float | None
    ) -> Comparison:
        """Return two contenders side by side."""
        async with turn(self._lock):
            return await asyncio.to_thread(comparison, rivals, profile or rivals.profile, miss, at)

    async def table(self, rivals: Contenders, wanted: Profile | None = None) -> RankingTable:
        """Return the ranking of contenders, a kept one if it still holds.

        Without ``wanted``, by the profile of their settings.
        """
        profile = wanted or rivals.profile
        async with turn(self._lock):
            key = (rivals.contest, profile)
            last = self._made.pop(key, None)
            if last is not None and last["time"] == rivals.time:
                self._made[key] = last
            else:
                self._made[key] = await asyncio.to_thread(table, rivals, profile)
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
            return self._made[key]
