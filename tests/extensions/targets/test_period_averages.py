"""Averages of hours and days: what is in them, and how much of them must be there."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.columns import columns
from monitor.extensions.targets.period_averages import period_averages
from monitor.extensions.targets.regulators import DAY, HOUR


def pairs(time, value=None, u_ref: float = 0.0):
    time = np.asarray(time, dtype=float)
    value = np.arange(time.size, dtype=float) if value is None else value
    bare = np.full(time.size, np.nan)
    ones = np.ones(time.size)
    return columns(
        np.zeros(1, np.int64), time=time, value=value, reference=2.0 * value, u=ones, lower=bare,
        upper=bare, p=bare, u_ref=u_ref * ones, level=0.9,
    )  # fmt: skip


def test_an_hour_needs_three_quarters_of_its_minutes():
    minutes = np.arange(0.0, 5 * HOUR, 60.0)
    there = np.ones(minutes.size, dtype=bool)
    there[60 : 60 + 15] = False  # 45 of the second hour are left
    there[120 : 120 + 16] = False  # 44 of the third
    time, value = minutes[there], np.arange(minutes.size)[there].astype(float)

    averages = period_averages(pairs(time, value, u_ref=3.0), HOUR)

    assert averages.period.tolist() == [0, 1, 3, 4]
    assert averages.sensor == pytest.approx([29.5, np.arange(75, 120).mean(), 209.5, 269.5])
    assert averages.reference == pytest.approx(2.0 * averages.sensor)
    assert averages.capture == pytest.approx(4 / 5)
    assert averages.u_ref == pytest.approx(3.0 * np.sqrt(np.mean([1 / 60, 1 / 45, 1 / 60, 1 / 60])))


def test_pairs_no_more_often_than_once_a_period_are_averages_themselves():
    time = 1e6 * DAY + 7.0 * DAY * np.arange(30)

    averages = period_averages(pairs(time, u_ref=0.5), DAY)

    assert averages.sensor.tolist() == list(range(30))
    assert averages.u_ref == 0.5
    assert averages.capture == pytest.approx(30 / 204)


def test_without_times_pairs_are_the_averages():
    averages = period_averages(pairs(np.arange(25.0)), DAY, timed=False)

    assert averages.sensor.size == 25
    assert np.isnan(averages.capture)
