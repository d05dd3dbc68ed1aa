"""Units in D-SI's notation, such as metre per second squared, from and to those of a series.

Rules of this file: D-SI's units are those of the SI Brochure by their English names, each a word
after a backslash, with its prefix before and its power (tothe) after it; per divides by the one
unit that follows (doi 10.5281/zenodo.3522631). A word that is not in the tables below is refused,
never guessed. :mod:`monitor.decode.units` interprets the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.units import components

_PREFIXES: Final[Mapping[str, str]] = {
    "yotta": "Y",
    "zetta": "Z",
    "exa": "E",
    "peta": "P",
    "tera": "T",
    "giga": "G",
    "mega": "M",
    "kilo": "k",
    "hecto": "h",
    "deca": "da",
    "deci": "d",
    "centi": "c",
    "milli": "m",
    "micro": "µ",
    "nano": "n",
    "pico": "p",
    "femto": "f",
    "atto": "a",
    "zepto": "z",
    "yocto": "y",
}
# By D-SI's word: the symbol that people write, and pint's name where that differs.
_SYMBOLS: Final[Mapping[str, str]] = {
    "metre": "m",
    "kilogram": "kg",
    "gram": "g",
    "second": "s",
    "ampere": "A",
    "kelvin": "K",
    "mole": "mol",
    "candela": "cd",
    "one": "1",
    "radian": "rad",
    "steradian": "sr",
    "hertz": "Hz",
    "newton": "N",
    "pascal": "Pa",
    "joule": "J",
    "watt": "W",
    "coulomb": "C",
    "volt": "V",
    "farad": "F",
    "ohm": "ohm",
    "siemens": "S",
    "weber": "Wb",
    "tesla": "T",
    "henry": "H",
    "degreecelsius": "°C",
    "lumen": "lm",
    "lux": "lx",
    "becquerel": "Bq",
    "gray": "Gy",
    "sievert": "Sv",
    "katal": "kat",
    "minute": "min",
    "hour": "h",
    "day": "d",
    "degree": "deg",
    "arcminute": "arcmin",
    "arcsecond": "arcsec",
    "hectare": "ha",
    "litre": "L",
    "tonne": "t",
    "electronvolt": "eV",
    "dalton": "Da",
    "bar": "bar",
    "percent": "%",
    "ppm": "ppm",
}
_PINT: Final[Mapping[str, str]] = {
    "metre": "meter",
    "litre": "liter",
    "tonne": "metric_ton",
    "degreecelsius": "degree_Celsius",
    "electronvolt": "electron_volt",
}
# What people write for one unit and unit libraries read as another.
_AMBIGUOUS: Final[Mapping[str, str]] = {"C": "degC or coulomb", "F": "degF or farad"}
_OF_DIMENSION_ONE: Final = frozenset(("pH",))  # which unit libraries read as picohenry
_UNPREFIXED: Final = frozenset(("one", "kilogram", "degreecelsius", "percent", "ppm"))
_FACTOR: Final = re.compile(
    rf"(\\per(?![a-z]))?(?:\\({'|'.join(_PREFIXES)})(?![a-z]))?\\([a-z]+)(?:\\tothe\{{([^{{}}]*)\}})?",
    re.IGNORECASE,
)
_LENGTH_MAX: Final = 200


class DsiUnitError(ValueError):
    """A unit has no meaning, or none in the other notation; the message says what to write."""


def unit_of_dsi(dsi: str) -> str:
    r"""Return a D-SI unit as series write it, such as "kg/m3" for ``\kilogram\per\metre\tothe{3}``.

    Raises DsiUnitError.
    """
    factors = list(_factors(dsi))
    if not factors:
        raise DsiUnitError("is empty; a number without a unit has \\one")
    shown = [(symbol, power) for symbol, power in factors if symbol != "1"]
    text = "1"
    for at, (symbol, power) in enumerate(shown):
        size = f"{symbol}{abs(power) if abs(power) != 1 else ''}"
        if at == 0:
            text = size if power > 0 else f"1/{size}"
        else:
            text += f" {size}" if power > 0 else f"/{size}"
    try:
        components(text)
    except Rejected as error:
        raise DsiUnitError(f"{_shown(dsi)}: {error.detail}") from error
    return text


def _factors(dsi: str) -> Iterator[tuple[str, int]]:
    """Yield (symbol, power) of each unit, in order."""
    text, at = dsi.strip(), 0
    if len(text) > _LENGTH_MAX:
        raise DsiUnitError(f"{_shown(dsi)} has more than {_LENGTH_MAX} characters")
    while at < len(text):
        match = _FACTOR.match(text, at)
        if match is None:
            flaw = "is not a D-SI unit; those are words behind backslashes, such as \\milli\\metre"
            raise DsiUnitError(f"{_shown(dsi)} {flaw}")
        per, prefix, word, power = match.groups()
        prefix, word = (prefix or "").lower(), word.lower()
        if word not in _SYMBOLS or (prefix and word in _UNPREFIXED):
            raise DsiUnitError(f"{_shown(dsi)}: \\{word[:40]} is not a unit known here")
        size = 1 if power is None else _power(dsi, power)
        yield _symbol(prefix, word), -size if per else size
        at = match.end()


def _symbol(prefix: str, word: str) -> str:
    """Return the symbol of a unit, or its English name where the symbol would be misread."""
    symbol, name = _PREFIXES.get(prefix, "") + _SYMBOLS[word], prefix + _PINT.get(word, word)
    if symbol == "1":
        return symbol
    if symbol in _AMBIGUOUS or symbol in _OF_DIMENSION_ONE:
        return name
    try:
        return symbol if components(symbol) == components(name) else name
    except Rejected:
        return name


def _power(dsi: str, argument: str) -> int:
    if re.fullmatch(r"[+-]?[1-9]", argument) is None:
        raise DsiUnitError(
            f"{_shown(dsi)}: the power {argument[:20]!r} is not read; it is a whole number from "
            "-9 to 9 without 0"
        )
    return int(argument)


def _shown(dsi: str) -> str:
    text = dsi.strip()
    return text if len(text) <= 60 else f"{text[:60]}..."


def dsi_of_unit(unit: str) -> str:
    """Return the D-SI form of a series' unit; raises DsiUnitError where it has none."""
    if not unit:
        raise DsiUnitError("the series has no unit")
    if unit in _AMBIGUOUS:
        raise DsiUnitError(f"unit {unit!r} may mean two things; write {_AMBIGUOUS[unit]}")
    if unit in _OF_DIMENSION_ONE:
        return "\\one"
    try:
        parts = components(unit)
    except Rejected as error:
        raise DsiUnitError(f"unit {unit!r} has no D-SI form: {error.detail}") from error
    words = [_word(name, unit) + _raised(power) for name, power in parts]
    signs = ["\\per" if power < 0 else "" for _, power in parts]
    return "".join(sign + word for sign, word in zip(signs, words, strict=True)) or "\\one"


def _raised(power: int) -> str:
    return "" if abs(power) == 1 else f"\\tothe{{{abs(power)}}}"


def _word(name: str, unit: str) -> str:
    known = {_PINT.get(word, word): word for word in _SYMBOLS}
    if name in known:
        return f"\\{known[name]}"
    for prefix in _PREFIXES:
        rest = name.removeprefix(prefix)
        if rest != name and rest in known and known[rest] not in _UNPREFIXED:
            return f"\\{prefix}\\{known[rest]}"
    raise DsiUnitError(f"unit {unit!r} has no D-SI form: the SI has no {name}")
