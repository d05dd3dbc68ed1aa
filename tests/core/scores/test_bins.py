"""Bins of pairs: as equal as their number allows."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import examples
from harness.series import drawn, pairs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from monitor.core.scores import bins


def in_bins(c, number, key):
    """Yield for each series its bins of rows, by numpy.array_split of a stable sort."""
    for start, count in zip(c.starts, c.counts, strict=True):
        order = start + np.argsort(key[start : start + count], kind="stable")
        yield np.array_split(order, number)


@pytest.mark.parametrize("tied", [False, True])
def test_ence_and_uce_equal_their_definition_in_ten_bins(tied):
    c = drawn(2, (20, 200, 57, 200, 19), u_ref=0.2)
    c = pairs(c.value, c.reference, np.round(c.u, 1) + 0.1 if tied else c.u, starts=c.starts)
    want = []
    for parts in in_bins(c, 10, c.u):
        pair = [(np.mean(c.error[b] ** 2), np.mean(c.u_eff[b] ** 2)) for b in parts]
        gaps = np.array([(abs(1.0 - np.sqrt(e / v)), abs(v - e)) for e, v in pair])
        sizes = [b.size for b in parts]
        want.append((np.mean(gaps[:, 0]), np.average(gaps[:, 1], weights=sizes)))

    ence, uce = bins.ence(c), bins.uce(c)

    want = np.array(want)
    want[c.counts < 20] = np.nan
    np.testing.assert_allclose(np.stack([ence, uce], axis=1), want, rtol=1e-12)


def test_zms_in_bins_of_a_covariate_equals_its_definition():
    c = drawn(4, (60, 200, 41))
    covariate = np.round(c.value)  # ties, negative and positive

    got = bins.binned_zms(c, covariate, 5)

    want = [[np.mean(c.z[b] ** 2) for b in parts] for parts in in_bins(c, 5, covariate)]
    np.testing.assert_allclose(got, want, rtol=1e-12)


@examples(200)
@given(
    rows=hnp.arrays(
        np.float64,
        st.integers(1, 60),
        elements=st.floats(0.0, 1e15) | st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2.0**-45, np.inf]),
    ),
    cut=st.integers(0, 59),
)
def test_order_within_a_series_is_the_stable_one(rows, cut):
    starts = [0, cut] if 0 < cut < rows.size else [0]
    c = pairs(np.zeros(rows.size), 0.0, 1.0, starts=starts)

    got = bins.order_within(c, rows)

    want = np.lexsort((np.arange(rows.size), rows, c.series))
    np.testing.assert_array_equal(got, want)


@examples(200)
@given(
    matrix=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 40)),
        elements=st.floats(0.0, 1e15) | st.sampled_from([-1.0, 0.0, 1.0, 1.0 + 2.0**-45, np.inf]),
    ),
    kept=st.integers(1, 40),
)
def test_last_in_order_is_the_end_of_the_stable_order(matrix, kept):
    kept = min(kept, matrix.shape[1])

    got = bins.last_in_order(matrix, kept)

    want = np.argsort(matrix, axis=1, kind="stable")[:, -kept:]
    named = bins.in_lines(matrix, got) >= 0.0  # fills come first, in whatever order
    np.testing.assert_array_equal(got[named], want[named])
    np.testing.assert_array_equal(bins.in_lines(matrix, got), np.sort(matrix, axis=1)[:, -kept:])
