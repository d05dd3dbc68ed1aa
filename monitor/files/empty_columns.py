"""Columns of a table that no row states: NaN everywhere, without memory for each row.

Rules of this file: such a column is a view that repeats one number, and cannot be written to; a
part of it stays one until it is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.core.model import NAN, Float


def empty_column(rows: int) -> Float:
    """Return NaN for each row [rows]."""
    return np.broadcast_to(NAN, rows)


def joined(parts: Sequence[Float]) -> Float:
    """Return the parts of a column as one, which is empty if all of them are."""
    if all(_is_empty(part) for part in parts):
        return empty_column(sum(part.size for part in parts))
    return np.concatenate(parts)


def zero_where_empty(column: Float) -> Float:
    """Return a column with 0 where a row states nothing."""
    return np.zeros(column.size) if _is_empty(column) else np.nan_to_num(column)


def _is_empty(column: Float) -> bool:
    return column.strides == (0,)
