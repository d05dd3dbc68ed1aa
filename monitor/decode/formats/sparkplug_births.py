"""The content of Sparkplug's birth messages: the name and type of each alias.

Rules of this file: an alias belongs to an edge node (with its devices); a node's birth replaces
what the node's births said before; what each node said can be noted and loaded, because a reader
that may not ask for a rebirth has to remember. Of a metric that nobody reads only the alias is
kept, to distinguish it from an alias without a birth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

_NODES: Final = "sparkplug_nodes"  # the note that lists the nodes; each node has its own
_NODES_MAX: Final = 10_000
_METRICS_MAX: Final = 100_000  # of a node
_METRICS_OF_ALL_MAX: Final = 500_000

Notes = Mapping[str, bytes]


class BirthMetric(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Name and type (number in the specification) of a metric; without a name nobody reads it."""

    name: str
    datatype: int


UNUSED: Final = BirthMetric("", 0)


class BirthValues(msgspec.Struct, array_like=True):
    """Statements of a device's births: numbers by metric, and numeric properties by metric."""

    values: dict[str, float] = {}
    properties: dict[str, dict[str, float]] = {}


_NO_VALUES: Final = BirthValues()


class _Node(msgspec.Struct, array_like=True):
    """The metrics of a node that are read, by alias; types of those known by name; the others.

    ``stated`` is what births stated, by device; "" is the node itself.
    """

    aliases: dict[int, BirthMetric] = {}
    types: dict[str, int] = {}
    unused: set[int] = set()
    stated: dict[str, BirthValues] = {}

    @property
    def metrics(self) -> int:
        """How many metrics the node has."""
        return len(self.types) + len(self.unused)


class Births:
    """State: the metrics of each edge node by alias, and the types of those known by name.

    ``changed`` grows with every change, so that the shell knows when to note them.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._metrics = 0  # of all nodes
        self._to_note: dict[str, None] = {}
        self._listed: tuple[str, ...] = ()
        self._used: set[str] | None = None
        self._uses: list[Collection[str] | None] = []
        self.changed = 0

    def use(self, names: Collection[str] | None) -> None:
        """Keep these metrics and those named before, None for all; without a call keep all."""
        self._uses.append(names)
        is_all = None in self._uses
        self._used = None if is_all else {name for each in self._uses for name in each or ()}

    def begin(self, node: str) -> None:
        """Forget what ``node`` said before: its birth precedes those of its devices."""
        self._drop(node)
        self._change(node)

    def begin_device(self, node: str, device: str) -> None:
        """Forget the values that an earlier birth of one device stated."""
        known = self._nodes.get(node)
        if known is not None and known.stated.pop(device, None) is not None:
            self._change(node)

    def learn(
        self,
        node: str,
        device: str,
        name: str,
        alias: int | None,
        datatype: int,
    ) -> None:
        """Remember one metric of a birth; of one that is not used only its alias."""
        is_used = self._used is None or name in self._used
        if alias is None and not is_used:
            return
        known = self._nodes.get(node)
        if known is None:
            known = self._nodes[node] = _Node()
        elif known.metrics >= _METRICS_MAX:
            return
        before = known.metrics
        if is_used:
            known.types[f"{device}/{name}"] = datatype
        if alias is not None:
            known.aliases.pop(alias, None)
            known.unused.discard(alias)
            if is_used:
                known.aliases[alias] = BirthMetric(name, datatype)
            else:
                known.unused.add(alias)
        self._metrics += known.metrics - before
        self._change(node)
        while len(self._nodes) > _NODES_MAX or (
            self._metrics > _METRICS_OF_ALL_MAX and len(self._nodes) > 1
        ):
            oldest = next(each for each in self._nodes if each != node)
            self._drop(oldest)
            self._change(oldest)

    def state(
        self,
        node: str,
        device: str,
        name: str,
        value: float | None,
        properties: Mapping[str, float],
    ) -> None:
        """Remember the number and the numeric properties of a metric that a birth defined."""
        known = self._nodes.get(node)
        if known is None or f"{device}/{name}" not in known.types:
            return
        stated = known.stated.setdefault(device, BirthValues())
        if value is not None:
            stated.values[name] = value
        if properties:
            stated.properties[name] = dict(properties)

    def stated(self, node: str, device: str) -> BirthValues:
        """Return what the births of a device stated."""
        known = self._nodes.get(node)
        return _NO_VALUES if known is None else known.stated.get(device, _NO_VALUES)

    def named(self, node: str, alias: int) -> BirthMetric | None:
        """Return the metric of an alias, UNUSED if nobody reads it, None if no birth defined it."""
        known = self._nodes.get(node)
        if known is None:
            return None
        return UNUSED if alias in known.unused else known.aliases.get(alias)

    def datatype(self, node: str, device: str, name: str) -> int:
        """Return the type a birth gave a metric, 0 if none did."""
        known = self._nodes.get(node)
        return 0 if known is None else known.types.get(f"{device}/{name}", 0)

    def notes(self) -> Notes:
        """Return the notes of the nodes that have changed since; :meth:`load_notes` reads them."""
        notes = {
            f"{_NODES}/{node}": msgspec.msgpack.encode(self._nodes[node])
            if node in self._nodes
            else b""
            for node in self._to_note
        }
        self._to_note.clear()
        if notes and self._listed != (listed := tuple(self._nodes)):
            self._listed = listed
            notes[_NODES] = msgspec.msgpack.encode(listed)
        return notes

    def dump(self) -> bytes:
        """Return all that is known, for :meth:`load`."""
        return msgspec.msgpack.encode(self._nodes)

    def load(self, dumped: bytes) -> None:
        """Restore what was dumped, and nothing else; raises ValueError for other bytes."""
        self._know(msgspec.msgpack.decode(dumped, type=dict[str, _Node]))

    def load_notes(self, note: Callable[[str], bytes]) -> None:
        """Restore what was noted, and nothing else; raises ValueError for other bytes."""
        listed = note(_NODES)
        nodes = msgspec.msgpack.decode(listed, type=tuple[str, ...]) if listed else ()
        self._know(
            {
                node: msgspec.msgpack.decode(noted, type=_Node)
                for node in nodes
                if (noted := note(f"{_NODES}/{node}"))
            }
        )

    def _know(self, nodes: dict[str, _Node]) -> None:
        self._nodes = nodes
        self._metrics = sum(each.metrics for each in self._nodes.values())
        self._listed = tuple(self._nodes)
        self._to_note.clear()

    def _drop(self, node: str) -> None:
        if (known := self._nodes.pop(node, None)) is not None:
            self._metrics -= known.metrics

    def _change(self, node: str) -> None:
        self._to_note[node] = None
        self.changed += 1
