"""A batch cut into rectangles (ranks x series), so that numpy computes many series at once.

Rules of this file: how a batch is cut changes its cost and never its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from monitor.core.model import Int

FEW: Final = 8  # fewer series than this with many pairs are quicker one after the other
BLOCK_PAIRS: Final = 1 << 15


def rectangles(counts: Int) -> Iterator[tuple[slice, int, int]]:
    """Yield (series, first rank, last rank) that tile series sorted by falling ``counts``."""
    first = 0
    deepest = int(counts[0]) if counts.size else 0
    while first < deepest:
        k = int(np.searchsorted(-counts, -first, side="left"))
        if k < FEW <= deepest - first:
            yield from (
                (slice(column, column + 1), start, min(start + BLOCK_PAIRS, int(counts[column])))
                for column in range(k)
                for start in range(first, int(counts[column]), BLOCK_PAIRS)
            )
            return
        last = min(int(counts[k - 1]), first + max(1, BLOCK_PAIRS // k))
        yield slice(0, k), first, last
        first = last
