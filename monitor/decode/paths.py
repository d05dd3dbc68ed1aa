"""Dotted paths into decoded payloads, and what they lead to: a number, a text, or a refusal.

Rules of this file: a path is ``pm25.v``, ``metrics[0].value``, ``PMS5003["PM2.5"]`` or ``$.eid``.
A fetcher is made once per mapping and receives the whole payload and the current record: ``$`` is
the payload, ``$.name`` starts there, ``@`` is the record. Null means not stated. Every refusal
names its path. :func:`to_number` is the only reader of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from typing import Final

from monitor.core.model import NAN
from monitor.decode.checks import Rejected, not_finite
from monitor.decode.spec import MapError, Scalar
from monitor.decode.units import is_understood

_STEP: Final = re.compile(
    r"""
    (?:\A|(?<!\A)\.) (?P<name>[^.\[\]]+)
    | \[ (?P<index>-?\d+) \]
    | \[ (?P<quote>["']) (?P<quoted>.*?) (?P=quote) \]
    """,
    re.DOTALL | re.VERBOSE,
)
_NEED_QUOTES: Final = frozenset(".[]")
_OF_PAYLOAD: Final = ("$.", "$[")  # how a path from the payload's root begins

Getter = Callable[[object], object]
Step = str | int


class Missing:
    """The content at a path that leads to nothing."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()


@lru_cache(maxsize=4096)
def steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; raises ValueError with a sentence."""
    walk: list[Step] = []
    text = path[1:].removeprefix(".") if path.startswith(_OF_PAYLOAD) else path
    at = 0
    while at < len(text) or not walk:
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path; write names with dots, indices and quoted names in "
                'brackets, such as pm25.v, metrics[0].value or PMS5003["PM2.5"]'
            )
        name = match["name"] or match["quoted"]
        walk.append(int(match["index"]) if match["index"] else name)
        at = match.end()
    return tuple(walk)


def below(path: str, step: Step) -> str:
    """Return the path of what is one step below another path, which may be empty."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if step and not _NEED_QUOTES & set(step):
        return f"{path}.{step}" if path else step
    quote = "'" if '"' in step else '"'
    return f"{path}[{quote}{step}{quote}]"


def path_of(walk: Iterable[Step]) -> str:
    """Return the path with these steps, the reverse of :func:`steps`."""
    return reduce(below, walk, "")


def getter(path: str) -> Getter:
    """Return a function that finds ``path`` in a decoded payload, or returns MISSING."""
    walk = steps(path)
    name = walk[0]
    if len(walk) == 1 and isinstance(name, str):

        def pick(record: object) -> object:
            return record.get(name, MISSING) if type(record) is dict else _below(record, name)

        return pick

    def find(record: object) -> object:
        for step in walk:
            record = _below(record, step)
        return record

    return find


def _below(record: object, step: Step) -> object:
    if isinstance(record, str):
        record = in_text(record)
    if isinstance(step, int):
        is_there = isinstance(record, list) and -len(record) <= step < len(record)
        return record[step] if is_there else MISSING  # type: ignore[index]
    return record.get(step, MISSING) if isinstance(record, Mapping) else MISSING


def in_text(value: object) -> object:
    """Return what a text is as JSON if that is an object or an array, else the value itself."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    return _of_json(value)


@lru_cache(maxsize=16)  # one for each path would parse it as often
def _of_json(text: str) -> object:
    from monitor.decode.formats import mapped_json  # noqa: PLC0415 - it names places by paths

    try:
        return mapped_json.parse(text.encode(errors="replace"))
    except Rejected:
        return text


Fetch = Callable[[object, object], object]
Number = Callable[[object, object], float]
Text = Callable[[object, object], str]
Place = tuple[str | int, ...]

# What devices, platforms and spreadsheets write in place of a value, in any case of letters.
NO_VALUE: Final = frozenset(
    """
    - -- --- \N{EN DASH} \N{EM DASH} nan -nan nat na n/a n.a. #n/a #nv null none unavailable unknown
    """.split()  # noqa: SIM905 - a page of words
)
# No underscores, no nan and no inf, which float() would take.
_NUMBER: Final = re.compile(
    r"\A[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?\Z", re.ASCII
)
# 21,5 is 21.5 and 1,234 is 1.234 (docs/formats.md); 1,234.5 and 1,234,567 are refused: their commas
# stand between thousands.
_DECIMAL_COMMA: Final = re.compile(r"\A([+-]?\d*),(\d+(?:[eE][+-]?\d{1,4})?)\Z", re.ASCII)
_NUMBER_AND_UNIT: Final = re.compile(
    r"\A(?P<number>[+-]?\s*(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d{1,4})?)"
    r"\s*(?P<unit>[^\W\d_]\S*|[%°‰]\S*|deg \S+)\Z",
    re.DOTALL,
)
_NO_NUMBERS: Final = (
    (re.compile(r"[+-]?\d[\d.,'\s]*"), "; send it without what separates its thousands"),
    (
        re.compile(r"[<>≤≥].*", re.DOTALL),
        ": it says that the value is beyond a limit, not what it is",
    ),
)
# What of a series is no value: a width, which an offset leaves, and what has no unit.
_WIDTHS: Final = frozenset(("u", "U", "plus_minus"))
_WITHOUT_UNIT: Final = frozenset(("k", "p", "percent"))
_WHOLE_MAX: Final = 1 << 53  # JSON numbers are exact up to here


class Fetchers:
    """Makes fetchers that share a mapping's defaults and whether texts may be numbers."""

    def __init__(
        self,
        defaults: Mapping[str, Scalar],
        *,
        number_texts: bool,
        scale: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        self._defaults: Final = defaults
        self.number_texts: Final = number_texts
        self.scale: Final = scale
        self.offset: Final = offset

    def scaled(self, scale: float, offset: float) -> Fetchers:
        """Return fetchers of a quantity whose numbers are sent as (number - offset) / scale."""
        texts = self.number_texts
        return Fetchers(self._defaults, number_texts=texts, scale=scale, offset=offset)

    def raw(self, path: str, place: Place) -> Fetch:
        """Return the function that finds ``path``, also where it is null, or MISSING."""
        return _find(path, place)

    def fetch(self, path: str, place: Place) -> Fetch:
        """Return the function that finds ``path``, its default or MISSING."""
        find = _find(path, place)
        default: object = self._defaults.get(path, MISSING)

        def fetch(root: object, record: object) -> object:
            value = find(root, record)
            return default if value is MISSING or value is None else value

        return fetch

    def number(self, path: float | str, place: Place) -> Number:
        """Return the function that finds a number; a constant is found everywhere."""
        if not isinstance(path, str):
            constant = float(path)
            return lambda _root, _record: constant
        number, field = self._sent(path, place), place[-1]
        if (self.scale, self.offset) == (1.0, 0.0) or field in _WITHOUT_UNIT:
            return number
        scale, offset = self.scale, 0.0 if field in _WIDTHS else self.offset
        return lambda root, record: scale * number(root, record) + offset

    def _sent(self, path: str, place: Place) -> Number:
        fetch, texts, name = self.fetch(path, place), self.number_texts, shown(path)
        field, raw = place[-1], self.raw(path, place)

        def number(root: object, record: object) -> float:
            value = fetch(root, record)
            if value is MISSING:
                if field == "value" and raw(root, record) is None:
                    raise Rejected("no_reading", f"value at `{name}` is null", name)
                raise Rejected("missing_field", f"{field} is missing at `{name}`", name)
            if field == "value" and isinstance(value, str) and not is_plain_number(value):
                if says_no_value(value):
                    raise Rejected("no_reading", f"value at `{name}` is {value[:60]!r}", name)
                value = number_and_unit(value)[0] if texts else value
            try:
                return to_number(f"{field} at `{name}`", value, texts=texts)
            except Rejected as error:
                if field == "value" and isinstance(value, float) and math.isnan(value):
                    raise Rejected("no_reading", f"value at `{name}` is nan", name) from None
                raise error.at(name) from None

        return number

    def number_if_stated(self, path: float | str, place: Place) -> Number:
        """Return the same for an optional number: NaN if not stated, also for an empty path."""
        if path == "":
            return lambda _root, _record: NAN
        number = self.number(path, place)
        if not isinstance(path, str):
            return number
        fetch, raw, is_value = self.fetch(path, place), self.raw(path, place), place[-1] == "value"

        def stated(root: object, record: object) -> float:
            if fetch(root, record) is MISSING and not (is_value and raw(root, record) is None):
                return NAN
            return number(root, record)

        return stated

    def whole(self, path: str, place: Place) -> Callable[[object, object], int]:
        """Return the function that finds a whole number of at least 0."""
        fetch, number = self.fetch(path, place), self.number(path, place)
        name, field = shown(path), place[-1]

        def whole(root: object, record: object) -> int:
            value = fetch(root, record)
            if not isinstance(value, int) or isinstance(value, bool):
                value = number(root, record)
            if 0 <= value <= _WHOLE_MAX and value % 1 == 0:
                return int(value)
            what_is = f"{field} at `{name}` is {quoted(value)}"
            raise Rejected("bad_field", f"{what_is}; use 0, 1, 2, ...", name)

        return whole

    def text(self, path: str, place: Place) -> Text:
        """Return the function that finds a text; a whole number is accepted too."""
        fetch, name, field = self.fetch(path, place), shown(path), place[-1]

        def text(root: object, record: object) -> str:
            value = fetch(root, record)
            if value is MISSING:
                raise Rejected("missing_field", f"{field} is missing at `{name}`", name)
            try:
                return to_text(f"{field} at `{name}`", value)
            except Rejected as error:
                raise error.at(name) from None

        return text


def shown(path: str) -> str:
    """Return ``path`` as refusals show it, relative to the record."""
    if path.startswith("["):
        return f"${path}"
    return path if path.startswith(("$", "@")) else f"$.{path}"


def quoted(value: object) -> str:
    """Return a scalar as refusals show it, for anything else its type."""
    if isinstance(value, str):
        return repr(value[:60])
    plain = value is None or isinstance(value, bool | float)
    if plain or (isinstance(value, int) and abs(value) < 1 << 64):
        return repr(value)
    return type_of(value)


_TYPES: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    dict: "an object",
    list: "an array",
    tuple: "an array",
    type(None): "null",
}


def type_of(value: object) -> str:
    """Return the type of a value in the words of JSON, with its article."""
    return _TYPES.get(type(value), f"a {type(value).__name__}")


def to_number(label: str, value: object, *, texts: bool) -> float:
    """Return a stated number as float, zero without its sign; raises Rejected."""
    if type(value) is float and math.isfinite(value):
        return value + 0.0
    if isinstance(value, str) and texts:
        plain = value.strip()
        if not is_plain_number(plain):
            plain = _DECIMAL_COMMA.sub(r"\1.\2", plain)
        if not is_plain_number(plain):
            hint = next(
                (words for pattern, words in _NO_NUMBERS if pattern.fullmatch(value.strip())), ""
            )
            raise Rejected("bad_field", f"{label} is {value[:60]!r}, which is not a number{hint}")
        value = float(plain)
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = _text_hint(label, value) if isinstance(value, str) else ""
        raise Rejected("bad_field", f"{label} is {type_of(value)}, not a number{hint}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise not_finite(label, number)
    return number + 0.0


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number, written with a point if it has a fraction."""
    return _NUMBER.match(text) is not None


def number_and_unit(text: str) -> tuple[str, str]:
    """Return the number and the unit in a text such as 12.34 kg; all of it and "" for any other."""
    match = None if is_plain_number(text) else _NUMBER_AND_UNIT.match(text.strip())
    if match is None or is_decimal_comma(text) or not is_understood(match["unit"]):
        return text, ""
    return "".join(match["number"].split()), match["unit"]


def says_no_value(text: str) -> bool:
    """Return whether a text says that there is no value, also by being empty."""
    plain = text.strip()
    return not plain or plain.lower() in NO_VALUE


def is_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _DECIMAL_COMMA.match(text.strip()) is not None


def _text_hint(label: str, text: str) -> str:
    """Return what to do about a text in place of a number."""
    number, unit = number_and_unit(text)
    plain = _DECIMAL_COMMA.sub(r"\1.\2", number.strip())
    if _NUMBER.match(plain) is None:
        return ""
    field = label.partition(" ")[0]
    if unit == "%" and field in ("u", "U"):
        k = "k: 1" if field == "u" else "its k"
        return (
            f"; send {plain} without quotes and %, and map it as percent with {k} in place of "
            f"{field} (decoder json)"
        )
    return (
        f"; send {plain} without quotes, or read it with decoder json and number_texts: true in "
        "its map"
    )


def to_text(label: str, value: object) -> str:
    """Return a stated text or whole number as text; raises Rejected."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Rejected("bad_field", f"{label} is {type_of(value)}, not a text or a whole number")
    if isinstance(value, int) and abs(value) > 1 << 64:
        raise Rejected("bad_name", f"{label} is a number of too many digits")
    return str(value)


def _find(path: str, place: Place) -> Fetch:
    if path == "$":
        return lambda root, _record: root
    if path == "@":
        return lambda _root, record: record
    try:
        get = getter(path)
    except ValueError as error:
        raise MapError(place, str(error)) from error
    if path.startswith(_OF_PAYLOAD):
        return lambda root, _record: get(root)
    return lambda _root, record: get(record)
