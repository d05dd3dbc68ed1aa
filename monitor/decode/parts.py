"""The parts of a mapping besides its numbers: who, when, under which key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.decode import times
from monitor.decode.checks import Rejected, check_key
from monitor.decode.fetching import (
    Fetch,
    Fetchers,
    Number,
    Place,
    Text,
    shown,
)
from monitor.decode.fields import Compose, composer
from monitor.decode.measuring import Measure, measure, presence
from monitor.decode.paths import MISSING
from monitor.decode.specification import (
    Kind,
    MapError,
    MapSpec,
    SeriesSpec,
)

ARRIVAL: Final = "arrival"
_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "": str,
    "upper": str.upper,
    "lower": str.lower,
}
_TEXTS: Final = ("sequence", "identity", "reference_id", "status", "event", "note")

Instant = Callable[[object, object, float], float]
Ends = Callable[[object, object], tuple[float, float]]


class One(NamedTuple):
    """One quantity: how it is named, found and measured."""

    quantity: Compose
    present: Fetch
    measure: Measure
    name: str


class Collocated(NamedTuple):
    """How a collocation names its subject, and how far apart they are."""

    subject: Compose
    distance_km: Number


def named(spec: MapSpec, kind: Kind, known: Collection[str]) -> Compose:
    """Return what names the sensor of a record, or whom a reference is about."""
    if kind == "reference":
        return composer(spec.subject, known, ("subject",))
    return composer(spec.sensor, known, ("sensor",))


def instant(spec: MapSpec, fetchers: Fetchers, kind: Kind) -> Instant:
    """Return what finds the time of a record, of a reference else its end; s since 1970 UTC."""
    if spec.time == ARRIVAL:
        return lambda _root, _record, received: received
    paths = (spec.time,) if isinstance(spec.time, str) else tuple(spec.time)
    if not paths or not all(paths):
        raise MapError(("time",), "is empty; write a path, or arrival")
    reader = _reader(spec)
    fetches = [fetchers.fetch(path, ("time",)) for path in paths]
    end = fetchers.fetch(spec.end, ("end",)) if spec.end and kind == "reference" else None

    def read(root: object, record: object, _received: float) -> float:
        found = [fetch(root, record) for fetch in fetches]
        if MISSING in found and end is not None:
            found = [end(root, record)]
        if MISSING in found:
            at = paths[min(found.index(MISSING), len(paths) - 1)]
            raise Rejected("missing_field", f"time is missing at `{shown(at)}`")
        return reader(found[0] if len(found) == 1 else " ".join(map(_part, found)))

    return read


def _part(found: object) -> str:
    if isinstance(found, str):
        return found
    raise Rejected("bad_field", f"time is put together of texts, not of a {type(found).__name__}")


def _reader(spec: MapSpec) -> times.Reader:
    try:
        return times.reader(spec.time_unit, spec.time_zone, spec.time_layout)
    except ValueError as error:
        text = str(error)
        key = "time_zone" if "zone" in text else "time_layout" if "layout" in text else "time_unit"
        raise MapError((key,), text) from error


def ends(spec: MapSpec, fetchers: Fetchers) -> Ends:
    """Return what finds the start and end of what a reference is the mean of, else NaN."""
    reader = _reader(spec)
    start, end = (
        fetchers.fetch(path, (name,)) if path else None
        for name, path in (("start", spec.start), ("end", spec.end))
    )

    def read(fetch: Fetch | None, root: object, record: object) -> float:
        found = MISSING if fetch is None else fetch(root, record)
        return NAN if found is MISSING else reader(found)

    return lambda root, record: (read(start, root, record), read(end, root, record))


def key(spec: MapSpec, fetchers: Fetchers) -> Text:
    """Return what finds a record's key in its one spelling, empty where none is mapped."""
    if not spec.key:
        return lambda _root, _record: ""
    text = fetchers.text(spec.key, ("key",))
    removed = str.maketrans("", "", spec.key_remove)
    case = _CASES[spec.key_case]
    return lambda root, record: check_key(case(text(root, record).translate(removed)))


def texts(spec: MapSpec, fetchers: Fetchers) -> dict[str, Text]:
    """Return what finds the plain texts that are mapped; some of a reference may be left out."""
    given = ((name, getattr(spec, name)) for name in _TEXTS)
    found = {name: fetchers.text(path, (name,)) for name, path in given if path}
    for name in found.keys() & {"status", "reference_id"}:
        fetch = fetchers.fetch(getattr(spec, name), (name,))
        found[name] = _if_there(fetch, found[name])
    return found


def _if_there(fetch: Fetch, text: Text) -> Text:
    return lambda root, record: "" if fetch(root, record) is MISSING else text(root, record)


def quantities(
    spec: MapSpec, kind: Kind, fetchers: Fetchers, known: Collection[str], unit: str
) -> list[One]:
    """Return the quantities of a record; ``unit`` is the source's where a series names none."""
    if kind == "collocation":
        return []
    if kind == "event":
        if not spec.event:
            raise MapError(("event",), "is missing; write the path of the event's name")
        return []
    if not spec.series:
        raise MapError(("series",), "is missing; write at least one entry with its value")
    return [
        _one(each, ("series", at), fetchers, known, unit) for at, each in enumerate(spec.series)
    ]


def _one(
    each: SeriesSpec, place: Place, fetchers: Fetchers, known: Collection[str], unit: str
) -> One:
    if unit and not each.to_unit:
        each = each._replace(to_unit=unit)
    measured = measure(each, fetchers, place)  # first, for its mistakes have better places
    return One(
        composer(each.quantity or "{quantity}", known, (*place, "quantity")),
        presence(each, fetchers, place),
        measured,
        shown(each.value or each.samples or each.lower or "quantiles"),
    )


def collocated(
    spec: MapSpec, kind: Kind, fetchers: Fetchers, known: Collection[str]
) -> Collocated | None:
    """Return what reads a collocation, None where messages are none."""
    if kind != "collocation":
        return None
    for name in ("start", "end"):
        if not getattr(spec, name):
            raise MapError((name,), f"is missing; write the path of a collocation's {name}")
    subject = composer(spec.subject, known, ("subject",))
    if spec.distance_m == "":
        return Collocated(subject, lambda _root, _record: 0.0)
    metres = fetchers.number(spec.distance_m, ("distance_m",))
    return Collocated(subject, lambda root, record: metres(root, record) / 1000.0)
