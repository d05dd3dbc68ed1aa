"""The plots of a series' page, each with how to read it."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from monitor.core.details import Detail
from monitor.core.statistics import compute
from monitor.web import plots

_NAN = float("nan")


class Figure(NamedTuple):
    """A drawing with its name and how to read it."""

    name: str
    reading: str
    drawing: Markup


def figures(detail: Detail, *, intervals_only: bool) -> list[Figure]:
    """Return the plots of a series that has pairs."""
    c, unit = detail.pairs, detail.name.unit
    if c is None:
        return []
    since = _NAN if detail.judgement is None else detail.judgement.since
    score = "interval" if intervals_only else _crps(detail)
    scale = float(compute(c, ["scale_optimal"])["scale_optimal"][0])
    drawings = {
        ("Error over time.", _ERRORS): plots.errors(c, unit, plots.Marks(detail.events, since)),
        ("z in order.", _CHART): plots.levey_jennings(c),
        (f"Rolling {_SCORES[score]}.", _ROLLING): plots.rolling_score(c, score, unit),
        ("Coverage by level.", _COVERAGE): plots.coverage_by_level(c),
        ("Characteristics curve.", _UCC): plots.ucc(plots.characteristics(c, scale), unit),
        ("ZMS along u.", _BINNED): plots.binned_zms(c, unit),
        ("Where references fell.", _PIT): plots.pit(c),
    }
    return [
        # Drawn by this package, which escapes every word in them.
        Figure(name, reading, Markup(drawing))  # noqa: S704
        for (name, reading), drawing in drawings.items()
    ]


def _crps(detail: Detail) -> str:
    return "crps_tophat" if detail.density == "tophat" else "crps"


_SCORES = {"crps": "CRPS", "crps_tophat": "CRPS", "interval": "interval score"}
_ERRORS = (
    "Each bar is where the sensor said the error would lie; dots lie in their bar, crosses do not."
)
_CHART = (
    "Errors over their uncertainty. An honest sensor is within the second line nineteen times in "
    "twenty, and beyond the third almost never."
)
_ROLLING = (
    "Mean over the last twenty pairs, lower is better; the dashed line is what its own claims "
    "predict. Above it, it is worse than it says."
)
_COVERAGE = (
    "An honest sensor follows the dashed line within the shade. Below: uncertainty understated; "
    "above: overstated."
)
_UCC = (
    "Miss rate against width when all intervals are stretched; dashed: one constant width. Below "
    "the dashed line its uncertainty is informative; k* costs least."
)
_BINNED = (
    "Is it right where it is certain and where it is not? 1 is right, above it u is too small; "
    "bars are 95 % intervals."
)
_PIT = (
    "Flat is right. A hill: uncertainty overstated; a valley: understated; a slope: offset. The "
    "shade is what chance does."
)
