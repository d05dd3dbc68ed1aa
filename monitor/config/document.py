"""A settings file as a tree that knows the place of each key and value; the only user of YAML.

Rules of this file: YAML 1.2 numbers; no anchors, aliases, tags or second documents; nothing
recurses, so deep nesting costs an error message and not the stack; any bytes give either values
or flaws, never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import yaml

from monitor.config.mistakes import Mistake, path_text
from monitor.core.setting import KeyPath

BYTES_MAX: Final = 1024 * 1024
DEPTH_MAX: Final = 16
_SCALAR_CHARACTERS_MAX: Final = 4096
_INTEGER_CHARACTERS_MAX: Final = 20
_UNPRINTABLE: Final = re.compile(
    r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_ENDS: Final = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class _Mark(Protocol):
    """Position of the parser, from 0; the C and the Python parser have a type each."""

    line: int
    column: int


Value = str | int | float | bool | None | dict[str, "Value"] | list["Value"]


# YAML 1.2's core schema (10.3.2): plain scalars that are no texts, and what makes their values.
_CORE: Final[dict[str, Callable[[str], Value]]] = {
    r"[-+]?[0-9]+": int,
    r"0o[0-7]+|0x[0-9a-fA-F]+": lambda text: int(text, 0),
    r"(~|null|Null|NULL)?": lambda _: None,
    r"true|True|TRUE|false|False|FALSE": lambda text: text[0] in "tT",
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?": float,
    r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)": lambda text: float(text.replace(".", "")),
}


class Place(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int


class Flaw(NamedTuple):
    """An error in the file's syntax or encoding."""

    place: Place
    path: KeyPath
    what: str


@dataclass
class Document:
    """The values of a file, their places, and what is wrong with it as YAML.

    ``missing`` are the paths of values that could not be read and were reported; they need no
    further error.
    """

    values: Value = None
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    places: dict[KeyPath, Place] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)
    missing: set[KeyPath] = field(default_factory=set)
    complete: bool = True

    def place(self, path: KeyPath, *, of_key: bool = False) -> Place:
        """Return the place of the value at ``path``, or of its key; failing that, of its parent."""
        if of_key and path in self.keys:
            return self.keys[path]
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def read_document(raw: bytes) -> Document:
    """Return the values in ``raw``; what is wrong with it is in ``flaws``."""
    document = Document()
    text = _decoded(raw, document)
    if text is None:
        document.complete = False
        return document
    try:
        _Builder(document).build(yaml.parse(text, Loader=yaml.CBaseLoader))
    except yaml.MarkedYAMLError as error:
        document.complete = False
        document.flaws.append(_syntax_flaw(error))
    return document


_TABS: Final = "indent with spaces, not with tabs"
_HINTS: Final = {
    "violates indentation": _TABS,
    "cannot start any token": f"{_TABS}; a text that begins with @, % or ` needs quotes",
    "did not find expected key": "check how far this line is indented; a text that begins with "
    '{ or [ needs quotes: "{sensor}/reading"',
    "mapping values are not allowed": "a colon is missing in the line above, or this line is "
    "indented too far; a text with a colon and a space in it needs quotes",
    "did not find expected ','": "a comma or a closing bracket is missing",
    "unexpected end of stream": "a closing quote is missing",
    "exceeded maximum nesting depth": f"it is nested deeper than {DEPTH_MAX} levels",
}


def _syntax_flaw(error: yaml.MarkedYAMLError) -> Flaw:
    reason = f"not YAML: {error.problem or 'cannot be read'}"
    if error.context:
        reason += f" {error.context}"
    if error.context_mark is not None:
        begin = _place(error.context_mark)
        reason += f" that begins at {begin.line}:{begin.column}"
    hints = (hint for problem, hint in _HINTS.items() if problem in (error.problem or ""))
    reason = "; ".join((reason, *hints))
    return Flaw(_place(error.problem_mark or error.context_mark), (), reason)


def _decoded(raw: bytes, document: Document) -> str | None:
    if len(raw) > BYTES_MAX:
        document.flaws.append(Flaw(Place(1, 1), (), f"is larger than {BYTES_MAX} bytes"))
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", errors="replace")
        reason = f"is not UTF-8: byte 0x{raw[error.start]:02x}; save the file as UTF-8"
        document.flaws.append(Flaw(_place_after(before), (), reason))
        return None
    odd = _UNPRINTABLE.search(text)
    if odd:
        reason = f"contains the control character U+{ord(odd[0]):04X}; remove it"
        document.flaws.append(Flaw(_place_after(text[: odd.start()]), (), reason))
        return None
    return text


def _place_after(text: str) -> Place:
    lines = text.split("\n")
    return Place(len(lines), len(lines[-1]) + 1)


def _place(mark: _Mark | None) -> Place:
    return Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)


class _Unusable:
    """Marks a key whose value is read and discarded."""


_UNUSABLE: Final = _Unusable()


@dataclass
class _Open:
    """A mapping or sequence that is being read; ``key`` is the one whose value comes next."""

    path: KeyPath
    into: dict[str, Value] | list[Value]
    key: str | _Unusable | None = None


class _Builder:
    """Builds a document from the events of a YAML parser, with a stack of its own."""

    def __init__(self, document: Document) -> None:
        self._document: Final = document
        self._stack: list[_Open] = []
        self._skipped = 0
        self._documents = 0

    def build(self, events: Iterable[yaml.Event]) -> None:
        """Consume ``events`` until they end or cannot be used."""
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    self._flaw(event, (), "a second document begins here; one file, one document")
                    return
            elif self._skipped:
                self._skip(event)
            elif isinstance(event, _ENDS):
                self._stack.pop()
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)
            if len(self._stack) + self._skipped > DEPTH_MAX:
                self._flaw(event, (), f"is nested deeper than {DEPTH_MAX} levels")
                self._document.complete = False
                return

    def _flaw(self, event: yaml.Event, path: KeyPath, reason: str) -> None:
        self._document.flaws.append(Flaw(_place(event.start_mark), path, reason))

    def _skip(self, event: yaml.Event) -> None:
        """Skip the contents of a collection that is not used."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._skipped += 1
        elif isinstance(event, _ENDS):
            self._skipped -= 1

    def _node(self, event: yaml.NodeEvent) -> None:
        parent = self._stack[-1] if self._stack else None
        if parent is None:
            self._value(event, ())
        elif isinstance(parent.into, list):
            self._value(event, (*parent.path, len(parent.into)))
        elif parent.key is None:
            parent.key = self._key(event, parent)
        elif isinstance(parent.key, str):
            self._value(event, (*parent.path, parent.key))
            parent.key = None
        else:
            self._skipped = int(isinstance(event, yaml.CollectionStartEvent))
            parent.key = None

    def _key(self, event: yaml.NodeEvent, parent: _Open) -> str | _Unusable:
        """Return a key, or _UNUSABLE after recording the flaw."""
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
            self._flaw(event, parent.path, "a key must be plain text, without anchor, alias or tag")
            self._skipped = int(isinstance(event, yaml.CollectionStartEvent))
            return _UNUSABLE
        path = (*parent.path, event.value)
        first = self._document.keys.get(path)
        if first is not None:
            self._flaw(event, path, f"is a duplicate key; first at {first.line}:{first.column}")
            return _UNUSABLE
        self._document.keys[path] = _place(event.start_mark)
        return str(event.value)

    def _value(self, event: yaml.NodeEvent, path: KeyPath) -> None:
        self._document.places[path] = _place(event.start_mark)
        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self._flaw(event, path, "anchors (&) are not used here; write the value out")
        if isinstance(event, yaml.ScalarEvent):
            self._put(path, self._scalar(event, path))
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag:
                self._flaw(event, path, "tags (!) are not used here; remove it")
            into: dict[str, Value] | list[Value]
            into = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._put(path, into)
            self._stack.append(_Open(path, into))
        else:
            self._flaw(event, path, "aliases (*) are not used here; write the value out")
            self._document.missing.add(path)
            self._put(path, None)

    def _scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> Value:
        """Return the value of a scalar in YAML 1.2, or None after recording the flaw."""
        if event.tag:
            reason = "tags (!) are not used here; remove it, and put quotes around text"
        elif len(event.value) > _SCALAR_CHARACTERS_MAX:
            reason = f"is longer than {_SCALAR_CHARACTERS_MAX} characters"
        else:
            kinds = _CORE.items() if event.implicit[0] else ()
            makes = (make for pattern, make in kinds if re.fullmatch(pattern, event.value))
            value = next(makes, str)(event.value)
            if not isinstance(value, int) or len(event.value) <= _INTEGER_CHARACTERS_MAX:
                return value
            reason = "has too many digits"
        self._flaw(event, path, reason)
        self._document.missing.add(path)
        return None

    def _put(self, path: KeyPath, value: Value) -> None:
        """Store a value; a missing one keeps its position in a list."""
        if not self._stack:
            self._document.values = value
            return
        into = self._stack[-1].into
        if isinstance(into, list):
            into.append(value)
        elif path not in self._document.missing:
            into[str(path[-1])] = value


def placed_mistake(file: str | PathLike[str], path: KeyPath, reason: str) -> Mistake:
    """Return a mistake at its place in ``file``, which is read again to find it."""
    raw = b""
    if file and Path(file).is_file():
        with Path(file).open("rb") as stream:
            raw = stream.read(BYTES_MAX)
    place = read_document(raw).place(path)
    return Mistake(str(file) or "settings", place.line, place.column, path_text(path), reason)
