"""What is published of a verdict agrees with its sentence, and is absent where that is silent."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, whole, widened

from monitor.core.snapshot.state_sentences import state_sentence
from monitor.core.snapshot.states import _numbers
from monitor.core.verdict import FAULTS, judge, judge_all

ONSET, ALARM, N = 150, 170, 300
STUCK = since(ONSET, lambda value, late: np.full(late.size, value[0]))
LATE = since(ONSET, lambda value, _: np.roll(value, 3))
TURNED = since(ONSET, lambda value, _: 100.0 - value)


@pytest.mark.parametrize(("name", "fault"), [("stuck", STUCK), ("lag", LATE), ("sign", TURNED)])
def test_an_error_that_goes_with_the_measurand_is_not_published_as_one_number(name, fault):
    verdict = judge(sensor(1, N, fault=fault, slow=0.8), alarm=ALARM, unit="kg")
    told = _numbers(verdict)

    assert (verdict.state, verdict.fault) == ("fault", name)
    assert not re.search("reads|heavy|light", verdict.sentence)
    assert all(math.isnan(told[each]) for each in told if each.startswith("error_now"))
    assert math.isfinite(told["fault_since_timestamp_seconds"])


@pytest.mark.parametrize("level", [-6.0, 6.0])
def test_the_error_published_is_that_of_the_sentence(level):
    p = sensor(2, N, fault=since(ONSET, lambda value, _: value + level))
    verdict = judge(p, alarm=ALARM, unit="kg")
    told = _numbers(verdict)
    found = re.match(r"reads ([\d.]+) kg (heavy|light) \(([\d.]+) to ([\d.]+)\)", verdict.sentence)

    assert found, verdict.sentence
    assert (found[2] == "heavy") == (told["error_now"] > 0.0) == (level > 0.0)
    assert float(found[1]) == pytest.approx(abs(told["error_now"]), abs=0.06)
    ends = sorted(abs(told[f"error_now_{end}"]) for end in ("lower", "upper"))
    assert [float(found[3]), float(found[4])] == pytest.approx(ends, abs=0.06)


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_an_estimate_is_the_factor_on_u_and_the_sentence_its_number_or_reciprocal(factor):
    p = sensor(4, N, scale=widened(N, ONSET, factor))
    verdict = judge(p, alarm=ALARM)
    found = re.search(
        r"(under|over)states its uncertainty by a factor of ([\d.]+)", verdict.sentence
    )

    assert found, verdict.sentence
    times = verdict.size.value if found[1] == "under" else 1.0 / verdict.size.value
    assert (found[1] == "under") == (factor > 1.0)
    assert float(found[2]) == pytest.approx(times, rel=0.05)
    assert verdict.size.lower < factor < verdict.size.upper


@pytest.mark.parametrize("turned", [0, 100])
def test_a_wrong_sign_is_advised_alike_live_and_in_files(turned):
    p = sensor(3, 400, fault=since(turned, lambda value, _: 100.0 - value))
    told = [whole(p, unit="kg"), judge(p, alarm=turned + 10, unit="kg")]
    few = judge(p.rows(slice(0, turned + 14)), alarm=turned + 10, unit="kg")

    assert [each.fault for each in told] == ["sign", "sign"]
    for each in (*told, *([few] if few.fault == "sign" and few.state == "fault" else [])):
        assert each.advice.startswith(FAULTS["sign"].look)
    assert all("; until then take " in each.advice for each in told)


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        (1.0, "(its reference is as uncertain as the sensor)"),
        (0.6, "(its reference is 0.6 times as uncertain as the sensor)"),
    ],
)
def test_a_reference_as_uncertain_as_the_sensor_is_not_once_so(ratio, says):
    assert says in state_sentence("ok", None, 50, {"calibration_u_ref_ratio": ratio})
    assert state_sentence("unknown", None, 1, {}) == "no fault found yet (1 pair)"


def test_noise_has_no_due_date_and_crosses_nothing():
    noise = [sensor(seed, 38, scale=scale) for seed in range(60) for scale in (1.0, 2.0)]
    verdicts = judge_all(noise, alarm=[37] * len(noise), unit=["kg"] * len(noise))
    drifts = [each for each in verdicts if each.fault == "drift"]

    assert drifts
    assert not any(math.isfinite(each.due) for each in verdicts)
    assert not any("leaves" in each.sentence or "crosses" in each.sentence for each in verdicts)


def test_a_drift_that_lasts_has_the_date_on_which_it_leaves_its_tolerance():
    lasting = [
        sensor(seed, 200, fault=since(40, lambda value, late: value + 0.05 * late))
        for seed in range(20)
    ]
    verdicts = judge_all(lasting, alarm=[80] * 20, tolerance=[20.0] * 20)
    days = [(each.due - each.last) / 86_400.0 for each in verdicts if math.isfinite(each.due)]

    assert len(days) >= 16
    assert np.median(days) == pytest.approx((20.0 - 0.05 * 160) / 0.05 / 24.0, rel=0.15)
