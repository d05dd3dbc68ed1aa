"""What Sparkplug's birth messages said: which alias is which metric, and of which type.

Rules of this file: an alias belongs to an edge node (with its devices); a node's birth forgets what
the node's births said before; the whole can be dumped and loaded, for a reader that may not ask
for a rebirth has to remember.
"""

from __future__ import annotations

from typing import Final

import msgspec

_NODES_MAX: Final = 10_000
_METRICS_MAX: Final = 100_000


class BirthMetric(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Name and type (number of the specification's table) of a metric."""

    name: str
    datatype: int


class Births:
    """State: the metrics of each edge node by alias, and the types of those known by name.

    ``changed`` counts the births, so that the shell knows when to dump.
    """

    def __init__(self) -> None:
        self._aliases: dict[str, dict[int, BirthMetric]] = {}
        self._types: dict[str, dict[str, int]] = {}
        self.changed = 0

    def begin(self, node: str) -> None:
        """Forget what ``node`` said before: its birth comes before those of its devices."""
        self._aliases.pop(node, None)
        self._types.pop(node, None)
        self.changed += 1

    def learn(self, node: str, device: str, name: str, alias: int | None, datatype: int) -> None:
        """Remember one metric of a birth."""
        aliases = self._aliases.setdefault(node, {})
        types = self._types.setdefault(node, {})
        if len(aliases) >= _METRICS_MAX or len(types) >= _METRICS_MAX:
            return
        if len(self._types) > _NODES_MAX:
            oldest = next(iter(self._types))
            self._types.pop(oldest)
            self._aliases.pop(oldest, None)
        if alias is not None:
            aliases[alias] = BirthMetric(name, datatype)
        types[f"{device}/{name}"] = datatype
        self.changed += 1

    def named(self, node: str, alias: int) -> BirthMetric | None:
        """Return the metric with this alias, None if no birth has told."""
        return self._aliases.get(node, {}).get(alias)

    def datatype(self, node: str, device: str, name: str) -> int:
        """Return the type a birth gave a metric, 0 if none did."""
        return self._types.get(node, {}).get(f"{device}/{name}", 0)

    def dump(self) -> bytes:
        """Return all that is known, for :meth:`load`."""
        return msgspec.msgpack.encode((self._aliases, self._types))

    def load(self, dumped: bytes) -> None:
        """Know what was dumped, and nothing else; raises ValueError for other bytes."""
        kind = tuple[dict[str, dict[int, BirthMetric]], dict[str, dict[str, int]]]
        self._aliases, self._types = msgspec.msgpack.decode(dumped, type=kind)
