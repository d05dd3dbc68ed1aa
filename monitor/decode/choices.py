"""Which records are looked at, which are refused for their quality, which take one back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.fetching import (
    Fetch,
    Fetchers,
    quoted,
    shown,
)
from monitor.decode.paths import MISSING
from monitor.decode.specification import MapSpec, Scalar


class Choice(NamedTuple):
    """A path and the values that count; a truth value is not the number 1."""

    path: str
    fetch: Fetch
    values: tuple[Scalar, ...]

    def holds(self, root: object, record: object) -> bool:
        """Return whether one of the values stands there."""
        found = self.fetch(root, record)
        return any(
            found == value and isinstance(found, bool) == isinstance(value, bool)
            for value in self.values
        )


class Choices(NamedTuple):
    """The three sets of conditions of a mapping."""

    select: list[Choice]
    where: list[Choice]
    void_where: list[Choice]

    def selects(self, root: object, record: object) -> bool:
        """Return whether the record is one to look at."""
        return all(choice.holds(root, record) for choice in self.select)

    def check(self, root: object, record: object) -> None:
        """Raise Rejected if a quality is not among the allowed ones, or not stated."""
        for choice in self.where:
            if not choice.holds(root, record):
                found = choice.fetch(root, record)
                what = "missing" if found is MISSING else quoted(found)
                allowed = ", ".join(map(str, choice.values))
                raise Rejected("quality", f"`{shown(choice.path)}` is {what}; use {allowed}")

    def voids(self, root: object, record: object) -> bool:
        """Return whether the record takes a reference back."""
        return any(choice.holds(root, record) for choice in self.void_where)


def choices(spec: MapSpec, fetchers: Fetchers) -> Choices:
    """Return the compiled conditions; raises MapError."""

    def compiled(name: str, wanted: Mapping[str, tuple[Scalar, ...]]) -> list[Choice]:
        return [
            Choice(path, fetchers.fetch(path, (name, path)), tuple(values))
            for path, values in wanted.items()
        ]

    return Choices(
        compiled("select", spec.select),
        compiled("where", spec.where),
        compiled("void_where", spec.void_where),
    )
