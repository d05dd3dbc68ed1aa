"""SQLite's write-ahead log, held against its checksums before SQLite reads it.

SQLite reads a log up to the first frame with a wrong checksum and ignores the rest without a word.
That is right after a power cut, which tears what was not durable yet, and wrong after damage. At
most one transaction is not durable at any time; so if others follow a wrong frame, durable ones are
lost. The format is that of https://www.sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = {0x377F0682: "<u4", 0x377F0683: ">u4"}
Words = npt.NDArray[np.uint32]
Sums = tuple[int, int]


def wal_of(path: Path) -> Path:
    """Return where the log of a journal is."""
    return path.with_name(f"{path.name}-wal")


def lost_transactions(wal: Path) -> int:
    """Return how many transactions at least were durable and cannot be read any more."""
    try:
        content = wal.read_bytes()
    except OSError:
        return 0
    if not content.strip(b"\0"):
        return 0
    magic, _, page, _, *salts = struct.unpack_from(">6I", content.ljust(_HEADER, b"\0"))
    words = _MAGIC.get(magic)
    if words is None or not _is_page_size(page) or not _has_sums(content, words):
        return max(1, _commits_anywhere(content))
    return _lost(content, words, page, (salts[0], salts[1]))


def _lost(content: bytes, words: str, page: int, salts: Sums) -> int:
    """Count the transactions after the first wrong frame, but the last one, which may be torn."""
    places = range(_HEADER, len(content) - _FRAME - page + 1, _FRAME + page)
    heads = [struct.unpack_from(">6I", content, at) for at in places]
    sums: Sums = struct.unpack_from(">2I", content, 24)
    sound = 0
    for at, head in zip(places, heads, strict=True):
        body = content[at : at + 8] + content[at + _FRAME : at + _FRAME + page]
        sums = _sums(np.frombuffer(body, dtype=words), sums)
        if head[2:] != (*salts, *sums):
            break
        sound += 1
    rest = [at for at in range(sound, len(heads)) if heads[at][2:4] == salts]
    return sum(1 for at in rest if heads[at][1] and at < rest[-1])


def _commits_anywhere(content: bytes) -> int:
    """Count commits in a log whose header is damaged, for pages of the usual size."""
    step = _FRAME + 4096
    frames = range(_HEADER, len(content) - step + 1, step)
    return sum(1 for at in frames if struct.unpack_from(">I", content, at + 4)[0])


def _is_page_size(page: int) -> bool:
    return 512 <= page <= 65_536 and not page & (page - 1)


def _has_sums(content: bytes, words: str) -> bool:
    if len(content) < _HEADER:
        return False
    found = _sums(np.frombuffer(content[:24], dtype=words), (0, 0))
    return found == struct.unpack_from(">2I", content, 24)


def _sums(words: Words, sums: Sums) -> Sums:
    """Return SQLite's two running sums over pairs of words; s0 += x0 + s1, s1 += x1 + s0."""
    weights, carried = _weights(words.size // 2)
    pairs = words.astype(np.uint64).reshape(-1, 2)
    new = (weights * pairs[:, None, :]) & 0xFFFFFFFF
    total = new.sum(axis=(0, 2)) + ((carried * np.array(sums, dtype=np.uint64)) & 0xFFFFFFFF).sum(
        axis=1
    )
    return int(total[0]) & 0xFFFFFFFF, int(total[1]) & 0xFFFFFFFF


@cache
def _weights(pairs: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return what each pair of words, and the sums before, count for: (pairs, 2, 2) and (2, 2)."""
    step = [[1, 1], [1, 2]]
    power, weights = [[1, 0], [0, 1]], np.zeros((pairs, 2, 2), dtype=np.uint64)
    for at in reversed(range(pairs)):
        weights[at] = [[(row[0] + row[1]) & 0xFFFFFFFF, row[1]] for row in power]
        power = [
            [
                sum(a * b for a, b in zip(row, column, strict=True)) & 0xFFFFFFFF
                for column in zip(*step, strict=True)
            ]
            for row in power
        ]
    return weights, np.array(power, dtype=np.uint64)
