"""SVG: well-formed, every coordinate finite."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from monitor.http import svg


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 0.5), (0.0, 59.0), (1.7e9, 1.7e9 + 90_000.0), (0.0, 3e9)]
)
def test_times_have_between_one_and_a_dozen_ticks_that_lie_inside(low, high):
    axis = svg.times(low, high)

    assert 1 <= len(axis.ticks) <= 12
    assert all(axis.low <= place <= axis.high for place, _ in axis.ticks)


@pytest.mark.parametrize("low", [-1e15, -3.0, 0.0, 1e-9, 5e14])
@pytest.mark.parametrize("span", [0.0, 1e-12, 0.3, 1e3, 1e15])
def test_an_axis_of_numbers_has_ticks_that_differ_and_lie_inside(low, span):
    axis = svg.number_axis(low, low + span)
    labels = [label for _, label in axis.ticks]

    assert axis.low < axis.high
    assert len(set(labels)) == len(labels) >= 1
    assert all(axis.low <= place <= axis.high for place, _ in axis.ticks)


def test_a_line_is_cut_at_the_edges_and_keeps_its_slope():
    axis = svg.Axis(0.0, 10.0, [])
    chart = svg.Chart("", axis, axis, 280.0)
    for slope, intercept in ((2.0, 0.0), (-2.0, 5.0), (0.0, 4.0), (1.0, 50.0)):
        chart.straight(slope, intercept, "fit")
    drawn_lines = re.findall(
        r'class="line fit" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', chart.render()
    )
    ends = np.array(drawn_lines, dtype=float).reshape(-1, 2, 2)
    wide, high = svg.WIDTH - svg.LEFT - svg.RIGHT, 280.0 - svg.TOP - svg.BOTTOM
    got = np.stack(
        [(ends[..., 0] - svg.LEFT) / wide, (280.0 - svg.BOTTOM - ends[..., 1]) / high], -1
    )

    want = [[(0, 0), (5, 10)], [(0, 5), (2.5, 0)], [(0, 4), (10, 4)]]
    np.testing.assert_allclose(10.0 * got, want, atol=0.01)


def test_no_word_is_written_over_another():
    axis = svg.number_axis(0.0, 1.0)
    chart = svg.Chart("", axis, axis)
    for at in np.linspace(0.4, 0.6, 12).tolist():
        chart.moment(at, "fired", "alert")
        chart.label(at, 0.5, "a sensor's name")
    boxes = []
    for each in ET.fromstring(chart.render()).iter():  # noqa: S314 - our own text
        if "word" in each.get("class", ""):
            wide, x = 8.9 * len(each.text), float(each.get("x"))
            left = x - wide * (each.get("text-anchor") == "end")
            boxes.append((left, left + wide, float(each.get("y"))))

    assert len(boxes) > 6
    for at, (left, right, y) in enumerate(boxes):
        for other_left, other_right, other_y in boxes[:at]:
            assert right <= other_left or other_right <= left or abs(y - other_y) >= 13.0
