"""Alerts for pairs as they arrive are those of a file."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import monitor
from tests.frames.test_pair_frames import frame


def test_a_watch_raises_what_a_file_would_have_raised():
    pairs = frame()
    watch = monitor.Watch(unit="kg")

    raised = []
    for first in range(0, len(pairs), 8):  # 240 of each sensor
        some = pairs[first : first + 8]
        time = [each.timestamp() for each in some["time"]]
        sensor = some["sensor"].iloc[0]
        raised += watch.update(
            some["value"], some["reference"], u=some["u"], time=time, sensor=sensor
        )

    incident = monitor.score(pairs, unit="kg").incidents[0]
    assert [each.sensor for each in raised if each.is_firing] == ["cart-2"]
    assert raised[0].time == datetime.fromisoformat(incident["fired"]).timestamp()
    assert raised[0].sentence.startswith("reads ")
    verdict = watch.verdict("cart-2")
    assert verdict["fault"] == "offset"
    assert verdict["lower"] < 4.0 < verdict["upper"]
    assert watch.verdict("cart-1")["state"] == "right"
    assert watch.statistics("cart-1")["calibration_zms"] == pytest.approx(1.0, abs=0.3)


def test_many_pairs_at_once_are_the_same_as_one_after_the_other():
    one, many = monitor.Watch(), monitor.Watch()
    pairs = frame()[240:]
    columns = [pairs[name].to_numpy() for name in ("value", "reference", "u")]

    found = many.update(columns[0], columns[1], u=columns[2])
    each = [
        alert
        for value, reference, u in zip(*columns, strict=True)
        for alert in one.update(value, reference, u=u)
    ]

    assert found == each
    assert one.statistics() == many.statistics()
    assert one.verdict() == many.verdict()


def repaired(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values and references: 6 u heavy for the pairs 100 to 160."""
    random, at = np.random.default_rng(seed), np.arange(260)
    reference = random.normal(500.0, 20.0, at.size)
    is_faulty = (at >= 100) & (at < 160)
    return reference + random.normal(size=at.size) + 6.0 * is_faulty, reference


def watched(seed: int, step: int) -> list[monitor.Alert]:
    value, reference = repaired(seed)
    watch, raised = monitor.Watch(unit="kg"), []
    for first in range(0, value.size, step):
        some = slice(first, first + step)
        time = 1.77e9 + 3600.0 * np.arange(value.size)[some]
        raised += watch.update(value[some], reference[some], u=1.0, time=time)
    return raised


@pytest.mark.parametrize(("seed", "least"), [(0, 1), (1, 7), (2, 7)])
def test_what_a_watch_tells_does_not_depend_on_how_pairs_are_cut_into_calls(seed, least):
    one = watched(seed, least)

    assert [each.is_firing for each in one] == [True, False]
    for step in (45, 260):
        assert watched(seed, step) == one


@pytest.mark.parametrize("step", [7, 260])
def test_an_alert_ends_under_the_name_under_which_it_began(step):
    began, ended = watched(1, step)

    assert (began.is_firing, ended.is_firing) == (True, False)
    assert began.fault == ended.fault == "offset"
    assert re.match(r"reads [4-8](\.\d)? kg heavy \(.*\), since 2026-", began.sentence)
    assert re.match(
        r"(right|no fault found yet:) within .* u and a factor of .* \(\d+ pairs since 2026-",
        ended.sentence,
    )


def test_a_call_with_late_pairs_among_others_has_the_same_end():
    value, reference = repaired(1)
    time = 1.77e9 + 3600.0 * np.arange(value.size)
    late, calls = np.r_[0:80, 90:170, 80:90, 170:260], ((0, 165), (165, 260))
    watch, in_order = monitor.Watch(unit="kg"), monitor.Watch(unit="kg")
    in_order.update(value, reference, u=1.0, time=time)
    raised = []
    for first, end in calls:
        some = late[first:end]
        raised += watch.update(value[some], reference[some], u=1.0, time=time[some])

    assert watch.verdict() == in_order.verdict()
    assert watch.statistics() == in_order.statistics()
    assert [each.is_firing for each in raised] == [True, False]


def test_a_watch_without_times_tells_no_dates():
    watch = monitor.Watch(unit="kg")
    pairs = frame()[240:]

    raised = watch.update(pairs["value"], pairs["reference"], u=pairs["u"])

    verdict = watch.verdict()
    assert verdict["fault"] == "offset"
    assert (verdict["since"], verdict["slope_per_day"], verdict["due"]) == (None, None, None)
    for sentence in (verdict["sentence"], *(each.sentence for each in raised)):
        assert "since" not in sentence
    with pytest.raises(monitor.FrameError, match="with all pairs of a watch, or with none"):
        watch.update(1.0, 1.0, u=1.0, time=1.77e9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"value": 1.0, "reference": 1.0}, "no uncertainty is stated"),
        ({"value": [1.0, 2.0], "reference": [1.0, 2.0, 3.0], "u": 1.0}, "different lengths"),
        ({"value": float("nan"), "reference": 1.0, "u": 1.0}, r"value\[0\] is nan"),
        ({"value": "12,5", "reference": 1.0, "u": 1.0}, "value is no number, .*: '12,5'"),
        ({"value": [1.0, 2.0], "reference": ["1", "x"], "u": 1.0}, "reference is no number"),
        ({"value": 1.0, "reference": 1.0, "u": 1.0, "time": datetime.now(UTC)}, "time is no num"),
        (
            {"value": np.array(["1.5"], object), "reference": 1.0, "u": 1.0},
            "value is no number, or array of numbers",
        ),
        ({"value": [1.0, [2.0]], "reference": 1.0, "u": 1.0}, "value is no number, or array"),
        ({"value": [[1.0]], "reference": 1.0, "u": 1.0}, "value has 2 dimensions"),
        ({"value": [], "reference": [], "u": 1.0}, "there is no pair"),
        ({"value": 1.0, "reference": 1.0, "u": 0.0}, r"u\[0\] is 0: must be at least 1e-12"),
        (
            {"value": 1.0, "reference": 1.0, "u": 1.0, "time": 1.77e12},
            r"time\[0\] is 1.77e\+12: pass s since 1970",
        ),
        (
            {"value": pd.Series([1.0, 2.0]), "reference": pd.Series([2.0, 1.0])[::-1], "u": 1.0},
            "'reference' has the labels of value in another order",
        ),
        ({"value": 1.0, "reference": 1.0, "lower": 2.0, "upper": 0.0}, "lower must lie below"),
        ({"value": 1.0, "reference": 1.0, "u": 1.0, "p": 95}, r"p\[0\] is 95: must lie between"),
        (
            {"value": 1.0, "reference": 1.0, "u": 1.0, "u_reference": -1.0},
            r"u_reference\[0\] is -1: must be 0 or at least 1e-12",
        ),
    ],
)
def test_a_watch_refuses_what_cannot_be_and_takes_nothing(given, said):
    watch = monitor.Watch()

    with pytest.raises(monitor.FrameError, match=said):
        watch.update(**given)
    with pytest.raises(KeyError):
        watch.verdict()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"level": 95}, "level=95: must lie between 0 and 1"),
        ({"window": 0}, "window=0: must be at least 1"),
        ({"patience": float("nan")}, "patience=nan: must be at least 2"),
        ({"tolerance": 0.0}, "tolerance=0.0: must be at least 1e-12"),
    ],
)
def test_a_watch_refuses_settings_that_cannot_be(given, said):
    with pytest.raises(monitor.FrameError, match=said):
        monitor.Watch(**given)
