"""A verdict in one plain sentence, and what to do about it in another.

Rules of this file: words a person at the sensor uses; numbers with no more digits than their
interval warrants; what is not known is left out, never printed as "nan".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from monitor.core.diagnosis.sentences import direction
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.verdict import FAULT, IS_RIGHT, Estimate, Remedy, Verdict

_SCALE_RIGHT: Final = (0.8, 1.25)
_LEVEL_RIGHT: Final = 0.25  # typical uncertainties
_LATEST: Final = 253402300799.0  # the last second of the year 9999


def with_words(found: Verdict, p: Pairs, unit: str, typical: float = math.nan) -> Verdict:
    """Return the verdict with its sentence and its advice; ``typical`` is the errors' usual u."""
    return found._replace(
        sentence=sentence(found, p, unit, typical), advice=advice(found.remedy, found, unit)
    )


def sentence(found: Verdict, p: Pairs, unit: str, typical: float) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3), since 2026-03-01 06:12" and the like."""
    if found.state == IS_RIGHT:
        return "as right as it says"
    if found.state != FAULT and found.segment and not found.fault:
        return f"may be right again: its last {found.pairs} pairs show no fault"
    if found.state != FAULT:
        return f"not clear yet whether it is right ({p.n} pairs)"
    words = _WORDS[found.fault](found, unit)
    beside = _beside(found, typical, unit)
    if beside:
        words = f"{words} and {beside}"
    when = day(found.began)
    words = f"{words}, since {when}" if when else words
    due = day(found.due)
    return f"{words}; leaves its tolerance on {due[:10]}" if due else words


def day(time: float) -> str:
    """Return a time in s UTC as "2026-03-01 06:12", empty where it is none."""
    if not (math.isfinite(time) and 0.0 <= time <= _LATEST):
        return ""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}"


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants."""
    half = 0.5 * (estimate.upper - estimate.lower)
    if not (math.isfinite(half) and half > 0.0):
        return plain(estimate.value), ""
    if max(abs(each) for each in estimate) >= 1e6 or half < 1e-6:
        value, lower, upper = (f"{number:.3g}" for number in estimate)
        return value, f" ({lower} to {upper})"
    places = max(0, math.ceil(-math.log10(0.5 * half)))
    value, lower, upper = (f"{number:.{places}f}" for number in estimate)
    return value, f" ({lower} to {upper})"


def plain(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{number:.0f}" if 100.0 <= abs(number) < 1e6 else f"{number:.3g}"


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}".strip()


def _offset(found: Verdict, unit: str) -> str:
    size, between = numbers(_absolute(found.level))
    return f"reads {_with_unit(size, unit)} {direction(found.level.value, unit)}{between}"


def _absolute(size: Estimate) -> Estimate:
    return size if size.value >= 0.0 else Estimate(-size.value, -size.upper, -size.lower)


def _drift(found: Verdict, unit: str) -> str:
    size, within = numbers(_absolute(found.level))
    now = f"{_with_unit(size, '')} {direction(found.level.value, unit)} now"
    if not found.slope_per_day.is_known:
        return f"drifts, {_with_unit(size, unit)} {direction(found.level.value, unit)} now{within}"
    rate, between = numbers(_absolute(found.slope_per_day))
    sign = "+" if found.slope_per_day.value > 0.0 else "-"
    return f"drifts {sign}{_with_unit(rate, unit)} a day{between}, {now}"


def _gain(found: Verdict, unit: str) -> str:
    size, between = numbers(found.gain)
    about = _with_unit(plain(found.pivot), unit)
    return f"has an error that grows with the level: gain {size}{between} about {about}"


def _understated(found: Verdict, _unit: str) -> str:
    size, between = numbers(found.scale)
    return f"understates its uncertainty {size} times{between}"


def _overstated(found: Verdict, _unit: str) -> str:
    value, lower, upper = (1.0 / max(each, 1e-3) for each in found.scale)
    size, between = numbers(Estimate(value, upper, lower))
    return f"overstates its uncertainty {size} times{between}"


def _outliers(found: Verdict, _unit: str) -> str:
    size, between = numbers(found.size.times(100.0))
    return f"is more than 4 u off in {size} % of its readings{between}"


def _stuck(found: Verdict, unit: str) -> str:
    value = _with_unit(f"{found.size.value:g}", unit)
    return f"is stuck at {value} for {found.pairs} pairs"


def _lag(found: Verdict, _unit: str) -> str:
    late = found.size.value
    if not late > 0.0:
        return "follows what it measures too slowly"
    return f"is late: it shows what was {late:.0f} {'pair' if late == 1.0 else 'pairs'} before"


def _sign(_found: Verdict, _unit: str) -> str:
    return "has the wrong sign: its value falls when what it measures rises"


_WORDS: Final[dict[str, Callable[[Verdict, str], str]]] = {
    "offset": _offset,
    "drift": _drift,
    "gain": _gain,
    "understated": _understated,
    "overstated": _overstated,
    "outliers": _outliers,
    "stuck": _stuck,
    "lag": _lag,
    "sign": _sign,
}


def _beside(found: Verdict, typical: float, unit: str) -> str:
    """Return what else is clear: a wrong uncertainty beside a level, a level beside it."""
    low, high = _SCALE_RIGHT
    is_level, scale = found.fault in ("offset", "drift"), found.scale
    if is_level and scale.excludes(1.0) and not low <= scale.value <= high:
        return (_understated if scale.value > 1.0 else _overstated)(found, unit)
    is_spread = found.fault in ("understated", "overstated")
    if is_spread and found.level.excludes(0.0) and abs(found.level.value) > _LEVEL_RIGHT * typical:
        return _offset(found, unit)
    return ""


def advice(remedy: Remedy | None, found: Verdict, unit: str) -> str:
    """Return what to do and what it did on the pairs it was tried on, empty where that is open."""
    if found.state != FAULT or remedy is None:
        return ""
    if remedy.kind == "none":
        return _LOOK.get(found.fault, "no adjustment has proved itself: look at it")
    saved = (
        f"CRPS {plain(remedy.crps_before)} -> {plain(remedy.crps_after)}"
        f" on the {remedy.pairs} pairs it was tried on"
    )
    return f"{_doing(remedy, unit)} ({saved})"


_LOOK: Final = {
    "stuck": "check the sensor: its value does not move while the reference does",
    "outliers": "look at the readings that are far off: misread, mismatched or disturbed ones",
    "lag": "check its filter, its place and its clock against the reference's",
}


def _doing(remedy: Remedy, unit: str) -> str:
    if remedy.kind == "linear":
        sign = "+" if remedy.slope >= 0.0 else "-"
        a, b = plain(remedy.intercept), plain(abs(remedy.slope))
        return f"take {_with_unit(a, unit)} {sign} {b} times its value instead of its value"
    parts = []
    if math.isfinite(remedy.add):
        verb = "add" if remedy.add >= 0.0 else "subtract"
        parts.append(f"{verb} {_with_unit(plain(abs(remedy.add)), unit)}")
    if math.isfinite(remedy.scale_u):
        parts.append(f"multiply its u by {plain(remedy.scale_u)}")
    return " and ".join(parts)
