"""A payload piece by piece: the content of a path, and the place of a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.paths import MISSING, below, path_of, shown, steps
from monitor.decode.records import Seen
from monitor.explain.explanation import Origin, Read, Shown, as_json, plain, shortened

_SIDE_CHARACTERS: Final = 400
_BYTES_SHOWN: Final = 64
_ALIKE: Final = 0.7  # of two names; tu is not t
_LEAVES_MAX: Final = 1000

Spans = tuple[int, int]


# -- what stands at a path ------------------------------------------------------------------------


class Spelled(NamedTuple):
    """The content of one path in one record."""

    path: str
    found: object
    origin: Origin

    @property
    def there(self) -> bool:
        """Whether the path leads to anything."""
        return self.found is not MISSING

    @property
    def says(self) -> bool:
        """Whether the path leads to anything other than a default for nothing."""
        return self.there and not (self.origin == "default" and self.found in ("", 0))

    def read(self, field: str, stored: str = "", note: str = "") -> Read:
        """Return the content in the form an explanation shows."""
        text = shortened(as_json(self.found)) if self.there else ""
        return Read(field, self.path, text, self.origin, stored, note)


def leaves(value: object, path: str) -> list[str]:
    """Return the paths of the numbers and texts in ``value``; a list counts as one."""
    leaves: list[str] = []
    waiting = [(path, value)]
    for _ in range(_LEAVES_MAX):
        if not waiting:
            break
        at, each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += [(below(at, str(name)), value) for name, value in each.items()][::-1]
        elif at:
            leaves.append(at)
    return leaves


# -- the place of a refusal -----------------------------------------------------------------------


class Around(NamedTuple):
    """The payload around the place of a refusal, and hints."""

    shown: Shown
    hint: str = ""


def around(error: Rejected, payload: bytes, row: Seen | None) -> Around:
    """Return the payload around a refusal's place; ``row`` is the record concerned."""
    if error.byte >= 0:
        return Around(_at_byte(payload, error.byte))
    if not _is_path(error.place):
        return Around(_whole(payload, row))
    if row is None or row.record is None:
        return Around(_in_text(payload, error.place))
    for base in (row.record, row.root):
        text = _text_of(base, payload, row.root)
        if error.place in ("$", "@"):
            return Around(_cut(text, (0, 0)))
        span = _span(text, error.place)
        if span is not None:
            return Around(_cut(text, span))
    return _missing(error.place, payload, row)


def _in_text(payload: bytes, place: str) -> Shown:
    """Return a payload that was not parsed, with a path marked if it is JSON."""
    text = payload.decode("utf-8", "backslashreplace")
    span = None if place in ("$", "@") else _span(text, place)
    return _whole(payload, None) if span is None else _cut(text, span)


def _is_path(place: str) -> bool:
    """Return whether a place is in the payload; text from a payload may look like a path."""
    if place in ("$", "@"):
        return True
    try:
        return place.startswith(("$.", "$[")) and bool(steps(place))
    except ValueError:
        return False


def _missing(place: str, payload: bytes, row: Seen) -> Around:
    """Return the nearest part that exists, and the names in it."""
    text = _text_of(row.record, payload, row.root)
    walk = list(steps(place))
    missed: str | int = ""
    while walk:
        missed = walk.pop()
        span = _span_of_steps(text, tuple(walk))
        if span is not None:
            marked = span if walk else (0, 0)
            return Around(_cut(text, marked), _names_hint(_found(row.record, walk), walk, missed))
    return Around(_cut(text, (0, 0)))


def _found(record: object, walk: list[str | int]) -> object:
    try:
        for step in walk:
            record = record[step]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return None  # the map has odd keys, which JSON writes as texts
    return record


def _names_hint(parent: object, walk: list[str | int], missed: str | int) -> str:
    if not isinstance(parent, Mapping) or not parent:
        return ""
    names = [str(name) for name in parent]
    lowered = {name.lower(): name for name in names}
    close = get_close_matches(str(missed).lower(), lowered, n=1, cutoff=_ALIKE)
    at = shown(path_of(walk)) if walk else "$"
    there = ", ".join(f"`{plain(name)}`" for name in names[:12]) + (", ..." * (len(names) > 12))
    if close:
        return f"did you mean `{plain(below(at, lowered[close[0]]))}`? There are {there}"
    return f"at `{at}` there are {there}"


def _text_of(base: object, payload: bytes, root: object) -> str:
    """Return the payload as sent if it is JSON, else its content as JSON."""
    if base is root:
        try:
            if json.loads(payload) == base:
                return payload.decode()
        except (ValueError, RecursionError):
            pass
    return as_json(base)


def _span(text: str, path: str) -> Spans | None:
    return _span_of_steps(text, steps(path))


def _span_of_steps(text: str, walk: tuple[str | int, ...]) -> Spans | None:
    """Return where in a JSON text a path begins and ends, None if it does not exist."""
    decoder = json.JSONDecoder()
    try:
        start = _skip(text, 0)
        for step in walk:
            if text[start] != ("[" if isinstance(step, int) else "{"):
                return None
            entry = _entry(decoder, text, start, step)
            if entry is None:
                return None
            start = entry
        return start, decoder.raw_decode(text, start)[1]
    except (ValueError, IndexError, RecursionError):
        return None


def _entry(decoder: json.JSONDecoder, text: str, start: int, step: str | int) -> int | None:
    """Return where an entry of an array or object begins; of equal names the last one."""
    at, place = _skip(text, start + 1), None
    begins: list[int] = []
    while text[at] not in "]}":
        if isinstance(step, str):
            name, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
            place = at if name == step else place
        begins.append(at)
        at = _skip(text, decoder.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
    if isinstance(step, int):
        return begins[step] if -len(begins) <= step < len(begins) else None
    return place


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _cut(text: str, span: Spans | None) -> Shown:
    """Return a text around a place; None means its end."""
    start, end = (len(text), len(text)) if span is None else span
    before, at, after = text[:start], text[start:end], text[end:]
    if len(before) > _SIDE_CHARACTERS:
        before = "..." + before[-_SIDE_CHARACTERS:]
    if len(at) > _SIDE_CHARACTERS:
        at = at[:_SIDE_CHARACTERS] + "..."
    if len(after) > _SIDE_CHARACTERS:
        after = after[:_SIDE_CHARACTERS] + "..."
    return Shown(plain(before), plain(at), plain(after))


def _at_byte(payload: bytes, byte: int) -> Shown:
    before, at = payload[:byte], payload[byte:]
    text = [part.decode("utf-8", "backslashreplace") for part in (before, at[:1], at[1:])]
    whole = "".join(text)
    return _cut(whole, (len(text[0]), len(text[0]) + len(text[1])))


def _whole(payload: bytes, row: Seen | None) -> Shown:
    """Return the start of a payload, as text, as its content or as hex."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        if row is not None and row.record is not None:
            return _cut(as_json(row.record), (0, 0))
        more = " ..." if len(payload) > _BYTES_SHOWN else ""
        return Shown("", "", f"hex:{payload[:_BYTES_SHOWN].hex(' ')}{more}")
    return _cut(text, (0, 0))
