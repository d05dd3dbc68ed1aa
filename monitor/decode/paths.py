"""Dotted paths into decoded payloads, and what stands there: a number, a text, or a refusal.

Rules of this file: a path is ``pm25.v``, ``metrics[0].value`` or ``$.eid``. A fetcher is made once
for a mapping and is given the whole payload and the record at hand: ``$`` is the payload,
``$.name`` looks from there, ``@`` is the record. Null stands for what is not stated. Every refusal
names its path. :func:`to_number` is the one reader of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from monitor.core.model import NAN
from monitor.decode.checks import Rejected
from monitor.decode.spec import MapError, Scalar

_STEP: Final = re.compile(r"\A([^.\[\]]+)((?:\[-?\d+\])*)\Z")
_INDEX: Final = re.compile(r"\[(-?\d+)\]")

Getter = Callable[[object], object]
Step = str | int


class Missing:
    """What a path finds where there is nothing."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()


def steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; raises ValueError with a sentence."""
    found: list[Step] = []
    for part in path.removeprefix("$.").split("."):
        match = _STEP.match(part)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path; write names with dots and indices in brackets, "
                "such as pm25.v or metrics[0].value"
            )
        found.append(match[1])
        found.extend(int(index) for index in _INDEX.findall(match[2]))
    return tuple(found)


def getter(path: str) -> Getter:
    """Return a function that finds ``path`` in a decoded payload, MISSING where it is not."""
    walk = steps(path)
    if len(walk) == 1:
        name = walk[0]

        def pick(record: object) -> object:
            return record.get(name, MISSING) if isinstance(record, Mapping) else MISSING

        return pick

    def find(record: object) -> object:
        for step in walk:
            if isinstance(step, int):
                if not isinstance(record, list) or not -len(record) <= step < len(record):
                    return MISSING
                record = record[step]
            elif isinstance(record, Mapping) and step in record:
                record = record[step]
            else:
                return MISSING
        return record

    return find


Fetch = Callable[[object, object], object]
Number = Callable[[object, object], float]
Text = Callable[[object, object], str]
Place = tuple[str | int, ...]

# No underscores, no nan and no inf, which float() would take.
_NUMBER: Final = re.compile(
    r"\A[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?\Z", re.ASCII
)
_WHOLE_MAX: Final = 1 << 53  # what numbers of JSON carry exactly


class Fetchers:
    """Makes fetchers that share a mapping's defaults and whether texts may stand for numbers."""

    def __init__(self, defaults: Mapping[str, Scalar], *, number_texts: bool) -> None:
        self._defaults: Final = defaults
        self._number_texts: Final = number_texts

    def fetch(self, path: str, place: Place) -> Fetch:
        """Return what finds ``path``, its default or MISSING."""
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
            if found is MISSING:
                raise Rejected("missing_field", f"{what} is missing at `{name}`", name)
            try:
                return to_number(f"{what} at `{name}`", found, texts=texts)
            except Rejected as error:
                raise error.at(name) from None

        return number

    def number_if_stated(self, path: float | str, place: Place) -> Number:
        """Return the same for what a record need not state: NaN then, also for an empty path."""
        if path == "":
            return lambda _root, _record: NAN
        number = self.number(path, place)
        if not isinstance(path, str):
            return number
        fetch = self.fetch(path, place)
        return lambda root, record: NAN if fetch(root, record) is MISSING else number(root, record)

    def whole(self, path: str, place: Place) -> Callable[[object, object], int]:
        """Return what finds a whole number that is not below 0."""
        fetch, number = self.fetch(path, place), self.number(path, place)
        name, what = shown(path), place[-1]

        def whole(root: object, record: object) -> int:
            found = fetch(root, record)
            if not isinstance(found, int) or isinstance(found, bool):
                found = number(root, record)
            if 0 <= found <= _WHOLE_MAX and found % 1 == 0:
                return int(found)
            what_is = f"{what} at `{name}` is {quoted(found)}"
            raise Rejected("bad_field", f"{what_is}; use 0, 1, 2, ...", name)

        return whole

    def text(self, path: str, place: Place) -> Text:
        """Return what finds a text; a whole number is one too."""
        fetch, name, what = self.fetch(path, place), shown(path), place[-1]

        def text(root: object, record: object) -> str:
            found = fetch(root, record)
            if found is MISSING:
                raise Rejected("missing_field", f"{what} is missing at `{name}`", name)
            try:
                return to_text(f"{what} at `{name}`", found)
            except Rejected as error:
                raise error.at(name) from None

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
    """Return a stated number as float, zero without a sign; raises Rejected."""
    if type(found) is float and math.isfinite(found):
        return found + 0.0
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
    return number + 0.0


def to_text(what: str, found: object) -> str:
    """Return a stated text or whole number as text; raises Rejected."""
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise Rejected("bad_field", f"{what} is a {type(found).__name__}, not a text")
    if isinstance(found, int) and abs(found) > 1 << 64:
        raise Rejected("bad_name", f"{what} is a number of too many digits")
    return str(found)


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
