"""Settings of Python's cycle collector and glibc's allocator for a long-running process.

Rules of this file: what exists after the start is frozen, so that no collection walks it again;
nothing is switched off, because pages and connections do make cycles.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

# New containers before a collection of the youngest generation: batches make many, hardly a cycle.
_YOUNGEST: Final = 50_000
_ROUNDS: Final = 20
# Options of glibc's malloc, which by default returns blocks above 128 kB to the system at once.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def freeze_after_start() -> None:
    """Exclude modules, settings and recovered state from all further collections."""
    gc.unfreeze()  # what a daemon before a reload left behind may be in cycles
    freeze()
    gc.set_threshold(_YOUNGEST, _ROUNDS, _ROUNDS)


def freeze() -> None:
    """Collect, then exclude everything that exists now from further collections."""
    gc.collect()
    gc.freeze()


def retain_freed(kept_bytes: int, block_bytes: int) -> None:
    """Let malloc keep up to ``kept_bytes`` of freed memory, where the C library allows it.

    For loops that allocate large blocks again and again: much of their time goes into page faults.
    Blocks larger than ``block_bytes`` still go back at once.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, kept_bytes)
        set_option(_MMAP_THRESHOLD, block_bytes)
