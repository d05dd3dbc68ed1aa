"""The plots: well-formed, every coordinate finite and inside, and they show what they say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from harness.series import drawn, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.formatting import date_time
from monitor.core.model import Event
from monitor.core.registry import SeriesName
from monitor.core.scores.statistics import compute
from monitor.core.verdict import FAULT, Estimate, Pairs, Verdict, judge
from monitor.http import plots, signal_plots, ucc_plots
from monitor.http.fleet_picture import Dot, fleet_picture
from monitor.http.label_places import LETTER

HOSTILE = "<script>alert('1')</script>\"&"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def scale_of(c) -> float:
    return float(compute(c, ["scale_optimal"])["scale_optimal"][0])


DRIFT = Verdict(
    FAULT,
    "drift",
    level=Estimate(2.0, 1.5, 2.5),
    slope_per_day=Estimate(1e4, 9e3, 1.1e4),
    began=3.0,
    due=30.0,
    tolerance=5.0,
    last=15.0,
)
PLOTS = {
    "errors": lambda c: plots.errors(c, HOSTILE, plots.Marks([Event("a", 3.0, HOSTILE)], 5.0)),
    "signal": lambda c: signal_plots.signal(c, HOSTILE, plots.Marks([Event("a", 3.0, HOSTILE)])),
    "against_reference": lambda c: signal_plots.against_reference(c, HOSTILE),
    "drift": lambda c: signal_plots.drift_plot(c, HOSTILE, DRIFT),
    "fleet": lambda c: fleet_picture(
        [
            Dot(SeriesName(HOSTILE, HOSTILE), HOSTILE, HOSTILE, state, float(x), float(y))
            for x, y, state in zip(c.z, c.u, cycle(("ok", "firing")), strict=False)
        ]
    ),
    "levey_jennings": plots.levey_jennings,
    "rolling": lambda c: plots.rolling_score(c, "crps", HOSTILE),
    "rolling_interval": lambda c: plots.rolling_score(c, "interval", HOSTILE),
    "coverage": plots.coverage_by_level,
    "ucc": lambda c: ucc_plots.ucc_plot(ucc_plots.characteristics(c, scale_of(c)), HOSTILE),
    "ucc_other": lambda c: ucc_plots.ucc_plot(
        ucc_plots.characteristics(c, scale_of(c)), HOSTILE, "excess-deficit"
    ),
    "binned_zms": lambda c: plots.zms_plot(c, HOSTILE),
    "pit": plots.pit,
    "occasion": lambda c: plots.occasion_plot(c, [HOSTILE] * c.value.size, HOSTILE),
    "blocks": lambda c: plots.by_blocks(c, "crps", HOSTILE),
    "zetas": lambda c: plots.zetas(c.z, c.error, [HOSTILE] * c.value.size),
    "sparkline": lambda c: plots.sparkline(c.z[-20:]),
}


def assert_sound(drawing: str) -> ET.Element:
    """Well-formed, nothing but drawing, no styles, all numbers finite and inside the drawing."""
    root = ET.fromstring(drawing)  # noqa: S314 - our own text
    width, height = (float(each) for each in root.get("viewBox", "0 0 1e9 1e9").split()[2:])
    for each in root.iter():
        assert each.tag in {"svg", "title", "path", "text", "circle", "polyline", "p", "a", "g"}
        assert "style" not in each.attrib
        for name in ("x", "y", "cx", "cy"):
            if name in each.attrib:
                most = width if name.endswith("x") else height
                assert -20.0 <= float(each.get(name)) <= most + 20.0, each.attrib
        for name in ("d", "points"):
            text = each.get(name, "")
            assert not re.search(r"nan|inf|None", text)
            left = NUMBER.sub("", text)
            assert set(left) <= set("MLHVZmlhv ,"), left
    return root


def drawn_classes(root: ET.Element) -> set[str]:
    return {word for each in root.iter() for word in each.get("class", "").split()}


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 40, 500])
def test_every_plot_is_sound_however_few_or_many_pairs(plot, n):
    assert_sound(PLOTS[plot](drawn(3, (n,))))


numbers = st.floats(-1e15, 1e15, allow_nan=False)
sizes = st.floats(1e-12, 1e15, allow_nan=False)


@pytest.mark.parametrize("plot", PLOTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_plot_is_sound_whatever_sensors_say(plot, data):
    n = data.draw(st.integers(1, 60))
    rows = st.lists(numbers, min_size=n, max_size=n)
    value, reference = data.draw(rows), data.draw(rows)
    if data.draw(st.booleans()):
        c = pairs(value, reference, data.draw(st.lists(sizes, min_size=n, max_size=n)))
    else:
        ends = np.sort([data.draw(rows), data.draw(rows)], axis=0)
        ends[1] = np.maximum(ends[1], np.nextafter(ends[0], np.inf) + 1e-9 * np.abs(ends[0]) + 1e-9)
        c = pairs(value, reference, lower=ends[0], upper=ends[1], p=0.9)
    assert_sound(PLOTS[plot](c))


def test_words_are_escaped():
    c = drawn(0, (50,))
    for name in ("errors", "occasion"):
        root = assert_sound(PLOTS[name](c))
        assert any(HOSTILE in (each.text or "") for each in root.iter())


def test_pairs_outside_their_interval_are_crosses_and_no_others():
    c = pairs([0.0, 0.0, 0.0], [0.0, 1.0, 3.0], u=1.0)  # 90 %: within 1.645
    root = assert_sound(plots.errors(c, "kg", plots.Marks()))
    paths = {each.get("class"): each.get("d") for each in root.iter() if each.get("d")}

    assert paths["dots hit"].count("M") == 2
    assert paths["crosses miss"].count("m-3-3") == 1


def test_events_and_the_fault_are_marked_where_they_lie_and_others_are_not():
    c = drawn(0, (50,))  # times 0 to 49
    marks = plots.Marks([Event("a", 10.0, "adjusted"), Event("a", -5.0, "moved")], 30.0)
    words = [
        each.text
        for each in assert_sound(plots.errors(c, "kg", marks)).iter()
        if "word" in each.get("class", "")
    ]

    assert words == ["adjusted", "fault since"]


def test_one_far_error_does_not_squash_the_others():
    error = np.append(np.linspace(-1.0, 1.0, 99), 500.0)
    root = assert_sound(plots.errors(pairs(error, 0.0, u=1.0), "kg", plots.Marks()))
    ticks = [
        each.text
        for each in root.iter()
        if each.get("class") == "tick" and each.get("text-anchor") == "end"
    ]

    assert max(float(tick.replace("−", "-")) for tick in ticks) < 30.0  # noqa: RUF001


def test_the_stated_point_of_the_curve_is_what_the_statistics_say():
    c = drawn(5, (300,), skewed=True)
    scale = scale_of(c)
    found = ucc_plots.characteristics(c, scale)
    names = {
        "bandwidth": "bandwidth",
        "miss": "miss_rate",
        "excess": "excess",
        "deficit": "deficit",
    }
    statistics = compute(c, names.values())

    for axis, name in names.items():
        assert getattr(found.stated, axis)[0] == pytest.approx(statistics[name][0], rel=1e-12)
    alpha = 0.1
    cost = (alpha * found.optimal.bandwidth + found.optimal.deficit) / (1.0 + alpha)
    assert cost[0] == pytest.approx(compute(c, ["cost_optimal"])["cost_optimal"][0], rel=1e-9)


def test_coverage_of_an_honest_sensor_lies_within_chance_and_of_a_wrong_one_does_not():
    def seen(c) -> np.ndarray:
        reach = np.abs(c.z)
        return np.array([(reach <= k).mean() for k in (0.6744897501960817, 1.6448536269514722)])

    honest = drawn(7, (2000,))
    assert seen(honest) == pytest.approx([0.5, 0.9], abs=0.04)
    assert {"chance", "stated"} <= drawn_classes(assert_sound(plots.coverage_by_level(honest)))


def test_the_dot_of_the_stated_interval_allows_for_an_uncertain_reference():
    error, nothing = np.random.default_rng(9).normal(0.0, 2.0**0.5, 400), np.zeros(400)
    uncertain, exact = (
        assert_sound(plots.coverage_by_level(pairs(error, nothing, u, u_ref=u_ref)))
        for u, u_ref in ((1.0, 1.0), (2.0**0.5, 0.0))
    )
    dots = [
        [each.attrib for each in root.iter() if "stated" in each.get("class", "")]
        for root in (uncertain, exact)
    ]

    assert dots[0] == dots[1]
    assert dots[0]


def test_the_histogram_of_an_honest_sensor_is_flat_and_counts_every_pair():
    root = assert_sound(plots.pit(drawn(8, (1000,))))
    path = next(each.get("d") for each in root.iter() if each.get("class") == "columns seen")
    places = np.array([[float(n) for n in NUMBER.findall(bar)] for bar in path.split("Z")[:-1]])
    heights = places[:, 1] - places[:, 2]  # x, bottom, top, x, bottom

    assert len(heights) == 10
    assert heights / heights.sum() == pytest.approx(np.full(10, 0.1), abs=0.03)


def test_a_sparkline_is_short_and_marks_what_is_far():
    assert len(plots.sparkline(np.linspace(-3.0, 3.0, 20))) < 500
    assert "far" in plots.sparkline(np.array([0.0, 5.0]))
    assert "far" not in plots.sparkline(np.array([5.0, 0.0]))
    assert plots.sparkline(np.full(20, np.nan)) == ""


def test_a_drift_is_drawn_to_where_the_verdict_says_it_is_due():
    random = np.random.default_rng(0)
    n, day = 120, 86_400.0
    time = 1.78e9 + day * np.arange(n) / 12.0
    error = 0.5 * np.maximum((time - time[0]) / day - 4.0, 0.0) + random.normal(0.0, 0.1, n)
    reference = random.normal(100.0, 5.0, n)
    found = judge(
        Pairs(time, reference + error, np.full(n, 0.1), reference, np.zeros(n)),
        alarm=70, tolerance=5.0, unit="kg",
    )  # fmt: skip
    assert found.fault == "drift"
    assert found.level_at(found.due) == pytest.approx(5.0)
    assert f"leaves its tolerance on {date_time(found.due, '%Y-%m-%d')}" in found.sentence
    c = pairs(reference + error, reference, 0.1)
    root = assert_sound(signal_plots.drift_plot(replace(c, time=time), "kg", found))

    assert {"tolerance", "due", "now"} <= {each.text for each in root.iter() if each.text}
    assert signal_plots.drift_plot(c, "kg", found._replace(fault="offset")) == ""


def test_no_name_in_the_picture_of_a_fleet_covers_a_sensor_that_needs_a_look():
    random = np.random.default_rng(5)
    states = random.choice(["ok", "firing"], 300, p=[0.8, 0.2])
    dots = [
        Dot(
            SeriesName(f"node-{at:03}", "mass"),
            *("", "/", str(state)),
            *random.normal((0.0, 1.0), (1.0, 0.3)).tolist(),
        )
        for at, state in enumerate(states)
    ]

    picture = fleet_picture(dots)

    word = r'<text class="word note" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">'
    named = re.findall(word, picture)
    firing = re.findall(r'class="dot firing" cx="([\d.]+)" cy="([\d.]+)"', picture)
    assert len(named) > 5
    assert len(firing) == np.count_nonzero(states == "firing")
    for x, y, anchor in named:
        left = float(x) - (8 * LETTER if anchor == "end" else 0.0)
        for a, b in firing:
            beside = not left < float(a) < left + 8 * LETTER
            assert beside or not float(y) - 13.0 < float(b) < float(y) + 3.0
