"""How the interpreter looks after memory in a daemon: what is there at the start is there to stay.

Rules of this file: the collector of cycles is told before the work begins, and once more by what
is loaded beside it; nothing is switched off, since pages and connections make cycles.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

# New containers before a round of the youngest: batches make many, and hardly any cycle.
_YOUNGEST: Final = 50_000
_ROUNDS: Final = 20
# Options of glibc's malloc: by default 128 kB go back, to be zeroed again.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def settle() -> None:
    """Leave modules, settings and what was recovered out of the collector's rounds from now on."""
    gc.unfreeze()  # what is left of a former life may be in cycles
    keep()
    gc.set_threshold(_YOUNGEST, _ROUNDS, _ROUNDS)


def keep() -> None:
    """Leave what was loaded by now out of the rounds too; else the next ones go through it."""
    gc.collect()
    gc.freeze()


def keep_freed(kept_bytes: int, block_bytes: int) -> None:
    """Keep so much freed memory for what comes next, where the C library can be told so.

    For what makes blocks of memory again and again: much of the time for them is pages. Blocks
    larger than ``block_bytes`` go back at once.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, kept_bytes)
        set_option(_MMAP_THRESHOLD, block_bytes)
