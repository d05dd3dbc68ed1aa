"""How a window stores its pairs: a ring of rows a series, as exact as the settings ask.

Rules of this file: reading returns what :meth:`Rings.as_kept` makes of what was written, and
writing that again changes nothing. What hardly any sensor states (interval, distribution) takes
memory only once one does: it is stored XORed with NaN, so that untouched memory reads as NaN. Under
most pairing rules the identity of a pair follows from its sensor and its reference: it is stored
XORed with that. Address space is reserved for all series at once, and the kernel provides a page
when it is first touched, so that a new series copies nothing.

In single precision a row keeps the error instead of the reference and the distances of the
interval's ends from the value, each rounded to 24 bits: the error is exact to 6e-8 of itself, not
of the value, and so are all scores.
"""

from __future__ import annotations

import mmap
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from monitor.core.model import Float, Int, Records

# -- memory on demand -----------------------------------------------------------------------------

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


# -- rings ----------------------------------------------------------------------------------------

Precision = Literal["double", "single"]

# What a window keeps of a pair; u_ref here includes the uncertainty of the pairing.
WINDOW: Final = np.dtype(
    [
        ("id", np.uint64),
        ("time", np.float64),
        ("value", np.float64),
        ("u", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
        ("p", np.float64),
        ("reference", np.float64),
        ("u_ref", np.float64),
        ("reference_id", np.uint64),
        ("crps", np.float64),
    ]
)
_AS_IN_PAIR: Final = tuple(name for name in WINDOW.names or () if name != "u_ref")
_AS_STATED: Final = ("time", "reference_id", "value", "reference", "u")
_RARE: Final = ("lower", "upper", "p", "crps")
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = np.uint64(0xBF58476D1CE4E5B9)


Names = npt.NDArray[np.uint64]


def combined(names: Names, references: Names) -> Names:
    """Return :func:`.identities.combine` of digests of sensors and of references."""
    mixed = names * _SPREAD + references
    mixed ^= mixed >> np.uint64(30)
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(27)
    return mixed


def window_rows(pairs: Records) -> Records:
    """Return ``pairs`` (``PAIR``) as rows of a window."""
    rows = np.empty(pairs.size, dtype=WINDOW)
    for name in _AS_IN_PAIR:
        rows[name] = pairs[name]
    rows["u_ref"] = np.hypot(pairs["u_ref"], pairs["u_pair"])
    return rows


class Rings:
    """Memory for ``length`` pairs in each of ``capacity`` slots.

    Each call names the slots it is about and, as ``names``, the digests of their sensors
    (:func:`monitor.core.pairing.identities.digest`; any number will do, at the price of memory).
    """

    def __init__(self, capacity: int, length: int, precision: Precision) -> None:
        self._is_single: Final = precision == "single"
        number = np.float32 if self._is_single else np.float64
        self._bits: Final[Any] = np.uint32 if self._is_single else np.uint64
        self._number: Final[Any] = number
        self._nan: Final = np.full(1, np.nan, number).view(self._bits)[0]
        self._row: Final = np.dtype(
            [
                ("time", np.float64),
                ("reference_id", np.uint64),
                ("value", number),
                ("reference", number),  # in single precision the error
                ("u", number),
                ("u_ref", number),
            ]
        )
        self._whole: Final = np.dtype((np.void, self._row.itemsize))
        self._length: Final = length
        self._pairs: Final = capacity * length
        self._rows = zeros_on_demand(self._pairs, self._row)
        # The same memory without field names: rows copied whole are many times quicker.
        self._bare = self._rows.view(self._whole)
        self._rare: npt.NDArray[Any] | None = None
        self._ids: npt.NDArray[np.uint64] | None = None

    def write(self, slots: Int, places: Int, names: Names, rows: Records) -> None:
        """Put ``rows`` (``WINDOW``) at ``places`` of the rings of ``slots``."""
        self._write(slots * self._length + places, names, rows, rows["u_ref"])

    def write_pairs(self, slots: Int, places: Int, names: Names, pairs: Records) -> None:
        """Put ``pairs`` (``PAIR``) at ``places`` of the rings of ``slots``."""
        u_ref = np.hypot(pairs["u_ref"], pairs["u_pair"])
        self._write(slots * self._length + places, names, pairs, u_ref)

    def _write(self, at: Int, names: Names, rows: Records, u_ref: Float) -> None:
        row, rare = self._packed(rows, u_ref)
        self._bare[at] = row.view(self._whole)
        if self._rare is None and rare.any():
            cells = zeros_on_demand(self._pairs * len(_RARE), np.dtype(self._bits))
            self._rare = cells.reshape(self._pairs, len(_RARE))
        if self._rare is not None:
            self._rare[at] = rare
        differs = rows["id"] ^ combined(names, rows["reference_id"])
        if self._ids is None and differs.any():
            self._ids = zeros_on_demand(self._pairs, np.dtype(np.uint64))
        if self._ids is not None:
            self._ids[at] = differs

    def read(self, slots: Int, places: Int, names: Names) -> Records:
        """Return the rows (``WINDOW``) at ``places`` of the rings of ``slots``."""
        at = slots * self._length + places
        rare = None if self._rare is None else self._rare[at]
        rows = self._unpacked(self._bare[at].view(self._row), rare)
        rows["id"] = combined(names, rows["reference_id"])
        if self._ids is not None:
            rows["id"] ^= self._ids[at]
        return rows

    def times(self, slots: Int, places: Int) -> Float:
        """Return the event times at ``places`` of the rings of ``slots``."""
        times: Float = self._rows["time"][slots * self._length + places]
        return times

    def as_kept(self, rows: Records) -> Records:
        """Return ``rows`` (``WINDOW``) as they would be read once they are written."""
        if not self._is_single:
            return rows
        unpacked = self._unpacked(*self._packed(rows, rows["u_ref"]))
        unpacked["id"] = rows["id"]
        return unpacked

    def _packed(self, rows: Records, u_ref: Float) -> tuple[Records, npt.NDArray[Any]]:
        packed = np.empty(rows.size, dtype=self._row)
        for name in _AS_STATED:
            packed[name] = rows[name]
        packed["u_ref"] = u_ref
        rare = np.empty((rows.size, len(_RARE)), dtype=self._number)
        for at, name in enumerate(_RARE):
            rare[:, at] = rows[name]
        if self._is_single:
            packed["reference"] = rows["value"] - rows["reference"]
            rare[:, 0] = rows["value"] - rows["lower"]
            rare[:, 1] = rows["upper"] - rows["value"]
            rare += self._number(0.0)  # a negative zero would change when stored again
            for name in ("value", "reference"):
                packed[name] += self._number(0.0)
        return packed, rare.view(self._bits) ^ self._nan

    def _unpacked(self, packed: Records, bits: npt.NDArray[Any] | None) -> Records:
        rows = np.empty(packed.size, dtype=WINDOW)
        for name in self._row.names or ():
            rows[name] = packed[name]
        if self._is_single:
            rows["reference"] = rows["value"] - rows["reference"]
        if bits is None:
            for name in _RARE:
                rows[name] = np.nan
            return rows
        rare = (bits ^ self._nan).view(self._number)
        for at, name in enumerate(_RARE):
            rows[name] = rare[:, at]
        if self._is_single:
            rows["lower"] = rows["value"] - rows["lower"]
            rows["upper"] += rows["value"]
        return rows
