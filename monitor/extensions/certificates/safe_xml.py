"""Untrusted XML as a tree of elements: nothing is expanded, nothing is fetched.

Rules of this file: a document type declaration is refused before it is read, so that there are no
entities except XML's own five: no "billion laughs", no file of this machine. Size, depth and the
number of elements have limits. Every element knows its line, so that a mistake has a place.
"""

from __future__ import annotations

import pyexpat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

BYTES_MAX: Final = 8 * 1024 * 1024
DEPTH_MAX: Final = 64
ELEMENTS_MAX: Final = 200_000
_SEPARATOR: Final = " "  # in no namespace and in no name


class XmlError(ValueError):
    """Bytes are not XML that is read; ``line`` is 0 if the whole document is meant."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line: Final = line


@dataclass(slots=True)
class XmlElement:
    """An element: its namespace and name, attributes without a namespace, children, and line."""

    namespace: str
    name: str
    attributes: Mapping[str, str]
    line: int
    children: list[XmlElement] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The element's own text, without white space around it."""
        return "".join(self.pieces).strip()

    def named(self, *path: str) -> Iterator[XmlElement]:
        """Yield, in the document's order, the elements at a path of names below this one."""
        if not path:
            yield self
            return
        for child in self.children:
            if child.name == path[0]:
                yield from child.named(*path[1:])

    def first(self, *path: str) -> XmlElement | None:
        """Return the first element at a path of names below this one, None if there is none."""
        return next(self.named(*path), None)

    def text_of(self, *path: str) -> str:
        """Return the text of the first element at a path, empty if there is none."""
        element = self.first(*path)
        return "" if element is None else element.text


def read_xml(data: bytes) -> XmlElement:
    """Return the root of a document; raises XmlError, and nothing else for any bytes."""
    if len(data) > BYTES_MAX:
        raise XmlError(0, f"has more than {BYTES_MAX // 2**20} MiB")
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)  # noqa: FBT003 - expat's own
    except pyexpat.ExpatError as error:
        reason = f"is not XML: {pyexpat.ErrorString(error.code)}"
        raise XmlError(error.lineno, reason) from error
    except (ValueError, LookupError) as error:
        if isinstance(error, XmlError):
            raise
        raise XmlError(1, f"is in an encoding that is not read ({error}); use UTF-8") from error
    return reader.root


class _Reader:
    """State: the elements that are open while a document is read."""

    def __init__(self) -> None:
        self.parser: Final = pyexpat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self._above: Final[list[XmlElement]] = []
        self._count = 0
        self.root = XmlElement("", "", {}, 0)

    def _refuse(self, *_: object) -> None:
        raise XmlError(
            self.parser.CurrentLineNumber,
            "has a document type declaration (DOCTYPE), which no calibration certificate needs; "
            "entities and other files are never read",
        )

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        line = self.parser.CurrentLineNumber
        if self._count > ELEMENTS_MAX or len(self._above) >= DEPTH_MAX:
            raise XmlError(
                line, f"has more than {ELEMENTS_MAX} elements, or {DEPTH_MAX} in another"
            )
        namespace, _, local = name.rpartition(_SEPARATOR)
        plain = {key: value for key, value in attributes.items() if _SEPARATOR not in key}
        made = XmlElement(namespace, local, plain, line)
        if self._above:
            self._above[-1].children.append(made)
        else:
            self.root = made
        self._above.append(made)

    def _end(self, _name: str) -> None:
        self._above.pop()

    def _text(self, text: str) -> None:
        if self._above:
            self._above[-1].pieces.append(text)
