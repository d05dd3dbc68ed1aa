"""Verdict and incidents of one file: one sentence for one fault, and what is over is over."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from harness.verdict_sensors import autoregressive

import monitor

BEGIN = 1_767_225_600.0  # 2026-01-01
HOUR = 3600.0
Rows = dict[str, Any]


def rows(seed: int, n: int = 500, *, middle: float = 20.0, slow: float = 0.0) -> Rows:
    """Return honest pairs, one an hour, whose truth moves by 5 u."""
    random = np.random.default_rng(seed)
    truth = middle + 5.0 * autoregressive(random.standard_normal(n), slow)
    value = truth + random.standard_normal(n)
    return {"time": BEGIN + HOUR * np.arange(n), "value": value, "reference": truth, "u": 1.0}


def scored(given: Rows) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """Return the verdict of a file, its incidents, and what is printed."""
    found = monitor.score(pl.DataFrame(given), unit="degC")
    json.dumps(found.to_dict(), allow_nan=False)
    return found.series[0]["verdict"], found.incidents, str(found)


def faulty(kind: str, given: Rows, begin: int, end: int | None = None) -> Rows:
    """Return the pairs with a fault from one pair to before another."""
    at = np.arange(given["value"].size)
    inside = (at >= begin) & (at < (at.size if end is None else end))
    truth, error = given["reference"], given["value"] - given["reference"]
    wrong = {
        "understated": truth + 3.0 * error,
        "overstated": truth + error / 3.0,
        "offset": truth + error + 2.0,
        "gain": 20.0 + 1.4 * (truth - 20.0) + error,
        "lag": truth[np.maximum(at - 2, 0)] + error,
        "sign": error - truth,
        "stuck": np.full(at.size, given["value"][begin]),
        "both": truth + 2.0 + 2.0 * error,
    }[kind]
    return {**given, "value": np.where(inside, wrong, given["value"])}


ENDED = ["understated", "offset", "gain", "lag", "sign", "stuck"]
WORDS = {
    "understated": "understated its uncertainty",
    "offset": "read ",
    "gain": "had an error that changed with the level",
    "lag": "was late",
    "sign": "had the wrong sign",
    "stuck": "was stuck",
}


@pytest.mark.parametrize("kind", ENDED)
def test_a_fault_that_is_over_is_told_in_the_past_with_the_repair(kind):
    off = []
    for seed in range(5):
        given = rows(seed, middle=0.0 if kind == "sign" else 20.0, slow=0.9 * (kind == "lag"))
        verdict, incidents, printed = scored(faulty(kind, given, 100, 250))
        if incidents[-1]["until"] is None:
            continue
        told = verdict["sentence"]
        assert re.match(r"(right|no fault found yet:) within .* \(\d+ pairs since 2026-", told)
        assert any(WORDS[kind] in each["sentence"] for each in incidents)
        assert (verdict["fault"], verdict["since"], verdict["advice"]) == (None, None, "")
        assert verdict["state"] in ("right", "undecided")
        assert f"data: {told}" in printed.replace("data value", "data").replace(" value:", ":")
        times = verdict["right_since"], incidents[-1]["until"]
        since = [np.datetime64(each.rstrip("Z")) - np.datetime64("2026-01-01") for each in times]
        repaired, cleared = (each / np.timedelta64(1, "h") for each in since)
        off.append(abs(repaired - 250))
        assert repaired <= cleared
    assert len(off) >= 3
    assert np.median(off) <= 10
    assert max(off) <= 30


@pytest.mark.parametrize("kind", ["understated", "overstated", "offset", "gain", "lag", "both"])
@pytest.mark.parametrize("begin", [0, 250])
def test_a_fault_that_lasts_has_one_name_one_size_and_one_date(kind, begin):
    for seed in range(4):
        given = rows(seed, slow=0.9 * (kind == "lag"))
        verdict, incidents, _ = scored(faulty(kind, given, begin))
        newest = incidents[-1]
        assert newest["until"] is None
        assert verdict["state"] == "fault", verdict["sentence"]
        assert verdict["fault"] == newest["alert"], (verdict["sentence"], newest["sentence"])
        if begin:
            assert newest["sentence"] == f"data {verdict['sentence']}"
            assert verdict["since"] == newest["since"]
            assert verdict["estimate"] == newest["estimate"]
        else:
            assert verdict["estimate"] == pytest.approx(newest["estimate"], rel=0.25)


def test_an_offset_with_an_understated_uncertainty_is_seldom_called_outliers():
    named = 0
    for seed in range(20):
        verdict, incidents, _ = scored(faulty("both", rows(seed, 400), 0))
        is_named = verdict["fault"] in ("offset", "understated")
        named += is_named
        if is_named:
            assert "understates its uncertainty" in verdict["sentence"]
            assert "high" in verdict["sentence"]
            assert incidents[-1]["alert"] in ("offset", "understated")
    assert named >= 18


def test_a_gain_that_began_within_the_file_is_not_diluted():
    inside = 0
    for seed in range(10):
        verdict, _, _ = scored(faulty("gain", rows(seed, 600), 400))
        assert verdict["fault"] == "gain"
        assert verdict["since"] is not None
        inside += verdict["lower"] < 1.4 < verdict["upper"]
    assert inside >= 8


def test_a_drift_in_a_file_says_when_it_leaves_its_tolerance():
    told = 0
    for seed in range(12):
        given = rows(seed, 400)
        value = given["value"] + 0.0018 * np.arange(400.0)
        verdict, incidents, _ = scored({**given, "value": value})
        if verdict["fault"] == "drift":
            told += verdict["due"] is not None
            assert (verdict["due"] or "")[:10] in incidents[-1]["sentence"]
    assert told >= 2


def test_an_offset_that_changed_its_side_has_both_dates():
    given = rows(1, 400)
    value = given["value"] + np.where(np.arange(400) < 250, 2.0, -1.5) * (np.arange(400) >= 100)
    verdict, incidents, _ = scored({**given, "value": value})

    assert verdict["fault"] == "offset"
    assert verdict["changed"][:13] in ("2026-01-11T09", "2026-01-11T10", "2026-01-11T11")
    assert verdict["since"] == incidents[0]["since"]
    assert "low" in verdict["sentence"]
    assert "; not right since 2026-01-05" in verdict["sentence"]


@pytest.mark.parametrize("middle", [0.0, 1e6, 1e9])
def test_a_high_level_is_no_wrong_sign(middle):
    found = [scored(rows(seed, 400, middle=middle))[0] for seed in range(6)]

    assert [each["sentence"] for each in found if each["state"] != "right"] == []


def test_error_codes_beside_another_fault_are_told_with_it():
    given = faulty("offset", rows(2, 400), 0)
    value = given["value"].copy()
    value[np.random.default_rng(1).random(400) < 0.03] = -999.0
    verdict, _, _ = scored({**given, "value": value})

    assert verdict["fault"] == "offset"
    assert "sends -999 now and then" in verdict["sentence"]
    assert "send null instead of -999" in verdict["advice"]


def test_a_newest_piece_of_a_file_without_times_is_told_as_such():
    given = rows(5, 400)
    del given["time"]
    value = given["value"] + 3.0 * (np.arange(400) >= 330)
    verdict, incidents, _ = scored({**given, "value": value})

    assert incidents == []
    assert verdict["fault"] == "offset"
    assert verdict["sentence"].endswith(f", in its last {verdict['pairs']} pairs")
    assert 50 <= verdict["pairs"] <= 90


@pytest.mark.parametrize("kind", ["understated", "offset", "gain"])
def test_a_fault_that_was_always_there_has_the_same_figures_in_both_places(kind):
    given = rows(3, 1500, slow=0.5)

    verdict, incidents, _ = scored(faulty(kind, given, 0))

    (incident,) = incidents
    assert verdict["fault"] == incident["alert"] == kind
    assert verdict["pairs"] == 500  # those of the window, as on the page
    for name in ("estimate", "lower", "upper", "unit"):
        assert verdict[name] == incident[name]
    assert incident["sentence"] == f"data {verdict['sentence']}"


def test_a_form_older_than_the_judged_pairs_is_not_dated_to_the_beginning():
    given = faulty("offset", rows(2, 2500), 200)
    value = given["value"].copy()
    value[900:] -= 4.0
    verdict, (incident,), _ = scored({**given, "value": value})

    began = incident["since"][:10]
    assert verdict["fault"] == "offset"
    assert -2.3 < verdict["estimate"] < -1.7
    assert verdict["sentence"].startswith("reads ")
    assert " low (" in verdict["sentence"]
    assert f", over its last 500 pairs; not right since {began}" in verdict["sentence"]
    assert incident["sentence"] == f"data {verdict['sentence']}"


def test_a_past_incident_that_was_long_tells_how_many_pairs_its_size_is_from():
    given = faulty("offset", rows(2, 2500), 200, 1700)
    value = given["value"].copy()
    value[900:1700] -= 4.0
    verdict, (incident,), _ = scored({**given, "value": value})

    began, until = incident["since"][:10], incident["until"][:16].replace("T", " ")
    told = incident["sentence"]
    assert told.startswith("data read ")
    assert " low (" in told
    assert f", over 500 pairs; was not right from {began}" in told
    ended = told.rpartition(" to ")[2].removesuffix(" UTC")
    assert ended < until
    assert verdict["sentence"].startswith("right within 0.")
    assert verdict["right_since"] is None  # the window holds no pair of it any more
