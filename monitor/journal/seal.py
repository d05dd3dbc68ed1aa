"""Checksums: of each row with its key, and of each table as a set of rows.

Rules of this file: a row's CRC-32 covers its table's name and its key, so that no row passes for
another; the seal has the number and the sum of the checksums of every table's rows, so that none
can be missing. The seal is written in the transaction of the rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Final, Self

import msgspec

from monitor.journal.schema import TABLES

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODER: Final = msgspec.msgpack.Decoder(tuple[dict[str, int], dict[str, tuple[int, int]]])
_MODULUS: Final = 1 << 63


def row_crc(table: str, values: Sequence[object]) -> int:
    """Return the checksum of a row: whole numbers, floats, texts and bytes as SQLite gives them."""
    return zlib.crc32(_ENCODE((table, values)))


class Seal:
    """What a journal holds in all: the counters, and (rows, sum of checksums) of each table."""

    def __init__(self, totals: dict[str, int], tables: dict[str, tuple[int, int]]) -> None:
        self.totals: Final = totals
        self.tables: Final = tables

    @classmethod
    def empty(cls) -> Self:
        """Return the seal of a journal in which there is nothing."""
        return cls({}, dict.fromkeys(TABLES, (0, 0)))

    @classmethod
    def load(cls, body: bytes) -> Self:
        """Return what :meth:`dump` wrote; raises ValueError where it is something else."""
        totals, tables = _DECODER.decode(body)
        if tables.keys() != TABLES.keys():
            raise ValueError("tables are missing in the seal")
        return cls(totals, tables)

    def dump(self) -> bytes:
        """Return it as bytes."""
        return _ENCODE((self.totals, self.tables))

    def copy(self) -> Seal:
        """Return one that can change without this one."""
        return Seal(self.totals.copy(), self.tables.copy())

    def add(self, table: str, crcs: Iterable[int]) -> None:
        """Let rows with these checksums come in."""
        rows, total = self.tables[table]
        for crc in crcs:
            rows, total = rows + 1, total + crc
        self.tables[table] = rows, total % _MODULUS

    def drop(self, table: str, rows: int, total: int) -> None:
        """Let rows go whose checksums add up to ``total``."""
        had, sum_ = self.tables[table]
        self.tables[table] = had - rows, (sum_ - total) % _MODULUS
