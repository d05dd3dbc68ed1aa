"""The committed figures are those that the package draws now, and show what the papers say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from monitor.extensions.papers import written_pages
from tests.extensions.papers.test_generated_claims import tables_of, titled

PROJECT = Path(__file__).parents[3]
IMAGES = PROJECT / "docs" / "evidence" / "images"
PAGE = (PROJECT / "docs" / "evidence" / "figures.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
# Drawn of recorded data, or of those too.
RECORDED = {"decimation.svg", "zetas.svg", "characteristics-recorded.svg"}
MEASURED = {"growth.svg"}  # of machines, by benchmarks/growth.py


@pytest.fixture(scope="module")
def drawn():
    return dict(written_pages.paper_drawings(written_pages.reproductions(None)))


def test_the_committed_figures_of_generated_data_are_what_is_drawn_now(drawn):
    """If it fails: python -m monitor.extensions.papers.written_pages; look at what changed."""
    assert {path.name for path in IMAGES.glob("*.svg")} == set(drawn) | RECORDED | MEASURED
    for name in set(drawn) - RECORDED:
        assert (IMAGES / name).read_text(encoding="utf-8") == drawn[name], name


def test_each_is_on_the_page_and_stands_alone(drawn):
    assert set(re.findall(r"\(images/([^)]+)\)", PAGE)) == set(drawn) | RECORDED
    for path in IMAGES.glob("*.svg"):
        drawing = path.read_text(encoding="utf-8")
        root = ET.fromstring(drawing)  # noqa: S314 - drawn by this project
        assert root.tag == f"{SVG}svg"
        assert root.find(f"{SVG}style") is not None
        assert "var(" not in drawing
        assert "href" not in drawing


def heights(drawing):
    """Return the ordinates (0 at the bottom) of the drawn line of each panel, left to right."""
    found = []
    for panel in ET.fromstring(drawing).iter(f"{SVG}svg"):  # noqa: S314 - drawn by this project
        for path in panel.findall(f"{SVG}g/{SVG}path"):
            if path.get("class") == "line seen":
                numbers = np.array(re.findall(r"[-\d.]+", path.get("d")), dtype=float)
                found.append(-numbers[1::2])
    return found


def test_the_scores_of_figure_1_have_their_shapes(drawn):
    """Over the width: least at 40, at 69, and just beyond 40; over the centre: A-14."""
    panels = heights(drawn["scores-width-centre.svg"])
    width = np.linspace(2.0, 200.0, 397)
    centre = np.linspace(40.0, 160.0, 481)

    assert len(panels) == 6
    assert width[np.argmax(-panels[0])] == pytest.approx(40.0, abs=1.0)
    crps = panels[2]
    assert width[crps == crps.min()].mean() == pytest.approx(20 * np.sqrt(12), abs=3.0)
    assert width[np.argmin(panels[4])] == pytest.approx(40.5, abs=1.0)
    for panel, inside in ((panels[1], True), (panels[3], False), (panels[5], True)):
        middle = panel[np.abs(centre - 100.0) < 19.0]
        assert (np.ptp(middle) == 0.0) == inside
        assert panel == pytest.approx(panel[::-1], abs=0.2)


def test_the_norm_score_of_figure_2_is_least_at_the_error_squared(drawn):
    curve, by_value = heights(drawn["norm-score.svg"])

    variance = np.linspace(25.0, 2000.0, 396)
    assert variance[curve == curve.min()].mean() == pytest.approx(400.0, abs=25.0)
    value = np.linspace(40.0, 160.0, 481)
    assert value[by_value == by_value.min()].mean() == pytest.approx(100.0, abs=0.1)
    # A parabola: 60 kg off costs 9/4 of what 40 kg off costs.
    rise = by_value - by_value.min()
    assert rise[0] / rise[80] == pytest.approx(9.0 / 4.0, rel=0.02)
    assert "148 kg²" in drawn["norm-score.svg"]


def test_the_three_scores_of_figure_3_are_as_long_as_they_are(drawn):
    """In proportion to the scores of what the table says each estimator stated."""
    table = titled(tables_of(PAGE), "Scores of this crossing of")
    reference = float(next(re.finditer(r"Scores of this crossing of ([\d.]+) kg", PAGE))[1])
    lower, upper = np.array([row[2].split(" to ") for row in table[1:]], dtype=float).T
    width, out = upper - lower, np.maximum(np.maximum(lower - reference, reference - upper), 0.0)
    off = np.minimum(np.abs(reference - (lower + upper) / 2), width / 2)
    wanted = (
        width + 2.0 / 0.1 * out,
        out + off**2 / width + width / 12.0,
        np.where(out > 0.0, 1.0, -1.0) / width,
    )
    lengths = []
    for panel in ET.fromstring(drawn["one-event.svg"]).iter(f"{SVG}svg"):  # noqa: S314 - drawn here
        paths = [
            np.array(re.findall(r"[-\d.]+", path.get("d")), dtype=float)
            for path in panel.findall(f"{SVG}g/{SVG}path")
            if path.get("class") in ("line hit", "line missed")
        ]
        if paths:
            lengths.append(np.array([path[-2] - path[0] for path in paths]))

    assert len(lengths) == 4  # the first: what was stated
    for length, score in zip(lengths[1:], wanted, strict=True):
        scale = np.max(np.abs(length)) / np.max(np.abs(score))
        assert length == pytest.approx(scale * score, abs=1.0)
