"""Canonical XML: the one form of a document, or of a part of it, that a signature covers.

Rules of this file: Canonical XML 1.0 and 1.1 (W3C, 2001, 2008) and Exclusive XML Canonicalization
1.0 (2002), without comments. Names keep their prefixes here, because those are part of the form.
Only documents that :mod:`.safe_xml` has read come here, so there is no document type.
"""

from __future__ import annotations

import pyexpat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

_IN_TEXT: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"}
_IN_ATTRIBUTE: Final = {
    "&": "&amp;",
    "<": "&lt;",
    '"': "&quot;",
    "\t": "&#x9;",
    "\n": "&#xA;",
    "\r": "&#xD;",
}
_TEXT: Final = str.maketrans(_IN_TEXT)
_ATTRIBUTE: Final = str.maketrans(_IN_ATTRIBUTE)
_XML: Final = "xml"


@dataclass(slots=True, eq=False)
class PrefixedElement:
    """An element with its name as written, its attributes, and the namespaces it declares."""

    name: str
    attributes: list[tuple[str, str]]
    namespaces: dict[str, str]
    above: PrefixedElement | None
    children: list[PrefixedElement | str | Instruction] = field(default_factory=list)

    @property
    def scope(self) -> dict[str, str]:
        """All namespaces in scope by their prefixes, "" for the default one."""
        above = {} if self.above is None else self.above.scope
        return above | self.namespaces

    @property
    def local(self) -> str:
        """The name without its prefix."""
        return self.name.rpartition(":")[2]

    @property
    def namespace(self) -> str:
        """The namespace of the name."""
        return self.scope.get(_prefix(self.name), "")

    @property
    def text(self) -> str:
        """The element's own text."""
        return "".join(each for each in self.children if isinstance(each, str)).strip()

    def elements(self) -> Iterator[PrefixedElement]:
        """Yield the element and all elements below, in document order."""
        yield self
        for child in self.children:
            if isinstance(child, PrefixedElement):
                yield from child.elements()

    def first(self, *path: str) -> PrefixedElement | None:
        """Return the first element at a path of local names below this one, or None."""
        return next(self.named(*path), None)

    def named(self, *path: str) -> Iterator[PrefixedElement]:
        """Yield the elements at a path of local names below this one."""
        if not path:
            yield self
            return
        for child in self.children:
            if isinstance(child, PrefixedElement) and child.local == path[0]:
                yield from child.named(*path[1:])

    def get(self, name: str) -> str:
        """Return an attribute, empty if there is none."""
        return dict(self.attributes).get(name, "")


@dataclass(frozen=True, slots=True)
class Instruction:
    """A processing instruction."""

    target: str
    data: str

    def __str__(self) -> str:
        return f"<?{self.target} {self.data}?>" if self.data else f"<?{self.target}?>"


@dataclass(slots=True)
class PrefixedDocument:
    """A document: its root, the processing instructions before and after it.

    ``declared`` is the number of namespaces that it declares.
    """

    root: PrefixedElement
    before: list[Instruction]
    after: list[Instruction]
    declared: int


def read_prefixed(data: bytes) -> PrefixedDocument:
    """Return a document that :func:`~.safe_xml.read_xml` has accepted."""
    reader = _PrefixedReader()
    reader.parser.Parse(data, True)  # noqa: FBT003 - expat's own
    (root,) = reader.roots  # the document is well-formed
    return PrefixedDocument(root, reader.before, reader.after, reader.declared)


class _PrefixedReader:
    """State: the elements that are open while a document is read."""

    def __init__(self) -> None:
        self.parser: Final = pyexpat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.ProcessingInstructionHandler = self._instruction
        self.roots: Final[list[PrefixedElement]] = []
        self.before: Final[list[Instruction]] = []
        self.after: Final[list[Instruction]] = []
        self.declared = 0
        self._open: Final[list[PrefixedElement]] = []

    def _begin(self, name: str, flat: list[str]) -> None:
        attributes: list[tuple[str, str]] = []
        namespaces: dict[str, str] = {}
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if key == "xmlns":
                namespaces[""] = value
            elif key.startswith("xmlns:"):
                namespaces[key[6:]] = value
            else:
                attributes.append((key, value))
        self.declared += len(namespaces)
        above = self._open[-1] if self._open else None
        made = PrefixedElement(name, attributes, namespaces, above)
        if above is None:
            self.roots.append(made)
        else:
            above.children.append(made)
        self._open.append(made)

    def _end(self, _name: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].children.append(text)

    def _instruction(self, target: str, data: str) -> None:
        made = Instruction(target, data)
        if self._open:
            self._open[-1].children.append(made)
        else:
            (self.after if self.roots else self.before).append(made)


def canonical_document(
    document: PrefixedDocument,
    *,
    exclusive: bool,
    without: PrefixedElement | None = None,
    prefixes: frozenset[str] = frozenset(),
) -> bytes:
    """Return a document in canonical form, ``without`` one element."""
    root = _Form(exclusive, without, prefixes).of(document.root, {}, {})
    before = "".join(f"{each}\n" for each in document.before)
    after = "".join(f"\n{each}" for each in document.after)
    return f"{before}{root}{after}".encode()


def canonical_part(
    element: PrefixedElement,
    *,
    exclusive: bool,
    without: PrefixedElement | None = None,
    prefixes: frozenset[str],
) -> bytes:
    """Return an element with all below it in canonical form."""
    scope = {} if element.above is None else element.above.scope
    return _Form(exclusive, without, prefixes).of(element, scope, {}).encode()


class _Form:
    """How elements are written: ``prefixes`` are those that exclusive form treats as inclusive."""

    def __init__(
        self,
        exclusive: bool,  # noqa: FBT001 - of this file alone
        without: PrefixedElement | None,
        prefixes: frozenset[str],
    ) -> None:
        self._exclusive: Final = exclusive
        self._without: Final = without
        self._prefixes: Final = prefixes

    def of(
        self, element: PrefixedElement, above: Mapping[str, str], rendered: Mapping[str, str]
    ) -> str:
        scope = {**above, **element.namespaces}
        used = self._used(element, scope)
        new = {
            prefix: scope.get(prefix, "")
            for prefix in sorted(used - {_XML})
            if rendered.get(prefix, "") != scope.get(prefix, "")
        }
        declared = [
            f' xmlns{":" if prefix else ""}{prefix}="{uri.translate(_ATTRIBUTE)}"'
            for prefix, uri in new.items()
        ]
        written = [
            f' {name}="{value.translate(_ATTRIBUTE)}"'
            for name, value in sorted(
                element.attributes, key=lambda each: _sorted_by(each[0], scope)
            )
        ]
        inner = "".join(
            child.translate(_TEXT)
            if isinstance(child, str)
            else str(child)
            if isinstance(child, Instruction)
            else self.of(child, scope, {**rendered, **new})
            for child in element.children
            if child is not self._without
        )
        head = "".join((element.name, *declared, *written))
        return f"<{head}>{inner}</{element.name}>"

    def _used(self, element: PrefixedElement, scope: Mapping[str, str]) -> set[str]:
        if not self._exclusive:
            return set(scope)
        own = {_prefix(name) for name, _ in element.attributes if ":" in name}
        return own | {_prefix(element.name)} | (self._prefixes & scope.keys())


def _prefix(name: str) -> str:
    return name.rpartition(":")[0]


def _sorted_by(name: str, scope: Mapping[str, str]) -> tuple[str, str]:
    prefix = _prefix(name)
    if prefix == _XML:
        return "http://www.w3.org/XML/1998/namespace", name.rpartition(":")[2]
    return (scope.get(prefix, "") if prefix else ""), name.rpartition(":")[2]
