"""Identities: numbers that name readings, references and pairs; pairs as rows; names as numbers.

Rules of this file: an identity has 64 bits and is a function of content alone, so that the same
message gets the same number in every process, after every restart and on every worker of a cluster.
One pair is a plain tuple in the order of ``PAIR``; rows stay tuples until a batch is done, then
become one structured array: a tuple costs a tenth of a row of a structured array. A name is looked
up once, however many rows refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import starmap
from struct import Struct
from typing import Final, Generic, TypeVar

import msgspec
import numpy as np

from monitor.core.model import NAN, Int, Reading, Reference

# -- identities -----------------------------------------------------------------------------------

encode: Final = msgspec.msgpack.Encoder().encode
_BLANK: Final = blake2b(digest_size=8)
_WORD: Final = (1 << 64) - 1

Identity = int  # of a reference: the digest of what its revisions share


def digest(*parts: object) -> int:
    """Return a 64-bit number that names ``parts`` the same way in every process."""
    state = _BLANK.copy()  # takes two thirds of the time of a new hash object
    state.update(encode(parts))
    return int.from_bytes(state.digest(), "little")


def combine(one: int, other: int) -> int:
    """Return a 64-bit number that names the ordered pair of two such numbers."""
    mixed = (one * 0x9E3779B97F4A7C15 + other) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    return mixed ^ (mixed >> 27)


def reading_digest(reading: Reading) -> int:
    """Return the identity of a reading: from its sequence number and time, else its content."""
    if reading.sequence:
        return digest(reading.sensor, reading.quantity, reading.time, reading.sequence)
    return digest(reading)


def reference_identity(reference: Reference) -> tuple[str, ...]:
    """Return what all revisions of a reference share: its stated identity, else key and time."""
    if reference.identity:
        return (reference.subject, reference.quantity, reference.identity)
    return (reference.subject, reference.quantity, reference.key, repr(reference.time))


def reference_digest(reference: Reference) -> Identity:
    """Return the number that names a reference and all its revisions."""
    return digest(*reference_identity(reference))


def same_content(one: Reading | Reference, other: Reading | Reference) -> bool:
    """Return whether two observations are equal in every field, NaN being equal to NaN."""
    return encode(one) == encode(other)


# -- pairs as rows --------------------------------------------------------------------------------

Row = tuple[
    int, int, float, float, float, float, float, float, float, float, float, int, float, bool
]
REFERENCE_ID: Final = 11  # place of the reference's identity in a row
CRPS: Final = 12  # place of the CRPS of the stated distribution
REMOVED: Final = 13  # place of the flag
PACKED: Final = Struct("<qQ9dQd?")  # a row as ``PAIR`` has it
pack_row: Final = PACKED.pack


def pack_rows(rows: Iterable[Row]) -> bytes:
    """Return rows as :class:`.Matches` hold them."""
    return b"".join(starmap(pack_row, rows))


def revised(row: Row, reference: Reference) -> Row:
    """Return a pair with the value that a revision of its reference gives it, without a CRPS."""
    if reference.void:
        return (*row[:REMOVED], True)
    return (*row[:8], reference.value, reference.u, *row[10:CRPS], NAN, False)


def same_row(one: Row | None, other: Row) -> bool:
    """Return whether two rows are equal, NaN being equal to NaN."""
    return one is not None and (one == other or repr(one) == repr(other))


# -- names as numbers -----------------------------------------------------------------------------

T = TypeVar("T")
UNKNOWN: Final = -1  # the name has no number yet and will be looked up again
NONE: Final = -2  # the name will never have one


class Interner(Generic[T]):
    """Caches ``number_of`` a name (0 or more, UNKNOWN, NONE) for one list of names.

    The list may only grow; another list starts an empty cache.
    """

    def __init__(self, number_of: Callable[[T], int]) -> None:
        self._number_of: Final = number_of
        self._names: Sequence[T] = ()
        self._numbers: Int = np.zeros(0, dtype=np.int64)

    def numbers(self, names: Sequence[T], at: Int) -> Int:
        """Return the numbers of the names at the places ``at`` among ``names``."""
        if names is not self._names:
            self._names, self._numbers = names, np.zeros(0, dtype=np.int64)
        if self._numbers.size < len(names):
            more = np.full(len(names) - self._numbers.size, UNKNOWN)
            self._numbers = np.concatenate((self._numbers, more))
        numbers: Int = self._numbers[at]
        is_unknown = numbers == UNKNOWN
        if is_unknown.any():
            for place in np.unique(at[is_unknown]).tolist():
                self._numbers[place] = self._number_of(names[place])
            numbers = self._numbers[at]
        return numbers

    def clear(self) -> None:
        """Drop all cached numbers."""
        self._numbers[:] = UNKNOWN
