"""Pairs in memory, packed by column, are the same bits again."""

from __future__ import annotations

import numpy as np
from harness.batches import numbered
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import PAIR
from monitor.journal.in_memory import PackedPairs, unpacked


@given(st.lists(st.integers(0, 9), max_size=6), st.booleans())
def test_packed_pairs_are_unpacked_bit_for_bit_however_they_came(sizes, alike):
    packed, parts = PackedPairs(PAIR), []
    for at, size in enumerate(sizes):
        part = numbered(size, 10 * at)
        if alike:
            part["value"] = np.nan
        packed.append(part)
        parts.append(part)
    dumped = packed.dump()

    assert dumped[0] == packed.count == sum(sizes)
    assert unpacked(dumped, PAIR).tobytes() == b"".join(part.tobytes() for part in parts)
    if alike and sum(sizes):
        assert len(dumped[1]["value"]) == 8


def test_a_column_that_was_unknown_then_is_nan_or_0():
    packed = PackedPairs(PAIR)
    packed.append(numbered(3))
    count, columns = packed.dump()
    pairs = unpacked((count, {"series": columns["series"]}), PAIR)

    assert np.isnan(pairs["value"]).all()
    assert not pairs["reference_id"].any()
