"""From one payload to its records: itself, the entries of an array, or the rows of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.paths import (
    MISSING,
    Fetch,
    Fetchers,
    shown,
)
from monitor.decode.spec import MapError, MapSpec

_COLUMNS_MAX: Final = 1000  # each row is a map of its own

Frame = Callable[[object], Iterable[object]]


def framing(spec: MapSpec) -> Frame:
    """Return what takes a payload apart; raises MapError."""
    if spec.each and spec.columnar:
        raise MapError(("columnar",), "stands beside each; give one of the two")
    fetchers = Fetchers({}, number_texts=False)
    if spec.each:
        return _entries(fetchers.fetch(spec.each, ("each",)), shown(spec.each))
    if spec.columnar:
        return _rows(fetchers.fetch(spec.columnar, ("columnar",)), shown(spec.columnar))
    return lambda payload: (payload,)


def _entries(fetch: Fetch, name: str) -> Frame:
    def frame(payload: object) -> Iterable[object]:
        found = fetch(payload, payload)
        if found is MISSING:
            raise Rejected("missing_field", f"the array is missing at `{name}`", name)
        if not isinstance(found, list | tuple):
            what = f"`{name}` is a {type(found).__name__}, not an array"
            raise Rejected("bad_field", what, name)
        if not found:
            raise Rejected("missing_field", f"the array at `{name}` is empty", name)
        return found

    return frame


def _rows(fetch: Fetch, name: str) -> Frame:
    """Arrays of one length are columns; whatever else stands beside them holds for every row."""

    def frame(payload: object) -> Iterator[object]:
        found = fetch(payload, payload)
        if not isinstance(found, Mapping):
            raise Rejected("bad_field", f"`{name}` is not a map of columns", name)
        if len(found) > _COLUMNS_MAX:
            what = f"`{name}` has {len(found)} columns; at most {_COLUMNS_MAX} are read"
            raise Rejected("bad_field", what, name)
        columns = {key: each for key, each in found.items() if isinstance(each, list | tuple)}
        lengths = sorted({len(column) for column in columns.values()})
        if len(lengths) != 1 or lengths[0] == 0:
            shown_lengths = ", ".join(map(str, lengths[:5])) or "none"
            what = f"columns at `{name}` must have one length, not {shown_lengths}"
            raise Rejected("bad_field", what, name)
        common = {key: each for key, each in found.items() if key not in columns}
        for row in zip(*columns.values(), strict=True):
            yield {**common, **dict(zip(columns, row, strict=True))}

    return frame
