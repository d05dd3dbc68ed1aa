"""Memory for as many series as there may be, which only those that are there use.

Rules of this file: what grows is never copied: its addresses are reserved once, and the system
gives memory where it is first touched.
"""

from __future__ import annotations

import mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt

# Of Linux on x86 and ARM; Python knows its name from 3.13 on.
_NO_RESERVE: Final = 0x4000 if hasattr(mmap, "MAP_POPULATE") else 0


def reserved(count: int, of: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return zeros of which the system gives memory page by page, where one is first touched.

    It may be more than the machine has; numpy's own zeros are refused then.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(count, of)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    pages = mmap.mmap(-1, max(count * of.itemsize, 1), flags=flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, of, count)
