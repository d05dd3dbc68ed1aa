"""A known mistake of unit or u is asked about where the pairs fit it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, autoregressive, sensor, whole
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULT, Pairs, Verdict, judge
from monitor.core.verdict.likely_mistakes import candidates, likely_mistake
from monitor.decode.units import conversion
from monitor.journal.in_memory import InMemoryStore
from tests.core.verdict.test_any_pairs import series

N = 400


def asked(fault, *, unit="", mean=500.0, spread=60.0, u=5.0, slow=0.0, seeds=range(6), n=N):
    """Return what is asked of sensors whose (value, u) a ``fault`` makes of honest ones."""
    found = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        truth = mean + spread * autoregressive(random.standard_normal(n), slow)
        stated = u * np.exp(0.1 * random.standard_normal(n))
        value, sent = fault(truth + stated * random.standard_normal(n), stated)
        reference = truth + 0.2 * u * random.standard_normal(n)
        time = START + HOUR * np.arange(n)
        p = Pairs(time, value, sent, reference, np.full(n, 0.2 * u))
        found += [judge(p, alarm=min(60, n - 1), unit=unit), whole(p, unit=unit)]
    return found


AIR = {"mean": 12.0, "spread": 7.0, "u": 0.4}
WARM = {"mean": 60.0, "spread": 12.0, "u": 0.7}
WIND = {"mean": 5.0, "spread": 2.0, "u": 0.3}
OZONE = {"mean": 40.0, "spread": 15.0, "u": 2.0}
UNITS = [
    ("kelvin for degC?", lambda v, u: (v + 273.15, u), {"unit": "degC", **AIR}),
    ("kelvin for °C?", lambda v, u: (v + 273.15, u), {"unit": "°C", **AIR}),
    ("degF for degC?", lambda v, u: (1.8 * v + 32.0, 1.8 * u), {"unit": "degC", **AIR}),
    ("degC for degF?", lambda v, u: ((v - 32.0) / 1.8, u / 1.8), {"unit": "degF", **WARM}),
    ("lb for kg?", lambda v, u: (2.20462 * v, 2.20462 * u), {"unit": "kg"}),
    ("lb for kg?", lambda v, u: (2.20462 * v, u), {"unit": "kg", "spread": 3.0}),
    ("lb for kg?", lambda v, u: (2.20462 * v, u), {}),
    ("kg for lb?", lambda v, u: (0.45359 * v, u), {"unit": "lb"}),
    ("g for kg?", lambda v, u: (1e3 * v, 1e3 * u), {"unit": "kg", "slow": 0.8}),
    ("t for kg?", lambda v, u: (1e-3 * v, 1e-3 * u), {"unit": "kg"}),
    ("km/h for m/s?", lambda v, u: (3.6 * v, u), {"unit": "m/s", **WIND}),
    ("ug/m3 of O3 for ppb?", lambda v, u: (1.996 * v, u), {"unit": "ppb", **OZONE}),
    ("a unit a thousandth as large?", lambda v, u: (1e3 * v, u), {"unit": "uS/cm"}),
]
STATED = [
    ("is it U with k = 2, half the width of a 95 % interval?", lambda v, u: (v, 2.0 * u), {}),
    ("is it a standard uncertainty that is read as U with k = 2?", lambda v, u: (v, 0.5 * u), {}),
    ("is it U with k = 3, half the width of a 99.7 % interval?", lambda v, u: (v, 3 * u), {}),
    ("is it a variance?", lambda v, u: (v, u * u), {"u": 30.0}),
    ("is it in per cent of the value?", lambda v, u: (v, 100.0 * u / v), {"u": 25.0}),
]


@pytest.mark.parametrize(("question", "fault", "of"), UNITS)
def test_a_wrong_unit_is_asked_about(question, fault, of):
    found = asked(fault, **of)

    assert sum(each.sentence.endswith(f": {question}") for each in found) >= 10, found[0]


@pytest.mark.parametrize(("question", "fault", "of"), STATED)
def test_another_number_sent_as_u_is_asked_about(question, fault, of):
    found = asked(fault, n=700, **of)

    assert sum(each.sentence.endswith(f": {question}") for each in found) >= 10, found[0]


def test_the_number_stays_and_the_advice_has_both_ways():
    (found, _) = asked(lambda v, u: (v + 273.15, u), unit="degC", seeds=[1], **AIR)

    assert found.sentence.startswith("reads 273.")
    assert found.advice.startswith(
        "if it sends kelvin, map it with unit: K, to_unit: degC; else subtract 273."
    )


@pytest.mark.parametrize(
    "fault",
    [
        lambda v, u: (v + 270.0, u),
        lambda v, u: (2.3 * v, u),
        lambda v, u: (2.20462 * v + 30.0, u),
        lambda v, u: (500.0 + 2.20462 * (v - 500.0), u),
        lambda v, u: (v, 2.45 * u),
        lambda v, u: (0.0 * v, u),
    ],
)
def test_another_number_is_not_asked_about(fault):
    for unit in ("degC", "kg", ""):
        found = asked(fault, unit=unit, n=700)

        assert not any(each.sentence.endswith("?") for each in found), found[0]


def test_sizes_drawn_at_random_are_hardly_ever_a_unit():
    random = np.random.default_rng(3)
    found = []
    for seed in range(60):
        gain, offset = 10.0 ** random.uniform(-1.5, 1.5), 10.0 ** random.uniform(1.0, 3.0)
        found += asked(lambda v, u, a=gain: (a * v, u), seeds=[seed])[:1]
        found += asked(lambda v, u, b=offset: (v + b, u), seeds=[seed])[:1]

    assert sum(each.sentence.endswith("?") for each in found) <= 6


def test_a_few_pairs_are_not_asked_about():
    few = asked(lambda v, u: (v + 273.15, u), unit="degC", n=19, seeds=[1], **AIR)[1]

    assert few.fault == "offset"
    assert not few.sentence.endswith("?")


@pytest.mark.parametrize("unit", ["kg", "lb", "m/s", "km/h", "hPa", "psi", "mm", "ft", "degF", "K"])
def test_units_convert_as_the_settings_will(unit):
    """The advice is a line of settings, so what it converts by must be what was tried."""
    for each in candidates(unit):
        sent = each.mistake.mend.split("unit: ")[1].split(",")[0]
        back = conversion(sent, unit)

        assert each.scale * back.scale == pytest.approx(1.0)
        assert back.scale * each.shift + back.offset == pytest.approx(0.0, abs=1e-9)


@given(p=series(), unit=st.sampled_from(("kg", "degC", "ppb", "")))
def test_any_pairs_have_an_answer(p, unit):
    with np.errstate(all="raise", under="ignore"):
        for fault in ("offset", "understated"):
            likely_mistake(Verdict(FAULT, fault=fault), p, unit)


def test_a_right_sensor_is_asked_nothing():
    assert not any(whole(sensor(seed)).sentence.endswith("?") for seed in range(10))


@pytest.mark.parametrize(("common", "correlation"), [(False, 1.0), (True, 1.0), (False, 0.0)])
def test_a_mean_whose_errors_average_out_asks_for_the_correlation(common, correlation):
    """Pairs are means of six readings of u = 1, whose errors are independent or the same."""
    pairing = Rules("mean_over_reference_interval", reading_seconds=600.0, correlation=correlation)
    rules = SeriesRules(unit="ppb", pairing=pairing)
    plan = CoreSettings(lambda *_: rules, lambda sensor: [Concern(sensor)], limits=Limits(9, 9))
    network, chance = Network(plan, InMemoryStore()), np.random.default_rng(8)
    for hour in range(200):
        begin, true = HOUR * hour, 50.0 + 5.0 * chance.normal()
        error = np.repeat(chance.normal(), 6) if common else chance.normal(size=6)
        seen = [
            Reading("s", "o3", begin + 600.0 * at, true + each, u=1.0)
            for at, each in enumerate(error.tolist())
        ]
        end = begin + HOUR
        seen.append(Reference("s", "o3", begin, true, u=0.05, start=begin, end=end))
        network.apply(network.observe(seen, end).pairs)
    now = network.evaluate(200 * HOUR)

    is_asked = "do the errors of the readings that make up a pair average out?" in now.sentences[0]
    assert is_asked == (not common and correlation == 1.0)
    asked = "if the errors of its readings average out, set pairing.correlation to 0; else"
    assert now.advice[0].startswith(asked) == is_asked
    assert now.states[0] == ("firing" if is_asked else "ok")
