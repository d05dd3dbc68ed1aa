"""Numbers that covariates had, and when."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Sample
from monitor.core.registry import SeriesKey
from monitor.extensions.where.covariate_samples import CovariateRule, CovariateSamples

NAMES = st.sampled_from(["a", "b"])


TIMES = st.integers(0, 20).map(float)


@given(
    st.lists(st.tuples(NAMES, TIMES, st.integers(0, 9).map(float)), max_size=30),
    st.lists(st.tuples(NAMES, TIMES), max_size=10),
    st.integers(0, 20).map(float),
    st.booleans(),
)
def test_the_number_of_a_reading_is_the_newest_at_or_before_it(samples, asked, age, shared):
    rule = CovariateRule("t", "", "everyone" if shared else "sensor", age)
    held = CovariateSamples([rule], 1000)
    for sensor, time, number in samples:
        held.add(Sample("t", "" if shared else sensor, "", time, number), time)
    for sensor, time in asked:
        usable = [
            (at, place, number)
            for place, (who, at, number) in enumerate(samples)
            if time - age <= at <= time and (shared or who == sensor)
        ]
        wanted = max(usable)[2] if usable else math.nan
        found = held.number(rule, SeriesKey(sensor, "x"), time)
        assert found == wanted or (math.isnan(found) and math.isnan(wanted))


def test_samples_are_dropped_when_they_are_too_many_the_oldest_first():
    held = CovariateSamples([CovariateRule("t", "", "sensor", 1e9)], 100)
    for at in range(150):
        held.add(Sample("t", "a", "", float(at), float(at)), float(at))
        held.drop_excess()

    assert held.held <= 100
    assert held.held + held.dropped == 150
    rule = CovariateRule("t", "", "sensor", 1e9)
    assert held.number(rule, SeriesKey("a", "x"), 149.0) == 149.0
    assert math.isnan(held.number(rule, SeriesKey("a", "x"), 10.0))
