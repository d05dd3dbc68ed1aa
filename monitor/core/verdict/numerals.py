"""Numbers of a verdict as text: as many digits as their use needs, in one notation.

Rules of this file: a number is rounded to a power of ten, its resolution. The interval of an
estimate sets its resolution, the sensor's uncertainty that of advice. Plain digits from 1e-4 to
1e9, powers of ten beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from monitor.core.verdict.verdict import Estimate

_PLAIN: Final = (1e-4, 1e9)
_MOST_DIGITS: Final = 15  # that a double holds
_ALMOST: Final = 1e-3  # share of half an interval within which its end is almost at nothing


def estimated(estimate: Estimate, nothing: float = math.nan) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants.

    An interval that excludes ``nothing`` (0 for a level, 1 for a factor) still does so as text.
    """
    value, lower, upper = estimate
    half = 0.5 * (upper - lower)
    if not (math.isfinite(half) and half > 0.0):
        return three_digits(value), ""
    near = min(abs(value - lower), abs(upper - value))
    step = min(max(near, 0.1 * half), 0.5 * half)
    parted = estimate.excludes(nothing)
    if parted and value != nothing:
        step = min(step, max(abs(value - nothing), _ALMOST * half))
    told = rounded(estimate, step)
    if parted:
        at, end = (1, lower) if value > nothing else (2, upper)
        far = abs(end - nothing)
        if _at(end, _last(estimate, step)) == _at(nothing, _last(estimate, step)):
            is_near = far <= _ALMOST * half
            finer = _written(end, _last((end,), far), is_plain=_is_plain(estimate))
            told[at] = f"almost {nothing:g}" if is_near else finer
    return told[0], f" ({told[1]} to {told[2]})"


def rounded(numbers: Sequence[float], resolution: float) -> list[str]:
    """Return numbers in one notation, rounded to a power of ten of at most ``resolution``."""
    largest = max(abs(each) for each in numbers)
    if largest == 0.0 or not math.isfinite(largest):
        return [f"{each:g}" for each in numbers]
    last = _last(numbers, resolution)
    return [_written(each, last, is_plain=_is_plain(numbers)) for each in numbers]


def _is_plain(numbers: Sequence[float]) -> bool:
    return _PLAIN[0] <= max(abs(each) for each in numbers) < _PLAIN[1]


def _last(numbers: Sequence[float], resolution: float) -> int:
    """Return the power of ten to which numbers are rounded; a double holds no more digits."""
    least = math.floor(math.log10(max(abs(each) for each in numbers))) - _MOST_DIGITS
    if not resolution > 0.0:
        return least
    return max(least, math.floor(math.log10(resolution) + 1e-9))


def exactly(number: float, resolution: float) -> str:
    """Return one number, rounded to a power of ten of at most ``resolution``."""
    return rounded((number,), resolution)[0]


def _at(number: float, last: int) -> float:
    return round(number, -last) + 0.0 if -last < 300 else number


def _written(number: float, last: int, *, is_plain: bool) -> str:
    number = _at(number, last)
    if is_plain:
        return f"{number:.{max(-last, 0)}f}"
    if number == 0.0:
        return "0"
    return f"{number:.{max(math.floor(math.log10(abs(number))) - last, 0)}e}"


def at_least(number: float) -> str:
    """Return a factor above 1, rounded down to two digits, or to as many as keep it above 1."""
    places = 0 if number >= 10.0 else 1
    while places < _MOST_DIGITS and math.floor(number * 10.0**places) <= 10.0**places:
        places += 1
    return f"{math.floor(number * 10.0**places) / 10.0**places:g}"


def three_digits(number: float) -> str:
    """Return a number with three significant digits, and all digits before the point."""
    return f"{number:.0f}" if 100.0 <= abs(number) < _PLAIN[1] else f"{number:.3g}"
