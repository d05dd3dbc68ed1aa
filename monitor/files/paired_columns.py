"""The pairs of a file or a frame as checked columns: the input for scoring recorded data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.model import NAN, Float, Int
from monitor.decode.paths import says_no_value

NameNumbers = npt.NDArray[np.uint64]
_WHOLE_MAX: Final = 2**64 - 1
CATEGORIES_MOST: Final = 50
_NO_COVARIATES: Final[Mapping[str, Float]] = {}


class PairTable(NamedTuple):
    """The pairs of a file, in its order; arrays have one number per row.

    ``names`` and ``units`` are by series ((sensor, quantity) and unit, empty if none); ``series``
    indexes them. ``time`` is s UTC, or the row's number if the file has none (``timed``). ``u``,
    ``lower``, ``upper`` and ``p`` (1 - alpha) are NaN if not stated, ``u_ref`` is 0.
    ``reference_id`` numbers what measured the reference, ``reference_event`` the measurement; 0 if
    not stated (:func:`numbered`). ``crps`` is that of quantiles or members, NaN if none are stated;
    ``covariates`` are the requested columns, by name: numbers, or places in the ``categories`` of
    that name. ``notes`` says what in the file is not used.
    """

    names: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    series: Int
    time: Float
    value: Float
    u: Float
    lower: Float
    upper: Float
    p: Float
    reference: Float
    u_ref: Float
    reference_id: NameNumbers
    reference_event: NameNumbers
    crps: Float
    notes: tuple[str, ...]
    timed: bool
    covariates: Mapping[str, Float] = _NO_COVARIATES
    categories: Mapping[str, tuple[str, ...]] = {}


def place_in(places: dict[str, int], text: str) -> float:
    """Return the place of a text among those seen so far."""
    return float(places.setdefault(text, len(places)))


def too_many_categories() -> str:
    """Return why a column of texts is no covariate."""
    return f"holds texts, and more than {CATEGORIES_MOST} different ones; name a column of numbers"


def numbered(texts: Iterable[str]) -> NameNumbers:
    """Return a number for each name: its own if it is a whole one, 0 for none, else its digest."""
    numbers: dict[str, int] = {}
    return np.array([_number_of(text, numbers) for text in texts], dtype=np.uint64)


def _number_of(text: str, numbers: dict[str, int]) -> int:
    number = numbers.get(text)
    if number is None:
        if text.isdecimal() and int(text) <= _WHOLE_MAX:
            number = int(text)
        elif says_no_value(text):
            number = 0
        else:
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
        numbers[text] = number
    return number


# -- columns that no row states: a view that repeats one NaN, without memory for each row ---------


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
