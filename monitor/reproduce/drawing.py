"""Drawings of the package side by side in one self-contained SVG, with its own styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float
from monitor.http import svg

_GAP: Final = 12.0
_STYLE: Final = """
.plot text { fill: #5c666e; font: 12px sans-serif; }
.plot .axis { fill: none; stroke: #5c666e; } .plot .grid { stroke: #d9dde0; stroke-width: .7; }
.plot .line, .plot .rule { fill: none; stroke: #1d2327; stroke-width: 1.4; }
.plot .line.seen { stroke: #1f5fa8; stroke-width: 2; }
.plot .expected { stroke: #5c666e; stroke-dasharray: 5 4; }
.plot .line.hit { stroke: #1f5fa8; stroke-width: 3; }
.plot .line.missed { stroke: #b3261e; stroke-width: 3; }
.plot .dots { fill: none; stroke: #1f5fa8; stroke-linecap: round; stroke-width: 7; }
.plot .crosses { fill: none; stroke: #b3261e; stroke-width: 2; }
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
    """Return panels side by side, row by row, as one self-contained drawing."""
    rows = [panels[at : at + across] for at in range(0, len(panels), across)]
    parts, top = [], 0.0
    for row in rows:
        for at, panel in enumerate(row):
            size = f'width="{svg.WIDTH:.0f}" height="{panel.height:.0f}"'
            place = f'x="{at * (svg.WIDTH + _GAP):.0f}" y="{top:.0f}"'
            parts.append(panel.drawing.replace("<svg ", f"<svg {place} {size} ", 1))
        top += max(panel.height for panel in row) + _GAP
    width, height = across * (svg.WIDTH + _GAP) - _GAP, top - _GAP
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<style>{_STYLE}</style>"
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fcfcfb"/>'
        f"{drawn}</svg>\n"
    )


def apart(places: Float, gap: float) -> Float:
    """Return places for labels, in the same order, at least ``gap`` from each other."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(places.size)
    raised = np.maximum.accumulate(places[order] - steps) + steps
    found = np.empty_like(places)
    found[order] = raised
    return found
