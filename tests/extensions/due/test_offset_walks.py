"""Offsets that wander, against a plain filter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from monitor.core.columns import columns
from monitor.extensions.due.offset_walks import DAY, RATES, rate_shares, walks_of
from tests.extensions.due.test_due_dates import dates, pairs_of


def test_the_filter_has_the_likelihood_of_the_joint_normal():
    random = np.random.default_rng(0)
    day = np.sort(random.uniform(0.0, 50.0, 12))
    error = random.normal(size=12) * 0.8
    found = walks_of(pairs_of([error], [day]), np.zeros(12, np.int64), np.ones(1))
    since = day - day[0]
    plain = []
    for walk, line in RATES.T:
        # The first error is where the level starts: the others less it, all from one normal.
        cov = walk**2 * np.minimum.outer(since[1:], since[1:])
        cov += line**2 * np.multiply.outer(since[1:], since[1:]) + np.eye(11) + 1.0
        plain.append(multivariate_normal.logpdf(error[1:] - error[0], np.zeros(11), cov))
    differ = found.fit[0] - np.array(plain)
    assert np.ptp(differ) < 1e-9


def test_an_event_sets_the_level_anew_and_not_the_rates():
    day = np.arange(40.0)
    drift = 0.3 * np.arange(40.0) - np.where(day >= 20, 0.3 * 20.0 + 5.0, 0.0)
    epoch = (day >= 20).astype(np.int64)
    random = np.random.default_rng(3)
    pairs = pairs_of([drift + random.normal(size=40) * 0.1], [day], u=0.1)
    found = walks_of(pairs, epoch, np.ones(1))
    best = int(found.fit[0].argmax())
    assert found.slope[0, best] * 0.1 == pytest.approx(0.3, abs=0.01)
    assert found.level[0, best] * 0.1 == pytest.approx(drift[-1], abs=0.2)


def test_dates_hold_what_they_say_on_simulated_walks():
    """Of walkers all alike 5 % are beyond the tolerance at the first date, half at the second."""
    random = np.random.default_rng(1)
    walk, day = 0.3, np.arange(0.0, 300.0, 5.0)
    errors, paths = [], []
    for _ in range(150):
        path = np.cumsum(np.append(0.0, random.normal(size=4299) * walk))
        paths.append(path)
        errors.append(path[day.astype(int)] + random.normal(size=day.size))
    centred = [each - path[295] for each, path in zip(errors, paths, strict=True)]
    found = dates(pairs_of(centred, [day] * 150), 4.0)
    for column, share in ((found.lower, 0.05), (found.due, 0.5)):
        after = np.minimum(((column - 1.7e9) / DAY).round().astype(int), 4299)
        beyond = [abs(path[at] - path[295]) > 4.0 for path, at in zip(paths, after, strict=True)]
        assert abs(np.mean(beyond) - share) < 3.5 * np.sqrt(share * (1 - share) / 150)


@pytest.mark.parametrize("offset", [0.0, 20.0])
def test_an_offset_is_as_large_as_it_is_where_u_is_a_share_of_the_reading(offset):
    random = np.random.default_rng(3)
    reference = 100.0 + 20.0 * random.standard_normal((40, 300))
    value = reference * (1.0 + 0.2 * random.standard_normal(reference.shape)) + offset
    nothing = np.full(value.size, np.nan)
    pairs = columns(
        np.arange(40) * 300,
        time=np.tile(1.7e9 + np.arange(300) * DAY, 40),
        value=value.ravel(),
        reference=reference.ravel(),
        u=0.2 * np.abs(value.ravel()),
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.zeros(value.size),
        level=0.95,
    )
    walks = walks_of(pairs, np.zeros(value.size, np.int64), np.ones(40))
    level = (rate_shares(walks.fit) * walks.level).sum(axis=1) * walks.typical

    assert level.mean() == pytest.approx(offset, abs=3.0 * level.std() / np.sqrt(40.0))
