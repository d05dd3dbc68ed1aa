"""A comparison of two sensors, or of two parts of one, as a document and in sentences.

Rules of this file: plain values and sentences only; the numbers come from neighbouring modules. It
refuses raw curves of different values, and states the reason and what is compared instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from monitor.core.analysis.common_events import MIN_EVENTS
from monitor.core.analysis.comparison import (
    REPLICATES,
    Difference,
    PairedComparison,
    UncertaintyTest,
)
from monitor.core.analysis.ranking import (
    PROFILES,
    WORDS,
    Profile,
    score_of,
)
from monitor.core.scores.curves import Curve
from monitor.core.scores.proper_scores import Density

SEED: Final = 1
MISS: Final = 0.1
CLEAR: Final = 0.05
_ROUNDING: Final = 1e-9  # a share saved that is smaller is 0
SAVINGS: Final = {  # what may be saved, in words
    "cost": "cost of the intervals as stated",
    "cost_optimal": "least cost of the intervals stretched",
    "mae": "mean absolute error",
}
NOT_SHARED: Final = (
    "Their values differ, so their raw curves are not compared: the one that reads nearer would "
    "win whatever its uncertainty is worth. Compared is the area that each uncertainty "
    "saves against a constant one."
)
NO_SHARED_EVENTS: Final = (
    "The two parts have no event in common, so their raw curves are not compared; compared is the "
    "area that the uncertainty saves against a constant one in each part."
)
NO_BAND: Final = "There are no events on which both have a usable interval: no curve can be drawn."


class Sides(NamedTuple):
    """What is compared: the names of both sides, their unit, and what counts."""

    first: str
    second: str
    unit: str = ""
    density: Density = "normal"
    profile: Profile = "balanced"
    miss: float = MISS

    @property
    def scores(self) -> list[str]:
        """The scores that are compared, the primary one first."""
        wanted = [self.profile, *PROFILES]
        return list(dict.fromkeys(score_of(each, self.density) for each in wanted))


def comparison_document(duel: PairedComparison | None, sides: Sides) -> dict[str, Any]:
    """Return a comparison as plain values, also if there is no common event."""
    head: dict[str, Any] = {
        "first": sides.first,
        "second": sides.second,
        "unit": sides.unit,
        "density": sides.density,
        "profile": sides.profile,
        "primary": sides.scores[0],
        "miss": sides.miss,
        "sentences": sentences(duel, sides),
    }
    if duel is None:
        nothing: dict[str, Any] = {
            "paired": False,
            "events": [0, 0],
            "block": 1,
            "replicates": 0,
            "seed": SEED,
        }
        rest: dict[str, Any] = {"scores": {}, "uncertainty": None, "savings": {}, "curves": None}
        return head | nothing | rest
    return head | {
        "paired": duel.paired,
        "events": list(duel.counts),
        "block": duel.block,
        "replicates": REPLICATES,
        "seed": SEED,
        "scores": {name: _plain(each._asdict()) for name, each in duel.scores.items()},
        "uncertainty": _uncertainty(duel),
        "savings": _plain(duel.savings),
        "curves": _curves(duel),
    }


def sentences(duel: PairedComparison | None, sides: Sides) -> list[str]:
    """Return the result of a comparison in sentences, the most important first."""
    if duel is None:
        nothing = (
            f"{sides.first} and {sides.second} cannot be compared: they share no event, or one "
            "part of the series is empty."
        )
        return [nothing]
    primary = sides.scores[0]
    lines = [_better(duel.scores[primary], primary, duel, sides)]
    if min(duel.counts) < MIN_EVENTS:
        lines.append(f"Fewer than {MIN_EVENTS} events: a difference may well be missed.")
    return lines + _of_uncertainty(duel, sides)


def _better(difference: Difference, name: str, duel: PairedComparison, sides: Sides) -> str:
    first, second = duel.counts
    on = f"On {first} common events" if duel.paired else f"On {first} and {second} events"
    unit = f" {sides.unit}" if sides.unit and not name.startswith("quadratic") else ""
    numbers = (
        f"{difference.first:.3g} against {difference.second:.3g}{unit}, p = {difference.p:.2g}"
    )
    by = f"by the mean {WORDS[name]}"
    if not difference.p < CLEAR:
        return f"{on} {sides.first} and {sides.second} cannot be told apart {by} ({numbers})."
    better = sides.first if difference.difference < 0.0 else sides.second
    return f"{on} {better} reads better {by} ({numbers})."


def _of_uncertainty(duel: PairedComparison, sides: Sides) -> list[str]:
    test = duel.uncertainty
    if test is None:
        return [NO_BAND]
    shared = test.measure == "auucc"
    first, second = (each if shared else _share(each) for each in test[1:3])
    numbers = f"{first:.3g} against {second:.3g}, p = {test.p:.2g}"
    areas = "areas under the curves" if shared else "areas saved"
    lines = [] if shared else [NOT_SHARED if duel.paired else NO_SHARED_EVENTS]
    if not test.p < CLEAR:
        lines.append(f"Neither uncertainty is clearly more useful ({areas} {numbers}).")
    else:
        better = sides.first if (test.difference < 0.0) is shared else sides.second
        lines.append(f"The uncertainty of {better} is the more useful ({areas} {numbers}).")
    if test.crossovers is not None and test.crossovers.size:
        levels = ", ".join(f"{each:.3g}" for each in test.crossovers.tolist()[:5])
        lines.append(f"Which one is narrower changes at the miss rates {levels}.")
    return lines


def _uncertainty(duel: PairedComparison) -> dict[str, Any] | None:
    test: UncertaintyTest | None = duel.uncertainty
    if test is None:
        return None
    crossed = None if test.crossovers is None else test.crossovers.tolist()
    numbers = {key: getattr(test, key) for key in ("first", "second", "difference", "p")}
    if test.measure == "auucc_gain":
        names = ("first", "second", "difference")
        numbers |= {name: _share(numbers[name]) for name in names}
    names = ("saved_at_first", "saved_at_second", "width_saved")
    saved = (*duel.saved_at, duel.width_saved)
    widths = {name: _share(each) for name, each in zip(names, saved, strict=True)}
    document = {"measure": test.measure, "events": test.events, "crossovers": crossed}
    return document | _plain(numbers | widths)


def _curves(duel: PairedComparison) -> dict[str, Any] | None:
    one, other = duel.curves
    if one is None or other is None:
        return None
    return {"sd": duel.sd, "first": _points(one), "second": _points(other)}


def _points(curve: Curve) -> list[dict[str, float]]:
    rows = zip(*(axis.tolist() for axis in curve), strict=True)
    return [dict(zip(Curve._fields, row, strict=True)) for row in rows]


def _share(saved: float) -> float:
    """Return a share saved, 0 for what rounding leaves of it."""
    return 0.0 if abs(saved) < _ROUNDING else saved


def _plain(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {key: float(each) if math.isfinite(each) else None for key, each in numbers.items()}
