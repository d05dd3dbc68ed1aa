"""The figures of the papers, drawn by the package's own functions: SVG into docs/images.

    python benchmarks/paper_figures.py [--out docs/images]

Fig. 1 and 2 of Martin, Molteno, Parry (arXiv 1411.4354) with the claims they use; their Fig. 3 and
4 for simulated estimators of the same crossings, method E among them; and the uncertainty
characteristics curve of Navratil et al. (arXiv 2106.00858) in both coordinate systems. The same
bytes each time; docs/figures.md says how to read them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from monitor.core.analysis import ranking
from monitor.core.columns import Columns, columns, coverage_factor
from monitor.core.model import Float
from monitor.core.scores import characteristics, proper_scores
from monitor.http import plots, svg, ucc_plots
from monitor.http.svg import Axis, Chart
from monitor.simulate.forces import STANDARD_GRAVITY, force_trace, method_e

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SEED = 20_141_117
VALUE, REFERENCE, P, WIDTH_STATED = 80.0, 100.0, 0.9, 40.0
CROSSINGS = 400
PAIRS = 400
GAP = 12.0
STYLE = """
.plot text { fill: #5c666e; font: 12px sans-serif; }
.plot .axis { fill: none; stroke: #5c666e; } .plot .grid { stroke: #d9dde0; stroke-width: .7; }
.plot .line, .plot .rule { fill: none; stroke: #1d2327; stroke-width: 1.4; }
.plot .line.seen { stroke: #1f5fa8; stroke-width: 2; }
.plot .expected { stroke: #5c666e; stroke-dasharray: 5 4; }
.plot .line.hit { stroke: #1f5fa8; stroke-width: 3; }
.plot .line.missed { stroke: #b3261e; stroke-width: 3; }
.plot .dots { fill: none; stroke: #1f5fa8; stroke-linecap: round; stroke-width: 7; }
.plot .rule.reference { stroke: #1e6b3c; stroke-width: 2; }
.plot .rule.border { stroke: #8f5a00; stroke-dasharray: 6 4; }
.plot .word, .plot .note { fill: #1d2327; }
.plot .mark { fill: #fcfcfb; stroke: #1d2327; stroke-width: 2; }
.plot .mark.best { stroke: #1e6b3c; }
"""


class Panel(NamedTuple):
    """A drawing of the package and its height; all are equally wide."""

    drawing: str
    height: float


def sheet(panels: Sequence[Panel], across: int) -> str:
    """Return panels side by side, row by row, as a drawing that stands alone."""
    rows = [panels[at : at + across] for at in range(0, len(panels), across)]
    parts, top = [], 0.0
    for row in rows:
        for at, panel in enumerate(row):
            size = f'width="{svg.WIDTH:.0f}" height="{panel.height:.0f}"'
            place = f'x="{at * (svg.WIDTH + GAP):.0f}" y="{top:.0f}"'
            parts.append(panel.drawing.replace("<svg ", f"<svg {place} {size} ", 1))
        top += max(panel.height for panel in row) + GAP
    width, height = across * (svg.WIDTH + GAP) - GAP, top - GAP
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<style>{STYLE}</style>"
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fcfcfb"/>'
        f"{drawn}</svg>\n"
    )


def claims(value: Float, width: Float) -> Columns:
    """Return claims of a value with a 90 % interval of some width about it, of one reference."""
    n = value.size
    return Columns(
        starts=np.array([0]),
        time=np.arange(float(n)),
        value=value,
        reference=np.full(n, REFERENCE),
        u=width / (2.0 * coverage_factor(np.full(n, P))),
        lower=value - 0.5 * width,
        upper=value + 0.5 * width,
        p=np.full(n, P),
        u_ref=np.zeros(n),
    )


def curve(x: Float, y: Float, names: tuple[str, str], **lines: float) -> Panel:
    """Return y over x, with upright lines where something changes."""
    up = svg.number_axis(float(y.min()), float(y.max()), names[1])
    chart = Chart(f"{names[1]} against {names[0]}", _axis(x, names[0]), up)
    if up.low < 0.0:
        chart.level(0.0, "expected")
    for label, place in lines.items():
        chart.moment(place, "border", label.replace("_", " "))
    chart.line(x, y, "seen")
    return Panel(chart.render(), 220.0)


def _axis(x: Float, label: str) -> Axis:
    return svg.number_axis(float(x.min()), float(x.max()), label, margin=0.0)


SHOWN: dict[str, Callable[[Columns], Float]] = {
    "interval score / kg": proper_scores.interval,
    "CRPS / kg": proper_scores.crps_tophat,
    "quadratic score / (1/kg)": proper_scores.quadratic_tophat,
}


def figure_1() -> str:
    """Return the scores of a top hat against its width (left) and its centre (right)."""
    width = np.linspace(2.0, 200.0, 397)
    centre = np.linspace(40.0, 160.0, 481)
    by_width = claims(np.full(width.size, VALUE), width)
    by_centre = claims(centre, np.full(centre.size, WIDTH_STATED))
    half = 0.5 * WIDTH_STATED
    panels = []
    for name, score in SHOWN.items():
        reach = 2.0 * abs(REFERENCE - VALUE)
        panels += [
            curve(width, score(by_width), ("width / kg", name), reaches_the_reference=reach),
            curve(
                centre,
                score(by_centre),
                ("centre / kg", name),
                reaches_it=REFERENCE - half,
                leaves_it=REFERENCE + half,
            ),
        ]
    return sheet(panels, across=2)


def figure_2() -> str:
    """Return the norm score of a value and variance against the variance."""
    variance = np.linspace(25.0, 2000.0, 396)
    error_squared = (REFERENCE - VALUE) ** 2
    as_wide = float((0.5 * WIDTH_STATED / coverage_factor(np.full(1, P))[0]) ** 2)
    score = _norm(variance)
    x = svg.number_axis(0.0, float(variance.max()), "stated variance / kg²", margin=0.0)
    y = svg.number_axis(float(score.min()), float(score.max()), "norm score")
    chart = Chart("norm score against the stated variance", x, y, 320.0)
    chart.line(variance, score, "seen")
    for place, kind, label in (
        (as_wide, "stated", f"{as_wide:.0f} kg²: 40 kg wide at 90 %"),
        (error_squared, "best", f"{error_squared:.0f} kg²: the error squared"),
    ):
        chart.mark(place, float(_norm(np.array([place]))[0]), kind, label)
    return sheet([Panel(chart.render(), 320.0)], across=1)


def _norm(variance: Float) -> Float:
    """Return the norm score of claims with some variances."""
    half = np.sqrt(variance) * coverage_factor(np.full(variance.size, P))
    return proper_scores.norm(claims(np.full(variance.size, VALUE), 2.0 * half))


class Estimators(NamedTuple):
    """What several estimators said of the same crossings, a series each."""

    names: tuple[str, ...]
    pairs: Columns
    event: ranking.Events


def estimators() -> Estimators:
    """Return method E, the median force, and six of known spread, over the same animals."""
    chance = np.random.default_rng(SEED)
    mass = 500.0 + 60.0 * chance.standard_normal(CROSSINGS)
    traces = [force_trace(each, chance) for each in mass.tolist()]
    e = np.array([method_e(trace) for trace in traces])
    said = {"E": (e[:, 0], 0.5 * (e[:, 2] - e[:, 1]) / coverage_factor(e[:, 3]))}
    median = np.array([np.median(trace[trace > 500.0]) for trace in traces]) / STANDARD_GRAVITY
    said["median force"] = median, np.full(CROSSINGS, 50.0)
    for name, bias, spread, claim in (
        ("honest 5 kg", 0.0, 5.0, 1.0),
        ("honest 15 kg", 0.0, 15.0, 1.0),
        ("honest 30 kg", 0.0, 30.0, 1.0),
        ("12 kg heavy", 12.0, 8.0, 1.0),
        ("over-confident", 0.0, 20.0, 0.3),
        ("under-confident", 0.0, 8.0, 4.0),
    ):
        value = mass + bias + spread * chance.standard_normal(CROSSINGS)
        said[name] = value, np.full(CROSSINGS, claim * spread)
    count = len(said)
    blank = np.full(count * CROSSINGS, np.nan)
    pairs = columns(
        CROSSINGS * np.arange(count),
        time=np.tile(np.arange(float(CROSSINGS)), count),
        value=np.concatenate([value for value, _ in said.values()]),
        reference=np.tile(mass, count),
        u=np.concatenate([u for _, u in said.values()]),
        lower=blank,
        upper=blank,
        p=blank,
        u_ref=np.zeros(count * CROSSINGS),
        level=P,
    )
    return Estimators(tuple(said), pairs, np.tile(np.arange(CROSSINGS), count))


def figure_3(found: Estimators) -> str:
    """Return one crossing as all estimators saw it."""
    one = found.pairs.select(np.flatnonzero(found.event == 0), np.arange(len(found.names)))
    panel = Panel(plots.occasion_plot(one, found.names, "kg"), 60.0 + 30.0 * len(found.names))
    return sheet([panel], across=1)


def figure_4(found: Estimators) -> str:
    """Return the interval score and the quadratic score of the estimators against their CRPS."""
    table = ranking.ranking(
        found.pairs, found.event, seed=SEED, replicates=100, names=("interval", "quadratic")
    )
    assert table is not None
    mean = {name: column.mean for name, column in table.scores.items()}
    panels = [
        Panel(plots.scatter(mean["crps"], mean[name], ("CRPS / kg", label), found.names), 320.0)
        for name, label in (
            ("interval", "interval score / kg"),
            ("quadratic", "quadratic score / (1/kg)"),
        )
    ]
    return sheet(panels, across=2)


def characteristics_curves() -> str:
    """Return the curve of an informative uncertainty and of one without information."""
    chance = np.random.default_rng(SEED)
    u = 5.0 * np.exp(0.6 * chance.standard_normal(PAIRS))
    error = u * chance.standard_normal(PAIRS)
    panels = []
    for stated in (u, chance.permutation(u)):
        half = stated * coverage_factor(np.full(PAIRS, P))
        reference = np.full(PAIRS, 500.0)
        value = reference + error
        pairs = Columns(
            starts=np.array([0]),
            time=np.arange(float(PAIRS)),
            value=value,
            reference=reference,
            u=stated,
            lower=value - half,
            upper=value + half,
            p=np.full(PAIRS, P),
            u_ref=np.zeros(PAIRS),
        )
        scale = float(characteristics.scale_optimal(pairs)[0])
        drawn = ucc_plots.characteristics(pairs, scale)
        panels += [
            Panel(ucc_plots.ucc_plot(drawn, "kg", axes), 260.0)
            for axes in ("bandwidth-miss", "excess-deficit")
        ]
    return sheet(panels, across=2)


def figures() -> dict[str, str]:
    """Return the drawings by file name."""
    found = estimators()
    return {
        "scores-width-centre.svg": figure_1(),
        "norm-score.svg": figure_2(),
        "one-event.svg": figure_3(found),
        "score-against-score.svg": figure_4(found),
        "characteristics.svg": characteristics_curves(),
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES)
    options = parser.parse_args()
    for name, drawing in figures().items():
        (options.out / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
