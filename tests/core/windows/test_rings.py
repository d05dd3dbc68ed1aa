"""Rings give back what was written: all of it, or the error to 24 bits; rare columns are free."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.pairing.identities import combine, digest
from monitor.core.windows.rings import WINDOW, Rings, combined

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
NAMES = np.full(1, digest("cart-03"), np.uint64)


def through(rows, precision):
    rings = Rings(3, 4, precision)
    rings.write(ONE + 2, ONE + 3, NAMES, rows)
    return rings.read(ONE + 2, ONE + 3, NAMES), rings


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
    rings.write(ONE, ONE, NAMES, row(interval=(500.0, 530.0, 0.9), crps=3.0))
    rings.write(ONE, ONE, NAMES, row())
    read = rings.read(ONE, ONE, NAMES)

    assert all(np.isnan(read[name]).all() for name in ("lower", "upper", "p", "crps"))


def test_intervals_take_memory_only_once_somebody_states_one():
    rings = Rings(1000, 100, "double")
    rings.write(ONE, ONE, NAMES, row())

    assert rings._rare is None
    rings.write(ONE + 1, ONE, NAMES, row(interval=(500.0, 530.0, 0.9)))
    assert np.isnan(rings.read(ONE, ONE, NAMES)["lower"]).all()
    assert rings.read(ONE + 1, ONE, NAMES)["p"].tolist() == [0.9]


@given(references=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_the_identity_of_a_pair_is_made_again_from_its_sensor_and_its_reference(references):
    name = digest("cart-03")
    made = combined(np.array([name], np.uint64), np.array(references, np.uint64))

    assert made.tolist() == [combine(name, each) for each in references]


def test_an_identity_that_follows_from_the_reference_takes_no_memory_and_another_comes_back():
    rings, follows = Rings(2, 4, "single"), row()
    follows["id"] = combine(int(NAMES[0]), 7)
    rings.write(ONE, ONE, NAMES, follows)

    assert rings._ids is None
    rings.write(ONE + 1, ONE + 3, NAMES, row())
    assert rings.read(ONE, ONE, NAMES)["id"] == follows["id"]
    assert rings.read(ONE + 1, ONE + 3, NAMES)["id"] == row()["id"]


def test_more_may_be_reserved_than_the_machine_has():
    rings = Rings(2**33, 128, "double")  # 48 TiB
    far = ONE + 2**33 - 1
    rings.write(far, ONE, NAMES, row())

    assert rings.read(far, ONE, NAMES).tobytes() == row().tobytes()
