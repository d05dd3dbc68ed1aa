"""Navratil et al. (arXiv 2106.00858): characteristics curves, areas, costs, operating points.

Rules of this file: widths, excess and deficit are in the data's unit in the tables of operating
points and of areas, and in units of the references' standard deviation (C-22) where a cost adds
them to a miss rate. Excess is that of eq. 8, to the nearer end, unless the authors' program is
compared. A pair whose value lies outside its own interval has no band and is left out.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.scores import curves
from monitor.core.scores.curves import Curve
from monitor.core.scores.statistics import compute
from monitor.extensions.papers import captions
from monitor.extensions.papers import paper_figures as drawn
from monitor.extensions.papers.banded import Banded, banded, notebook_table
from monitor.extensions.papers.data_folder import DataFolder
from monitor.extensions.papers.generated_claims import Generated, generated
from monitor.extensions.papers.paper_page import (
    PaperFigure,
    PaperSection,
    PaperTable,
    Part,
    Reproduction,
)
from monitor.report.scored import figure

TITLE: Final = "Navratil and others: Uncertainty characteristics curves"
COST: Final = 0.1
SAMPLE: Final = "ucc_sample.csv"
WINE: Final = "wine_gbr.csv"
_SEGMENTS: Final = {
    "sample 0:500": slice(0, 500), "sample 510:830": slice(510, 830), "sample": slice(None)
}  # fmt: skip
_MISSES: Final = (0.1, 0.05)
_CROSSINGS_SHOWN: Final = 4
_BLUR: Final = 1e-9
# Printed in the paper's text: subject, numbers, saving in %.
_PRINTED: Final = (("section 4.1, areas of GBR and of the constant band", 0.733, 0.597, -31.5),)


def reproduce(data: DataFolder, weight: float = COST) -> Reproduction:
    """Return curves, areas, costs with ``weight`` of width or excess (0 to 1), and crossovers."""
    bands = generated()
    recorded = [each for each in _recorded(data) if _has_band(*each, data)]
    sets = [banded(name, c) for name, c in [*bands._asdict().items(), *recorded]]
    made = (
        _curves(bands, recorded),
        _operating_points(sets),
        _areas(sets),
        _costs(sets, weight),
        _mae(sets[: len(bands)], sets),
        _crossovers(sets, len(bands)),
    )
    return Reproduction(TITLE, made, data.left_out())


def _recorded(data: DataFolder) -> list[tuple[str, Columns]]:
    sample = data.pairs(SAMPLE, "the sample that comes with the authors' program")
    wine = data.pairs(WINE, "predictions of wine quality, a hard case of asymmetric bands")
    wines = [] if wine is None else [("wine", wine)]
    if sample is None:
        return wines
    parts = [(name, _rows(sample, each)) for name, each in _SEGMENTS.items()]
    return [*((name, part) for name, part in parts if part.value.size), *wines]


def _has_band(name: str, c: Columns, data: DataFolder) -> bool:
    """Whether there is a band to stretch; if not, add a sentence on it."""
    has_band = bool(np.any((c.lower <= c.value) & (c.value <= c.upper)))
    if not has_band:
        data.unusable(f"Left out is {name}: no value lies within its own interval.")
    return has_band


def _rows(c: Columns, rows: slice) -> Columns:
    return c.select(np.arange(c.value.size)[rows], np.array([0]))


def _curves(bands: Generated, recorded: list[tuple[str, Columns]]) -> PaperSection:
    parts: list[Part] = [
        PaperFigure(
            "characteristics.svg",
            "Characteristics curves of an informative uncertainty and of a shuffled one, in both "
            "coordinate systems",
            drawn.characteristics_curves([bands.honest, bands.shuffled], "kg"),
        ),
        captions.CURVES,
    ]
    shown = [(name, c) for name, c in recorded if name in {"sample", "wine"}]
    if shown:
        parts += [
            PaperFigure(
                "characteristics-recorded.svg",
                f"Characteristics curves of recorded data: {', '.join(name for name, _ in shown)}",
                drawn.characteristics_curves([c for _, c in shown], ""),
            ),
            f"From top to bottom: {', '.join(name for name, _ in shown)}.",
        ]
    return PaperSection("Characteristics curves (C-10, C-11)", tuple(parts))


def _operating_points(sets: list[Banded]) -> PaperSection:
    """Section 2 of the paper, and the saving of each uncertainty at equal miss rates."""
    rows = []
    for each in sets:
        at = each.stated
        saved = (curves.width_saved(each.points, each.constant, miss) for miss in _MISSES)
        numbers = (at.miss, at.bandwidth, at.excess, at.deficit)
        rows.append(
            (
                each.name,
                str(each.pairs.value.size),
                *(figure(float(number[0])) for number in numbers),
                *(_percent(number) for number in saved),
            )
        )
    heads = (
        *("set", "pairs", "miss rate", "bandwidth", "excess", "deficit"),
        *(f"width saved at {100.0 * miss:g} % misses / %" for miss in _MISSES),
    )
    return PaperSection(
        "Operating points (C-01 to C-08)",
        (
            PaperTable("The bands as stated, k = 1, of the pairs that have one", heads, rows),
            captions.WIDTH_SAVED,
        ),
    )


def _areas(sets: list[Banded]) -> PaperSection:
    rows = []
    for each in sets:
        got = compute(each.pairs, ("auucc", "auucc_constant", "auucc_gain", "auucc_partial_gain"))
        both = [curves.excess_deficit_area(points) for points in (each.points, each.constant)]
        rows.append(
            (
                each.name,
                figure(float(got["auucc"][0])),
                figure(float(got["auucc_constant"][0])),
                _percent(float(got["auucc_gain"][0])),
                _percent(float(got["auucc_partial_gain"][0])),
                figure(both[0]),
                figure(both[1]),
                _percent(1.0 - both[0] / both[1]),
            )
        )
    heads = (
        *("set", "bandwidth, miss", "constant", "gain / %", "partial gain / %"),
        *("excess, deficit", "constant", "gain / %"),
    )
    parts: list[Part] = [
        PaperTable(
            "Areas under the curves (AUUCC), and what they save on a constant band", heads, rows
        ),
        captions.AREAS,
        PaperTable(
            "What the paper prints, and its own eq. 6",
            ("where", "area", "constant", "printed gain / %", "eq. 6 / %"),
            [
                (what, f"{own}", f"{flat}", f"{gain}", f"{100.0 * (1.0 - own / flat):.1f}")
                for what, own, flat, gain in _PRINTED
            ],
        ),
    ]
    notebook = notebook_table({each.name: each for each in sets})
    if notebook is not None:
        parts += [notebook, captions.NOTEBOOK]
    return PaperSection("Areas and gains (C-14 to C-18)", tuple(parts))


def _costs(sets: list[Banded], weight: float) -> PaperSection:
    rows = [
        (each.name, axes, *_cost(each, x, y, weight))
        for each in sets
        for axes, x, y in (
            ("bandwidth, miss", "bandwidth", "miss"),
            ("excess, deficit", "excess", "deficit"),
        )
    ]
    return PaperSection(
        f"Costs with c = {weight:g} (C-12, C-13, C-29)",
        (
            PaperTable(
                f"C(k) = {weight:g} x + {1.0 - weight:g} y of the axes x, y",
                ("set", "axes", "C(1)", "k*", "C(k*)", "G of C(1) / %", "G of C(k*) / %"),
                rows,
            ),
            captions.COSTS,
        ),
    )


def _cost(each: Banded, x: str, y: str, weight: float) -> tuple[str, ...]:
    stated, flat, points, constant = (
        curves.normalised(of, each.sd)
        for of in (each.stated, each.flat, each.points, each.constant)
    )
    own, other = (
        float(weight * getattr(of, x)[0] + (1.0 - weight) * getattr(of, y)[0])
        for of in (stated, flat)
    )
    best, least = curves.optimum(getattr(points, x), getattr(points, y), weight)
    _, least_flat = curves.optimum(getattr(constant, x), getattr(constant, y), weight)
    return (
        figure(own),
        figure(float(points.scale[best])),
        figure(least),
        _percent(1.0 - own / other),
        _percent(1.0 - least / least_flat),
    )


def _mae(shown: list[Banded], sets: list[Banded]) -> PaperSection:
    rows = []
    for each in sets:
        one = _operating_sided(each)
        along, flat = (of.excess + of.deficit for of in (each.sided, each.constant))
        best = int(np.argmin(along))
        gain = _percent(1.0 - float(along[best]) / float(flat.min()))
        cells = (one, float(each.sided.scale[best]), float(along[best]), float(flat.min()))
        rows.append((each.name, *(figure(cell) for cell in cells), gain))
    return PaperSection(
        "MAE(k): the band as a forecast of the error's size (C-20, C-29)",
        (
            PaperTable(
                "Mean of | |error| - k half-width |, half-widths towards the reference",
                ("set", "MAE(1)", "k*", "MAE(k*)", "constant band's", "G of MAE / %"),
                rows,
            ),
            PaperFigure(
                "mae-of-scale.svg",
                "MAE(k) of bands about the same values, against k",
                drawn.mae_by_width({each.name: each.pairs for each in shown}, "kg"),
            ),
            captions.MAE,
        ),
    )


def _operating_sided(each: Banded) -> float:
    c = each.pairs
    active = np.where(c.error > 0.0, c.value - c.lower, c.upper - c.value)
    return float(np.mean(np.abs(np.abs(c.error) - active)))


def _crossovers(sets: list[Banded], count: int) -> PaperSection:
    """Each set against a constant band, and the generated ones against each other."""
    against = [(each.name, "one constant band", each.points, each.constant) for each in sets]
    honest = sets[0]
    against += [(honest.name, each.name, honest.points, each.points) for each in sets[1:count]]
    rows = []
    for one, other, first, second in against:
        misses = curves.crossovers(first, second)
        shown = ", ".join(f"{miss:.3f}" for miss in misses[:_CROSSINGS_SHOWN])
        rows.append(
            (
                one,
                other,
                str(misses.size),
                shown + (", ..." if misses.size > _CROSSINGS_SHOWN else "") or "none",
                _narrower(first, second, one, other, 0.05),
            )
        )
    return PaperSection(
        "Crossovers (C-28)",
        (
            PaperTable(
                "Miss rates, from 1 down, at which the narrower of two curves changes",
                ("one", "other", "crossovers", "at miss rates", "narrower at 5 % misses"),
                rows,
            ),
            "Which of two uncertainties is the better one may hang on the miss rate wanted.",
        ),
    )


def _narrower(first: Curve, second: Curve, one: str, other: str, miss: float) -> str:
    a, b = (float(curves.bandwidth_at(each, np.array([miss]))[0]) for each in (first, second))
    if math.isclose(a, b, rel_tol=_BLUR):
        return "neither"
    return one if a < b else other


def _percent(share: float) -> str:
    """Return a share in per cent; a rounding residue becomes 0."""
    return f"{0.0 if abs(share) < _BLUR else 100.0 * share:.2f}"
