"""The committed figures are those that the package draws now, and show what the papers say."""

from __future__ import annotations

import importlib.util
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[2]
IMAGES = PROJECT / "docs" / "images"
PAGE = (PROJECT / "docs" / "figures.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawer():
    path = PROJECT / "benchmarks" / "paper_figures.py"
    spec = importlib.util.spec_from_file_location("paper_figures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["paper_figures"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["paper_figures"]


@pytest.fixture(scope="module")
def drawn(drawer):
    return drawer.figures()


def test_the_committed_files_are_what_is_drawn_now(drawn):
    """If this fails: python benchmarks/paper_figures.py, and look at what changed."""
    assert {path.name for path in IMAGES.glob("*.svg")} == set(drawn)
    for name, drawing in drawn.items():
        assert (IMAGES / name).read_text(encoding="utf-8") == drawing, name


def test_each_is_on_the_page_and_stands_alone(drawn):
    assert set(re.findall(r"\(images/([^)]+)\)", PAGE)) == set(drawn)
    for drawing in drawn.values():
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
    (curve,) = heights(drawn["norm-score.svg"])

    variance = np.linspace(25.0, 2000.0, 396)
    assert variance[curve == curve.min()].mean() == pytest.approx(400.0, abs=25.0)
    assert "148 kg²" in drawn["norm-score.svg"]
