"""Rings give back what was written: all of it, or the error to 24 bits; rare columns are free."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.rings import WINDOW, Rings

NUMBERS = st.floats(-1e15, 1e15)
STATED = st.floats(1e-12, 1e15)


def row(value=512.5, error=1.25, u=12.0, interval=(math.nan,) * 3, crps=math.nan):
    """One row of a window with a reference at a distance of ``error``."""
    return np.array(
        [(1 << 63, 1.7e9, value, u, *interval, value - error, 0.25, 7, crps)], dtype=WINDOW
    )


ROWS = st.builds(
    row,
    NUMBERS,
    NUMBERS,
    STATED | st.just(math.nan),
    st.tuples(NUMBERS, NUMBERS, st.floats(0.01, 0.99)) | st.just((math.nan,) * 3),
    STATED | st.just(math.nan),
)
ONE = np.zeros(1, np.int64)


def through(rows, precision):
    rings = Rings(3, 4, precision)
    rings.write(ONE + 2, ONE + 3, rows)
    return rings.read(ONE + 2, ONE + 3), rings


@given(rows=ROWS)
def test_in_double_precision_every_bit_comes_back(rows):
    assert through(rows, "double")[0].tobytes() == rows.tobytes()


@given(rows=ROWS)
def test_what_is_read_is_what_was_said_it_would_be_and_stays_so(rows):
    read, rings = through(rows, "single")

    assert read.tobytes() == rings.as_kept(rows).tobytes()
    assert rings.as_kept(read).tobytes() == read.tobytes()


@given(error=st.floats(1e-3, 1e3), value=st.floats(-1e4, 1e4), u=st.floats(1e-3, 1e3))
def test_in_single_precision_the_error_is_exact_to_a_part_of_itself(error, value, u):
    rows = row(value, error, u, (value - 2.0 * u, value + 3.0 * u, 0.9), crps=u)
    read, _ = through(rows, "single")
    exact = (rows["value"] - rows["reference"]).item()
    rounding = 2.0 * math.ulp(abs(value) + abs(error) + 3.0 * u)  # of the difference, in double

    assert (read["value"] - read["reference"]).item() == pytest.approx(
        exact, rel=6e-8, abs=rounding
    )
    for name, distance in (("lower", -2.0 * u), ("upper", 3.0 * u)):
        found = (read[name] - read["value"]).item()
        assert found == pytest.approx(distance, rel=7e-8, abs=2.0 * rounding)
    for name in ("u", "p", "crps"):
        assert read[name].item() == pytest.approx(rows[name].item(), rel=6e-8)
    for name in ("id", "time", "reference_id"):
        assert read[name] == rows[name]


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_row_that_states_nothing_rare_leaves_nothing_of_the_one_before(precision):
    rings = Rings(1, 1, precision)
    rings.write(ONE, ONE, row(interval=(500.0, 530.0, 0.9), crps=3.0))
    rings.write(ONE, ONE, row())
    read = rings.read(ONE, ONE)

    assert all(np.isnan(read[name]).all() for name in ("lower", "upper", "p", "crps"))


def test_intervals_take_memory_only_once_somebody_states_one():
    rings = Rings(1000, 100, "double")
    rings.write(ONE, ONE, row())

    assert rings._rare is None
    rings.write(ONE + 1, ONE, row(interval=(500.0, 530.0, 0.9)))
    assert np.isnan(rings.read(ONE, ONE)["lower"]).all()
    assert rings.read(ONE + 1, ONE)["p"].tolist() == [0.9]
    assert (rings.pair_bytes, Rings(1, 1, "single").pair_bytes) == (56, 40)
