"""Rankings and comparisons of sensors: their documents, computed off the event loop and kept.

The bootstrap takes long, so one table is made at a time, in a thread of its own. A table is kept as
long as its contenders are the same. :mod:`monitor.http.ranking_models` has the members.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from itertools import compress
from typing import Any, Final

import numpy as np

from monitor.core.analysis.comparison import of_parts, of_two
from monitor.core.analysis.correlation import P_VALUE_SENSORS, correlation
from monitor.core.analysis.ranking import (
    PROFILES,
    Profile,
    Ranked,
    Ranking,
    left_out_sentence,
    ranking,
    score_of,
)
from monitor.core.analysis.ranking import ranking_sentence as told
from monitor.core.analysis.side_by_side import SEED, Sides
from monitor.core.analysis.side_by_side import comparison_document as compared
from monitor.core.formatting import finite
from monitor.core.model import Float
from monitor.core.registry import SeriesName
from monitor.core.scores.intervals import LEVEL, abc_rce, zms_interval
from monitor.core.scores.proper_scores import Density
from monitor.core.snapshot.details import Contenders, Contest
from monitor.core.snapshot.snapshot import Snapshot
from monitor.decode.units import is_same_unit
from monitor.http.answers import turn

_KEPT: Final = 8
# The bootstrap draws fewer replicates if there are many sensors.
_DRAWN: Final = 100_000
_REPLICATES: Final = (500, 2_000)


def usual_quantity(now: Snapshot) -> str:
    """Return the quantity of most series with pairs, else of most; empty if there are none."""
    present = now.present()
    paired = present & (now.window_pairs > 0)
    rows = np.flatnonzero(paired if paired.any() else present).tolist()
    counts = Counter(now.names[row].quantity for row in rows)
    return min(counts, key=lambda quantity: (-counts[quantity], quantity), default="")


def table(rivals: Contenders, profile: Profile) -> dict[str, Any]:
    """Return the ranking of contenders as a document."""
    rivals, others = _of_one_unit(rivals)
    units = {name.unit for name in rivals.names}
    document: dict[str, Any] = {
        "quantity": rivals.contest.quantity,
        "unit": units.pop() if len(units) == 1 else "",
        "profile": profile,
        "density": rivals.density,
        "time": rivals.time,
        "primary": score_of(profile, rivals.density),
        "left_out": rivals.left_out,
        "level": LEVEL,
        "other_units": [{"sensor": name.sensor, "unit": name.unit} for name in others],
    }
    ranked = _ranked(rivals, profile)
    if ranked is None:
        nothing: dict[str, Any] = {"events": 0, "block": 1, "replicates": 0, "seed": 0}
        nothing |= {"sentence": "", "series": [], "together": []}
        nothing |= {"not_compared": [], "not_compared_sentence": ""}
        return document | nothing | {"without": [name.sensor for name in rivals.names]}
    zetas = _zetas(rivals)
    names = [rivals.names[row] for row in ranked.common.kept.tolist()]
    aside = sorted(zip(ranked.common.seen.tolist(), ranked.common.left_out.tolist(), strict=True))
    return document | {
        "sentence": told(ranked, [name.sensor for name in names]),
        "together": _together(ranked, rivals.density),
        "events": ranked.events,
        "block": ranked.block,
        "replicates": ranked.replicates,
        "seed": ranked.seed,
        "series": [
            _line(names[row], ranked, row)
            | {name: finite(zeta[ranked.common.kept[row]]) for name, zeta in zetas.items()}
            for row in ranked.best_first.tolist()
        ],
        "without": [],
        "not_compared": [
            {
                "sensor": rivals.names[row].sensor,
                "quantity": rivals.names[row].quantity,
                "events": events,
            }
            for events, row in aside
        ],
        "not_compared_sentence": left_out_sentence(ranked, [each.sensor for each in rivals.names]),
    }


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


def _zetas(rivals: Contenders) -> dict[str, Float]:
    """Return where 0 and 1 lie in the intervals of RCE and ZMS, over each window (B-17)."""
    if rivals.pairs is None:
        return {}
    return {"zeta_zms": zms_interval(rivals.pairs).zeta, "zeta_rce": abc_rce(rivals.pairs).zeta}


def _together(ranked: Ranking, density: Density) -> list[dict[str, Any]]:
    """Return the correlation of each other score with that of accuracy, over the sensors."""
    names = dict.fromkeys(score_of(profile, density) for profile in PROFILES)
    first, *others = names
    return [
        {"x": first, "y": name, **{key: finite(value) for key, value in each._asdict().items()}}
        | ({} if ranked.common.kept.size >= P_VALUE_SENSORS else {"p": None})
        for name in others
        for each in [correlation(ranked.scores[first].mean, ranked.scores[name].mean)]
    ]


def comparison(
    rivals: Contenders, profile: Profile, miss: float, at: float | None
) -> dict[str, Any]:
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
    document = compared(duel, sides)
    if not is_one_unit:
        (first, other), (unit, another) = names, units
        why = f"{first} is in {unit} and {other} in {another}, so they are not compared; give both"
        document["sentences"] = [f"{why} one unit in the settings (unit of their sources)."]
    return {"quantity": rivals.contest.quantity, "time": rivals.time, **document}


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
    """State: the rankings made last."""

    def __init__(self) -> None:
        self._lock: Final = asyncio.Lock()
        self._made: dict[tuple[Contest, Profile], dict[str, Any]] = {}

    async def comparison(
        self, rivals: Contenders, profile: Profile | None, miss: float, at: float | None
    ) -> dict[str, Any]:
        """Return two contenders side by side."""
        async with turn(self._lock):
            return await asyncio.to_thread(comparison, rivals, profile or rivals.profile, miss, at)

    async def table(self, rivals: Contenders, wanted: Profile | None = None) -> dict[str, Any]:
        """Return the ranking of contenders, a kept one if it still holds.

        Without ``wanted``, by the profile of their settings.
        """
        profile = wanted or rivals.profile
        async with turn(self._lock):
            key = (rivals.contest, profile)
            made = self._made.pop(key, None)
            if made is None or made["time"] != rivals.time:
                made = await asyncio.to_thread(table, rivals, profile)
            self._made[key] = made
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
            return {**made, "series": [{**each} for each in made["series"]]}
