"""Who is shown first of many sensors: those that are wrong, not those with a false alarm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness.yard import fleet

from monitor.core.fleet.call_out import FleetRules
from monitor.core.model import PAIR
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS
from monitor.http.selection import ORDERS, WORDS, SeriesQuery, select
from monitor.journal.in_memory import InMemoryStore

COUNT, WRONG, LENGTH = 1500, 30, 600


def fleet_z(rho, seed):
    """Return z [sensors, pairs] of which the first are wrong from some pair on."""
    chance = np.random.default_rng(seed)
    z = chance.standard_normal((COUNT, LENGTH))
    for at in range(1, LENGTH):
        z[:, at] = rho * z[:, at - 1] + np.sqrt(1.0 - rho * rho) * z[:, at]
    for row in range(WRONG):
        onset = chance.integers(100, 300)
        z[row, onset:] = (z[row, onset:] * 2.0, z[row, onset:] + 1.0)[row % 2]
    return z


@pytest.fixture(
    scope="module",
    params=[pytest.param(0.0, marks=pytest.mark.long), pytest.param(0.5, marks=pytest.mark.slow)],
)
def several(request):
    return [published(fleet_z(request.param, seed)) for seed in range(7, 12)]


@pytest.fixture
def seen(several):
    return several[0]


def published(z):
    """Return what is shown of a fleet in the end."""
    count, length = z.shape
    pairs = np.zeros(z.shape, PAIR)
    pairs["series"] = np.arange(count)[:, None]
    pairs["id"] = np.arange(1, z.size + 1).reshape(z.shape)
    pairs["time"] = 3600.0 * np.arange(length)
    pairs["value"], pairs["u"] = z, 1.0
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    plan = CoreSettings(
        lambda *_: SeriesRules(window_pairs=50, stale_after_seconds=np.inf),
        limits=Limits(count, count),
        window_pairs_max=50,
        replay_in_windows=False,
    )
    network = Network(plan, InMemoryStore())
    names = np.random.default_rng(3).permutation(count)
    for row in range(count):
        network.registry.add(f"sensor {names[row]:04d}", "q")
    for first in range(0, length, 50):
        network.apply(pairs[:, first : first + 50].ravel())
    return network.evaluate(3600.0 * length)


def test_the_first_shown_are_wrong_though_honest_ones_have_alarmed(several):
    honest = []
    for seen in several:
        warned = np.logical_or.reduce([seen.alerts[fault] for fault in FAULTS])
        honest.append((select(seen, SeriesQuery(rows=WRONG)).rows >= WRONG).mean())

        assert warned[:WRONG].sum() >= 0.9 * WRONG
        assert seen.paged[WRONG:].sum() <= FleetRules().q * seen.paged.sum()
    assert np.mean(honest) <= 0.08, honest  # of twenty fleets it is 0.057


def test_state_stands_before_what_lasts_and_ties_go_by_evidence(seen):
    rows = select(seen, SeriesQuery(rows=COUNT)).rows
    states = [seen.states[row] for row in rows]
    assert states == sorted(states, key=("firing", "pending", "stale", "unknown", "ok").index)

    level = replace(seen, lasting=np.full(COUNT, np.nan))
    plain = select(replace(seen, lasting=None), SeriesQuery(rows=COUNT)).rows
    assert select(level, SeriesQuery(rows=COUNT)).rows.tolist() == plain.tolist()
    evidence = seen.evidence[plain[: states.count("firing")]]
    assert (np.diff(evidence) <= 0.0).all()


def test_a_wrong_sensor_stands_before_one_that_is_better_than_it_says():
    """One whose u is too large is no danger, however much evidence there is of it."""
    random = np.random.default_rng(2)
    z = np.stack([0.2 * random.normal(size=120), 1.5 + random.normal(size=120)])
    now = published(z)
    assert [now.reports[row].verdict.fault for row in (0, 1)] == ["overstated", "offset"]
    lasting = np.where(np.arange(now.evidence.size) == 0, 1e6, 1.0)
    assert select(replace(now, lasting=lasting), SeriesQuery()).rows.tolist()[:2] == [1, 0]


@pytest.mark.parametrize("order", sorted({*ORDERS, *WORDS}))
@pytest.mark.parametrize("turned", ["", "-"])
def test_what_has_no_number_comes_last_in_every_order(order, turned):
    snapshot = fleet(30)
    for values in (*snapshot.statistics.values(), snapshot.evidence, snapshot.last_pair):
        if not np.isfinite(values).all() or order not in WORDS:
            values[::3] = np.nan
    chosen = select(snapshot, SeriesQuery(order=order, descending=bool(turned)))

    assert sorted(chosen.rows.tolist()) == list(range(30))
    if order not in WORDS:
        keys = ORDERS[order](snapshot)[chosen.rows]
        known = keys[~np.isnan(keys)]
        assert np.isnan(keys[known.size :]).all()
        assert (np.diff(known) <= 0).all() if turned else (np.diff(known) >= 0).all()


@pytest.mark.parametrize(
    ("state", "alerts", "shown"),
    [
        ("ok", {"crps_high"}, "firing"),
        ("pending", {"rejected_share"}, "firing"),
        ("firing", {"offset"}, "firing"),
        ("firing", {"reference_suspect"}, "pending"),
        ("firing", {"reference_suspect", "rejected_share"}, "firing"),
        ("ok", {"reference_suspect"}, "right"),
        ("stale", {"offset", "rejected_share"}, "stale"),
        ("stale", {"reference_stale"}, "stale"),
        ("unknown", set(), "undecided"),
    ],
)
def test_a_sensor_needs_work_while_an_alert_accuses_it_whatever_raised_it(state, alerts, shown):
    names = ("offset", "crps_high", "rejected_share", "reference_suspect", "reference_stale")
    active = {name: np.array([name in alerts, False]) for name in names}
    now = replace(
        fleet(2), states=(state, "ok"), alerts=active, advice=("", ""), right=np.ones(2, np.bool_)
    )
    counts = select(now, SeriesQuery()).shown

    assert counts[shown] == 1 + (shown == "right")
    assert 0 in select(now, SeriesQuery(shown=shown)).rows.tolist()
    assert select(now, SeriesQuery()).rows.tolist()[0] == 0 or shown == "right"


def test_a_calm_sensor_with_advice_may_be_wrong_and_comes_after_the_alerts():
    now = fleet(60)
    calm = [row for row, state in enumerate(now.states) if state == "ok"]
    asked = calm[-1]
    advised = [*now.advice]
    advised[asked] = "compare it with a reference next"
    seen = replace(now, advice=tuple(advised), right=np.ones(60, np.bool_))
    urgent = sum(state in ("firing", "pending") for state in now.states)

    before = select(replace(seen, advice=now.advice), SeriesQuery()).shown
    selection = select(seen, SeriesQuery())
    assert selection.shown["pending"] == before["pending"] + 1
    assert selection.shown["right"] == before["right"] - 1
    assert asked in selection.rows[: urgent + 1]
    assert asked in select(seen, SeriesQuery(shown="pending")).rows
    assert selection.states == select(now, SeriesQuery()).states  # its own state stays
