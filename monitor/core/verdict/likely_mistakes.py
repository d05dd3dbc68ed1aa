"""The likely mistake behind a fault: another unit, or another number sent as u, as a question.

Rules of this file: undo a known mistake, and ask about it only where a right sensor is left. For a
unit the mean error that is left is 0 within 1 % of what the mistake changes, and does not go with
the level: of offsets and gains drawn at random hardly one fits. For u the factor that is left is 1
within +-10 % (14 % for k = 2) and a fifth of the way back: of factors drawn between 1/5 and 5 one
in seven fits at 240 pairs, one in three at 450. So the sentence keeps the number, and asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float
from monitor.core.verdict.pairs import Pairs, inflation, inflation_of_squares, lag_ones
from monitor.core.verdict.rows import FAR, TO_SD, median
from monitor.core.verdict.spread import SHAPES, spreads_of
from monitor.core.verdict.verdict import FAULT, Verdict

_FEWEST: Final = 20  # pairs
_NARROW: Final = 0.01  # of what a mistake changes: most half-width, and most error left
_ROUGHLY: Final = 0.05  # the same, between medians, of a mistake that is worth a closer look
_CLEAR: Final = 2.5  # standard errors
_SMALL: Final = 0.1  # of the spread of errors: a mean that nobody would fix
_CHOSEN: Final = 1.25  # as for every factor on u of a chosen segment
_WIDEST: Final = 0.1  # half-width of the logarithm of a factor on u
_COMMON: Final = 0.14  # the same for U with k = 2, the commonest of these mistakes
_LIKE_RIGHT: Final = (0.4, 1.0)  # medians of |z| of a right sensor, and of one nearly so
_FAR_OFF: Final = 1e9  # uncertainties: nothing sent by mistake as u leaves such errors
_OF_THE_WAY: Final = 0.2  # the same as a share of the logarithm of the mistake

# Units by dimension: how many of the dimension's own unit one is, by every spelling that is known.
_UNITS: Final[dict[str, dict[str, float]]] = {
    "mass": {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237},
    "speed": {"m/s": 1.0, "km/h": 1.0 / 3.6, "mph": 0.44704, "kn": 1852.0 / 3600.0},
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "km": 1e3, "ft": 0.3048, "in": 0.0254},
    "pressure": {
        "Pa": 1.0,
        "hPa": 1e2,
        "mbar": 1e2,
        "kPa": 1e3,
        "bar": 1e5,
        "psi": 6894.757293168,
        "mmHg": 133.322387415,
        "inHg": 3386.38864034,
    },
    "density": {"ug/m3": 1.0, "µg/m3": 1.0, "µg/m³": 1.0, "ug/m³": 1.0, "mg/m3": 1e3},
    "share": {"%": 1e-2, "ppm": 1e-6, "ppb": 1e-9},
}
_CELSIUS: Final = ("degC", "°C", "Cel", "C")
_FAHRENHEIT: Final = ("degF", "°F", "[degF]", "F")
# Value = scale x truth + shift, by the unit of the series.
_TEMPERATURES: Final = {
    **dict.fromkeys(_CELSIUS, (("K", 1.0, 273.15), ("degF", 1.8, 32.0))),
    **dict.fromkeys(_FAHRENHEIT, (("degC", 1.0 / 1.8, -32.0 / 1.8),)),
    "K": (("degC", 1.0, -273.15),),
}
# A gas's ug/m3 in one ppb, at 25 and at 20 degC and 1013 hPa.
_GASES: Final = {
    "O3": (1.963, 1.996),
    "NO2": (1.882, 1.913),
    "SO2": (2.620, 2.663),
    "NO": (1.227, 1.248),
    "CO": (1.146, 1.165),
}
_MAPPED: Final = "map it with the unit that it sends"
_DECIMAL: Final = ((1e3, "a thousandth"), (1e-3, "a thousand times"), (1e2, "a hundredth"))


class LikelyMistake(NamedTuple):
    """A question on what the numbers look like, what a yes says, and what to do then."""

    question: str
    condition: str
    mend: str


class Candidate(NamedTuple):
    """A mistake of the unit: what is sent is ``scale`` times the value plus ``shift``."""

    mistake: LikelyMistake
    scale: float
    shift: float = 0.0


_AVERAGED: Final = LikelyMistake(
    "do the errors of the readings that make up a pair average out?",
    "the errors of its readings average out",
    "set pairing.correlation to 0",
)


def likely_mistake(verdict: Verdict, p: Pairs, unit: str) -> LikelyMistake | None:
    """Return the mistake that explains a fault, None where no known one clearly does."""
    part = p.rows(slice(verdict.segment, None))
    if verdict.state != FAULT or verdict.fault in ("stuck", "sign") or part.n < _FEWEST:
        return None
    with np.errstate(all="ignore"):  # numbers of any size: what is not finite fits nothing
        if verdict.fault == "overstated" and part.correlation > 0.0:
            return _AVERAGED
        if verdict.fault in ("understated", "overstated"):
            return _of_uncertainty(part) or _of_unit(part, unit)
        return _of_unit(part, unit)


def _of_unit(p: Pairs, unit: str) -> LikelyMistake | None:
    value, reference, size = median(p.value), median(p.reference), median(np.abs(p.reference))
    best, least = None, math.inf
    for each in candidates(unit):
        undone = (value - each.shift) / each.scale
        changed = abs(value - undone) if each.shift else size
        if not abs(undone - reference) <= _ROUGHLY * changed:
            continue
        misfit = _misfit(p, each, _NARROW * changed)
        if misfit < least:
            best, least = each.mistake, misfit
    return best


@lru_cache(maxsize=64)
def candidates(unit: str) -> tuple[Candidate, ...]:
    """Return the units that a series of a ``unit`` may be sent in; all common ones without it."""
    return tuple(_candidates(unit))


def _candidates(unit: str) -> Iterator[Candidate]:
    for sent, scale, shift in _TEMPERATURES.get(unit or "degC", ()):
        yield _sent_in(sent, unit or "degC", scale, shift)
    for wanted in (unit,) if unit else ("kg", "lb", "m/s"):
        of_kind = next((units for units in _UNITS.values() if wanted in units), {})
        for sent, size in of_kind.items():
            if size != of_kind[wanted]:
                yield _sent_in(sent, wanted, of_kind[wanted] / size)
    yield from _of_gas(unit)
    if not any(unit in units for units in _UNITS.values()) and unit not in _TEMPERATURES:
        for scale, part in _DECIMAL:
            smaller = f"a unit {part} as large"
            yield Candidate(LikelyMistake(f"{smaller}?", f"it sends {smaller}", _MAPPED), scale)
        yield Candidate(LikelyMistake("a share for per cent?", "it sends a share", _MAPPED), 0.01)


def _sent_in(sent: str, wanted: str, scale: float, shift: float = 0.0) -> Candidate:
    name = "kelvin" if sent == "K" else sent
    mend = f"map it with unit: {sent}, to_unit: {wanted}"
    mistake = LikelyMistake(f"{name} for {wanted}?", f"it sends {name}", mend)
    return Candidate(mistake, scale, shift)


def _of_gas(unit: str) -> Iterator[Candidate]:
    is_share, is_density = unit == "ppb", unit in _UNITS["density"] and unit != "mg/m3"
    sent = "ug/m3" if is_share else "ppb"
    for gas, sizes in _GASES.items() if is_share or is_density else ():
        for size in sizes:
            of, mend = f"{sent} of {gas}", f"let it send {unit}"
            mistake = LikelyMistake(f"{of} for {unit}?", f"it sends {of}", mend)
            yield Candidate(mistake, size if is_share else 1.0 / size)


def _misfit(p: Pairs, sent: Candidate, room: float) -> float:
    """Return how many standard errors are left when the mistake is undone, infinite if too many."""
    undone = (p.value - sent.shift) / sent.scale
    used = _near(undone - p.reference)
    value, reference = undone[used], p.reference[used]
    error = value - reference
    mean, se = _mean(error)
    is_right = abs(mean) <= min(room, max(_CLEAR * se, _SMALL * float(error.std())))
    if not (is_right and _CLEAR * se <= room):
        return math.inf
    # Errors of a right sensor fall with the reference (predictive) or rise with the value.
    by_reference, by_value = _slope_in_se(error, reference), _slope_in_se(error, value)
    is_steep = by_reference > _CLEAR or by_value < -_CLEAR
    return math.inf if is_steep else abs(mean) / se if se > 0.0 else 0.0


def _near(error: Float) -> Bool:
    off = np.abs(error - median(error))
    return np.asarray(off <= FAR * TO_SD * median(off))


def _mean(error: Float) -> tuple[float, float]:
    rho = _lag_one(error)
    return float(error.mean()), float(error.std() * np.sqrt(inflation(rho) / error.size))


def _lag_one(rows: Float) -> float:
    every = np.ones((1, rows.size), dtype=np.bool_)
    return float(lag_ones(rows[None], every, np.array([rows.size]))[0])


def _slope_in_se(error: Float, level: Float) -> float:
    """Return a slope of the error in standard errors, 0 where nothing moves."""
    x, y = level - level.mean(), error - error.mean()
    r = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y) or math.inf)
    worth = x.size / float(inflation(_lag_one(x) * _lag_one(y)))
    return math.atanh(min(max(r, -0.999), 0.999)) * math.sqrt(max(worth - 3.0, 0.0))


def _of_uncertainty(p: Pairs) -> LikelyMistake | None:
    """Return what was sent as u, if the errors say which."""
    error = p.error - p.error.mean()
    rho = float(inflation_of_squares(_lag_one(error)))
    stated = np.hypot(p.u, p.u_ref)
    mistakes, rows, widest = [], [], []
    for mistake, mended in _meant(p):
        s = np.hypot(mended, p.u_ref)
        row = error / s
        near = _LIKE_RIGHT[0] < median(np.abs(row)) < _LIKE_RIGHT[1]
        if near and (np.abs(row) < _FAR_OFF).all() and (stated > 0.0).all():
            mistakes.append(mistake)
            rows.append(row)
            way = abs(median(np.log(s / stated)))
            most = _COMMON if "k = 2" in mistake.question else _WIDEST
            widest.append(min(most, _OF_THE_WAY * way))
    size = len(rows)
    every = np.full(size, _CHOSEN * rho), np.ones(size), np.zeros((size, SHAPES))
    best, misfit = None, 1.0
    for mistake, most, spread in zip(mistakes, widest, spreads_of(rows, *every), strict=True):
        value, lower, upper = spread.factor
        if not (spread.factor.is_known and 0.0 < lower < upper):
            continue
        half = 0.5 * math.log(upper / lower)
        off = abs(math.log(value)) / half
        if half <= most and off < misfit:
            best, misfit = mistake, off
    return best


def _meant(p: Pairs) -> Iterator[tuple[LikelyMistake, Float]]:
    """Return each number that may have been sent as u, and the u that was meant."""
    if p.spread == "members":
        return
    if p.spread == "interval":
        for k, share in ((1.0, 0.683), (2.0, 0.954), (3.0, 0.997)):
            of, mend = f"one of {100.0 * share:g} %", f"map it with p: {share:g}"
            mistake = LikelyMistake(f"is its interval {of}?", f"its interval is {of}", mend)
            yield mistake, p.u * _K_OF_INTERVALS / k
        return
    for k, share in ((2.0, 0.95), (3.0, 0.997), (1.645, 0.9)):
        expanded = f"U with k = {k:g}, half the width of a {100.0 * share:g} % interval"
        mend = f"map it as U with k: {k:g} instead of u"
        yield LikelyMistake(f"is it {expanded}?", f"its u is U with k = {k:g}", mend), p.u / k
    level = np.abs(p.reference)
    for stated, mend, meant in (
        ("a standard uncertainty that is read as U with k = 2", "map it as u, not as U", 2.0 * p.u),
        ("a variance", "let it send the root", np.sqrt(p.u)),
        ("the root of its uncertainty", "let it send the square", p.u**2),
        ("in per cent of the value", "map it as percent with k: 1", 0.01 * p.u * level),
        ("a share of the value", "let it send the share times the value", p.u * level),
    ):
        yield LikelyMistake(f"is it {stated}?", f"its u is {stated}", mend), meant


_K_OF_INTERVALS: Final = 1.6448536269514722  # of intervals that are read with p = 0.9
