"""From a path to what stands there: a number, a text, or the refusal that names the path.

Rules of this file: a fetcher is made once a mapping; it is given the whole payload and the record
at hand; ``$`` is the whole payload, ``$.name`` looks from there, ``@`` is the record itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.paths import MISSING, getter
from monitor.decode.specification import MapError, Scalar

Fetch = Callable[[object, object], object]
Number = Callable[[object, object], float]
Text = Callable[[object, object], str]
Place = tuple[str | int, ...]

# No underscores, no nan and no inf, which float() would take.
_NUMBER: Final = re.compile(
    r"\A[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?\Z", re.ASCII
)
_TEXT_CHARACTERS_MAX: Final = 256


class Fetchers:
    """Makes fetchers that share a mapping's defaults and whether texts may stand for numbers."""

    def __init__(self, defaults: Mapping[str, Scalar], *, number_texts: bool) -> None:
        self._defaults: Final = defaults
        self._number_texts: Final = number_texts

    def fetch(self, path: str, place: Place) -> Fetch:
        """Return what finds ``path``, its default or MISSING; null is not stated."""
        find = _find(path, place)
        default: object = self._defaults.get(path, MISSING)

        def fetch(root: object, record: object) -> object:
            found = find(root, record)
            return default if found is MISSING or found is None else found

        return fetch

    def number(self, path: float | str, place: Place) -> Number:
        """Return what finds a number; a constant is found everywhere."""
        if not isinstance(path, str):
            constant = float(path)
            return lambda _root, _record: constant
        fetch, texts, name = self.fetch(path, place), self._number_texts, shown(path)
        what = place[-1]

        def number(root: object, record: object) -> float:
            found = fetch(root, record)
            if type(found) is float and not math.isnan(found):
                return found
            if found is MISSING:
                raise Rejected("missing_field", f"{what} is missing at `{name}`")
            return to_number(f"{what} at `{name}`", found, texts=texts)

        return number

    def text(self, path: str, place: Place) -> Text:
        """Return what finds a text; a whole number is one too."""
        fetch, name, what = self.fetch(path, place), shown(path), place[-1]

        def text(root: object, record: object) -> str:
            found = fetch(root, record)
            if found is MISSING:
                raise Rejected("missing_field", f"{what} is missing at `{name}`")
            return to_text(f"{what} at `{name}`", found)

        return text


def shown(path: str) -> str:
    """Return ``path`` as refusals show it, from the record on."""
    return path if path.startswith(("$", "@")) else f"$.{path}"


def quoted(found: object) -> str:
    """Return a scalar as refusals show it, of anything else its type."""
    if isinstance(found, str):
        return repr(found[:60])
    plain = found is None or isinstance(found, bool | float)
    if plain or (isinstance(found, int) and abs(found) < 1 << 64):
        return repr(found)
    return f"a {type(found).__name__}"


def to_number(what: str, found: object, *, texts: bool) -> float:
    """Return a stated number as float; raises Rejected."""
    if isinstance(found, str) and texts:
        if _NUMBER.match(found.strip()) is None:
            raise Rejected("bad_field", f"{what} is {found[:60]!r}, which is not a number")
        found = float(found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        hint = "; number_texts: true takes numbers in texts" if isinstance(found, str) else ""
        raise Rejected("bad_field", f"{what} is a {type(found).__name__}, not a number{hint}")
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Rejected("not_finite", f"{what} is {number}")
    return number


def to_text(what: str, found: object) -> str:
    """Return a stated text or whole number as text; raises Rejected."""
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise Rejected("bad_field", f"{what} is a {type(found).__name__}, not a text")
    if isinstance(found, int) and abs(found) > 1 << 64:
        raise Rejected("out_of_range", f"{what} is a number of too many digits")
    text = str(found)
    if len(text) > _TEXT_CHARACTERS_MAX:
        raise Rejected("bad_field", f"{what} has more than {_TEXT_CHARACTERS_MAX} characters")
    return text


def _find(path: str, place: Place) -> Fetch:
    if path == "$":
        return lambda root, _record: root
    if path == "@":
        return lambda _root, record: record
    try:
        get = getter(path)
    except ValueError as error:
        raise MapError(place, str(error)) from error
    if path.startswith("$."):
        return lambda root, _record: get(root)
    return lambda _root, record: get(record)
