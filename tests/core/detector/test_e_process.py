"""Evidence as a process: what it may grow to by chance."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.detector import e_process
from tests.core.detector.test_detector import COVERS, STREAMS, alone, detector


@pytest.mark.slow
@examples(6)
@given(st.integers(0, 2**31), st.integers(1, 200), st.booleans())
def test_neither_batches_nor_neighbours_change_a_bit(seed, largest, vectorised):
    random = Random(seed)
    made, done = detector(9, coverage=COVERS), [0] * 9
    found = {row: [] for row in range(9)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e_process, "FEW", 0 if vectorised else e_process.FEW)
        while min(done) < 700:
            open_rows = [row for row in range(9) if done[row] < 700]
            rows = random.sample(open_rows, random.randint(1, len(open_rows)))
            parts = [
                STREAMS[row, done[row] : done[row] + random.randint(1, largest)] for row in rows
            ]
            starts = np.cumsum([0, *(part.size for part in parts)])[:-1]
            for t in made.advance(np.array(rows), starts, np.concatenate(parts)):
                position = done[t.series] + t.position - starts[rows.index(t.series)]
                found[t.series].append((t.series, int(position), *t[2:]))
            for row, part in zip(rows, parts, strict=True):
                done[row] += part.size

    for row in range(9):
        assert (made.dump(row), found[row]) == alone(row)
