"""A verdict in one plain sentence, and what to do about it in another.

What is not known is left out, never printed as "nan".
"""

from __future__ import annotations

import math
from typing import Final

from monitor.core.formatting import TO_THE_MINUTE, date_time
from monitor.core.verdict import words
from monitor.core.verdict.faults import FAULTS, shows
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.verdict import (
    FAULT,
    IS_RIGHT,
    Remedy,
    Verdict,
)

_SCALE_RIGHT: Final = (0.8, 1.25)
_LEVEL_RIGHT: Final = 0.25  # typical uncertainties


def with_words(
    found: Verdict, p: Pairs, unit: str, typical: float = math.nan, *, fired: bool = False
) -> Verdict:
    """Return the verdict with its sentence and its advice.

    ``typical`` is the errors' usual standard uncertainty; ``fired``: of an alert that fires.
    """
    return found._replace(
        sentence=sentence(found, p, unit, typical, fired=fired),
        advice=advice(found, unit, fired=fired),
    )


def sentence(
    found: Verdict, p: Pairs, unit: str, typical: float = math.nan, *, fired: bool = False
) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3), since 2026-03-01 06:12" and the like."""
    if found.state == IS_RIGHT:
        return "as right as it says"
    if found.state == FAULT:
        return _full(found, unit, typical)
    if not fired:
        may_be = shows(found.fault, found.size)
        return f"may be wrong, not sure yet: {_full(found, unit, typical)}" if may_be else _open(p)
    if found.segment and not found.fault:
        began = f" that began {day(found.began)}" if day(found.began) else ""
        return f"had a fault{began}; its last {found.pairs} pairs no longer show it"
    return f"is not as right as it says; not clear yet in which way ({found.pairs} pairs)"


def _open(p: Pairs) -> str:
    return f"not clear yet whether it is right ({p.n} pairs)"


def _full(found: Verdict, unit: str, typical: float) -> str:
    told = FAULTS[found.fault].words(found, unit)
    beside = _beside(found, typical, unit)
    if beside:
        told = f"{told} and {beside}"
    when, due = day(found.began), day(found.due)
    told = f"{told}, since {when}" if when else told
    return f"{told}; leaves its tolerance on {due[:10]}" if due else told


def day(time: float) -> str:
    """Return a time in s UTC as "2026-03-01 06:12", empty where it is none."""
    found = date_time(time, TO_THE_MINUTE) if math.isfinite(time) else "-"
    return "" if found == "-" else found


def _beside(found: Verdict, typical: float, unit: str) -> str:
    """Return what else is clear: a wrong uncertainty beside a level, a level beside it."""
    low, high = _SCALE_RIGHT
    is_level, scale = found.fault in ("offset", "drift"), found.scale
    if is_level and scale.excludes(1.0) and not low <= scale.value <= high:
        return (words.understated if scale.value > 1.0 else words.overstated)(found, unit)
    may_be_off = found.fault in ("understated", "overstated", "gain")
    if may_be_off and found.level.excludes(0.0) and abs(found.level.value) > _LEVEL_RIGHT * typical:
        return words.offset(found, unit)
    return ""


def advice(found: Verdict, unit: str, *, fired: bool = False) -> str:
    """Return what to do and what it did on the pairs it was tried on, empty where that is open."""
    remedy = found.remedy
    if fired and found.state != FAULT and found.segment and not found.fault:
        return "nothing yet: the alert ends by itself once it is clear that the fault is over"
    if found.state != FAULT or remedy is None:
        return ""
    if remedy.kind == "none":
        return FAULTS[found.fault].look
    saved = (
        f"CRPS {words.three_digits(remedy.crps_before)} -> {words.three_digits(remedy.crps_after)}"
        f" on the {remedy.pairs} pairs it was tried on"
    )
    return f"{_doing(remedy, unit)} ({saved})"


def _doing(remedy: Remedy, unit: str) -> str:
    if remedy.kind == "linear":
        sign = "+" if remedy.slope >= 0.0 else "-"
        a, b = words.three_digits(remedy.intercept), words.three_digits(abs(remedy.slope))
        return f"take {words.with_unit(a, unit)} {sign} {b} times its value instead of its value"
    parts = []
    if math.isfinite(remedy.add):
        verb = "add" if remedy.add >= 0.0 else "subtract"
        parts.append(f"{verb} {words.with_unit(words.three_digits(abs(remedy.add)), unit)}")
    if math.isfinite(remedy.scale_u):
        parts.append(f"multiply its u by {words.three_digits(remedy.scale_u)}")
    return " and ".join(parts)
