"""Arrays for as many series as there may be, of which only those in use take memory.

Rules of this file: nothing is copied when series are added. Address space is reserved once, and the
kernel provides a page when it is first touched.
"""

from __future__ import annotations

import mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt

# MAP_NORESERVE of Linux on x86 and ARM; Python names it from 3.13 on.
_NO_RESERVE: Final = 0x4000 if hasattr(mmap, "MAP_POPULATE") else 0


def zeros_on_demand(count: int, of: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return zeros that take memory page by page, when first touched.

    They may be larger than the machine's memory, where numpy's own zeros would be refused.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(count, of)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    pages = mmap.mmap(-1, max(count * of.itemsize, 1), flags=flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, of, count)
