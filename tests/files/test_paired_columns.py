"""Columns of pairs: names as numbers, and columns that no row states."""

from __future__ import annotations

import hashlib

import numpy as np

from monitor.files.paired_columns import empty_column, joined, numbered, zero_where_empty


def test_a_whole_number_is_its_own_and_another_name_is_its_digest():
    digest = int.from_bytes(hashlib.blake2b(b"lab-7", digest_size=8).digest(), "big")
    largest = 2**64 - 1

    names = ["7", "lab-7", "", str(largest), str(largest + 1), "lab-7"]
    first, second, none, whole, beyond, again = numbered(names).tolist()

    assert (first, second, none, whole, again) == (7, digest, 0, largest, digest)
    assert beyond != 0


def test_a_column_that_no_row_states_takes_no_memory_until_one_does():
    empty, part = empty_column(1_000_000), np.array([1.0, np.nan])

    assert joined([empty, empty]).strides == (0,)
    assert joined([empty_column(2), part]).tolist()[2] == 1.0
    assert np.isnan(joined([empty_column(2), part])[[0, 1, 3]]).all()
    assert zero_where_empty(part).tolist() == [1.0, 0.0]
    assert not zero_where_empty(empty).any()
