"""A verdict names the fault that was simulated, and its interval holds the size that was."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, whole, widened

from monitor.core.verdict import judge

ONSET, ALARM, N = 120, 140, 300
SEEDS = range(10)

FAULTS = {
    "offset": since(ONSET, lambda value, _: value + 4.0),
    "offset, far down": since(ONSET, lambda value, _: value - 20.0),
    "drift": since(ONSET, lambda value, late: value + 0.06 * late),
    "gain": since(ONSET, lambda value, _: 50.0 + 1.6 * (value - 50.0)),
    "gain, below": since(ONSET, lambda value, _: 50.0 + 0.5 * (value - 50.0)),
    "stuck": since(ONSET, lambda value, late: np.full(late.size, value[0])),
    "lag": since(ONSET, lambda value, _: np.roll(value, 2)),
    "sign": since(ONSET, lambda value, _: 100.0 - value),
    "sign, of all": since(ONSET, lambda value, _: -value),
}
SCALES = {"understated": 2.5, "overstated": 0.4}
SIZES = {"offset": 4.0, "offset, far down": -20.0, "gain": 1.6, "gain, below": 0.5, **SCALES}


def outlying(value, truth, random):
    hit = (random.random(value.size) < 0.06) & (np.arange(value.size) >= ONSET)
    return np.where(hit, value + 20.0 * random.choice([-1.0, 1.0], value.size), value)


def verdicts(name, *, alarm=ALARM, seeds=SEEDS, **changes):
    slow = 0.9 if name == "lag" else 0.0
    fault = outlying if name == "outliers" else FAULTS.get(name)
    scale = widened(N, ONSET, SCALES.get(name, 1.0))
    for seed in seeds:
        yield judge(sensor(seed, N, slow=slow, fault=fault, scale=scale, **changes), alarm=alarm)


NAMES = sorted({*FAULTS, *SCALES, "outliers"})


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_interval_holds_the_size(name):
    found = list(verdicts(name))
    sizes = [verdict.level if "offset" in name else verdict.size for verdict in found]

    assert sum(size.lower <= SIZES[name] <= size.upper for size in sizes) >= 8, sizes


def test_the_size_of_a_drift_is_its_size_now():
    now = 0.06 * (N - ONSET - 1)
    found = list(verdicts("drift", seeds=range(20)))

    assert sum(each.level.lower <= now <= each.level.upper for each in found) >= 16
    rates = [each.slope_per_day for each in found]
    assert sum(rate.lower <= 0.06 * 24 <= rate.upper for rate in rates) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alarm", [121, 130, 250])
def test_nothing_begins_after_its_alarm(name, alarm):
    assert all(each.since <= alarm for each in verdicts(name, alarm=alarm, seeds=range(3)))


def test_an_incident_keeps_its_first_beginning():
    p = sensor(1, N, fault=FAULTS["offset"])

    first = float(p.time[100])
    assert judge(p, alarm=ALARM, began=first).began == first


def test_a_sensor_that_shows_nothing_is_right():
    found = [whole(sensor(seed, N)).state for seed in range(20)]

    assert found.count("right") >= 18, found


def test_the_unit_does_not_matter():
    p = sensor(4, N, fault=FAULTS["offset"])
    milli = type(p)(p.time, 1e3 * p.value, 1e3 * p.u, 1e3 * p.reference, 1e3 * p.u_ref)
    one, other = judge(p, alarm=ALARM), judge(milli, alarm=ALARM)

    assert (one.fault, one.since, one.segment) == (other.fault, other.since, other.segment)
    np.testing.assert_allclose(np.array(one.level) * 1e3, other.level, rtol=1e-6)


def test_after_a_repair_the_fault_no_longer_shows():
    mended = since(ONSET, lambda value, late: value + np.where(late < 60, 8.0, 0.0))
    found = [judge(sensor(seed, N, fault=mended), alarm=130) for seed in SEEDS]

    assert sum(each.state == "undecided" for each in found) >= 8
    assert sum("no longer show it" in each.sentence for each in found) >= 7
    assert all(each.remedy is None or each.remedy.kind == "none" for each in found)
