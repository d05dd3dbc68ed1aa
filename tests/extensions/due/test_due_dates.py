"""Dates at which sensors leave their tolerance, against simulated paths and a plain filter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from monitor.core.columns import columns
from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.steps import finish
from monitor.extensions.due.documents import NOBODY, OFF, due_list
from monitor.extensions.due.due_dates import (
    DueDates,
    Forecast,
    due_date_steps,
    due_first,
    due_sentence,
    scale_of,
)
from monitor.extensions.due.due_forecasts import DueForecasts, due_dates_in
from monitor.extensions.due.offset_walks import DAY, walks_of
from tests.core.state.test_network import Shell

RULES = SeriesRules(
    unit="K", window_pairs=200, pairing=Rules("nearest", 0.4), asks=(("due", True),)
)


def pairs_of(errors, days, u=1.0, u_ref=0.0):
    """Return columns of one series for each row of errors and days."""
    counts = [len(each) for each in errors]
    error, day = np.concatenate(errors), np.concatenate(days)
    nothing = np.full(error.size, np.nan)
    return columns(
        np.cumsum([0, *counts[:-1]]),
        time=1.7e9 + day * DAY,
        value=error + 7.0,
        reference=np.full(error.size, 7.0),
        u=np.full(error.size, u),
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.full(error.size, u_ref),
        level=0.9,
    )


def dates(pairs, tolerance, now_day=0.0, epoch=None, verdicts=()) -> DueDates:
    count = pairs.starts.size
    epoch = np.zeros(pairs.time.size, np.int64) if epoch is None else epoch
    known = dict(verdicts)
    walks = walks_of(pairs, epoch, np.array([scale_of(known.get(i)) for i in range(count)]))
    asked = Forecast(walks, ["t"] * count, np.full(count, tolerance), known)
    return finish(due_date_steps(asked, 1.7e9 + now_day * DAY))


def test_a_still_sensor_is_due_later_than_one_that_walks():
    random = np.random.default_rng(2)
    day = np.arange(0.0, 200.0, 4.0)
    still = [random.normal(size=50) for _ in range(8)]
    moving = [random.normal(size=50) + np.cumsum(random.normal(size=50) * 0.8) for _ in range(8)]
    moving = [each - each[-5:].mean() for each in moving]
    found = dates(pairs_of([*still, *moving], [day] * 16), 5.0)
    assert found.lower[:8].min() > found.lower[8:].max()
    assert (found.lower <= np.nan_to_num(found.due, nan=np.inf)).all()


def test_of_sensors_that_need_a_reference_now_the_one_that_left_its_tolerance_is_first():
    random = np.random.default_rng(2)
    day = np.arange(0.0, 200.0, 4.0)
    found = dates(
        pairs_of([level + random.normal(size=50) for level in (2.2, 0.0, 5.0)], [day] * 3), 2.5
    )

    assert found.lower[0] == found.lower[2] < found.lower[1]
    assert found.due[2] < found.due[0]
    assert due_first(found).tolist() == [2, 0, 1]


def test_a_reference_is_worth_the_decisions_that_it_mends():
    """Against the same by drawing: the posterior of a normal, and who decides wrongly by it."""
    random = np.random.default_rng(4)
    day = np.array([0.0, 0.5])
    found = dates(pairs_of([np.array([1.0, 1.6])], [day]), 1.5, now_day=0.5)
    level, sd = found.level[0], found.u_level[0]

    def out(mean, spread):
        return norm.sf((1.5 - mean) / spread) + norm.cdf((-1.5 - mean) / spread)

    after = 1.0 / np.hypot(1.0 / sd, 1.0)
    means = level + np.sqrt(sd**2 - after**2) * random.normal(size=400_000)
    then = out(means, after)
    now = min(out(level, sd), 1.0 - out(level, sd))
    assert found.worth[0] == pytest.approx(now - np.minimum(then, 1.0 - then).mean(), abs=2e-3)
    assert found.bits[0] == pytest.approx(np.log2(sd / after))


def observed(sensor: str, n: int, drift: float, seed: int) -> list[Reading | Reference]:
    random = np.random.default_rng(seed)
    said: list[Reading | Reference] = []
    for at in range(n):
        truth, time = 20.0 + random.normal(), 1.7e9 + at * DAY
        value = truth + random.normal() * 0.5 + drift * at
        said.append(Reading(sensor, "t", time, value, u=0.5, sequence=str(at)))
        said.append(Reference(sensor, "t", time, truth, u=0.05))
    return said


def test_a_drift_is_due_when_its_sentence_says():
    shell = Shell(RULES._replace(tolerance=12.0), additions=(DueForecasts,))
    shell.take(observed("drifts", 120, 0.08, 5) + observed("still", 120, 0.0, 6))
    now = 1.7e9 + 121 * DAY
    snapshot = shell.network.evaluate(now)
    verdict = snapshot.verdict(0)
    assert verdict.fault == "drift"
    dates = due_dates_in(snapshot)
    assert dates is not None
    assert dates.due[0] == verdict.due
    assert snapshot.statistics["due_seconds"][0] == verdict.due - now
    assert dates.level[0] == pytest.approx(verdict.level_at(now), rel=1e-6)
    assert dates.lower[0] < verdict.due < dates.upper[0]
    assert dates.lower[1] > dates.lower[0]
    assert "needs a reference by" in due_sentence(dates, 1, "K", now)


def test_dates_are_a_function_of_the_set_of_pairs():
    """Any order of sensors, in one batch or in many, and a restart: the same bits."""
    parts = [observed(name, 40, 0.01 * i, i) for i, name in enumerate("abcd")]
    now, found = 1.7e9 + 50 * DAY, []
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        shell = Shell(RULES, additions=(DueForecasts,))
        for at in order:
            shell.take(parts[at])
            shell.network.evaluate(now)
        snapshot = shell.network.evaluate(now)
        dates = due_dates_in(snapshot)
        assert dates is not None
        by_name = np.argsort([name.sensor for name in snapshot.names])
        found.append(np.stack([each[by_name] for each in dates]))
    np.testing.assert_array_equal(found[0], found[1])


def test_what_was_learnt_outlasts_an_adjustment():
    """After an event there is no date before the first pair, and then the old rate still counts."""
    shell = Shell(RULES._replace(tolerance=6.0), additions=(DueForecasts,))
    shell.take(observed("drifts", 60, 0.09, 7) + observed("still", 60, 0.0, 8))
    shell.take(
        [
            Event("drifts", 1.7e9 + 60 * DAY, "adjusted"),
            Event("still", 1.7e9 + 60 * DAY, "adjusted"),
        ]
    )
    snapshot = shell.network.evaluate(1.7e9 + 60 * DAY)
    assert due_list(snapshot)["series"] == []
    assert due_list(snapshot)["sentence"] == NOBODY
    for sensor in ("drifts", "still"):
        time = 1.7e9 + 61 * DAY
        shell.take(
            [
                Reading(sensor, "t", time, 20.1, u=0.5, sequence="x"),
                Reference(sensor, "t", time, 20.0, u=0.05),
            ]
        )
    found = due_dates_in(shell.network.evaluate(1.7e9 + 61 * DAY))
    assert found is not None
    days = (found.due - 1.7e9) / DAY - 61.0
    assert 40.0 < days[0] < 100.0  # 6 K at 0.09 K a day
    assert not days[1] < 3.0 * days[0]


def test_nothing_is_told_unless_it_is_asked_for():
    shell = Shell(RULES._replace(asks=()), additions=(DueForecasts,))
    shell.take(observed("a", 30, 0.0, 1))
    snapshot = shell.network.evaluate(1.7e9 + 31 * DAY)
    assert due_dates_in(snapshot) is None
    assert "due_lower_seconds" not in snapshot.statistics
    assert due_list(snapshot)["sentence"] == OFF


def test_where_dates_are_asked_for_and_nothing_is_paired_yet_that_is_said():
    asked = Shell(RULES, additions=(DueForecasts,))
    assert due_list(asked.network.evaluate(1.7e9))["sentence"] == NOBODY
    asked.take(observed("a", 1, 0.0, 1)[:1])
    assert due_list(asked.network.evaluate(1.7e9))["sentence"] == NOBODY
