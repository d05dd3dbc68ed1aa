"""One pair as a plain tuple, in the order of ``PAIR``, and the pairs that one reference made.

Rules of this file: rows stay tuples until a batch is done, then become one structured array: a
tuple costs a tenth of a row of a structured array.
"""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.core.model import NAN, Reference

Row = tuple[
    int, int, float, float, float, float, float, float, float, float, float, int, float, bool
]
REFERENCE_ID: Final = 11  # place of the reference's identity in a row
CRPS: Final = 12  # place of the CRPS of the stated distribution
REMOVED: Final = 13  # place of the flag


class Match(msgspec.Struct, eq=False, gc=False):
    """The pairs that one reference made with the readings of one buffer.

    ``frozen`` once a reading it used was evicted: from then on only revisions of the reference
    change the pairs.
    """

    rows: list[Row]
    frozen: bool = False


def revised(row: Row, reference: Reference) -> Row:
    """Return a pair with the value that a revision of its reference gives it, without a CRPS."""
    if reference.void:
        return (*row[:REMOVED], True)
    return (*row[:8], reference.value, reference.u, *row[10:CRPS], NAN, False)


def same_row(one: Row | None, other: Row) -> bool:
    """Return whether two rows are equal, NaN being equal to NaN."""
    return one is not None and (one == other or repr(one) == repr(other))
