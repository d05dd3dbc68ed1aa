"""A comparison of two sensors, or of two parts of one, as a document and in sentences.

Rules of this file: plain values and sentences only; the numbers come from neighbouring modules. It
refuses raw curves of different values, and states the reason and what is compared instead.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from typing_extensions import TypedDict

from monitor.core.analysis.common_events import MIN_EVENTS
from monitor.core.analysis.comparison import (
    REPLICATES,
    Difference,
    Measure,
    PairedComparison,
)
from monitor.core.analysis.ranking import (
    PROFILES,
    WORDS,
    Profile,
    score_of,
)
from monitor.core.formatting import finite
from monitor.core.scores.curves import Curve
from monitor.core.scores.proper_scores import Density
from monitor.core.setting import About, Number

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


class ComparedScore(TypedDict):
    """Two mean scores, the first less the second, and the p-value of a permutation test."""

    first: Number
    second: Number
    difference: Number
    p: Number


class ComparedUncertainty(ComparedScore):
    """Areas of curves where values and references are shared, else areas saved."""

    measure: Measure
    events: int
    crossovers: Annotated[
        list[float] | None,
        About("Miss rates at which the narrower one changes; null where not comparable."),
    ]
    saved_at_first: Annotated[Number, About("Width saved over a constant one at the miss rate.")]
    saved_at_second: Number
    width_saved: Annotated[Number, About("Width that the first saves over the second.")]


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


class ComparisonDocument(TypedDict):
    """Two sensors on their common events, or two parts of one sensor's window."""

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
    block: Annotated[int, About("Events permuted together.")]
    replicates: int
    seed: int
    scores: dict[str, ComparedScore]
    uncertainty: ComparedUncertainty | None
    savings: Annotated[dict[str, Number], About("1 - first/second of cost, least cost and MAE.")]
    curves: ComparedCurves | None


def comparison_document(duel: PairedComparison | None, sides: Sides) -> ComparisonDocument:
    """Return a comparison as plain values, also if there is no common event."""
    document = ComparisonDocument(
        first=sides.first,
        second=sides.second,
        unit=sides.unit,
        density=sides.density,
        profile=sides.profile,
        primary=sides.scores[0],
        miss=sides.miss,
        sentences=sentences(duel, sides),
        paired=False,
        events=[0, 0],
        block=1,
        replicates=0,
        seed=SEED,
        scores={},
        uncertainty=None,
        savings={},
        curves=None,
    )
    if duel is not None:
        document["paired"], document["events"] = duel.paired, list(duel.counts)
        document["block"], document["replicates"] = duel.block, REPLICATES
        document["scores"] = {name: _score(each) for name, each in duel.scores.items()}
        document["uncertainty"] = _uncertainty(duel)
        document["savings"] = {name: finite(share) for name, share in duel.savings.items()}
        document["curves"] = _curves(duel)
    return document


def sentences(duel: PairedComparison | None, sides: Sides) -> list[str]:
    """Return the result of a comparison in sentences, the most important first."""
    if duel is None:
        nothing = (
            f"{sides.first} and {sides.second} cannot be compared: they share no event (the same "
            "time and reference, or reference_event), or one part of the series is empty."
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
    means, is_clear = [difference.first, difference.second], difference.p < CLEAR
    low, high = sorted(means) if is_clear else means
    numbers = f"{low:.3g} against {high:.3g}{unit}, lower is better; p = {difference.p:.2g}"
    by = f"by the mean {WORDS[name]} ({numbers})"
    if not is_clear:
        return f"{on} {sides.first} and {sides.second} cannot be told apart {by}."
    better = sides.first if difference.difference < 0.0 else sides.second
    return f"{on} {better} reads better {by}."


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


def _score(of: Difference) -> ComparedScore:
    first, second, difference, p = map(finite, of)
    return ComparedScore(first=first, second=second, difference=difference, p=p)


def _uncertainty(duel: PairedComparison) -> ComparedUncertainty | None:
    test = duel.uncertainty
    if test is None:
        return None
    areas = test[1:4] if test.measure == "auucc" else map(_share, test[1:4])
    first, second, difference = map(finite, areas)
    return ComparedUncertainty(
        measure=test.measure,
        events=test.events,
        crossovers=None if test.crossovers is None else test.crossovers.tolist(),
        first=first,
        second=second,
        difference=difference,
        p=finite(test.p),
        saved_at_first=finite(_share(duel.saved_at[0])),
        saved_at_second=finite(_share(duel.saved_at[1])),
        width_saved=finite(_share(duel.width_saved)),
    )


def _curves(duel: PairedComparison) -> ComparedCurves | None:
    one, other = duel.curves
    if one is None or other is None:
        return None
    return ComparedCurves(sd=duel.sd, first=_points(one), second=_points(other))


def _points(curve: Curve) -> list[CurvePoint]:
    return [
        CurvePoint(scale=scale, bandwidth=bandwidth, miss=miss, excess=excess, deficit=deficit)
        for scale, bandwidth, miss, excess, deficit in zip(
            *(axis.tolist() for axis in curve), strict=True
        )
    ]


def _share(saved: float) -> float:
    """Return a share saved, 0 for what rounding leaves of it."""
    return 0.0 if abs(saved) < _ROUNDING else saved
