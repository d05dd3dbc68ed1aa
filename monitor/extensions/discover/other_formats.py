"""Messages that the proposal may not read, and what to write: SenML, CSV, named values, events.

Rules of this file: pure functions of the messages; each sentence names the topics, what they carry
and the settings that read it, to be completed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from monitor.extensions.discover.heard import Heard, first_of
from monitor.extensions.discover.payload_fields import assumed_u
from monitor.extensions.discover.vocabulary import UNKNOWN, VALUES, is_one_of, quantity_in

_LISTED: Final = 4
# The labels of RFC 8428, section 4.
_SENML: Final = frozenset(
    ("bn", "bt", "bu", "bv", "bs", "bver", "n", "u", "v", "vs", "vb", "vd", "s", "t", "ut")
)
_SEPARATORS: Final = ";\t,"  # the comma is last: it may be a decimal comma
_NUMBER: Final = re.compile(r"\s*[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?\s*")
_EVENT_LEVELS: Final = frozenset(
    ("event", "adjustment", "adjusted", "calibration", "service", "maintenance")
)
_EVENT_FIELDS: Final = ("event", "what", "action", "type")
_TIMES: Final = ("time", "at", "ts", "timestamp", "t")


class Carried(NamedTuple):
    """The content of a topic: the format in words, and the lines of a source that reads it."""

    what: str
    lines: str


def hints(heard: Sequence[Heard]) -> Iterator[str]:
    """Yield what to write for topics that no source reads, one sentence per way."""
    topics: dict[Carried, set[str]] = {}
    for each in heard:
        for content in (_event(each), *(of(each.payload) for of in _FORMATS)):
            if content is not None:
                topics.setdefault(content, set()).add(each.topic)
                break
    for carried, named in topics.items():
        yield (
            f"not read: {first_of(named, _LISTED)} {carried.what}. Add a source above the others: "
            f"{carried.lines}"
        )


def is_of_other_format(heard: Heard) -> bool:
    """Return whether :func:`hints` covers a message."""
    return _event(heard) is not None or any(of(heard.payload) is not None for of in _FORMATS)


def _event(heard: Heard) -> Carried | None:
    """Recognise an event of a sensor by the topic's last level and a word in the payload."""
    if heard.topic.rpartition("/")[2].lower() not in _EVENT_LEVELS:
        return None
    content = _json(heard.payload)
    if not isinstance(content, dict):
        return None
    field = next((name for name in _EVENT_FIELDS if isinstance(content.get(name), str)), None)
    time = next((name for name in _TIMES if name in content), None)
    if field is None or time is None:
        return None
    if (field, time) == ("event", "time"):
        lines = "{topic: ..., kind: event}, {sensor} for the level that names it"
    else:
        lines = f"{{topic: ..., kind: event, decoder: json, map: {{time: {time}, event: {field}}}}}"
    return Carried("looks like events, such as an adjustment", lines)


def is_senml(payload: bytes) -> bool:
    """Return whether a payload is a pack of SenML in JSON with a number."""
    return bool(_senml_names(payload))


def _senml_names(payload: bytes) -> list[str]:
    """Return the names of the numbers in a pack of SenML, none if it is no pack."""
    entries = _json(payload) if payload.lstrip()[:1] == b"[" else None
    if not isinstance(entries, list) or not entries:
        return []
    records = [each for each in entries if isinstance(each, dict) and each.keys() <= _SENML]
    if len(records) < len(entries) or not any(each.keys() & {"n", "bn"} for each in records):
        return []
    return sorted({_local(each) for each in records if "v" in each} - {""})


def _senml(payload: bytes) -> Carried | None:
    names = _senml_names(payload)
    if not names:
        return None
    lines = (
        f"{{topic: ..., kind: reading, decoder: senml, map: {{select: {{local: [{names[0]}]}}, "
        f"series: [{{quantity: {names[0]}, value: value, unit_path: unit}}]}}}} "
        "(docs/formats.md#senml)"
    )
    return Carried(f"carries SenML with {first_of(names, _LISTED)}", lines)


def _local(record: dict[str, object]) -> str:
    """Return the last part of a record's name, the quantity."""
    return re.split(r"[:/.]", str(record.get("n", "")))[-1]


def _named_values(payload: bytes) -> Carried | None:
    """Recognise a list whose entries are a name and a value each."""
    content = _json(payload)
    for path, entries in content.items() if isinstance(content, dict) else ():
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            continue
        texts, values = _columns(entries)
        names = [each for each in entries if quantity_in(str(each.get(texts)))]
        if not values or not names:
            continue
        name = str(names[0][texts])
        known, _ = quantity_in(name) or (UNKNOWN, "")
        assumed = assumed_u(known, [each[values] for each in names])
        number_texts = "number_texts: true, " * isinstance(names[0][values], str)
        lines = (
            f"{{topic: ..., kind: reading, decoder: json, map: {{time: arrival, each: {path}, "
            f"select: {{{texts}: [{name}]}}, {number_texts}series: [{{quantity: {known.name}, "
            f'value: {values}, assumed: "{assumed}"}}]}}}} (docs/formats.md#json)'
        )
        return Carried(f"carries a list of named values, {path}", lines)
    return None


def _columns(entries: Sequence[dict[str, object]]) -> tuple[str, str]:
    """Return the keys of names and of values in all entries, "" where nothing fits."""
    common = [name for name in (entries[0] if entries else {}) if all(name in x for x in entries)]
    values = [name for name in common if is_one_of(name, VALUES)]
    texts = [
        name
        for name in common
        if name not in values and all(isinstance(each[name], str) for each in entries)
    ]
    return (texts[0], values[0]) if texts and values else ("", "")


def _csv(payload: bytes) -> Carried | None:
    try:
        line = payload.decode("utf-8").strip().splitlines()[0]
    except (UnicodeDecodeError, IndexError):
        return None
    if line[:1] in "{[<\"'":
        return None
    separator = next((each for each in _SEPARATORS if each in line), ",")
    cells = line.split(separator)
    numbers = [place for place, cell in enumerate(cells) if _NUMBER.fullmatch(cell)]
    if len(cells) < 2 or not numbers:
        return None
    columns = ", ".join("value" if place == numbers[-1] else '""' for place in range(len(cells)))
    delimiter = {",": "", ";": 'delimiter: ";", ', "\t": 'delimiter: "\\t", '}[separator]
    lines = (
        f"{{topic: ..., kind: reading, decoder: csv, map: {{{delimiter}columns: [{columns}], "
        "series: [{value: value}]}}, each column named in its place (docs/formats.md#csv)"
    )
    return Carried(f"carries CSV, lines of {len(cells)} cells", lines)


def _json(payload: bytes) -> object:
    try:
        return msgspec.json.decode(payload)
    except (ValueError, RecursionError):
        return None


_FORMATS: Final[Sequence[Callable[[bytes], Carried | None]]] = (_senml, _named_values, _csv)
