"""The same pairs have the same verdict wherever it is asked for, with times and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import monitor

U, HOUR, START = 2.0, 3600.0, 1.77e9
MOMENTS = {"since", "changed", "due", "right_since", "first_pair"}
SAID = ("state", "fault", "sentence", "advice")
FIGURES = {
    "score_crps_mean": "crps",
    "score_quadratic_mean": "quadratic",
    "calibration_bias": "bias",
    "calibration_zms": "zms",
    "calibration_zms_lower": "zms_lower",
}
DATED = MOMENTS | {"sentence", "advice", "slope_per_day"}
SIZES = {  # factor of the errors, and what is added in u along the pairs (from 0 to 1)
    "honest": (1.0, lambda part: 0.0 * part),
    "offset": (1.0, np.ones_like),
    "faint offset": (1.0, lambda part: 0.5 + 0.0 * part),
    "later offset": (1.0, lambda part: 2.0 * (part >= 0.5)),
    "repaired": (1.0, lambda part: 3.0 * (part < 0.5)),
    "understated": (1.6, lambda part: 0.0 * part),
    "overstated": (0.5, lambda part: 0.0 * part),
    "drift": (1.0, lambda part: 2.0 * part),
}


def pairs_of(fault: str, n: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    reference = random.normal(100.0, 20.0, n)
    factor, added = SIZES[fault]
    error = U * (factor * random.standard_normal(n) + added(np.arange(n) / n))
    return {"value": reference + error, "reference": reference, "u": np.full(n, U)}


def series_of(pairs: dict[str, np.ndarray], time: np.ndarray | None = None) -> dict[str, dict]:
    frame = pd.DataFrame(pairs)
    if time is not None:
        frame["time"] = pd.to_datetime(time, unit="s", utc=True)
    return monitor.score(frame).series[0]


def scored(pairs: dict[str, np.ndarray], time: np.ndarray | None = None) -> dict[str, object]:
    return series_of(pairs, time)["verdict"]


@pytest.mark.parametrize("n", [5, 30, 60, 120, 300, 700])
@pytest.mark.parametrize("fault", sorted(SIZES))
def test_a_watch_says_what_a_frame_says_at_every_length(fault, n):
    pairs, time = pairs_of(fault, n), START + HOUR * np.arange(n)
    watch = monitor.Watch()
    watch.update(pairs["value"], pairs["reference"], u=pairs["u"], time=time)
    series, live = series_of(pairs, time), watch.verdict()
    file = series["verdict"]

    for name in (*SAID, "error_model", "estimate", "lower", "upper", "pairs", "first_pair"):
        if name == "advice" and "; or adjust it anew" in str(file[name]):
            continue  # which only files try
        assert live[name] == file[name], name
    figures, z = watch.statistics(), (pairs["value"] - pairs["reference"])[-live["pairs"] :] / U
    assert figures["calibration_zms"] == pytest.approx(np.mean(z**2))
    for live_name, name in FIGURES.items():
        assert figures[live_name] == series["judged"][name], name


@pytest.mark.parametrize("n", [40, 200, 450])
@pytest.mark.parametrize("fault", sorted(SIZES))
def test_pairs_without_times_have_the_verdict_of_pairs_at_equal_steps(fault, n):
    pairs = pairs_of(fault, n)
    bare = scored(pairs)
    for step in (1.0, 60.0, 86_400.0):
        timed = scored(pairs, START + step * np.arange(n))

        assert {name: bare[name] for name in bare if name not in DATED | {"fault_estimate"}} == {
            name: timed[name] for name in timed if name not in DATED | {"fault_estimate"}
        }
        assert bare["sentence"].partition(",")[0] == timed["sentence"].partition(",")[0] or (
            timed["fault"] == "drift" or "since" in timed["sentence"]
        )


def test_a_year_of_weekly_references_has_an_answer():
    random, states = np.random.default_rng(1), []
    for _ in range(40):
        reference = random.normal(50.0, 10.0, 104)
        pairs = {"value": reference + random.standard_normal(104), "reference": reference}
        pairs["u"] = np.ones(104)
        verdict = scored(pairs, START + 3.5 * 86_400.0 * np.arange(104))
        states.append(verdict["state"])
        assert "within" in verdict["sentence"]

    assert states.count("right") >= 32
    assert states.count("fault") <= 1
