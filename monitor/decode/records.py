"""From one payload to its records: which exist, which count, and the names split from them.

Rules of this file: records are the payload itself, the entries of an array, or the rows of columns.
Conditions select the records to read, those to refuse for their quality, and those that void a
reference. A template is plain text with ``{name}`` in it; a name comes from the topic or from an
earlier split; a composed text is checked where it names something.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.core.model import Observation, Sample
from monitor.decode.checks import Rejected, check_name
from monitor.decode.paths import (
    MISSING,
    Fetch,
    Fetchers,
    Place,
    in_text,
    quoted,
    shown,
    type_of,
)
from monitor.decode.spec import MapError, MapSpec, Scalar
from monitor.decode.units import Units
from monitor.mqtt.topic_templates import FIELD

# -- named fields ---------------------------------------------------------------------------------

_FIELDS_MAX: Final = 8

Fields = dict[str, str]
Compose = Callable[[Fields], str]
Split = Callable[[object, object, Fields], None]


def names_in(template: str) -> list[str]:
    """Return the names of the fields in ``template``."""
    return FIELD.findall(template)


def composer(template: str, known: Collection[str], place: Place) -> Compose:
    """Return the function that fills in ``template``; raises MapError for an unknown field."""
    _check(template, place)
    for name in names_in(template):
        if name not in known:
            there = ", ".join(f"{{{each}}}" for each in sorted(known)) or "none"
            raise MapError(place, f"there is no field {{{name}}}; topic and names give {there}")
    whole = FIELD.fullmatch(template)
    if whole is not None:
        field = whole[1]
        return lambda fields: fields[field]
    return template.format_map


def splitter(path: str, template: str, fetchers: Fetchers, place: Place) -> Split:
    """Return the function that splits the text at ``path`` and adds its parts to the fields."""
    _check(template, place)
    names = names_in(template)
    if not names or len(names) > _FIELDS_MAX or len(set(names)) < len(names):
        raise MapError(place, "needs between one and eight {names}, each once")
    text = fetchers.text(path, place)
    plain = FIELD.split(template)[::2]

    def split(root: object, record: object, fields: Fields) -> None:
        whole = text(root, record)
        parts = _parts(whole, plain)
        if parts is None:
            detail = f"{place[-1]} is {whole[:60]!r}, which does not match {template!r}"
            raise Rejected("bad_name", detail, shown(path))
        fields.update(zip(names, parts, strict=True))

    return split


def _parts(whole: str, plain: list[str]) -> list[str] | None:
    """Return the texts between the ``plain`` ones, None if ``whole`` does not match.

    The first part is as long as it can be, then the second; none is empty. Each plain text is
    searched once, from the end, as far right as possible: a regular expression would try all
    combinations.
    """
    first, *between, last = plain
    end = len(whole) - len(last)
    if not (whole.startswith(first) and whole.endswith(last)):
        return None
    parts: list[str] = []
    for each in reversed(between):
        at = whole.rfind(each, len(first) + 1, max(end - 1, 0))
        if at < 0:
            return None
        parts.append(whole[at + len(each) : end])
        end = at
    parts.append(whole[len(first) : end])
    return parts[::-1] if end > len(first) else None


def _check(template: str, place: Place) -> None:
    plain = FIELD.sub("", template)
    if "{" in plain or "}" in plain:
        raise MapError(place, "has a brace that is not part of a field; write for example {sensor}")


def check_names(fields: dict[str, str]) -> None:
    """Raise Rejected if a name from a topic is not permitted."""
    try:
        for name in ("sensor", "subject", "quantity"):
            if name in fields:
                check_name(name, fields[name])
    except Rejected as error:
        raise error.at("topic") from None


# -- records --------------------------------------------------------------------------------------

_COLUMNS_MAX: Final = 1000  # each row becomes its own map

Found = Observation | Rejected


class BadNumber(NamedTuple):
    """A covariate of a reading that is missing or unusable, the reason, and a sentence."""

    covariate: str
    reason: str
    detail: str


class Seen(NamedTuple):
    """One record, its payload (None where neither can be read), and what it gave.

    ``samples`` are the covariates that it states, if any are configured.
    """

    root: object
    record: object
    found: list[Found]
    samples: Sequence[Sample | BadNumber] = ()


class Arrival(NamedTuple):
    """The facts of a message besides its payload.

    ``fields`` are those of its topic; ``received`` is s since 1970 UTC, NaN for a retained message,
    whose arrival is no time of its content; ``units`` are those in which quantities are kept, None
    to keep each as stated; ``clock`` is the latest time it may state, None for ``received``.
    """

    fields: Fields
    received: float
    units: Units | None = None
    clock: float | None = None

    @property
    def now(self) -> float:
        """The latest time that it may state, s since 1970 UTC."""
        return self.received if self.clock is None else self.clock


Frame = Callable[[object], Iterable[object]]


def framing(spec: MapSpec) -> Frame:
    """Return the function that takes a payload apart; raises MapError."""
    if spec.each and spec.columnar:
        raise MapError(("columnar",), "conflicts with each; give one of the two")
    fetchers = Fetchers({}, number_texts=False)
    if spec.each:
        return _entries(fetchers.fetch(spec.each, ("each",)), shown(spec.each))
    if spec.columnar:
        return _rows(fetchers.fetch(spec.columnar, ("columnar",)), shown(spec.columnar))
    return lambda payload: (payload,)


def _entries(fetch: Fetch, name: str) -> Frame:
    def frame(payload: object) -> Iterable[object]:
        rows = in_text(fetch(payload, payload))
        if rows is MISSING:
            raise Rejected("missing_field", f"the array is missing at `{name}`", name)
        if not isinstance(rows, list | tuple):
            detail = f"`{name}` is {type_of(rows)}, not an array"
            raise Rejected("bad_field", detail, name)
        if not rows:
            raise Rejected("missing_field", f"the array at `{name}` is empty", name)
        return rows

    return frame


def _rows(fetch: Fetch, name: str) -> Frame:
    """Arrays of one length are columns; everything else beside them holds for every row."""

    def frame(payload: object) -> Iterator[object]:
        table = in_text(fetch(payload, payload))
        if not isinstance(table, Mapping):
            raise Rejected("bad_field", f"`{name}` is not a map of columns", name)
        if len(table) > _COLUMNS_MAX:
            detail = f"`{name}` has {len(table)} columns; at most {_COLUMNS_MAX} are read"
            raise Rejected("bad_field", detail, name)
        columns = {key: each for key, each in table.items() if isinstance(each, list | tuple)}
        lengths = sorted({len(column) for column in columns.values()})
        if len(lengths) != 1 or lengths[0] == 0:
            shown_lengths = ", ".join(map(str, lengths[:5])) or "none"
            detail = f"columns at `{name}` must have one length, not {shown_lengths}"
            raise Rejected("bad_field", detail, name)
        common = {key: each for key, each in table.items() if key not in columns}
        for row in zip(*columns.values(), strict=True):
            yield {**common, **dict(zip(columns, row, strict=True))}

    return frame


# -- conditions -----------------------------------------------------------------------------------


class ValueFilter(NamedTuple):
    """A path and the values that count; a truth value is not the number 1."""

    path: str
    fetch: Fetch
    values: tuple[Scalar, ...]

    def holds(self, root: object, record: object) -> bool:
        """Return whether the path leads to one of the values."""
        stated = self.fetch(root, record)
        return any(
            stated == value and isinstance(stated, bool) == isinstance(value, bool)
            for value in self.values
        )


class Filters(NamedTuple):
    """The three sets of conditions of a mapping."""

    select: list[ValueFilter]
    where: list[ValueFilter]
    void_where: list[ValueFilter]

    def selects(self, root: object, record: object) -> bool:
        """Return whether the record is one to read."""
        return all(each.holds(root, record) for each in self.select)

    def check(self, root: object, record: object) -> None:
        """Raise Rejected if a quality is not among the allowed ones, or not stated."""
        for each in self.where:
            if not each.holds(root, record):
                value = each.fetch(root, record)
                stated = "missing" if value is MISSING else quoted(value)
                allowed = ", ".join(map(str, each.values))
                place = shown(each.path)
                raise Rejected("quality", f"`{place}` is {stated}; use {allowed}", place)

    def voids(self, root: object, record: object) -> bool:
        """Return whether the record voids a reference."""
        return any(each.holds(root, record) for each in self.void_where)


def filters(spec: MapSpec, fetchers: Fetchers) -> Filters:
    """Return the compiled conditions; raises MapError."""

    def compiled(name: str, wanted: Mapping[str, tuple[Scalar, ...]]) -> list[ValueFilter]:
        return [
            ValueFilter(path, fetchers.fetch(path, (name, path)), tuple(values))
            for path, values in wanted.items()
        ]

    return Filters(
        compiled("select", spec.select),
        compiled("where", spec.where),
        compiled("void_where", spec.void_where),
    )
