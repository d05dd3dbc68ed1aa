"""Which records are looked at, which are refused for their quality, which take one back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.paths import (
    MISSING,
    Fetch,
    Fetchers,
    quoted,
    shown,
)
from monitor.decode.spec import MapSpec, Scalar


class Filter(NamedTuple):
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


class Filters(NamedTuple):
    """The three sets of conditions of a mapping."""

    select: list[Filter]
    where: list[Filter]
    void_where: list[Filter]

    def selects(self, root: object, record: object) -> bool:
        """Return whether the record is one to look at."""
        return all(each.holds(root, record) for each in self.select)

    def check(self, root: object, record: object) -> None:
        """Raise Rejected if a quality is not among the allowed ones, or not stated."""
        for each in self.where:
            if not each.holds(root, record):
                found = each.fetch(root, record)
                what = "missing" if found is MISSING else quoted(found)
                allowed = ", ".join(map(str, each.values))
                place = shown(each.path)
                raise Rejected("quality", f"`{place}` is {what}; use {allowed}", place)

    def voids(self, root: object, record: object) -> bool:
        """Return whether the record takes a reference back."""
        return any(each.holds(root, record) for each in self.void_where)


def filters(spec: MapSpec, fetchers: Fetchers) -> Filters:
    """Return the compiled conditions; raises MapError."""

    def compiled(name: str, wanted: Mapping[str, tuple[Scalar, ...]]) -> list[Filter]:
        return [
            Filter(path, fetchers.fetch(path, (name, path)), tuple(values))
            for path, values in wanted.items()
        ]

    return Filters(
        compiled("select", spec.select),
        compiled("where", spec.where),
        compiled("void_where", spec.void_where),
    )
