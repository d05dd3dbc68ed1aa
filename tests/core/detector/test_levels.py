"""Bets on a gain: found, named, not over while it lasts, and the same bits in any company."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.detector import e_process
from monitor.core.detector.usual_u import StatedColumns
from tests.core.detector.test_detector import detector, fired, resolved


def gained(gain, count, length, *, onset=200, until=None, predictive=False, seed=1):
    """Return (z, u, value) of sensors of u 2 with a gain from a pair on, about a level of 50."""
    random = np.random.default_rng(seed)
    carrier = 50.0 + 6.0 * random.standard_normal((count, length))
    error = 2.0 * random.standard_normal((count, length))
    reference = carrier - error if predictive else carrier
    value = carrier if predictive else carrier + error
    lasts = slice(onset, until)
    value = value.copy()
    value[:, lasts] = 50.0 + gain * (value[:, lasts] - 50.0)
    return (value - reference) / 2.0, np.full(value.shape, 2.0), value


def changes(columns, made):
    """Return the changes of all series of ``columns``, taken at once."""
    z, *stated = (each.ravel() for each in columns)
    count, length = columns[0].shape
    rows = np.arange(count)
    return made.advance(rows, length * rows, z, StatedColumns(*stated))


@pytest.mark.parametrize(("gain", "median"), [(1.25, 45), (0.75, 135), (0.5, 30)])
def test_a_gain_is_found_and_named(gain, median):
    """Without bets on it 46, 538 and 187 pairs."""
    found = fired(changes(gained(gain, 60, 800), detector(60)))

    late = {t.series: t.position % 800 - 199 for t in reversed(found) if t.position % 800 >= 200}
    assert len(late) >= 57
    assert np.median([*late.values()]) <= median
    names = [t.family for t in found if t.position % 800 - 199 == late.get(t.series)]
    assert names.count("gain") >= 0.5 * len(late)


@pytest.mark.parametrize("predictive", [False, True])
def test_an_honest_sensor_is_not_accused_of_a_gain(predictive):
    """Errors that go with the value, or with the reference, are no fault."""
    found = fired(changes(gained(1.0, 60, 1500, predictive=predictive), detector(60)))

    assert len(found) <= 4  # 90 000 pairs


def test_a_level_that_stands_still_is_no_evidence():
    z, u, _ = gained(1.0, 40, 1500)
    flat = 50.0 + u * z

    assert len(fired(changes((z, u, flat), detector(40)))) <= 3


@pytest.mark.parametrize(("gain", "median"), [(1.25, 160), (0.75, 100)])
def test_an_alert_on_a_gain_lasts_as_long_as_it_and_ends_after_it(gain, median):
    columns = gained(gain, 60, 1600, until=1100, seed=2)

    ends = [t.position % 1600 - 1099 for t in resolved(changes(columns, detector(60)))]

    assert sum(end <= 0 for end in ends) <= 12  # of 54 000 pairs
    after = [end for end in ends if end > 0]
    assert len(after) >= 50
    assert np.median(after) <= median


COLUMNS = [
    np.concatenate(parts)
    for parts in zip(
        gained(1.3, 2, 500), gained(0.6, 2, 500, until=350), gained(1.0, 1, 500), strict=True
    )
]
COLUMNS[2][4, 300] += 1e9  # a wild level teaches little
COLUMNS[0][4, 300] = 0.3


@examples(6)
@given(st.integers(0, 2**31), st.integers(1, 150), st.booleans())
def test_neither_batches_nor_neighbours_change_a_bit(seed, largest, vectorised):
    random = Random(seed)
    whole, made, done = detector(5), detector(5), [0] * 5
    wanted = {(t.series, t.position % 500, *t[2:]) for t in changes(COLUMNS, whole)}
    found = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e_process, "FEW", 0 if vectorised else e_process.FEW)
        while min(done) < 500:
            rows = [row for row in range(5) if done[row] < 500 and random.random() < 0.7]
            cuts = {row: slice(done[row], done[row] + random.randint(1, largest)) for row in rows}
            if not cuts:
                continue
            z, *stated = (
                np.concatenate([column[row, cut] for row, cut in cuts.items()])
                for column in COLUMNS
            )
            sizes = [COLUMNS[0][row, cut].size for row, cut in cuts.items()]
            starts = np.cumsum([0, *sizes])[:-1]
            for t in made.advance(np.array(rows), starts, z, StatedColumns(*stated)):
                position = done[t.series] + t.position - starts[rows.index(t.series)]
                found.add((t.series, int(position), *t[2:]))
            for row, size in zip(rows, sizes, strict=True):
                done[row] += size

    assert [made.dump(row) for row in range(5)] == [whole.dump(row) for row in range(5)]
    assert found == wanted
