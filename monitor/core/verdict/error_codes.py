"""Error codes: a number that stands for no value, such as -999, among values or references.

Rules of this file: a code is one number that is sent repeatedly and lies farther from the measured
range than that range is wide, while the other side of the pair goes on as usual. A number that is
widely used as a code counts as one from its second occurrence, any other number only once it has
come, gone and come back: a step on a coarse scale repeats a number too, and a value that is held is
stuck.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Bool, Int
from monitor.core.verdict.naming import Evidence
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.partition import RIGHT
from monitor.core.verdict.rivals import FEWEST_HELD
from monitor.core.verdict.rows import FAR, TO_SD, median
from monitor.core.verdict.verdict import (
    FAULT,
    NO_REMEDY,
    NOTHING,
    ErrorCode,
    Estimate,
    Verdict,
    share,
)

_FEWEST: Final = 8  # pairs without the code that show what is measured
# Codes of loggers (Campbell) and borehole files (LAS), and the limits of integer types.
_KNOWN: Final = frozenset((6999.0, 7999.0, 999.25, 32767.0, 32768.0, 65535.0))
_NINES_FROM: Final = 999.0
_FILL_FROM: Final = 2.0**31 - 1.0  # fill values of integers and of NetCDF
_ODDS: Final = 2.0 * math.log(1000.0)  # cost another fault must save on the other pairs


class CodedPairs(NamedTuple):
    """Indices of the pairs ``at`` which one side is an error code, and of all ``others``."""

    code: ErrorCode
    at: Int
    others: Int


def among_others(alarm: int, coded: CodedPairs | None) -> int:
    """Return the index among the uncoded pairs of the alarm's pair, or of the last before it."""
    if coded is None:
        return alarm
    return max(int(np.searchsorted(coded.others, alarm, side="right")) - 1, 0)


def coded_pairs(p: Pairs) -> CodedPairs | None:
    """Return which pairs hold an error code, None if no pair does."""
    if p.n < _FEWEST + 2:
        return None
    off = np.abs(p.error - median(p.error))
    s = np.hypot(p.u, p.u_ref)
    far = off > FAR * np.maximum(s, TO_SD * median(off))
    if not 2 <= np.count_nonzero(far) <= p.n // 2:
        return None
    typical = median(s)
    for of_reference in (False, True):
        number = _code(p, far, typical, of_reference=of_reference)
        if number is not None:
            is_code = (p.reference if of_reference else p.value) == number
            code = ErrorCode(number, of_reference=of_reference)
            return CodedPairs(code, np.flatnonzero(is_code), np.flatnonzero(~is_code))
    return None


def _code(p: Pairs, far: Bool, typical: float, *, of_reference: bool) -> float | None:
    """Return the error code among the values, or among the references, None if there is none."""
    one, other = (p.reference, p.value) if of_reference else (p.value, p.reference)
    numbers, counts = np.unique(one[far], return_counts=True)
    number, at = float(numbers[np.argmax(counts)]), one == numbers[np.argmax(counts)]
    usual = ~far & ~at
    if not (far[at].all() and counts.max() >= 2 and np.count_nonzero(usual) >= _FEWEST):
        return None
    measured = np.concatenate([one[usual], other[usual]])
    low, high = float(measured.min()), float(measured.max())
    width = max(high - low, FAR * typical)
    as_ever = (other[at] > low - width) & (other[at] < high + width)
    apart = max(low - number, number - high) > width
    if not (apart and as_ever.all()):
        return None
    held = at.size - 1 - int(np.flatnonzero(~at)[-1])
    is_stuck = held >= FEWEST_HELD and not of_reference
    turns = at[at | usual]
    comes_again = int(turns[0]) + np.count_nonzero(turns[1:] & ~turns[:-1]) > 1
    return number if is_known(number) or (comes_again and not is_stuck) else None


def is_known(number: float) -> bool:
    """Whether a number is widely used as a code for "no value": -999, 65535 and the like."""
    size = abs(number)
    nines = size >= _NINES_FROM and set(f"{size:.15g}") <= {"9", "."}
    return nines or size in _KNOWN or size >= _FILL_FROM


def with_code(verdict: Verdict, e: Evidence, p: Pairs, coded: CodedPairs, alarm: int) -> Verdict:
    """Return the verdict on ``p``, given the verdict ``found`` and evidence ``e`` without codes.

    The codes are the fault unless the other pairs show one of their own, at the odds at which an
    alert fires.
    """
    best = min(*e.best[1:], *(each.cost for each in e.rivals.values()))
    own = verdict.state == FAULT and verdict.fault != "outliers"
    if own and (e.stuck or best < e.best[RIGHT] - _ODDS):
        since, segment = coded.others[[verdict.since, verdict.segment]].tolist()
        return verdict._replace(since=since, segment=segment, code=coded.code)
    first = int(coded.at[0])
    size = share(coded.at.size - 1, p.n - first - 1.0)
    return code_verdict(verdict, p, coded, size)._replace(
        since=min(first, alarm), segment=first, pairs=p.n - first, n_effective=float(p.n - first)
    )


def code_verdict(verdict: Verdict, p: Pairs, coded: CodedPairs, size: Estimate) -> Verdict:
    """Return the verdict that a share ``size`` of the pairs holds a code, with the level found."""
    return verdict._replace(
        state=FAULT,
        fault="outliers",
        size=size,
        slope_per_day=NOTHING,
        gain=NOTHING,
        since=0,
        segment=0,
        pairs=p.n,
        n_effective=float(p.n),
        code=coded.code,
        remedy=NO_REMEDY,
        right_since=NAN,
        bounds=None,
    )
