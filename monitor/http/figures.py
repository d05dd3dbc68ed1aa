"""The figures of a series' page, each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from monitor.core.analysis.correlation import P_VALUE_SENSORS, Correlation, correlation
from monitor.core.analysis.ranking import PROFILES, WORDS, score_of
from monitor.core.analysis.side_by_side import SAVINGS
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.curves import Curve
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import compute
from monitor.core.snapshot.details import Detail
from monitor.http import plots, signal_plots, ucc_plots

_NAN = float("nan")


class Figure(NamedTuple):
    """A drawing with its name and how to read it."""

    name: str
    reading: str
    drawing: Markup


def figures(
    detail: Detail, score: str, fired: Sequence[float] = (), begin: int = 0, *, timed: bool = True
) -> list[Figure]:
    """Return the plots of a series that has pairs.

    ``score`` is the one that counts first; ``fired`` are the times at which an alert began, s UTC.
    The sentence speaks of the pairs from the one at ``begin`` on: plots over time fade the others,
    all other plots leave them out. Pairs that are not ``timed`` have numbers in place of times.
    """
    c, unit = detail.pairs, detail.name.unit
    if c is None:
        return []
    since = _NAN if detail.fault_report is None else detail.fault_report.verdict.began
    per = f"1/{unit or 1}" if score.startswith("quadratic") else unit
    marks = plots.Marks(detail.events, since, tuple(fired), float(c.time[begin]) if begin else _NAN)
    own = c.rows(slice(begin, None)) if begin else c
    scale = float(compute(own, ["scale_optimal"])["scale_optimal"][0])
    fit = f"{signal_plots.fitted_in_words(own, unit)} {_FIT}"
    drawings = {
        ("Signal and references.", _SIGNAL): signal_plots.signal(c, unit, marks, timed=timed),
        ("Value against reference.", fit): signal_plots.against_reference(own, unit),
        **(_drift(detail) if timed else {}),
        ("Error over time.", _ERRORS): plots.errors(c, unit, marks, timed=timed),
        ("z in order.", _CHART): plots.levey_jennings(own),
        (f"Rolling {WORDS[score]}.", _ROLLING): plots.rolling_score(
            c, score, per, marks.first, timed=timed
        ),
        ("Coverage by level.", _COVERAGE): plots.coverage_by_level(own),
        ("Characteristics curve.", _UCC): ucc_plots.ucc_plot(
            ucc_plots.characteristics(own, scale), unit
        ),
        ("ZMS along u.", _BINNED): plots.zms_plot(own, unit),
        ("Where references fell.", _PIT): plots.pit(own),
    }
    return [
        # Drawn by this package, which escapes every word in them.
        Figure(name, reading, Markup(drawing))  # noqa: S704
        for (name, reading), drawing in drawings.items()
    ]


def _drift(detail: Detail) -> dict[tuple[str, str], str]:
    """Return the drawing of a drift by its name and sentence; nothing for other faults."""
    if detail.pairs is None or detail.fault_report is None:
        return {}
    verdict = detail.fault_report.verdict
    drawing = signal_plots.drift_plot(detail.pairs, detail.name.unit, verdict)
    caption = f"{detail.name.sensor} {verdict.sentence}. {_DRIFT}"
    return {("Where the drift leads.", caption): drawing} if drawing else {}


def score_figures(
    means: Mapping[str, Float], density: Density, names: Sequence[str]
) -> list[Figure]:
    """Return plots of each other mean score against accuracy's, a dot per sensor (A Fig. 4)."""
    first, *others = dict.fromkeys(score_of(profile, density) for profile in PROFILES)
    figures = []
    for name in others:
        line = correlation(means[first], means[name])
        words = (f"mean {WORDS[first]}", f"mean {WORDS[name]}")
        summary = _together(line, len(names))
        drawn = plots.scatter(means[first], means[name], words, names)
        reading = f"Lower is better in both; the line is the least-squares one. {summary}"
        figures.append(Figure(f"{words[1].capitalize()}.", reading, Markup(drawn)))  # noqa: S704
    return figures


def _together(line: Correlation, sensors: int) -> str:
    if not np.isfinite(line.spearman):
        return "No rank correlation: the scores do not differ."
    text = f"Rank correlation {line.spearman:.2f} over {sensors} sensors"
    return f"{text}, p = {line.p:.2g}." if sensors >= P_VALUE_SENSORS else f"{text}."


def zeta_figure(zms: Float, rce: Float, names: Sequence[str]) -> Figure:
    """Return the map of verdicts by ZMS and by RCE (B Fig. 1)."""
    drawn = plots.zetas(zms, rce, names)
    return Figure("Right on average, asked in two ways.", _ZETAS, Markup(drawn))  # noqa: S704


def comparison_figures(duel: Mapping[str, Any]) -> dict[str, Any]:
    """Return lines, sentences and the drawing of a comparison's document.

    Raw curves are overlaid only where values and references are shared.
    """
    rows = [(f"mean {WORDS[name]}", each) for name, each in duel["scores"].items()]
    curve, drawing = duel["uncertainty"], Markup()
    savings = [_saving(what, duel["savings"].get(name)) for name, what in SAVINGS.items()]
    if curve is not None:
        shared = curve["measure"] == "auucc"
        rows.append((_MEASURES[curve["measure"]], curve if shared else _rounded(curve)))
        at = f"width saved over a constant uncertainty, {100.0 * duel['miss']:g} % missed"
        saved = {"first": curve["saved_at_first"], "second": curve["saved_at_second"]}
        rows.append((at, _rounded(saved | {"difference": None, "p": None})))
        savings.append(_saving(f"width at {100.0 * duel['miss']:g} % missed", curve["width_saved"]))
    if curve is not None and shared and duel["curves"] is not None:
        curves = [
            Curve(
                *(
                    np.array([point[axis] for point in duel["curves"][side]])
                    for axis in Curve._fields
                )
            )
            for side in ("first", "second")
        ]
        drawing = Markup(ucc_plots.two_curves(*curves))  # noqa: S704 - made of numbers alone
    return {"rows": rows, "savings": [each for each in savings if each], "drawing": drawing}


def _rounded(numbers: Mapping[str, Any]) -> dict[str, float | None]:
    """Return numbers near 1, rounded to hide floating-point noise."""
    return {
        key: None if numbers[key] is None else round(numbers[key], 9) + 0.0
        for key in ("first", "second", "difference", "p")
    }


def _saving(label: str, saved: float | None) -> str:
    if saved is None:
        return ""
    if not round(saved, 6):
        return f"{label}: the same in both"
    return f"{label}: {100.0 * abs(saved):.3g} % {'less' if saved >= 0.0 else 'more'} in the first"


def block_figure(c: Columns, score: str, unit: str, *, timed: bool) -> Figure:
    """Return the plot of a mean score by blocks in time (C-32)."""
    of = "" if score.startswith("quadratic") else unit
    drawn = plots.by_blocks(c, score, of, timed=timed)
    return Figure(f"Mean {WORDS[score]} block by block.", _BLOCKS, Markup(drawn))  # noqa: S704


_MEASURES = {
    "auucc": "area under the curve",
    "auucc_gain": "area saved against a constant uncertainty",
}
PICTURE = (
    "Each dot is a series and links to its chapter. One that is as right as it says is at 0 across "
    "and 1 up. Left or right: it reads low or high. Above 1: its errors scatter more than it "
    "states."
)
_ZETAS = (
    "Within 1, the square of the dashed lines, an uncertainty is right on average. Where ZMS and "
    "RCE disagree, a few very large stated uncertainties decide."
)
_BLOCKS = (
    "Ten successive parts of nearly equal count with two standard errors; dashed: what its own "
    "claims predict. What holds along the whole series is no accident of one part."
)
_SIGNAL = (
    "Its values with the intervals stated, at the times of its references (crosses). Readings "
    "without a reference are not kept."
)
_FIT = (
    "Solid: least squares; dashed: equal. Errors of the reference pull the slope towards 0, and R² "
    "grows with the range of what was measured."
)
_DRIFT = (
    "The line is the drift; the bar is the interval of the error now; dashed across: the "
    "tolerance, by default the sensor's usual standard uncertainty."
)
_ERRORS = (
    "Each bar is where the sensor said the error would lie; dots lie in their bar, crosses do not. "
    "Vertical lines: what was done to it, when the fault began, and when an alert began."
)
_CHART = (
    "Errors over their uncertainty. An honest sensor is within ±2 nineteen times in twenty, and "
    "beyond ±3 almost never."
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
